//! Mkdir.

use std::os::unix::fs::PermissionsExt;

use bcmr_tests::{Launch, Reply, Server, Site};
use bcmr_wire::{Caps, Message};

const OK: Reply = Reply::Ok { hash: None };

fn mkdir(server: &mut Server, path: &str) -> Reply {
    server.ask(&Message::Mkdir { path })
}

#[test]
fn missing_parents_are_made() {
    let site = Site::new();
    let mut server = Server::plain(site.root());
    assert_eq!(mkdir(&mut server, "a/b/c"), OK);
    assert_eq!(mkdir(&mut server, &site.host("x/y")), OK);
    assert_eq!(site.tree().paths(), ["a", "a/b", "a/b/c", "x", "x/y"]);
    server.finish();
}

#[test]
fn a_directory_that_exists_is_as_good_and_keeps_what_is_in_it() {
    let site = Site::new();
    site.file("d/f", "kept");
    site.link("l", "d");
    let before = site.everything();
    let mut server = Server::plain(site.root());
    for path in ["d", "d/", "", ".", "l", "l/", &site.host("d")] {
        assert_eq!(mkdir(&mut server, path), OK, "{path}");
    }
    server.finish();
    assert_eq!(site.everything(), before);
}

#[test]
fn a_directory_is_made_through_a_link_to_one() {
    let site = Site::new();
    site.dir("d");
    site.link("l", "d");
    let mut server = Server::plain(site.root());
    assert_eq!(mkdir(&mut server, "l/new/er"), OK);
    assert!(site.path("d/new/er").is_dir());
    server.finish();
}

#[test]
fn nothing_is_made_where_something_else_stands_or_a_link_leads_nowhere() {
    let site = Site::new();
    site.file("f", "file");
    site.fifo("fifo");
    site.link("dangling", "nowhere");
    site.link("out", site.outside());
    let before = site.everything();
    let mut server = Server::plain(site.root());
    for path in ["f", "f/below", "fifo", "fifo/below", "dangling", "dangling/below", "out", "out/below"] {
        let reply = mkdir(&mut server, path);
        assert!(reply.is_error(), "{path}: {reply:?}");
    }
    assert_eq!(site.everything(), before);
    assert_eq!(mkdir(&mut server, "allowed"), OK);
    server.finish();
}

#[test]
fn what_was_made_on_the_way_is_taken_back_where_the_last_fails() {
    let site = Site::new();
    let before = site.everything();
    let mut server = Server::plain(site.root());
    let too_long = format!("a/b/{}", "n".repeat(256));
    assert!(mkdir(&mut server, &too_long).is_error());
    assert_eq!(site.everything(), before);
    server.finish();
}

#[test]
fn a_directory_gets_the_mode_that_mkdir_gives_it() {
    let site = Site::new();
    site.dir("setgid");
    site.chmod("setgid", 0o2775);
    let mut server = Launch::new(site.root()).after_shell("umask 027").start().hello(Caps::NONE);
    assert_eq!(mkdir(&mut server, "plain"), OK);
    assert_eq!(mkdir(&mut server, "setgid/child"), OK);
    let mode = |name| site.path(name).metadata().unwrap().permissions().mode() & 0o7777;
    assert_eq!(mode("plain"), 0o750);
    assert_eq!(mode("setgid/child"), 0o2750);
    server.finish();
}

#[test]
fn with_sync_directories_are_flushed_before_the_ok() {
    let site = Site::new();
    let mut server = Server::start(site.root()).hello(Caps::SYNC);
    assert_eq!(mkdir(&mut server, "a/b"), OK);
    assert!(site.path("a/b").is_dir());
    server.finish();

    // The flush is refused, and with it the Ok; where none was agreed on, nobody notices.
    let mut server = Launch::new(site.root()).without(&["fsync=EIO"]).start().hello(Caps::SYNC);
    let reply = mkdir(&mut server, "c/d");
    assert!(reply.error().contains("not durable"), "{reply:?}");
    server.finish();
    let mut server = Launch::new(site.root()).without(&["fsync=EIO"]).start().hello(Caps::NONE);
    assert_eq!(mkdir(&mut server, "e/f"), OK);
    server.finish();
}
