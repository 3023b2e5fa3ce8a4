//! Frames that no good client sends: malformed ones end the session, misplaced ones do not.

use bcmr_tests::{Reply, Server, Site};
use bcmr_wire::limits::{MAX_BLOCK, MAX_COUNT, MAX_PAYLOAD, MAX_REQUEST};
use bcmr_wire::list::ListBuilder;
use bcmr_wire::message::Algo;
use bcmr_wire::{Caps, Message, Type};

/// A frame of any type with any body.
fn frame(kind: u8, body: &[u8]) -> Vec<u8> {
    let length = u32::try_from(body.len() + 1).unwrap();
    [&length.to_le_bytes()[..], &[kind], body].concat()
}

fn encoded(message: &Message<'_>) -> Vec<u8> {
    let mut frame = Vec::new();
    message.encode(&mut frame).unwrap();
    frame
}

/// One well-formed message of each type that a client may send after its Hello.
fn requests() -> Vec<Message<'static>> {
    const PATH: &str = "f";
    vec![
        Message::List { path: PATH },
        Message::Stat { path: PATH },
        Message::Hash { path: PATH, offset: 0, limit: Some(1) },
        Message::Get { path: PATH, offset: 0 },
        Message::Put { path: PATH, size: 0, offset: 0, overwrite: false },
        Message::Mkdir { path: PATH },
        Message::Resume { path: PATH },
        Message::HaveBlocks { block_size: 4_194_304, hashes: &[[7; 32]] },
        Message::AuthHello { mac: [7; 32] },
        Message::PutChunked { path: PATH, offset: 0, length: 0 },
        Message::GetChunked { path: PATH, offset: 0, length: 0 },
        Message::Truncate { path: PATH, size: 0 },
        Message::Data { payload: b"x" },
        Message::DataCompressed { algo: Algo::Lz4, original_size: 1, payload: b"x" },
    ]
}

/// One well-formed message of each type that only a server sends.
fn answers() -> Vec<Message<'static>> {
    vec![
        Message::Welcome { version: 2, caps: Caps::NONE },
        Message::Ok { hash: Some("00") },
        Message::Error { message: "no" },
        Message::StatResponse { size: 1, mtime: 2, is_dir: false },
        Message::HashResponse { hash: "00" },
        Message::ResumeResponse { size: 1, block_hash: None },
        Message::MissingBlocks { bits: &[1] },
        Message::DirectChannelReady { addr: "a", session_key: [0; 32] },
        Message::AuthChallenge { nonce: [0; 32] },
    ]
}

/// What a server makes of these bytes after its greeting: the Error with which it ends the session.
fn violation(bytes: &[u8]) -> String {
    let site = Site::new();
    site.file("f", "content");
    let before = site.everything();
    let mut server = Server::plain(site.root());
    // It may have ended before the last of a long frame was sent.
    server.to.try_send_raw(bytes);
    let why = server.ends_by_violation();
    assert_eq!(site.everything(), before);
    why
}

#[test]
fn a_length_of_0_or_above_16_mib_ends_the_session_before_anything_else_is_read() {
    for length in [0, MAX_PAYLOAD + 1, 1 << 31, u32::MAX as usize] {
        // Nothing follows the length: whoever waited for more would wait for ever.
        violation(&u32::try_from(length).unwrap().to_le_bytes());
    }
}

#[test]
fn a_frame_of_exactly_16_mib_is_legal() {
    let site = Site::new();
    let mut server = Server::plain(site.root());
    let message = "m".repeat(MAX_PAYLOAD - 1 - 4);
    let whole = encoded(&Message::Error { message: &message });
    assert_eq!(whole.len(), 4 + MAX_PAYLOAD);
    server.to.send_raw(&whole);
    assert_eq!(server.reply().error(), "unexpected message Error");
    // The longest list of hashes that fits.
    let hashes = vec![[7; 32]; 524_287];
    server.send(&Message::HaveBlocks { block_size: 4_194_304, hashes: &hashes });
    assert_eq!(server.reply().error(), "unexpected message HaveBlocks");
    server.finish();
}

