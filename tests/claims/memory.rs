//! S5 with the whole sandbox on: at most 48 MiB resident, whatever the client sends or asks for. What each kind of
//! input costs is measured in `tests/verbs`, `memory`, whose sessions are sandboxed as far as the host allows.

use bcmr_tests::content::{noise, text};
use bcmr_tests::policy::Profile;
use bcmr_tests::{Policy, Reply, Site};
use bcmr_wire::limits::{MAX_BLOCK, MAX_PAYLOAD};
use bcmr_wire::message::Algo;
use bcmr_wire::{Caps, Message};

/// KiB of the resident set at its largest.
const LIMIT: u64 = 48 * 1024;

#[test]
#[ignore = "needs root to write a policy: run by tests/run"]
fn one_session_that_does_its_worst_in_turn_stays_below_48_mib_in_the_whole_sandbox() {
    let site = Site::new();
    let dir = site.dir("d");
    for i in 0..1000 {
        std::fs::File::create(dir.join(format!("{i:0196}"))).unwrap();
    }
    (1..75).for_each(|i| drop(site.link(&format!("l{i}"), "d")));
    let policy = Policy::of(&Profile::new(&site).key("overwrite", true).key("sandbox", r#""require""#));
    let mut server = policy.launch().start().hello(Caps(0xff).without(Caps::SYNC));
    let idle = server.peak_kib();
    let hashes = vec![[7; 32]; 524_287];
    let message = "m".repeat(MAX_PAYLOAD - 5);
    let contents = [noise(2 * MAX_BLOCK, 1), text(2 * MAX_BLOCK)];
    let bomb = zstd::bulk::compress(&vec![0; 256 << 20], 3).unwrap();
    for _ in 0..2 {
        assert!(server.ask(&Message::HaveBlocks { block_size: 1, hashes: &hashes }).is_error());
        assert!(server.ask(&Message::Error { message: &message }).is_error());
        assert!(server.ask(&Message::List { path: "" }).entries().len() >= 75 * 1001);
        for content in &contents {
            server.send(&Message::Put { path: "f", size: content.len() as u64, offset: 0, overwrite: true });
            content.chunks(MAX_BLOCK).for_each(|payload| server.send(&Message::Data { payload }));
            assert!(!server.ask(&Message::Done).is_error());
            assert!(server.get("f", 0).content == *content);
        }
        server.send(&Message::Put { path: "bomb", size: 4 << 30, offset: 0, overwrite: true });
        server.send(&Message::DataCompressed { algo: Algo::Zstd, original_size: 4 << 20, payload: &bomb });
        server.send(&Message::DataCompressed {
            algo: Algo::Lz4,
            original_size: 4 << 20,
            payload: &[0xff; 4 << 20],
        });
        assert!(server.reply().is_error());
        server.send(&Message::Done);
        for path in ["a/".repeat(30_000), "n".repeat(60_000), "l1/".repeat(1300)] {
            assert!(server.ask(&Message::Stat { path: &path }).is_error());
        }
    }
    assert!(matches!(server.ask(&Message::Stat { path: "f" }), Reply::Stat { .. }));
    let peak = server.peak_kib();
    println!("{idle} KiB when it was greeted, {peak} KiB at its peak");
    assert!(peak < LIMIT, "{peak} KiB");
    server.finish();
}
