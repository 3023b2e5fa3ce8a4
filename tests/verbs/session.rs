//! A session from Hello to its end: the handshake, ends of file, pipelining, and the words of an Error.

use std::thread;
use std::time::{Duration, Instant};

use bcmr_tests::content::{hex, noise};
use bcmr_tests::{Reply, Server, Site};
use bcmr_wire::{Caps, Message, Type};

const STAT: Message<'_> = Message::Stat { path: "" };

fn encoded(message: &Message<'_>) -> Vec<u8> {
    let mut frame = Vec::new();
    message.encode(&mut frame).unwrap();
    frame
}

// ---- handshake

#[test]
fn both_ends_capabilities_hold_and_no_others() {
    let site = Site::new();
    let offered = Server::start(site.root()).greet(Caps(0xff));
    let files = Caps::LZ4 | Caps::ZSTD | Caps::FAST | Caps::SYNC | Caps::PUT_OFFSET;
    assert!(offered.has(files), "{offered:?}");
    assert!(!offered.has(Caps::AEAD), "sealing is for direct connections only");
    for bits in (0..8).map(|bit| 1 << bit).chain([0, 0x55, 0xaa, 0x03]) {
        let mut server = Server::start(site.root());
        assert_eq!(server.greet(Caps(bits)), Caps(bits) & offered);
        server.finish();
    }
}

#[test]
fn a_hello_without_its_capabilities_byte_has_none() {
    let site = Site::new();
    let mut server = Server::start(site.root());
    server.to.send_raw(&[2, 0, 0, 0, Type::Hello as u8, 2]);
    assert_eq!(server.reply(), Reply::Welcome { version: 2, caps: Caps::NONE });
    server.finish();
}

#[test]
fn any_version_but_2_is_refused_by_both_numbers() {
    let site = Site::new();
    for version in [0, 1, 3, 4, 255] {
        let mut server = Server::start(site.root());
        server.send(&Message::Hello { version, caps: Caps(0xff) });
        let why = server.ends_by_violation();
        assert_eq!(why, format!("protocol version mismatch: client={version} server=2"));
    }
    // As a peer from before capabilities says it.
    let mut server = Server::start(site.root());
    server.to.send_raw(&[2, 0, 0, 0, Type::Hello as u8, 1]);
    assert!(server.ends_by_violation().starts_with("protocol version mismatch: client=1 server=2"));
}

#[test]
fn a_first_frame_that_is_not_hello_ends_the_session() {
    let site = Site::new();
    for message in [
        STAT,
        Message::Done,
        Message::Mkdir { path: "made" },
        Message::Put { path: "f", size: 0, offset: 0, overwrite: true },
        Message::Data { payload: b"x" },
        Message::AuthHello { mac: [0; 32] },
        Message::Welcome { version: 2, caps: Caps::NONE },
    ] {
        let mut server = Server::start(site.root());
        server.send(&message);
        server.ends_by_violation();
    }
    let hello = Type::Hello as u8;
    for bytes in [
        &b"SSH-2.0-OpenSSH_9.6\r\n"[..],
        b"GET / HTTP/1.1\r\n\r\n",
        &[0, 0, 0, 0],
        &[0xff; 4],
        // A Hello without a version, and one that goes on.
        &[1, 0, 0, 0, hello],
        &[4, 0, 0, 0, hello, 2, 0, 0],
    ] {
        let mut server = Server::start(site.root());
        server.to.try_send_raw(bytes);
        server.ends_by_violation();
    }
    assert!(site.tree().paths().is_empty());
}

#[test]
fn a_hello_byte_by_byte_is_one() {
    let site = Site::new();
    let mut server = Server::start(site.root());
    for byte in encoded(&Message::Hello { version: 2, caps: Caps::FAST }) {
        server.to.send_raw(&[byte]);
        thread::sleep(Duration::from_millis(5));
    }
    assert!(matches!(server.reply(), Reply::Welcome { .. }));
    server.finish();
}

#[test]
fn no_hello_within_10_seconds_ends_the_session_and_a_greeted_one_may_be_silent() {
    let site = Site::new();
    let hello = encoded(&Message::Hello { version: 2, caps: Caps::NONE });
    let begun = Instant::now();
    let mut greeted = Server::plain(site.root());
    let mut silent = Server::start(site.root());
    let mut half = Server::start(site.root());
    half.to.send_raw(&hello[..4]);
    let mut trickling = Server::start(site.root());
    for byte in &hello[..6] {
        trickling.to.send_raw(&[*byte]);
        thread::sleep(Duration::from_millis(1500));
    }
    for server in [&mut silent, &mut half, &mut trickling] {
        let status = server.ends_within(Duration::from_secs(15));
        assert_eq!(status.code(), Some(74));
    }
    let took = begun.elapsed();
    assert!(took >= Duration::from_secs(9) && took < Duration::from_secs(14), "{took:?}");
    assert!(matches!(greeted.ask(&STAT), Reply::Stat { .. }));
    greeted.finish();
}

