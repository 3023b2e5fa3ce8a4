//! Put: what is published, what is refused, and what is on disk after either.

use std::fs;
use std::os::unix::fs::MetadataExt;
use std::time::Duration;

use bcmr_tests::content::{hex, noise};
use bcmr_tests::disk::Tree;
use bcmr_tests::{Server, Site};
use bcmr_wire::limits::MAX_BLOCK;
use bcmr_wire::{Caps, Message};

/// A Put of a new file.
pub(crate) const fn new(path: &str, size: u64) -> Message<'_> {
    Message::Put { path, size, offset: 0, overwrite: false }
}

/// A Put that may replace.
pub(crate) const fn over(path: &str, size: u64) -> Message<'_> {
    Message::Put { path, size, offset: 0, overwrite: true }
}

pub(crate) const fn data(payload: &[u8]) -> Message<'_> {
    Message::Data { payload }
}

/// A site with something in it, and what it looked like.
pub(crate) fn furnished() -> (Site, Tree) {
    let site = Site::new();
    site.file("f", "old bytes");
    site.file("d/g", "other old bytes");
    let before = site.everything();
    (site, before)
}

// ---- what is published

#[test]
fn a_file_of_any_size_arrives_whole_and_its_hash_comes_back() {
    let site = Site::new();
    for size in [0, 1, 4095, 4096, 4097, 262_144, 1_048_577, MAX_BLOCK, 2 * MAX_BLOCK + 3] {
        let content = noise(size, size as u64);
        let mut server = Server::plain(site.root());
        let name = format!("f-{size}");
        assert_eq!(server.put(&name, &content, false).ok(), Some(&*hex(&content)), "{size}");
        assert!(site.read(&name) == content, "{size} bytes arrived differently");
        server.finish();
    }
    assert!(site.tree().stages().is_empty());
}

#[test]
fn blocks_may_have_any_length_up_to_4_mib_and_be_empty() {
    let site = Site::new();
    let content = noise(MAX_BLOCK + 5000, 1);
    let mut server = Server::plain(site.root());
    server.send(&new("f", content.len() as u64));
    let mut rest = &content[..];
    for len in [0, 1, 0, 2, 4093, 900, 0, MAX_BLOCK] {
        server.send(&data(&rest[..len]));
        rest = &rest[len..];
    }
    server.send(&data(rest));
    assert_eq!(server.ask(&Message::Done).ok(), Some(&*hex(&content)));
    assert!(site.read("f") == content);
    server.finish();
}

#[test]
fn the_hash_comes_back_under_fast_too() {
    let site = Site::new();
    let mut server = Server::start(site.root()).hello(Caps::FAST);
    assert_eq!(server.put("f", b"content", false).ok(), Some(&*hex(b"content")));
    server.finish();
}

#[test]
fn missing_parents_are_made_and_a_trailing_slash_is_dropped() {
    let site = Site::new();
    let mut server = Server::plain(site.root());
    for path in ["a/b/f", "./c//g/", &site.host("h/i")] {
        assert!(server.put(path, b"x", false).ok().is_some(), "{path}");
    }
    assert_eq!(site.tree().paths(), ["a", "a/b", "a/b/f", "c", "c/g", "h", "h/i"]);
    server.finish();
}

#[test]
fn with_overwrite_a_file_is_replaced_and_what_was_open_stays_whole() {
    let (site, _) = furnished();
    let mut old = fs::File::open(site.path("f")).unwrap();
    fs::hard_link(site.path("f"), site.path("other name")).unwrap();
    let mut server = Server::plain(site.root());
    assert!(server.put("f", b"new", true).ok().is_some());
    assert_eq!(site.read("f"), b"new");
    assert_eq!(site.read("other name"), b"old bytes");
    let mut seen = String::new();
    std::io::Read::read_to_string(&mut old, &mut seen).unwrap();
    assert_eq!(seen, "old bytes");
    // Where nothing stands, overwrite asks for nothing.
    assert!(server.put("absent", b"new", true).ok().is_some());
    server.finish();
}

#[test]
fn a_link_at_the_name_is_followed_and_the_file_it_names_is_replaced_beside_itself() {
    let (site, _) = furnished();
    site.link("l", "d/g");
    site.link("abs", site.path("d/g"));
    let mut server = Server::plain(site.root());
    for (link, content) in [("l", "by l"), ("abs", "by abs")] {
        assert!(server.put(link, content.as_bytes(), true).ok().is_some());
        assert_eq!(site.read("d/g"), content.as_bytes());
        assert!(site.path(link).symlink_metadata().unwrap().is_symlink());
    }
    // No stage and no file came to be beside the link.
    assert_eq!(site.tree().paths(), ["abs", "d", "d/g", "f", "l"]);
    server.finish();
}

