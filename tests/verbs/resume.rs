//! Resume.

use bcmr_tests::content::{hex, noise};
use bcmr_tests::{Reply, Server, Site};
use bcmr_wire::Message;
use bcmr_wire::limits::MAX_BLOCK;

fn resume(server: &mut Server, path: &str) -> Reply {
    server.ask(&Message::Resume { path })
}

#[test]
fn size_and_hash_are_those_of_the_file_and_its_last_whole_block() {
    let site = Site::new();
    let content = noise(2 * MAX_BLOCK + 5, 1);
    for size in [0, 1, MAX_BLOCK - 1, MAX_BLOCK, MAX_BLOCK + 1, 2 * MAX_BLOCK, 2 * MAX_BLOCK + 5] {
        site.file("f", &content[..size]);
        let mut server = Server::plain(site.root());
        let whole = size / MAX_BLOCK;
        let block = (whole > 0).then(|| hex(&content[(whole - 1) * MAX_BLOCK..whole * MAX_BLOCK]));
        assert_eq!(resume(&mut server, "f"), Reply::Resume { size: size as u64, block_hash: block });
        server.finish();
    }
}

#[test]
fn what_is_absent_has_size_0_and_its_parents_may_be_absent_too() {
    let site = Site::new();
    let before = site.everything();
    let mut server = Server::plain(site.root());
    for path in ["no", "no/where/at/all", &site.host("no")] {
        assert_eq!(resume(&mut server, path), Reply::Resume { size: 0, block_hash: None }, "{path}");
    }
    server.finish();
    assert_eq!(site.everything(), before);
}

#[test]
fn a_link_counts_as_its_target() {
    let site = Site::new();
    site.file("d/f", "four");
    site.link("l", "d/f");
    let mut server = Server::plain(site.root());
    assert_eq!(resume(&mut server, "l"), Reply::Resume { size: 4, block_hash: None });
    server.finish();
}

#[test]
fn a_directory_a_dangling_link_and_a_file_as_parent_are_errors() {
    let site = Site::new();
    site.dir("d");
    site.file("f", "x");
    site.link("dangling", "nowhere");
    site.link("far", "no/where");
    let mut server = Server::plain(site.root());
    for path in ["", "d", "f/below", "f/below/it", "dangling", "dangling/below", "far"] {
        let reply = resume(&mut server, path);
        assert!(reply.is_error(), "{path}: {reply:?}");
    }
    server.finish();
}