#[test]
fn a_direct_channel_that_was_not_agreed_on_is_refused() {
    let site = Site::new();
    let mut server = Server::plain(site.root());
    let reply = server.ask(&Message::OpenDirectChannel);
    assert!(reply.error().contains("CAP_DIRECT_TCP"), "{reply:?}");
    server.finish();
}

// ---- the ends of a session

#[test]
fn end_of_file_between_frames_means_that_nothing_more_is_asked() {
    let site = Site::new();
    site.file("f", noise(3_000_000, 1));
    // At once, after Hello, and with answers outstanding.
    Server::start(site.root()).finish();
    Server::plain(site.root()).finish();
    let mut server = Server::plain(site.root());
    (0..100).for_each(|_| server.send(&STAT));
    server.send(&Message::Get { path: "f", offset: 0 });
    server.send(&Message::Hash { path: "f", offset: 0, limit: None });
    server.close_input();
    for reply in server.from.replies(100) {
        assert!(matches!(reply, Reply::Stat { .. }));
    }
    assert_eq!(server.from.got().content.len(), 3_000_000);
    assert!(matches!(server.reply(), Reply::Hash { .. }));
    server.finish();
}

#[test]
fn bcmr_0_7_2_end_of_file_inside_a_frame_is_a_broken_link() {
    let site = Site::new();
    let stat = encoded(&Message::Stat { path: "some/path" });
    for len in 1..stat.len() {
        let mut server = Server::plain(site.root());
        server.to.send_raw(&stat);
        server.to.send_raw(&stat[..len]);
        server.close_input();
        // What came before is answered; what did not come whole is not.
        assert!(server.reply().is_error());
        assert_eq!(server.from.next_reply(), None);
        assert_eq!(server.exit_code(), 74, "after {len} bytes");
    }
    let hello = encoded(&Message::Hello { version: 2, caps: Caps::NONE });
    for len in 1..hello.len() {
        let mut server = Server::start(site.root());
        server.to.send_raw(&hello[..len]);
        server.close_input();
        assert_eq!(server.from.next_reply(), None);
        assert_eq!(server.exit_code(), 74, "after {len} bytes of Hello");
    }
}

#[test]
fn bcmr_0_7_2_end_of_file_inside_a_put_publishes_nothing() {
    let put = encoded(&Message::Put { path: "a/f", size: 3, offset: 0, overwrite: true });
    let data = encoded(&Message::Data { payload: b"abc" });
    let done = encoded(&Message::Done);
    let whole = [&put[..], &data, &done].concat();
    for len in put.len()..whole.len() {
        let site = Site::new();
        let before = site.everything();
        let mut server = Server::plain(site.root());
        server.to.send_raw(&whole[..len]);
        server.close_input();
        assert_eq!(server.from.next_reply(), None);
        assert_eq!(server.exit_code(), 74, "after {len} bytes");
        assert_eq!(site.everything(), before, "after {len} bytes");
    }
    // The twin.
    let site = Site::new();
    let mut server = Server::plain(site.root());
    server.to.send_raw(&whole);
    server.close_input();
    assert!(server.reply().ok().is_some());
    server.finish();
    assert_eq!(site.read("a/f"), b"abc");
}

#[test]
fn an_output_that_nobody_reads_any_more_ends_everything() {
    let site = Site::new();
    site.file("f", noise(8 << 20, 2));
    let before = site.everything();
    // Idle, in the middle of a Put, and while it writes.
    let mut idle = Server::plain(site.root());
    let mut putting = Server::plain(site.root());
    putting.send(&Message::Put { path: "a/g", size: 3, offset: 0, overwrite: false });
    putting.send(&Message::Data { payload: b"ab" });
    putting.from.stays_silent(Duration::from_millis(100));
    let mut sending = Server::plain(site.root());
    sending.send(&Message::Get { path: "f", offset: 0 });
    sending.reply();
    for mut server in [idle, putting, sending] {
        server.close_output();
        let status = server.ends_within(Duration::from_secs(5));
        assert_eq!(status.code(), Some(74));
    }
    assert_eq!(site.everything(), before);
    idle = Server::plain(site.root());
    idle.finish();
}

