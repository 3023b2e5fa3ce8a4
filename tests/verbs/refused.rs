//! One Put, one reply: what a refused or broken-off Put passes over, and what it does not.

use bcmr_tests::{Reply, Server, Site};
use bcmr_wire::{Caps, Message};

const BAD: Message<'_> = Message::Put { path: "../x", size: 3, offset: 0, overwrite: false };

const fn put(path: &str) -> Message<'_> {
    Message::Put { path, size: 3, offset: 0, overwrite: false }
}

const DATA: Message<'_> = Message::Data { payload: b"abc" };
const DONE: Message<'_> = Message::Done;
const STAT: Message<'_> = Message::Stat { path: "" };

/// Short words for what was answered.
fn words(site: &Site, messages: &[Message<'_>]) -> Vec<String> {
    let mut server = Server::greeted(site.root());
    messages.iter().for_each(|message| server.send(message));
    server.close_input();
    let mut words = Vec::new();
    while let Some(reply) = server.from.next_reply() {
        words.push(match reply {
            Reply::Ok { .. } => "ok".to_owned(),
            Reply::Stat { .. } => "stat".to_owned(),
            Reply::Error { .. } => reply.error().to_owned(),
            other => panic!("{other:?}"),
        });
    }
    assert_eq!(server.exit_code(), 0);
    words
}

#[test]
fn a_refused_put_passes_over_its_frames_up_to_its_done() {
    let site = Site::new();
    let coded =
        Message::DataCompressed { algo: bcmr_wire::message::Algo::Zstd, original_size: 1, payload: b"?" };
    let have = Message::HaveBlocks { block_size: 7, hashes: &[[0; 32]; 3] };
    let words = words(&site, &[BAD, have, DATA, coded, DATA, have, DONE, STAT, put("f"), DATA, DONE]);
    let [refused, rest @ ..] = &words[..] else { panic!("no reply") };
    assert!(refused.contains("escapes server root"), "{words:?}");
    assert_eq!(rest, ["stat", "ok"]);
    assert_eq!(site.read("f"), b"abc");
}

#[test]
fn its_first_frame_of_another_type_ends_the_passing_over_and_is_served() {
    let site = Site::new();
    let words = words(&site, &[BAD, DATA, STAT, DATA, DONE, STAT]);
    let [refused, rest @ ..] = &words[..] else { panic!("no reply") };
    assert!(refused.contains("escapes server root"), "{words:?}");
    assert_eq!(rest, ["stat", "unexpected message Data", "unexpected message Done", "stat"]);
}

#[test]
fn after_its_done_nothing_is_passed_over_any_more() {
    let site = Site::new();
    let words = words(&site, &[BAD, DATA, DONE, DATA, DONE]);
    assert_eq!(words[1..], ["unexpected message Data", "unexpected message Done"], "{words:?}");
}

#[test]
fn the_next_put_ends_the_passing_over_too() {
    let site = Site::new();
    let words = words(&site, &[BAD, DATA, put("f"), DATA, DONE, BAD, BAD, put("g"), DATA, DONE]);
    assert_eq!(words.len(), 5, "{words:?}");
    assert_eq!([&*words[1], &words[4]], ["ok", "ok"], "{words:?}");
    assert_eq!(site.tree().paths(), ["f", "g"]);
}

#[test]
fn a_refused_striped_upload_is_passed_over_the_same_way() {
    let site = Site::new();
    let striped = Message::PutChunked { path: "f", offset: 0, length: 3 };
    let words = words(&site, &[striped, DATA, DATA, DONE, STAT, striped, STAT, DONE]);
    assert_eq!(words.len(), 5, "{words:?}");
    assert_eq!([&*words[1], &words[3], &words[4]], ["stat", "stat", "unexpected message Done"]);
    assert!(site.tree().paths().is_empty());
}

#[test]
fn truncate_is_followed_by_nothing_to_pass_over() {
    let site = Site::new();
    let words = words(&site, &[Message::Truncate { path: "f", size: 0 }, DATA, DONE]);
    assert_eq!(words[1..], ["unexpected message Data", "unexpected message Done"], "{words:?}");
}

#[test]
fn an_error_at_done_starts_no_passing_over() {
    let site = Site::new();
    let short = Message::Put { path: "f", size: 4, offset: 0, overwrite: false };
    let words = words(&site, &[short, DATA, DONE, DATA, DONE, STAT]);
    assert!(words[0].contains("declared 4 bytes, received 3"), "{words:?}");
    assert_eq!(words[1..], ["unexpected message Data", "unexpected message Done", "stat"]);
}

#[test]
fn an_error_in_the_middle_passes_over_the_rest_and_is_the_only_reply() {
    let site = Site::new();
    let words = words(&site, &[put("f"), DATA, DATA, DATA, DATA, DONE, STAT]);
    assert_eq!(words.len(), 2, "{words:?}");
    assert!(words[0].contains("past the declared size") && words[1] == "stat", "{words:?}");
    assert!(site.tree().paths().is_empty());
}

#[test]
fn a_frame_of_another_type_inside_a_put_fails_it_and_is_served() {
    let others: [(Message<'_>, &str); 6] = [
        (STAT, "stat"),
        (Message::Mkdir { path: "made" }, "ok"),
        (Message::Hello { version: 2, caps: Caps::NONE }, "unexpected message Hello"),
        (Message::AuthHello { mac: [0; 32] }, "unexpected message AuthHello"),
        (Message::Error { message: "from a client" }, "unexpected message Error"),
        (Message::Welcome { version: 2, caps: Caps::NONE }, "unexpected message Welcome"),
    ];
    for (other, answer) in others {
        for before in [&[][..], &[DATA]] {
            let site = Site::new();
            let words = words(&site, &[&[put("a/f")], before, &[other, DONE, STAT]].concat());
            assert_eq!(words.len(), 4, "{words:?}");
            assert!(words[0].starts_with("put 'a/f': "), "{words:?}");
            assert_eq!(words[1..], [answer, "unexpected message Done", "stat"], "{other:?}");
            assert!(!site.path("a").exists(), "{:?}", site.tree());
        }
    }
}

#[test]
fn a_put_inside_a_put_fails_the_first_and_begins_the_second() {
    let site = Site::new();
    let words = words(&site, &[put("f"), DATA, put("g"), DATA, DONE]);
    assert_eq!(words.len(), 2, "{words:?}");
    assert!(words[0].starts_with("put 'f': ") && words[1] == "ok", "{words:?}");
    assert_eq!(site.tree().paths(), ["g"]);
}

#[test]
fn a_thousand_refused_puts_with_all_their_data_give_a_thousand_replies() {
    let site = Site::new();
    site.file("f", "old");
    let before = site.everything();
    let mut server = Server::plain(site.root());
    let payload = [7; 1000];
    std::thread::scope(|scope| {
        let (to, from) = (&mut server.to, &mut server.from);
        scope.spawn(|| {
            for _ in 0..1000 {
                for message in [put("f"), Message::Data { payload: &payload }, DATA, DONE] {
                    to.send(&message);
                }
            }
            to.send(&STAT);
        });
        for reply in from.replies(1000) {
            assert!(reply.error().contains("already exists"), "{reply:?}");
        }
        assert!(matches!(from.reply(), Reply::Stat { .. }));
    });
    server.finish();
    assert_eq!(site.everything(), before);
}
