//! S12: a block that was answered as present is there when its turn comes.

use std::fs;
use std::path::Path;
use std::sync::atomic::{AtomicBool, Ordering};
use std::time::{Duration, Instant};

use bcmr_tests::content::{hex, noise};
use bcmr_wire::Message;
use bcmr_wire::limits::MAX_BLOCK;

use crate::scene::{MIB, Scene, announce, blocks, greeted, missing, remove, send, upload};

#[test]
fn nativelink_2762_s12_what_was_promised_is_there_though_another_session_evicts_all_of_it_meanwhile() {
    let scene = Scene::new(32);
    let old = noise(5 * MAX_BLOCK, 1);
    scene.upload("old", &old);
    let new = [&old[..], &noise(MAX_BLOCK + 9, 2)].concat();
    let mut server = scene.server();
    assert_eq!(missing(&announce(&mut server, "new", &new), 7), [5, 6]);
    // Between MissingBlocks and the blocks, and between those and Done.
    scene.upload("other", &noise(40 * MIB, 3));
    assert!(blocks(&old).iter().all(|block| !scene.block(block).exists()), "nothing was evicted");
    send(&mut server, &new, &[5]);
    remove(&scene.blocks());
    send(&mut server, &new, &[6]);
    assert_eq!(server.ask(&Message::Done).ok(), Some(&*hex(&new)));
    assert!(scene.site.read("new") == new);
    server.finish();
}

#[test]
fn s12_an_upload_of_which_everything_is_there_needs_the_store_no_more() {
    let scene = Scene::new(64);
    let content = noise(9 * MAX_BLOCK, 1);
    scene.upload("old", &content);
    let mut server = scene.server();
    assert_eq!(missing(&announce(&mut server, "new", &content), 9), [0; 0]);
    remove(&scene.state());
    assert_eq!(server.ask(&Message::Done).ok(), Some(&*hex(&content)));
    assert!(scene.site.read("new") == content);
    server.finish();
}

/// However many blocks one file has: they must not each hold a descriptor.
#[test]
fn s12_more_blocks_than_there_are_descriptors_can_be_promised() {
    let scene = Scene::new(64);
    let block = noise(MAX_BLOCK, 1);
    let content = block.repeat(300);
    assert_eq!(scene.upload("once", &block), [0]);
    assert_eq!(scene.upload("often", &content), [0; 0]);
    assert_eq!(fs::metadata(scene.site.path("often")).unwrap().len(), content.len() as u64);
}

/// Whatever others do to the store, each upload ends well: the crowd evicts what one session is promised.
#[test]
fn s12_every_upload_ends_well_while_two_others_evict_as_fast_as_they_can() {
    let scene = Scene::new(24);
    let over = AtomicBool::new(false);
    let content = noise(3 * MAX_BLOCK + 5, 1);
    std::thread::scope(|scope| {
        let evictors: Vec<_> = (0..2)
            .map(|name| {
                let (scene, over) = (&scene, &over);
                scope.spawn(move || {
                    let mut server = scene.server();
                    for seed in 0.. {
                        if over.load(Ordering::Relaxed) {
                            break;
                        }
                        upload(
                            &mut server,
                            &format!("evictor-{name}"),
                            &noise(9 * MIB, 1000 * (name + 1) + seed),
                        );
                    }
                    server.finish();
                })
            })
            .collect();
        let mut server = scene.server();
        let mut found = 0;
        for _ in 0..30 {
            found += 4 - upload(&mut server, "f", &content).len();
        }
        server.finish();
        over.store(true, Ordering::Relaxed);
        evictors.into_iter().for_each(|evictor| evictor.join().unwrap());
        println!("{found} of 120 blocks were found");
        assert!(found > 0 && found < 120, "{found}");
    });
    assert!(scene.site.read("f") == content);
}

/// The disk is full in the middle of what is taken from the store: that ends the upload, and not the session.
#[test]
#[ignore = "needs root to mount: run by tests/run"]
fn what_the_store_has_and_the_disk_has_no_room_for_is_an_error_and_the_session_lives_on() {
    let scene = Scene::new(0);
    let mount = format!("mount -t tmpfs -o size=80m none {}", scene.site.root().display());
    let launch = scene.launch().under(["unshare", "-m", "--propagation", "private"]).after_shell(&mount);
    let mut server = greeted(launch);
    let content = noise(10 * MAX_BLOCK, 1);
    upload(&mut server, "old", &content);
    let deadline = Instant::now() + Duration::from_secs(20);
    while taken_in(&scene.state()) < 10 * MAX_BLOCK as u64 {
        assert!(Instant::now() < deadline, "nothing was stored");
    }
    // 72 MiB of 80, and then 40 more.
    upload(&mut server, "other", &noise(8 * MAX_BLOCK, 2));
    let answer = announce(&mut server, "new", &content);
    assert!(answer.error().contains("space"), "{answer:?}");
    server.send(&Message::Done);
    assert!(!server.ask(&Message::Stat { path: "old" }).is_error());
    server.finish();
}

/// Bytes of all files below a directory.
fn taken_in(dir: &Path) -> u64 {
    let entries = fs::read_dir(dir).into_iter().flatten().flatten();
    let size = |entry: fs::DirEntry| match entry.metadata() {
        Ok(metadata) if metadata.is_dir() => taken_in(&entry.path()),
        Ok(metadata) => metadata.len(),
        Err(_) => 0,
    };
    entries.map(size).sum()
}
