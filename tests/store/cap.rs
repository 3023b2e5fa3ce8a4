//! S10: what the cap and the free space leave of the store, and which blocks stay.

use std::fs;
use std::os::unix::fs::PermissionsExt;

use bcmr_tests::content::{hex, noise};
use bcmr_tests::mounts::seen_by;
use bcmr_tests::policy::Profile;
use bcmr_tests::{Policy, Server};
use bcmr_wire::limits::MAX_BLOCK;
use bcmr_wire::{Caps, Message};

use crate::scene::{MIB, Scene, announce, blocks, greeted, missing, taken, upload};

/// What a whole block counts for.
const COST: u64 = MAX_BLOCK as u64 + 4096;

/// Blocks of a content that an upload would not have to send now.
#[track_caller]
fn hits(server: &mut Server, content: &[u8]) -> Vec<usize> {
    let count = blocks(content).len();
    let lacks = missing(&announce(server, "asked", content), count);
    server.send(&Message::Done);
    let _ = server.reply();
    (0..count).filter(|index| !lacks.contains(index)).collect()
}

#[test]
fn the_most_recent_blocks_stay_and_the_hit_rate_falls_smoothly_with_the_cap() {
    let files: Vec<_> = (0..3).map(|seed| noise(24 * MIB, seed)).collect();
    let all = 18;
    println!("cap MiB  oldest  middle  newest  of 6 blocks each   hit rate");
    let mut before = 0;
    for cap in [2, 4, 8, 12, 16, 24, 32, 48, 64, 80] {
        let scene = Scene::new(cap);
        files.iter().for_each(|content| drop(scene.upload("f", content)));
        let mut server = scene.server();
        let found: Vec<_> = files.iter().map(|content| hits(&mut server, content).len()).collect();
        server.finish();
        let sum: usize = found.iter().sum();
        println!(
            "{cap:7}  {:6}  {:6}  {:6}                     {:5.1} %",
            found[0],
            found[1],
            found[2],
            100.0 * sum as f64 / all as f64
        );
        assert!(scene.taken() <= cap << 20);
        // As many as there is room for, less what is emptied at once.
        let (least, most) = ((cap << 20) / 10 * 9 / COST, (cap << 20) / COST);
        let (least, most) = (least.saturating_sub(1).min(all), most.min(all));
        assert!((least..=most).contains(&(sum as u64)), "{sum} of {least} to {most}");
        assert!(sum >= before, "more room, and fewer blocks");
        before = sum;
        // The newest has all that fits, before an older one has anything.
        assert!(found[0] == 0 || found[1] == 6, "{found:?}");
        assert!(found[1] == 0 || found[2] == 6, "{found:?}");
        scene.counts_what_is_there();
    }
    assert_eq!(before, 18);
}

#[test]
fn a_block_that_is_used_again_stays_and_one_that_is_not_goes() {
    let scene = Scene::new(32);
    let (used, idle) = (noise(8 * MIB, 1), noise(8 * MIB, 2));
    scene.upload("used", &used);
    scene.upload("idle", &idle);
    assert_eq!(scene.upload("used again", &used), [0; 0]);
    scene.upload("new", &noise(16 * MIB, 3));
    let mut server = scene.server();
    assert_eq!(hits(&mut server, &used), [0, 1]);
    assert_ne!(hits(&mut server, &idle), [0, 1]);
    server.finish();
}

#[test]
fn an_upload_never_evicts_its_own_blocks_and_stops_to_store_where_it_outgrows_the_cap() {
    let scene = Scene::new(17);
    let content = noise(10 * MAX_BLOCK, 1);
    // However often: had it evicted its own, nothing would be left for its next time.
    for round in 0..3 {
        let sent = scene.upload("f", &content);
        let from = if round == 0 { 0 } else { 4 };
        assert_eq!(sent, (from..10).collect::<Vec<_>>(), "round {round}");
        assert!(scene.site.read("f") == content);
        assert_eq!(scene.count(), 4);
    }
    // Blocks that it was given are its own, too.
    let grown = [&content[..4 * MAX_BLOCK], &noise(6 * MAX_BLOCK, 2)].concat();
    for _ in 0..2 {
        assert_eq!(scene.upload("g", &grown), [4, 5, 6, 7, 8, 9]);
    }
    scene.counts_what_is_there();
}

