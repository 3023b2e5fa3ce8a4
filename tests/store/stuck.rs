//! A session that was stopped and holds a lock keeps nobody up for more than seconds.

use std::fs::File;
use std::os::fd::AsFd;
use std::path::Path;
use std::time::{Duration, Instant};

use bcmr_tests::content::{hex, noise};
use bcmr_wire::{Caps, Message};
use rustix::fs::{FlockOperation, flock};
use rustix::process::Signal;

use crate::scene::{MIB, Scene, announce, blocks, hashes, missing, send, upload};

/// For all that a session does in one of these tests together.
const SECONDS: Duration = Duration::from_secs(20);

/// A lock as a stopped process holds it: until someone ends it.
fn held(path: &Path, how: FlockOperation) -> File {
    let file = File::options().read(true).write(true).open(path).unwrap();
    flock(file.as_fd(), how).unwrap();
    file
}

#[test]
fn s10_a_lock_that_is_never_let_go_costs_a_session_seconds_and_no_upload() {
    let scene = Scene::new(64);
    let known = noise(9 * MIB, 1);
    scene.upload("known", &known);
    let damaged = noise(5 * MIB, 2);
    scene.upload("damaged", &damaged);
    let block = scene.block(blocks(&damaged)[1]);
    std::fs::write(&block, vec![7; block.metadata().unwrap().len() as usize]).unwrap();
    let alive = held(&scene.part().join("alive"), FlockOperation::NonBlockingLockShared);
    let lock = held(&scene.part().join("usage"), FlockOperation::NonBlockingLockExclusive);
    let begun = Instant::now();
    let mut server = scene.server();
    for seed in 10..40 {
        let content = noise(3 * MIB, seed);
        upload(&mut server, "new", &content);
        // What is stored is found all the same, and what is damaged is not served.
        assert_eq!(upload(&mut server, "known", &known), [0; 0]);
        assert_eq!(upload(&mut server, "damaged", &damaged), [1]);
    }
    server.finish();
    let took = begun.elapsed();
    assert!(took < SECONDS, "{took:?}");
    assert_eq!(scene.site.read("new").len(), 3 * MIB);
    // Nor does a queue of files run out of descriptors.
    let mut server = scene.server();
    for i in 0..600_u64 {
        let content = noise(40, 1000 + i);
        server.send(&Message::Put { path: &format!("{i}"), size: 40, offset: 0, overwrite: false });
        server.send(&Message::HaveBlocks { block_size: 4 << 20, hashes: &hashes(&content) });
        server.send(&Message::Data { payload: &content });
        server.send(&Message::Done);
        assert_eq!(missing(&server.reply(), 1), [0], "{i}");
        assert_eq!(server.reply().ok(), Some(&*hex(&content)), "{i}");
    }
    server.finish();
    drop((lock, alive));
    // Afterwards it stores again.
    let content = noise(3 * MIB, 50);
    scene.upload("new", &content);
    assert_eq!(scene.upload("new", &content), [0; 0]);
    scene.counts_what_is_there();
}

#[test]
fn a_session_that_is_stopped_while_it_opens_the_store_keeps_no_other_from_serving() {
    let scene = Scene::new(64);
    let content = noise(9 * MIB, 1);
    scene.upload("f", &content);
    let lock = held(&scene.part().join("alive"), FlockOperation::NonBlockingLockExclusive);
    let begun = Instant::now();
    let mut server = scene.launch().start();
    let dedup = server.greet(Caps::DEDUP).has(Caps::DEDUP);
    if dedup {
        upload(&mut server, "g", &content);
    } else {
        assert_eq!(server.put("g", &content, false).ok(), Some(&*hex(&content)));
    }
    let took = begun.elapsed();
    assert!(took < SECONDS, "{took:?}");
    server.finish();
    drop(lock);
}

#[test]
fn s10_sessions_that_are_stopped_at_any_point_hold_nobody_up() {
    let scene = Scene::new(40);
    for stop_after in [0, 3, 10, 25, 60, 120] {
        let mut stopped = scene.server();
        let content = noise(16 * MIB, 1000 + stop_after);
        let lacks = missing(&announce(&mut stopped, "stopped", &content), 4);
        send(&mut stopped, &content, &lacks);
        stopped.send(&Message::Done);
        std::thread::sleep(Duration::from_millis(stop_after));
        stopped.signal(Signal::STOP);
        let begun = Instant::now();
        let mut server = scene.server();
        for seed in 0..3 {
            upload(&mut server, "f", &noise(9 * MIB, 10 * stop_after + seed));
        }
        server.finish();
        let took = begun.elapsed();
        assert!(took < SECONDS, "{took:?}");
        assert!(scene.taken() <= 40 << 20);
        stopped.signal(Signal::CONT);
        assert_eq!(stopped.reply().ok(), Some(&*hex(&content)));
        stopped.finish();
        assert!(scene.taken() <= 40 << 20);
    }
    scene.server().finish();
    scene.counts_what_is_there();
    scene.every_block_is_whole();
}
