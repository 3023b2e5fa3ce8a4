//! Hash.

use std::time::{Duration, Instant};

use bcmr_tests::content::{hex, noise};
use bcmr_tests::{Reply, Server, Site};
use bcmr_wire::Message;

fn hash(server: &mut Server, path: &str, offset: u64, limit: Option<u64>) -> Reply {
    server.ask(&Message::Hash { path, offset, limit })
}

#[test]
fn the_hash_is_blake3_of_the_range_that_is_there() {
    let site = Site::new();
    let content = noise(300_000, 1);
    site.file("f", &content);
    let mut server = Server::plain(site.root());
    let cases: [(u64, Option<u64>, &[u8]); 9] = [
        (0, None, &content),
        (1, None, &content[1..]),
        (0, Some(1), &content[..1]),
        (262_143, Some(2), &content[262_143..262_145]),
        (0, Some(300_000), &content),
        (0, Some(u64::MAX), &content),
        (299_999, Some(7), &content[299_999..]),
        (5, Some(0), b""),
        (300_000, None, b""),
    ];
    for (offset, limit, range) in cases {
        let reply = hash(&mut server, "f", offset, limit);
        assert_eq!(reply.hash(), hex(range), "{offset} {limit:?}");
    }
    server.finish();
}

#[test]
fn past_the_end_it_is_the_hash_of_nothing_up_to_two_to_the_63rd() {
    let site = Site::new();
    site.file("f", "content");
    let mut server = Server::plain(site.root());
    for offset in [8, 1 << 32, 1 << 44, 1 << 62, (1 << 63) - 1] {
        for limit in [None, Some(0), Some(1), Some(u64::MAX)] {
            assert_eq!(hash(&mut server, "f", offset, limit).hash(), hex(b""), "{offset} {limit:?}");
        }
    }
    server.finish();
}

#[test]
fn an_offset_from_two_to_the_63rd_on_is_an_error() {
    let site = Site::new();
    site.file("f", "content");
    let mut server = Server::plain(site.root());
    for offset in [1 << 63, u64::MAX] {
        for limit in [None, Some(0), Some(u64::MAX)] {
            let reply = hash(&mut server, "f", offset, limit);
            assert!(reply.error().contains("offset"), "{reply:?}");
        }
    }
    server.finish();
}

#[test]
fn duplicati_876_what_is_no_regular_file_is_refused_at_once() {
    let site = Site::new();
    site.fifo("fifo");
    site.socket("socket");
    site.dir("dir");
    let mut server = Server::plain(site.root());
    for path in ["fifo", "socket", "dir", ""] {
        let begun = Instant::now();
        for request in [
            Message::Hash { path, offset: 0, limit: None },
            Message::Get { path, offset: 0 },
            Message::GetChunked { path, offset: 0, length: 0 },
            Message::Resume { path },
        ] {
            let reply = server.ask(&request);
            assert!(reply.error().contains("not a regular file"), "{path}: {reply:?}");
        }
        assert_eq!(server.put(path, b"x", true).error().matches("stands under the name").count(), 1);
        assert!(begun.elapsed() < Duration::from_secs(1), "{path} took {:?}", begun.elapsed());
    }
    server.finish();
}

#[test]
fn duplicati_876_devices_are_refused_at_once() {
    // A device that is there on every machine, served as it stands: nothing is written.
    let mut server = Server::plain("/dev");
    for request in [
        Message::Hash { path: "zero", offset: 0, limit: None },
        Message::Get { path: "zero", offset: 0 },
        Message::Resume { path: "zero" },
        Message::Put { path: "null", size: 0, offset: 0, overwrite: true },
    ] {
        let begun = Instant::now();
        let reply = server.ask(&request);
        assert!(reply.error().contains("device"), "{reply:?}");
        assert!(begun.elapsed() < Duration::from_secs(1));
    }
    server.finish();
}

#[test]
fn what_is_not_there_is_an_error() {
    let site = Site::new();
    let mut server = Server::plain(site.root());
    for offset in [0, u64::MAX] {
        assert!(hash(&mut server, "no", offset, None).is_error());
    }
    server.finish();
}

#[test]
fn what_takes_long_keeps_no_earlier_answer_back() {
    let site = Site::new();
    site.sparse("big", 1 << 30, &[]);
    let mut server = Server::plain(site.root());
    for _ in 0..6 {
        server.send(&Message::Hash { path: "big", offset: 0, limit: None });
    }
    let first = server.reply().hash().to_owned();
    let begun = Instant::now();
    (0..5).for_each(|_| assert_eq!(server.reply().hash(), first));
    assert!(begun.elapsed() > Duration::from_millis(100), "they came at once: {:?}", begun.elapsed());
    server.finish();
}