#[test]
fn a_cap_below_one_block_stores_nothing_and_fails_nothing() {
    let scene = Scene::new(4);
    let content = noise(9 * MIB, 1);
    assert_eq!(scene.upload("f", &content), [0, 1, 2]);
    // The last is short, and fits.
    assert_eq!(scene.upload("f", &content), [0, 1]);
    assert!(scene.site.read("f") == content);
    assert_eq!(scene.count(), 1);
}

#[test]
fn a_cap_that_was_lowered_holds_from_the_next_stored_block_on() {
    let scene = Scene::new(64);
    scene.upload("f", &noise(48 * MIB, 1));
    assert_eq!(scene.count(), 12);
    let scene = scene.capped(16);
    let newest = noise(8 * MIB, 2);
    scene.upload("g", &newest);
    assert!(scene.taken() <= 16 << 20, "{} bytes", scene.taken());
    assert_eq!(hits(&mut scene.server(), &newest), [0, 1]);
    scene.counts_what_is_there();
}

/// Whoever empties the store by hand does not turn it off, and what lies in it unasked counts as well.
#[test]
fn a_store_that_was_changed_by_hand_counts_anew_before_it_gives_up() {
    let scene = Scene::new(32);
    scene.upload("f", &noise(24 * MIB, 1));
    fs::read_dir(scene.blocks()).unwrap().for_each(|block| fs::remove_file(block.unwrap().path()).unwrap());
    let content = noise(24 * MIB, 2);
    scene.upload("g", &content);
    assert_eq!(scene.upload("g", &content), [0; 0]);
    scene.counts_what_is_there();
    // The same with a session that lives all the time.
    let mut server = scene.server();
    fs::read_dir(scene.blocks()).unwrap().for_each(|block| fs::remove_file(block.unwrap().path()).unwrap());
    fs::write(scene.block(b"planted"), noise(40 * MIB, 4)).unwrap();
    upload(&mut server, "h", &noise(24 * MIB, 3));
    server.finish();
    assert!(scene.taken() <= 32 << 20, "{} bytes", scene.taken());
    scene.counts_what_is_there();
}

#[test]
fn without_a_bound_everything_stays() {
    let scene = Scene::new(0);
    let files: Vec<_> = (0..3).map(|seed| noise(24 * MIB, seed)).collect();
    files.iter().for_each(|content| drop(scene.upload("f", content)));
    assert!(files.iter().all(|content| scene.upload("f", content).is_empty()));
}

/// A server under a profile whose state directory is a small file system of its own.
fn on_a_small_disk(scene: &Scene, policy: &Policy, options: &str) -> Server {
    fs::create_dir_all(scene.state()).unwrap();
    let mount = format!("mount -t tmpfs -o mode=700,{options} none {}", scene.state().display());
    let launch = policy.launch().under(["unshare", "-m", "--propagation", "private"]);
    launch.after_shell(&mount).start()
}