#[test]
fn runs_of_zeros_become_holes() {
    let site = Site::new();
    let mut content = vec![0; 16 << 20];
    content[5 << 20] = 1;
    let mut server = Server::plain(site.root());
    assert_eq!(server.put("f", &content, false).ok(), Some(&*hex(&content)));
    assert!(site.read("f") == content);
    let on_disk = site.path("f").metadata().unwrap().blocks() * 512;
    assert!(on_disk <= 1 << 20, "{on_disk} bytes on disk");
    server.finish();
}

// ---- what is refused

#[test]
fn without_overwrite_a_name_that_exists_is_refused_at_once_and_untouched() {
    let (site, _) = furnished();
    site.link("l", "f");
    let before = site.everything();
    let mut server = Server::plain(site.root());
    for path in ["f", "d/g", "l", "f/", &site.host("f")] {
        // Nothing of its content is sent yet.
        let reply = server.ask(&new(path, 3));
        assert!(reply.error().contains("already exists"), "{path}: {reply:?}");
    }
    server.finish();
    assert_eq!(site.everything(), before);
}

#[test]
fn a_name_that_comes_to_exist_meanwhile_is_not_touched_either() {
    let site = Site::new();
    let mut server = Server::plain(site.root());
    server.send(&new("f", 3));
    server.send(&data(b"new"));
    server.from.stays_silent(Duration::from_millis(100));
    site.file("f", "someone else's");
    let before = site.tree();
    let reply = server.ask(&Message::Done);
    assert!(reply.error().contains("already exists"), "{reply:?}");
    assert_eq!(site.tree(), before);
    server.finish();
}

#[test]
fn what_is_no_regular_file_is_never_replaced() {
    let (site, _) = furnished();
    site.fifo("fifo");
    site.socket("socket");
    site.dir("empty");
    site.link("to-dir", "empty");
    site.link("to-fifo", "fifo");
    let before = site.everything();
    let mut server = Server::plain(site.root());
    for path in ["fifo", "socket", "empty", "empty/", "d", "to-dir", "to-fifo", "", ".", &site.host("")] {
        for overwrite in [false, true] {
            let reply = server.ask(&Message::Put { path, size: 0, offset: 0, overwrite });
            assert!(reply.is_error(), "{path}: {reply:?}");
        }
    }
    server.finish();
    assert_eq!(site.everything(), before);
}

#[test]
fn a_fifo_that_appears_meanwhile_is_not_replaced() {
    for overwrite in [false, true] {
        let site = Site::new();
        let mut server = Server::plain(site.root());
        server.send(&Message::Put { path: "f", size: 3, offset: 0, overwrite });
        server.send(&data(b"new"));
        server.from.stays_silent(Duration::from_millis(100));
        site.fifo("f");
        let before = site.tree();
        assert!(server.ask(&Message::Done).is_error());
        assert_eq!(site.tree(), before);
        server.finish();
    }
}

#[test]
fn a_file_as_parent_and_a_dangling_link_are_refused() {
    let (site, _) = furnished();
    site.link("dangling", "nowhere");
    site.link("far", "no/where");
    let before = site.everything();
    let mut server = Server::plain(site.root());
    for path in ["f/below", "f/below/it", "dangling", "far", "dangling/below", "far/below"] {
        for overwrite in [false, true] {
            let reply = server.ask(&Message::Put { path, size: 0, offset: 0, overwrite });
            assert!(reply.is_error(), "{path}: {reply:?}");
        }
    }
    server.finish();
    assert_eq!(site.everything(), before);
}

#[test]
fn more_than_the_declared_size_is_refused_at_once() {
    let (site, before) = furnished();
    let mut server = Server::plain(site.root());
    for (size, blocks) in [(0, &[1][..]), (5, &[6]), (5, &[5, 1]), (5, &[4, 2]), (5, &[MAX_BLOCK])] {
        server.send(&over("f", size));
        blocks.iter().for_each(|len| server.send(&data(&noise(*len, 0))));
        // Before Done, and what follows up to Done is passed over.
        let reply = server.reply();
        assert!(reply.error().contains("past the declared size"), "{reply:?}");
        server.send(&data(b"more"));
        server.send(&Message::Done);
    }
    server.finish();
    assert_eq!(site.everything(), before);
}

#[test]
fn fewer_than_the_declared_size_are_refused_with_both_numbers() {
    let (site, before) = furnished();
    let mut server = Server::greeted(site.root());
    for (size, sent) in [(1, 0), (5, 4), (u64::MAX, 3), (1 << 40, MAX_BLOCK)] {
        server.send(&over("f", size));
        server.send(&data(&noise(sent, 0)));
        let reply = server.ask(&Message::Done);
        let numbers = format!("declared {size} bytes, received {sent}");
        assert!(reply.error().contains(&numbers), "{reply:?}");
    }
    // The bytes kept count as received.
    server.send(&Message::Put { path: "f", size: 100, offset: 4, overwrite: true });
    server.send(&data(b"abc"));
    assert!(server.ask(&Message::Done).error().contains("declared 100 bytes, received 7"));
    server.finish();
    assert_eq!(site.everything(), before);
}

