//! What a session costs in memory, whatever the client sends or asks for: at most 48 MiB at its peak.

use bcmr_tests::content::{noise, text};
use bcmr_tests::{Server, Site};
use bcmr_wire::limits::{MAX_BLOCK, MAX_PAYLOAD};
use bcmr_wire::message::Algo;
use bcmr_wire::{Caps, Message};

/// KiB of the resident set at its largest.
const LIMIT: u64 = 48 * 1024;

#[track_caller]
fn check(server: Server, what: &str) {
    let peak = server.peak_kib();
    assert!(peak < LIMIT, "{what}: {peak} KiB");
    server.finish();
}

#[test]
fn the_longest_frames_fit() {
    let site = Site::new();
    let mut server = Server::plain(site.root());
    let hashes = vec![[7; 32]; 524_287];
    let message = "m".repeat(MAX_PAYLOAD - 5);
    for _ in 0..3 {
        assert!(server.ask(&Message::HaveBlocks { block_size: 1, hashes: &hashes }).is_error());
        assert!(server.ask(&Message::Error { message: &message }).is_error());
    }
    check(server, "frames of 16 MiB");
}

#[test]
fn the_longest_listing_fits() {
    let site = Site::new();
    let dir = site.dir("d");
    for i in 0..1000 {
        std::fs::File::create(dir.join(format!("{i:0196}"))).unwrap();
    }
    (1..75).for_each(|i| drop(site.link(&format!("{i}"), "d")));
    let mut server = Server::plain(site.root());
    for _ in 0..2 {
        assert_eq!(server.ask(&Message::List { path: "" }).entries().len(), 75 * 1001);
    }
    drop(site.link("75", "d"));
    drop(site.link("76", "d"));
    assert!(server.ask(&Message::List { path: "" }).is_error());
    check(server, "a listing of 16 MiB");
}

#[test]
fn the_longest_blocks_fit_both_ways() {
    let site = Site::new();
    let (noise, text) = (noise(2 * MAX_BLOCK, 1), text(2 * MAX_BLOCK));
    for caps in [Caps::NONE, Caps::LZ4, Caps::ZSTD] {
        let mut server = Server::start(site.root()).hello(caps);
        for content in [&noise, &text] {
            server.send(&Message::Put { path: "f", size: 2 * MAX_BLOCK as u64, offset: 0, overwrite: true });
            for block in content.chunks(MAX_BLOCK) {
                server.send(&Message::Data { payload: block });
            }
            assert!(!server.ask(&Message::Done).is_error());
            assert!(server.get("f", 0).content == *content);
        }
        check(server, "blocks of 4 MiB");
    }
    // Small frames that decode to much more than they may.
    let mut server = Server::start(site.root()).hello(Caps::ZSTD);
    let bomb = zstd::bulk::compress(&vec![0; 256 << 20], 3).unwrap();
    for _ in 0..5 {
        server.send(&Message::Put { path: "bomb", size: 4 << 30, offset: 0, overwrite: true });
        server.send(&Message::DataCompressed { algo: Algo::Zstd, original_size: 4 << 20, payload: &bomb });
        assert!(server.reply().is_error());
        server.send(&Message::Done);
    }
    check(server, "blocks that decode to 256 MiB");
}

#[test]
fn a_client_that_asks_and_does_not_read_costs_nothing() {
    let site = Site::new();
    site.file("f", noise(1 << 20, 2));
    let mut server = Server::plain(site.root());
    let mut requests = Vec::new();
    for _ in 0..5_000 {
        Message::Get { path: "f", offset: 0 }.encode(&mut requests).unwrap();
    }
    // Five GiB are asked for, and little is taken: the server waits.
    server.to.send_raw(&requests[..64 << 10]);
    server.from.got();
    let peak = server.peak_kib();
    assert!(peak < LIMIT, "{peak} KiB");
}