// ---- order

#[test]
fn thousands_of_requests_in_one_go_are_answered_in_order() {
    const ROUNDS: usize = 5_000;
    let site = Site::new();
    site.file("f", noise(1_000, 3));
    let mut server = Server::greeted(site.root());
    thread::scope(|scope| {
        let (to, from) = (&mut server.to, &mut server.from);
        scope.spawn(|| {
            let mut bytes = Vec::new();
            for i in 0..ROUNDS {
                for message in [
                    Message::Stat { path: "f" },
                    Message::Get { path: "f", offset: (i % 1_000) as u64 },
                    Message::Stat { path: "absent" },
                    Message::Put { path: &format!("d/{i}"), size: 1, offset: 0, overwrite: false },
                    Message::Data { payload: b"x" },
                    Message::Done,
                    Message::Resume { path: "f" },
                ] {
                    message.encode(&mut bytes).unwrap();
                }
            }
            to.send_raw(&bytes);
        });
        for i in 0..ROUNDS {
            assert!(matches!(from.reply(), Reply::Stat { size: 1_000, .. }));
            assert_eq!(from.got().content.len(), 1_000 - i % 1_000);
            assert!(from.reply().error().contains("no such file"));
            assert_eq!(from.reply().ok(), Some(&*hex(b"x")));
            assert!(matches!(from.reply(), Reply::Resume { size: 1_000, .. }));
        }
    });
    server.finish();
    assert_eq!(site.path("d").read_dir().unwrap().count(), ROUNDS);
}

#[test]
fn a_reply_comes_while_the_next_request_is_still_on_its_way() {
    let site = Site::new();
    let mut server = Server::plain(site.root());
    let stat = encoded(&STAT);
    let mut rest = &stat[..0];
    for cut in 1..stat.len() {
        server.to.send_raw(rest);
        server.to.send_raw(&stat[..cut]);
        rest = &stat[cut..];
        if cut > 1 {
            assert!(matches!(server.reply(), Reply::Stat { .. }));
        }
    }
    server.to.send_raw(rest);
    assert!(matches!(server.reply(), Reply::Stat { .. }));
    server.finish();
}

#[test]
fn an_answer_comes_while_a_block_is_still_on_its_way() {
    // The reply to the first Put must not wait for the second one's data.
    let site = Site::new();
    let mut server = Server::plain(site.root());
    let block = encoded(&Message::Data { payload: &noise(100_000, 4) });
    let mut bytes = Vec::new();
    for message in [
        Message::Put { path: "a", size: 1, offset: 0, overwrite: false },
        Message::Data { payload: b"x" },
        Message::Done,
        Message::Put { path: "b", size: 100_000, offset: 0, overwrite: false },
    ] {
        message.encode(&mut bytes).unwrap();
    }
    server.to.send_raw(&[&bytes[..], &block[..50_000]].concat());
    assert!(server.reply().ok().is_some());
    server.to.send_raw(&block[50_000..]);
    assert!(server.ask(&Message::Done).ok().is_some());
    server.finish();
}

// ---- the words of an Error

#[test]
fn every_error_names_the_session_and_each_session_has_its_own_name() {
    // That each does is checked wherever an Error is received; here that they differ.
    let site = Site::new();
    let mut ids = Vec::new();
    for _ in 0..5 {
        let mut server = Server::plain(site.root());
        for path in ["no", "../x"] {
            assert!(server.ask(&Message::Stat { path }).is_error());
        }
        ids.push(server.from.session().unwrap().to_owned());
        server.finish();
    }
    ids.sort_unstable();
    ids.dedup();
    assert_eq!(ids.len(), 5, "{ids:?}");
}

#[test]
fn oferchen_rsync_7296_an_error_repeats_a_path_escaped_and_not_at_length() {
    let site = Site::new();
    let mut server = Server::plain(site.root());
    let reply = server.ask(&Message::Stat { path: "a\nFAKE ok\u{1b}[31m\u{202e}" });
    assert!(reply.error().contains("a\\nFAKE ok\\u{1b}[31m\\u{202e}"), "{reply:?}");
    // Cut inside what would be the middle of a letter.
    let reply = server.ask(&Message::Stat { path: &"ß".repeat(2_000) });
    assert!(reply.error().contains("ßß") && reply.error().len() < 400, "{reply:?}");
    server.finish();
}