#[test]
fn parents_made_for_a_put_go_with_it_while_they_are_empty() {
    let site = Site::new();
    site.file("a/kept", "");
    let before = site.everything();
    let mut server = Server::plain(site.root());
    for fails_at_done in [false, true] {
        server.send(&new("a/b/c/f", 3));
        server.send(&data(if fails_at_done { b"xy" } else { b"xyzw" }));
        server.send(&Message::Done);
        assert!(server.reply().is_error());
        assert_eq!(site.everything(), before, "at Done: {fails_at_done}");
    }
    // What someone has put into one of them stays, and so does the way to it.
    server.send(&new("a/b/c/f", 3));
    server.send(&data(b"xy"));
    server.from.stays_silent(Duration::from_millis(100));
    site.file("a/b/theirs", "");
    assert!(server.ask(&Message::Done).is_error());
    assert_eq!(site.tree().paths(), ["a", "a/b", "a/b/theirs", "a/kept"]);
    server.finish();
}

#[test]
fn a_name_too_long_is_refused_and_leaves_no_parent() {
    let site = Site::new();
    let mut server = Server::plain(site.root());
    for path in [format!("a/b/{}", "n".repeat(256)), format!("a/{}/b", "n".repeat(256))] {
        server.send(&new(&path, 1));
        server.send(&data(b"x"));
        server.send(&Message::Done);
        let reply = server.reply();
        assert!(reply.error().contains("too long"), "{reply:?}");
        assert!(site.tree().paths().is_empty(), "{:?}", site.tree());
    }
    server.finish();
}

#[test]
fn rclone_8641_two_names_of_255_bytes_that_differ_in_the_last_both_land() {
    let site = Site::new();
    let names = ["a", "b"].map(|last| format!("{}{last}", "n".repeat(254)));
    let mut servers = names.each_ref().map(|_| Server::plain(site.root()));
    for (server, name) in servers.iter_mut().zip(&names) {
        server.send(&new(name, name.len() as u64));
    }
    for (server, name) in servers.iter_mut().zip(&names) {
        server.send(&data(name.as_bytes()));
        assert!(server.ask(&Message::Done).ok().is_some());
    }
    for name in &names {
        assert_eq!(site.read(name), name.as_bytes());
    }
    servers.into_iter().for_each(Server::finish);
}

#[test]
fn reserved_names_can_be_neither_put_nor_touched() {
    let site = Site::new();
    let stage = ".bcmr-0123456789abcdef0123456789abcdef";
    site.file(stage, "stage");
    let before = site.everything();
    let mut server = Server::plain(site.root());
    for path in [stage.to_owned(), format!("{stage}/x"), format!("new/{stage}"), site.host(stage)] {
        for request in [
            new(&path, 0),
            over(&path, 0),
            Message::Put { path: &path, size: 9, offset: 1, overwrite: true },
            Message::Mkdir { path: &path },
            Message::Stat { path: &path },
            Message::Get { path: &path, offset: 0 },
            Message::Hash { path: &path, offset: 0, limit: None },
            Message::List { path: &path },
            Message::Resume { path: &path },
        ] {
            let reply = server.ask(&request);
            assert!(reply.error().contains("reserved"), "{path}: {reply:?}");
        }
    }
    server.finish();
    assert_eq!(site.everything(), before);
}

// ---- what is not offered

#[test]
fn striped_uploads_and_truncate_are_refused_with_the_reason_and_the_file_is_untouched() {
    let (site, before) = furnished();
    let mut server = Server::greeted(site.root());
    for path in ["f", "absent", "no/where"] {
        let reply = server.ask(&Message::PutChunked { path, offset: 0, length: 3 });
        assert!(reply.error().contains("striped uploads") && reply.error().contains("transaction"));
        server.send(&data(b"new"));
        server.send(&Message::Done);
        let reply = server.ask(&Message::Truncate { path, size: 1 });
        assert!(reply.error().contains("striped uploads") && reply.error().contains("transaction"));
    }
    assert_eq!(server.get("f", 0).content, b"old bytes");
    server.finish();
    assert_eq!(site.everything(), before);
}

#[test]
fn hashes_ahead_of_a_put_are_refused_where_dedup_was_not_agreed_on() {
    let (site, before) = furnished();
    let mut server = Server::plain(site.root());
    server.send(&over("f", 3));
    let reply = server.ask(&Message::HaveBlocks { block_size: 4_194_304, hashes: &[[0; 32]] });
    assert!(reply.error().contains("CAP_DEDUP"), "{reply:?}");
    server.send(&data(b"new"));
    server.send(&Message::Done);
    assert_eq!(server.get("f", 0).content, b"old bytes");
    server.finish();
    assert_eq!(site.everything(), before);
}
