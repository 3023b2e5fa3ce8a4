//! Get and GetChunked.

use std::fs;
use std::io::Write;
use std::path::Path;

use bcmr_tests::content::{hex, noise, text};
use bcmr_tests::{Reply, Server, Site};
use bcmr_wire::limits::MAX_BLOCK;
use bcmr_wire::message::Algo;
use bcmr_wire::{Caps, Message};

/// Bytes of a content block as it was before any codec.
fn original(block: &Reply) -> usize {
    match block {
        Reply::Data { payload } => payload.len(),
        Reply::DataCompressed { original_size, .. } => *original_size as usize,
        other => panic!("no block: {other:?}"),
    }
}

#[test]
fn content_comes_whole_in_blocks_that_are_none_empty_and_none_too_long() {
    let site = Site::new();
    for size in [0, 1, 4095, 262_143, 262_144, 262_145, MAX_BLOCK, 3 * MAX_BLOCK + 17] {
        let content = noise(size, size as u64);
        site.file("f", &content);
        let mut server = Server::plain(site.root());
        let got = server.get("f", 0);
        assert_eq!(got.end.ok(), Some(&*hex(&content)), "{size}");
        assert!(got.content == content, "{size} bytes came out differently");
        let fair = |block| (1..=MAX_BLOCK).contains(&original(block));
        assert!(got.blocks.iter().all(fair), "{size}");
        server.finish();
    }
}

#[test]
fn from_an_offset_content_and_hash_are_those_of_the_rest() {
    let site = Site::new();
    let content = noise(600_000, 2);
    site.file("f", &content);
    let mut server = Server::plain(site.root());
    for offset in [1, 262_144, 599_999, 600_000, 600_001, 1 << 40, (1 << 63) - 1] {
        let rest = content.get(usize::try_from(offset).unwrap()..).unwrap_or_default();
        let got = server.get("f", offset);
        assert_eq!(got.end.ok(), Some(&*hex(rest)), "{offset}");
        assert!(got.content == rest, "{offset}");
        assert_eq!(got.blocks.is_empty(), rest.is_empty(), "{offset}");
    }
    server.finish();
}

#[test]
fn an_offset_from_two_to_the_63rd_on_is_an_error_without_a_block() {
    let site = Site::new();
    site.file("f", "content");
    let mut server = Server::plain(site.root());
    for offset in [1 << 63, u64::MAX] {
        let got = server.get("f", offset);
        assert!(got.end.error().contains("offset") && got.blocks.is_empty(), "{got:?}");
    }
    server.finish();
}

#[test]
fn under_fast_no_hash_is_told() {
    let site = Site::new();
    let content = noise(10_000, 3);
    site.file("f", &content);
    let mut server = Server::start(site.root()).hello(Caps::FAST);
    let got = server.get("f", 0);
    assert_eq!((got.end.ok(), got.content), (None, content));
    server.finish();
}

/// The algorithms of a Get's blocks, None for raw ones.
fn algos(site: &Site, caps: Caps, name: &str) -> Vec<Option<Algo>> {
    let mut server = Server::start(site.root()).hello(caps);
    let got = server.get(name, 0);
    assert!(got.content == site.read(name), "{name} came out differently under {caps:?}");
    let hash = got.end.ok().map(str::to_owned);
    assert_eq!(hash, (!caps.has(Caps::FAST)).then(|| hex(&got.content)));
    server.finish();
    let algo = |block: &Reply| match block {
        Reply::DataCompressed { algo, .. } => Some(*algo),
        _ => None,
    };
    got.blocks.iter().map(algo).collect()
}

#[test]
fn only_agreed_codecs_are_used_and_zstd_where_both_are() {
    let site = Site::new();
    site.file("text", text(3_000_000));
    let all_are = |caps, algo: Option<Algo>| {
        let algos = algos(&site, caps, "text");
        assert!(!algos.is_empty() && algos.iter().all(|a| *a == algo), "{caps:?}: {algos:?}");
    };
    all_are(Caps::NONE, None);
    all_are(Caps::LZ4, Some(Algo::Lz4));
    all_are(Caps::ZSTD, Some(Algo::Zstd));
    all_are(Caps::LZ4 | Caps::ZSTD, Some(Algo::Zstd));
    all_are(Caps::LZ4 | Caps::ZSTD | Caps::FAST, Some(Algo::Zstd));
}

#[test]
fn a_block_that_no_codec_makes_smaller_goes_raw() {
    let site = Site::new();
    site.file("noise", noise(3_000_000, 4));
    for caps in [Caps::LZ4, Caps::ZSTD] {
        let algos = algos(&site, caps, "noise");
        assert!(!algos.is_empty() && algos.iter().all(Option::is_none), "{caps:?}: {algos:?}");
    }
    // Judged block by block, not by the file.
    site.file("mixed", [noise(4_000_000, 5), text(4_000_000)].concat());
    let algos = algos(&site, Caps::ZSTD, "mixed");
    assert!(algos.contains(&None) && algos.contains(&Some(Algo::Zstd)), "{algos:?}");
}

#[test]
fn a_compressed_get_from_an_offset_is_the_rest() {
    let site = Site::new();
    let content = text(5_000_000);
    site.file("f", &content);
    let mut server = Server::start(site.root()).hello(Caps::ZSTD);
    let got = server.get("f", 1_234_567);
    assert!(got.content == content[1_234_567..]);
    assert_eq!(got.end.ok(), Some(&*hex(&content[1_234_567..])));
    server.finish();
}