#[test]
fn types_that_are_not_assigned_end_the_session() {
    for code in (0..=u8::MAX).filter(|code| Type::from_code(*code).is_none()) {
        if [0x00, 0x10, 0x7f, 0x80, 0x8d, 0xff].contains(&code) {
            let why = violation(&frame(code, b""));
            assert!(why.contains(&format!("0x{code:02x}")), "{why}");
        }
    }
}

#[test]
fn a_body_cut_short_or_drawn_out_ends_the_session() {
    for message in requests().into_iter().chain(answers()) {
        let whole = encoded(&message);
        let (kind, body) = (whole[4], &whole[5..]);
        for cut in [0, body.len() - 1] {
            // A Welcome that is one byte short is that of an older peer.
            if !(kind == Type::Welcome as u8 && cut == 1) {
                violation(&frame(kind, &body[..cut]));
            }
        }
        violation(&frame(kind, &[body, &[0]].concat()));
    }
    violation(&frame(Type::Done as u8, &[0]));
    violation(&frame(Type::OpenDirectChannel as u8, &[0]));
}

#[test]
fn cve_2024_12084_cve_2026_43618_lengths_that_run_past_the_payload_end_the_session() {
    for length in [2, 1 << 16, 1 << 31, u32::MAX] {
        let path = [&u32::to_le_bytes(length)[..], b"f"].concat();
        violation(&frame(Type::Stat as u8, &path));
        violation(&frame(Type::Get as u8, &[&path[..], &[0; 8]].concat()));
        violation(&frame(Type::Data as u8, &path));
        let coded = [&[2, 1, 0, 0, 0][..], &path].concat();
        violation(&frame(Type::DataCompressed as u8, &coded));
        violation(&frame(Type::MissingBlocks as u8, &path));
    }
}

#[test]
fn counts_above_the_limit_or_above_what_follows_end_the_session() {
    for count in [1, 2, MAX_COUNT, MAX_COUNT + 1, u32::MAX as usize] {
        let count = u32::try_from(count).unwrap().to_le_bytes();
        violation(&frame(Type::HaveBlocks as u8, &[&[0, 0, 0x40, 0][..], &count].concat()));
        violation(&frame(Type::ListResponse as u8, &count));
    }
}

#[test]
fn a_string_that_is_not_utf8_ends_the_session() {
    let bad = [&2u32.to_le_bytes()[..], &[0xc3, 0x28]].concat();
    for kind in [Type::Stat, Type::List, Type::Mkdir, Type::Resume, Type::Error, Type::HashResponse] {
        let why = violation(&frame(kind as u8, &bad));
        assert!(why.contains("UTF-8"), "{why}");
    }
}

#[test]
fn a_request_longer_than_it_can_ever_need_ends_the_session_before_it_is_sent_whole() {
    for kind in [Type::Hello, Type::Stat, Type::List, Type::Put, Type::Done, Type::Truncate, Type::AuthHello]
    {
        for body in [MAX_REQUEST + 1, MAX_PAYLOAD - 1] {
            let header = [&u32::try_from(body + 1).unwrap().to_le_bytes()[..], &[kind as u8]].concat();
            violation(&header);
        }
    }
    // At the limit it is judged by what it says.
    let path = "p".repeat(MAX_REQUEST - 4);
    let site = Site::new();
    let mut server = Server::plain(site.root());
    let reply = server.ask(&Message::Stat { path: &path });
    assert!(reply.error().contains("longer than 4095 bytes"), "{reply:?}");
    server.finish();
}

#[test]
fn a_block_above_4_mib_ends_the_session() {
    let header = |body: usize, kind: Type| {
        [&u32::try_from(body + 1).unwrap().to_le_bytes()[..], &[kind as u8]].concat()
    };
    violation(&header(4 + MAX_BLOCK + 1, Type::Data));
    violation(&header(9 + MAX_BLOCK + 1, Type::DataCompressed));
    for original_size in [0, MAX_BLOCK + 1, u32::MAX as usize] {
        let size = u32::try_from(original_size).unwrap().to_le_bytes();
        let body = [&[1][..], &size, &[1, 0, 0, 0, b'x']].concat();
        violation(&frame(Type::DataCompressed as u8, &body));
    }
    for algo in [0, 3, 255] {
        let body = [algo, 1, 0, 0, 0, 1, 0, 0, 0, b'x'];
        violation(&frame(Type::DataCompressed as u8, &body));
    }
}