#[test]
#[ignore = "needs root to mount: run by tests/run"]
fn s10_the_store_never_takes_its_disk_below_min_free_and_what_does_not_fit_is_not_stored() {
    let scene = Scene::new(0);
    let profile = Profile::new(&scene.site).key("overwrite", true);
    let policy = Policy::of(&profile.key("cas", r#"{ cap = "1GiB", min_free = "20MiB" }"#));
    let mut server = on_a_small_disk(&scene, &policy, "size=48m");
    assert!(server.greet(Caps::DEDUP | Caps::PUT_OFFSET).has(Caps::DEDUP));
    let disk = seen_by(&server, &scene.state());
    let free = || {
        let disk = rustix::fs::statvfs(&disk).unwrap();
        disk.f_bavail * disk.f_frsize
    };
    let mut least = u64::MAX;
    for seed in 0..4 {
        let content = noise(24 * MIB, seed);
        let answer = announce(&mut server, "f", &content);
        for index in missing(&answer, 6) {
            server.send(&Message::Data { payload: blocks(&content)[index] });
            least = least.min(free());
        }
        assert_eq!(server.ask(&Message::Done).ok(), Some(&*hex(&content)));
        least = least.min(free());
    }
    let store = disk.join(scene.part().strip_prefix(scene.state()).unwrap()).join("cas");
    // The allowed twin: it does store while there is room.
    let deadline = std::time::Instant::now() + std::time::Duration::from_secs(20);
    while taken(&store) < 16 << 20 {
        assert!(std::time::Instant::now() < deadline, "{} bytes are stored", taken(&store));
        least = least.min(free());
    }
    assert!(least >= 20 << 20, "{least} bytes were left");
    println!("{} bytes stored, {least} of the disk left at least", taken(&store));
    server.finish();
}

#[test]
#[ignore = "needs root to mount: run by tests/run"]
fn a_state_directory_whose_disk_is_full_fails_no_upload() {
    for size in
        ["size=4k", "size=8k", "size=12k", "size=100k", "size=5m", "size=11m", "nr_inodes=3", "nr_inodes=7"]
    {
        let scene = Scene::new(0);
        let policy = Policy::of(&Profile::new(&scene.site).key("overwrite", true));
        let mut server = on_a_small_disk(&scene, &policy, size);
        let dedup = server.greet(Caps::DEDUP | Caps::PUT_OFFSET).has(Caps::DEDUP);
        let content = noise(24 * MIB, 1);
        for round in 0..2 {
            if dedup {
                upload(&mut server, "f", &content);
            } else {
                assert_eq!(server.put("f", &content, true).ok(), Some(&*hex(&content)));
            }
            assert!(scene.site.read("f") == content, "{size}, round {round}");
        }
        println!("{size}: dedup {}", if dedup { "offered" } else { "not offered" });
        server.finish();
    }
}

#[test]
#[ignore = "needs root to write a policy: run by tests/run"]
fn a_cap_of_0_turns_dedup_off_and_any_other_is_the_profiles() {
    for (cap, offered, kept) in [("0", false, 0), ("\"9MiB\"", true, 2), ("\"1GiB\"", true, 6)] {
        let scene = Scene::new(1);
        fs::create_dir(scene.state()).unwrap();
        fs::set_permissions(scene.state(), fs::Permissions::from_mode(0o700)).unwrap();
        let profile =
            Profile::new(&scene.site).key("overwrite", true).key("cas", format!("{{ cap = {cap} }}"));
        let policy = Policy::of(&profile);
        // The client's own words about the store are not heard under a profile.
        let launch = || policy.launch().env("BCMR_CAS_DIR", "/dev/null").env("BCMR_CAS_CAP_MB", "1");
        let mut server = launch().start();
        assert_eq!(server.greet(Caps(0xff)).has(Caps::DEDUP), offered, "{cap}");
        server.finish();
        if offered {
            let mut server = greeted(launch());
            upload(&mut server, "f", &noise(24 * MIB, 1));
            server.finish();
        }
        assert_eq!(scene.count(), kept, "{cap}");
    }
}

#[test]
#[ignore = "needs root to write a policy: run by tests/run"]
fn who_may_not_put_is_not_offered_dedup() {
    let scene = Scene::new(1);
    fs::create_dir(scene.state()).unwrap();
    for (verbs, offered) in [(r#"["get", "stat"]"#, false), (r#"["put"]"#, true), (r#"["put", "get"]"#, true)]
    {
        let policy = Policy::of(&Profile::new(&scene.site).key("verbs", verbs));
        let mut server = policy.launch().start();
        assert_eq!(server.greet(Caps(0xff)).has(Caps::DEDUP), offered, "{verbs}");
        if offered {
            // Also where nothing of the root can be read, a stage included.
            upload(&mut server, verbs, &noise(9 * MIB, 1));
        }
        server.finish();
        if offered {
            assert_eq!(scene.count(), 3, "{verbs}");
            fs::remove_dir_all(scene.part()).unwrap();
        }
    }
}