#[test]
fn what_cannot_be_got_is_an_error_without_a_block() {
    let site = Site::new();
    site.dir("d");
    site.link("dangling", "nowhere");
    let mut server = Server::plain(site.root());
    for path in ["no", "d", "", "dangling"] {
        let got = server.get(path, 0);
        assert!(got.end.is_error() && got.blocks.is_empty(), "{path}: {got:?}");
    }
    server.finish();
}

#[test]
fn a_file_without_a_size_is_sent_to_its_end() {
    // Files of /proc have content and a size of 0.
    let version = fs::read("/proc/version").unwrap();
    let mut server = Server::plain("/proc");
    let got = server.get("version", 0);
    assert_eq!((got.end.ok(), &got.content), (Some(&*hex(&version)), &version));
    assert_eq!(server.get("version", 6).content, &version[6..]);
    server.finish();
}

/// A directory whose files claim a page, and hold less.
fn sysfs() -> Option<&'static Path> {
    let dir = Path::new("/sys/devices/virtual/net/lo");
    if !dir.exists() {
        println!("not run: there is no {}", dir.display());
    }
    dir.exists().then_some(dir)
}

#[test]
fn a_file_with_less_content_than_its_size_is_sent_to_its_end() {
    let Some(dir) = sysfs() else { return };
    let mtu = fs::read(dir.join("mtu")).unwrap();
    assert!(dir.join("mtu").metadata().unwrap().len() > mtu.len() as u64);
    let mut server = Server::plain(dir);
    let got = server.get("mtu", 0);
    assert_eq!((got.end.ok(), got.content), (Some(&*hex(&mtu)), mtu));
    server.finish();
}

#[test]
fn a_file_that_cannot_be_read_to_its_end_is_an_error_and_never_an_ok() {
    // The loopback interface has no speed: the file opens, and reading it fails.
    let Some(dir) = sysfs() else { return };
    assert!(fs::read(dir.join("speed")).is_err());
    let mut server = Server::plain(dir);
    for _ in 0..2 {
        let got = server.get("speed", 0);
        assert!(got.end.is_error() && got.content.is_empty(), "{got:?}");
        let reply = server.ask(&Message::Hash { path: "speed", offset: 0, limit: None });
        assert!(reply.is_error(), "{reply:?}");
    }
    assert!(server.get("mtu", 0).end.ok().is_some());
    server.finish();
}

#[test]
fn a_file_that_grows_while_it_is_sent_is_sent_as_long_as_it_was() {
    let site = Site::new();
    let content = noise(16 << 20, 6);
    let path = site.file("f", &content);
    let mut server = Server::plain(site.root());
    server.send(&Message::Get { path: "f", offset: 0 });
    // The first block is here, and the pipe is full by now.
    let first = server.reply();
    fs::OpenOptions::new().append(true).open(path).unwrap().write_all(b"more").unwrap();
    let rest = server.from.got();
    assert_eq!(original(&first) + rest.content.len(), content.len());
    assert_eq!(rest.end.ok(), Some(&*hex(&content)));
    server.finish();
}

#[test]
fn a_file_that_shrinks_while_it_is_sent_is_never_padded() {
    let site = Site::new();
    let content = noise(16 << 20, 7);
    let path = site.file("f", &content);
    let mut server = Server::plain(site.root());
    server.send(&Message::Get { path: "f", offset: 0 });
    let first = server.reply();
    fs::OpenOptions::new().write(true).open(path).unwrap().set_len(8 << 20).unwrap();
    let rest = server.from.got();
    let got = [if let Reply::Data { payload } = first { payload } else { panic!() }, rest.content].concat();
    assert!(got.len() < content.len() && content.starts_with(&got), "{} bytes", got.len());
    // Either is fair: an Error, or the hash of what was sent, which tells the client that it is not all.
    if let Reply::Ok { hash } = rest.end {
        assert_eq!(hash.unwrap(), hex(&got));
    }
    server.finish();
}

#[test]
fn a_range_comes_as_its_blocks_and_an_ok_without_a_hash() {
    let site = Site::new();
    let content = noise(5_000_000, 8);
    site.file("f", &content);
    site.file("empty", "");
    let mut server = Server::plain(site.root());
    let mut range = |path, offset: u64, length: u64| {
        server.send(&Message::GetChunked { path, offset, length });
        server.from.got()
    };
    for (offset, length) in [(0, 1), (0, 5_000_000), (1, 4_999_999), (4_999_999, 1), (262_000, 300_000)] {
        let got = range("f", offset, length);
        let (from, len) = (usize::try_from(offset).unwrap(), usize::try_from(length).unwrap());
        assert!(got.content == content[from..from + len], "{offset} {length}");
        assert_eq!(got.end.ok(), None);
    }
    let got = range("empty", 0, 0);
    assert_eq!((got.end.ok(), got.blocks.len()), (None, 0));
    server.finish();
}

#[test]
fn a_range_that_is_not_inside_the_file_is_refused_without_a_block() {
    let site = Site::new();
    site.file("f", "seven b");
    site.file("empty", "");
    let mut server = Server::plain(site.root());
    for (path, offset, length) in [
        ("f", 0, 8),
        ("f", 7, 1),
        ("f", 8, 0),
        ("f", 0, 0),
        ("f", 7, 0),
        ("f", 1, u64::MAX),
        ("f", u64::MAX, 1),
        ("f", u64::MAX, u64::MAX),
        ("empty", 0, 1),
        ("empty", 1, 0),
    ] {
        server.send(&Message::GetChunked { path, offset, length });
        let got = server.from.got();
        assert!(got.end.is_error() && got.blocks.is_empty(), "{path} {offset} {length}: {got:?}");
    }
    server.finish();
}