#[test]
fn a_malformed_frame_inside_a_put_leaves_nothing_of_it() {
    for bad in [frame(0x7f, b""), vec![0; 4], frame(Type::Done as u8, &[0]), frame(Type::Data as u8, &[9])] {
        let site = Site::new();
        let before = site.everything();
        let mut server = Server::plain(site.root());
        server.send(&Message::Put { path: "a/f", size: 3, offset: 0, overwrite: false });
        server.send(&Message::Data { payload: b"abc" });
        server.to.send_raw(&bad);
        server.ends_by_violation();
        assert_eq!(site.everything(), before);
    }
}

#[test]
fn a_malformed_frame_is_one_while_a_refused_put_is_passed_over_too() {
    let bad_block = [1, 0, 0, 0, 0, 1, 0, 0, 0, b'x'];
    let bad = [
        frame(Type::Data as u8, &[9, 0, 0, 0, b'x']),
        frame(Type::DataCompressed as u8, &bad_block),
        frame(Type::HaveBlocks as u8, &[0; 7]),
        frame(Type::Done as u8, &[0]),
    ];
    for bad in bad {
        let site = Site::new();
        let mut server = Server::plain(site.root());
        let reply = server.ask(&Message::Put { path: "../f", size: 3, offset: 0, overwrite: false });
        assert!(reply.is_error());
        server.to.send_raw(&bad);
        server.ends_by_violation();
    }
}

#[test]
fn what_was_asked_before_a_malformed_frame_is_answered() {
    let site = Site::new();
    let mut server = Server::plain(site.root());
    let mut bytes = Vec::new();
    for _ in 0..100 {
        (Message::Stat { path: "" }).encode(&mut bytes).unwrap();
    }
    bytes.extend(frame(0x7f, b""));
    server.to.send_raw(&bytes);
    for reply in server.from.replies(100) {
        assert!(matches!(reply, Reply::Stat { is_dir: true, .. }));
    }
    server.ends_by_violation();
}

#[test]
fn a_frame_out_of_place_is_an_error_and_the_session_lives() {
    let site = Site::new();
    let mut server = Server::greeted(site.root());
    let mut list = ListBuilder::new();
    let entry = bcmr_wire::list::Entry { path: "x", size: 0, mtime: 0, is_dir: false };
    list.push(&entry).unwrap();
    server.to.send_raw(&list.finish());
    assert_eq!(server.reply().error(), "unexpected message ListResponse");
    let misplaced = [
        Message::Hello { version: 2, caps: Caps::NONE },
        Message::Hello { version: 1, caps: Caps::NONE },
        Message::Done,
        Message::AuthHello { mac: [0; 32] },
        Message::Data { payload: b"" },
        Message::Data { payload: &[0; MAX_BLOCK] },
        Message::DataCompressed { algo: Algo::Zstd, original_size: 4_194_304, payload: b"no frame" },
        Message::HaveBlocks { block_size: 0, hashes: &[] },
    ];
    for message in misplaced.into_iter().chain(answers()) {
        let reply = server.ask(&message);
        assert_eq!(reply.error(), format!("unexpected message {}", message.kind().name()));
    }
    assert!(matches!(server.ask(&Message::Stat { path: "" }), Reply::Stat { .. }));
    server.finish();
}

#[test]
fn bools_and_tags_are_read_leniently() {
    // As the public peer reads them: any byte but 0 is true, any tag but 1 is absent.
    let site = Site::new();
    site.file("f", "old");
    let mut server = Server::plain(site.root());
    let path = [&1u32.to_le_bytes()[..], b"f"].concat();
    server.to.send_raw(&frame(Type::Hash as u8, &[&path[..], &[0; 8], &[2]].concat()));
    assert_eq!(server.reply().hash(), bcmr_tests::content::hex(b"old"));
    server.to.send_raw(&frame(Type::Put as u8, &[&path[..], &[0; 16], &[0xff]].concat()));
    assert!(server.ask(&Message::Done).ok().is_some());
    assert_eq!(site.read("f"), b"");
    server.finish();
}
