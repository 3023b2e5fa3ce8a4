//! S10: account_quota and max_entries hold over all sessions, and count only what still stands.

use std::fs;
use std::os::unix::fs::PermissionsExt;
use std::sync::atomic::{AtomicBool, AtomicU64, Ordering};
use std::thread;
use std::time::{Duration, Instant};

use bcmr_tests::content::noise;
use bcmr_tests::policy::Profile;
use bcmr_tests::{Policy, Reply, Server};
use bcmr_wire::{Caps, Message};
use rustix::process::Signal;

use crate::scene::{MIB, Scene, announce, missing, send};

const QUOTA: &str = "quota";

/// A scene with a profile.
struct Limited {
    scene: Scene,
    policy: Policy,
}

impl Limited {
    fn new(keys: &[(&str, &str)]) -> Self {
        let scene = Scene::new(0);
        fs::create_dir(scene.state()).unwrap();
        fs::set_permissions(scene.state(), fs::Permissions::from_mode(0o700)).unwrap();
        let policy = Policy::of(&Profile::new(&scene.site).key("overwrite", true).keys(keys));
        Self { scene, policy }
    }

    fn server(&self) -> Server {
        self.policy.launch().start().hello(Caps::PUT_OFFSET | Caps::DEDUP)
    }

    /// Puts a file in a session of its own.
    #[track_caller]
    fn put(&self, path: &str, len: usize) -> Reply {
        let mut server = self.server();
        let reply = server.put(path, &noise(len, 1), true);
        server.finish();
        reply
    }

    #[track_caller]
    fn takes(&self, path: &str, len: usize) {
        let reply = self.put(path, len);
        assert!(!reply.is_error(), "{path}: {reply:?}");
        assert_eq!(self.scene.site.path(path).metadata().unwrap().len(), len as u64);
    }

    /// Checks that a file is refused, and nothing changes.
    #[track_caller]
    fn refuses(&self, path: &str, len: usize) {
        let before = self.scene.site.tree();
        let reply = self.put(path, len);
        assert!(reply.error().contains(QUOTA), "{path}: {reply:?}");
        assert_eq!(self.scene.site.tree(), before);
    }

    fn remove(&self, path: &str) {
        fs::remove_file(self.scene.site.path(path)).unwrap();
    }

    /// What the ledger counts: bytes and names.
    fn counted(&self) -> [u64; 2] {
        let bytes = fs::read(self.scene.part().join("published")).unwrap();
        [0, 8].map(|at| u64::from_le_bytes(bytes[at..at + 8].try_into().unwrap()))
    }

    /// What stands.
    fn standing(&self) -> [u64; 2] {
        let mut sum = [0, 0];
        for entry in fs::read_dir(self.scene.site.root()).unwrap() {
            let entry = entry.unwrap();
            if entry.file_name().to_str().unwrap().starts_with(".bcmr-") {
                continue;
            }
            // One may go while it is looked at.
            let Ok(metadata) = entry.metadata() else { continue };
            sum = [sum[0] + metadata.len(), sum[1] + 1];
        }
        sum
    }
}

#[test]
#[ignore = "needs root to write a policy: run by tests/run"]
fn s10_account_quota_holds_over_sessions_and_gives_back_what_is_taken_away() {
    let limited = Limited::new(&[("account_quota", "\"10MiB\"")]);
    limited.takes("a", 4 * MIB);
    limited.takes("b", 4 * MIB);
    limited.refuses("c", 2 * MIB + 1);
    limited.takes("c", 2 * MIB);
    limited.refuses("d", 1);
    limited.takes("empty", 0);
    // A consumer moves it away: what the ledger says is looked at again before anything is refused.
    fs::rename(limited.scene.site.path("a"), limited.scene.site.outside().join("a")).unwrap();
    limited.refuses("d", 4 * MIB + 1);
    limited.takes("d", 4 * MIB);
    assert_eq!(limited.counted(), limited.standing());
    // What others put there is not the account's; nor what another made in place of its own.
    limited.scene.site.file("foreign", noise(5 * MIB, 2));
    fs::rename(limited.scene.site.file("foreign 2", noise(MIB, 2)), limited.scene.site.path("b")).unwrap();
    limited.takes("e", 4 * MIB);
    limited.refuses("f", 1);
}

#[test]
#[ignore = "needs root to write a policy: run by tests/run"]
fn s10_what_is_replaced_is_credited_and_an_append_counts_as_the_whole() {
    let limited = Limited::new(&[("account_quota", "\"10MiB\"")]);
    limited.takes("f", 8 * MIB);
    limited.takes("f", 9 * MIB);
    limited.refuses("f", 10 * MIB + 1);
    limited.refuses("g", MIB + 1);
    limited.takes("f", MIB);
    limited.takes("g", 9 * MIB);
    limited.remove("g");
    let append = |size: usize| {
        let mut server = limited.server();
        server.send(&Message::Put { path: "f", size: size as u64, offset: MIB as u64, overwrite: true });
        server.to.content(&noise(size - MIB, 3));
        let reply = server.ask(&Message::Done);
        (reply, server)
    };
    let (reply, server) = append(6 * MIB);
    assert!(!reply.is_error(), "{reply:?}");
    server.finish();
    let (reply, _server) = append(11 * MIB);
    assert!(reply.error().contains(QUOTA), "{reply:?}");
    limited.takes("g", 4 * MIB);
    limited.refuses("h", 1);
    assert_eq!(limited.counted(), limited.standing());
    // A file that is replaced ever so often leaves no trail.
    let mut server = limited.server();
    for i in 0..400 {
        assert!(!server.put("g", &noise(i, 1), true).is_error());
    }
    server.finish();
    let ledger = fs::read_dir(limited.scene.part().join("ledger")).unwrap();
    let bytes: u64 = ledger.map(|bucket| bucket.unwrap().metadata().unwrap().len()).sum();
    assert!(bytes < 10_000, "{bytes} bytes");
}

#[test]
#[ignore = "needs root to write a policy: run by tests/run"]
fn s10_max_entries_counts_names_that_stand() {
    let limited = Limited::new(&[("max_entries", "3")]);
    ["a", "d/b", "d/e/c"].iter().for_each(|path| limited.takes(path, 10));
    limited.refuses("x", 0);
    limited.refuses("d/x", 10);
    limited.takes("a", 20);
    limited.remove("d/b");
    limited.takes("x", 10);
    limited.refuses("y", 10);
    // By another way to the same name.
    limited.takes("d/../x".replace("d/../", "./").as_str(), 30);
    limited.refuses("y", 10);
}

#[test]
#[ignore = "needs root to write a policy: run by tests/run"]
fn s10_a_declared_size_is_held_against_the_quota_before_a_byte_is_taken() {
    let limited = Limited::new(&[("account_quota", "\"10MiB\"")]);
    let mut server = limited.server();
    let put = |path, size| Message::Put { path, size, offset: 0, overwrite: false };
    let reply = server.ask(&put("f", u64::MAX));
    assert!(reply.error().contains(QUOTA), "{reply:?}");
    server.send(&Message::Done);
    // While a Put lasts its size is taken, and afterwards what it came to.
    server.send(&put("f", 8 << 20));
    server.to.content(&noise(MIB, 1));
    let mut other = limited.server();
    assert!(other.put("g", &noise(3 * MIB, 1), false).error().contains(QUOTA));
    assert!(!other.put("g", &noise(2 * MIB, 1), false).is_error());
    assert!(server.ask(&Message::Done).error().contains("received 1048576"));
    assert!(!other.put("h", &noise(8 * MIB, 1), false).is_error());
    assert!(other.put("i", &[0], false).error().contains(QUOTA));
    // Announced blocks are no way round it.
    let reply = announce(&mut server, "f", &noise(5 * MIB, 1));
    assert!(reply.error().contains(QUOTA), "{reply:?}");
    server.send(&Message::Done);
    server.finish();
    other.finish();
}

#[test]
#[ignore = "needs root to write a policy: run by tests/run"]
fn s10_a_killed_session_gives_back_what_it_had_reserved_at_once() {
    let limited = Limited::new(&[("account_quota", "\"10MiB\""), ("max_entries", "2")]);
    for dedup in [false, true] {
        let mut killed = limited.server();
        let content = noise(8 * MIB, 1);
        if dedup {
            let lacks = missing(&announce(&mut killed, "killed", &content), 2);
            send(&mut killed, &content, &lacks);
        } else {
            killed.send(&Message::Put { path: "killed", size: 8 << 20, offset: 0, overwrite: false });
            killed.to.content(&content[..4 * MIB]);
        }
        let mut other = limited.server();
        let large = noise(4 * MIB, 2);
        assert!(other.put("f", &large, true).error().contains(QUOTA));
        killed.signal(Signal::KILL);
        killed.ends_within(Duration::from_secs(5));
        // By a session that was there before, which finds the slot of the dead.
        assert!(!other.put("f", &large, true).is_error());
        other.finish();
        limited.remove("f");
    }
    limited.takes("a", 5 * MIB);
    limited.takes("b", 5 * MIB);
}

/// The twin: without the consumer it is full at once.
#[test]
#[ignore = "needs root to write a policy: run by tests/run"]
fn s10_a_dropbox_whose_consumer_moves_every_file_away_never_fills_up() {
    let keys = [("account_quota", "\"8MiB\""), ("max_entries", "5"), ("verbs", r#"["put"]"#)];
    let limited = Limited::new(&keys);
    let mut server = limited.server();
    let content = noise(2 * MIB, 1);
    for i in 0..60 {
        let name = format!("{i}");
        let reply = server.put(&name, &content, false);
        assert!(!reply.is_error(), "{i}: {reply:?}");
        // One file a while after it came.
        if i >= 2 {
            let old = format!("{}", i - 2);
            fs::rename(limited.scene.site.path(&old), limited.scene.site.outside().join(&old)).unwrap();
        }
    }
    assert_eq!(limited.scene.site.outside().read_dir().unwrap().count(), 58);
    assert!(!server.put("a", &content, false).is_error());
    assert!(!server.put("b", &content, false).is_error());
    assert!(server.put("c", &content, false).error().contains(QUOTA));
    server.finish();
}

/// Numbers that look like chance.
fn below(state: &mut u64, n: u64) -> u64 {
    *state = state.wrapping_mul(6_364_136_223_846_793_005).wrapping_add(1_442_695_040_888_963_407);
    (*state >> 33) % n
}

#[test]
#[ignore = "needs root to write a policy: run by tests/run"]
fn s10_sixteen_sessions_at_once_fill_a_quota_to_the_last_byte_and_not_beyond() {
    let limited = Limited::new(&[("account_quota", "\"5000KiB\""), ("max_entries", "1000")]);
    let content = noise(100 * 1024, 1);
    let (taken, most, over) = (AtomicU64::new(0), AtomicU64::new(0), AtomicBool::new(false));
    thread::scope(|scope| {
        let sessions: Vec<_> = (0..16)
            .map(|name| {
                let (limited, content, taken) = (&limited, &content, &taken);
                scope.spawn(move || {
                    let mut server = limited.server();
                    for i in 0..20 {
                        match server.put(&format!("{name}-{i}"), content, false) {
                            Reply::Error { message } => assert!(message.contains(QUOTA), "{message}"),
                            _ => drop(taken.fetch_add(1, Ordering::Relaxed)),
                        }
                    }
                    server.finish();
                })
            })
            .collect();
        scope.spawn(|| {
            while !over.load(Ordering::Relaxed) {
                most.fetch_max(limited.standing()[0], Ordering::Relaxed);
                thread::sleep(Duration::from_millis(2));
            }
        });
        let failed = sessions.into_iter().map(thread::ScopedJoinHandle::join).filter(Result::is_err).count();
        over.store(true, Ordering::Relaxed);
        assert_eq!(failed, 0);
    });
    let bytes = limited.standing()[0];
    println!("{} of 320 files were taken, {bytes} bytes of {}", taken.load(Ordering::Relaxed), 5000 * 1024);
    assert_eq!(taken.load(Ordering::Relaxed), 50);
    assert!(most.load(Ordering::Relaxed).max(bytes) <= 5000 * 1024);
    assert_eq!(limited.counted(), limited.standing());
}

/// The ledger after sessions that replace each other's files, are killed, and look everything over while others
/// publish, and after consumers.
fn turmoil(kills: bool) {
    let limited = Limited::new(&[("account_quota", "\"1000KiB\""), ("max_entries", "14")]);
    let until = Instant::now() + Duration::from_secs(5);
    let (puts, refusals, killed) = (AtomicU64::new(0), AtomicU64::new(0), AtomicU64::new(0));
    let over = AtomicBool::new(false);
    thread::scope(|scope| {
        let sessions: Vec<_> = (0..8)
            .map(|seed| {
                let (limited, puts, refusals, killed) = (&limited, &puts, &refusals, &killed);
                scope.spawn(move || {
                    let mut dice = seed + 1;
                    let mut server = limited.server();
                    while Instant::now() < until {
                        let path = format!("{}", below(&mut dice, 24));
                        let len = 40_000 + below(&mut dice, 60_000) as usize;
                        if kills && below(&mut dice, 4) == 0 {
                            server.to.put(&path, &noise(len, 1), true);
                            thread::sleep(Duration::from_micros(below(&mut dice, 3000)));
                            server.signal(Signal::KILL);
                            killed.fetch_add(1, Ordering::Relaxed);
                            server = limited.server();
                            continue;
                        }
                        match server.put(&path, &noise(len, 1), true) {
                            Reply::Error { message } => {
                                assert!(message.contains(QUOTA), "{message}");
                                refusals.fetch_add(1, Ordering::Relaxed);
                            }
                            _ => drop(puts.fetch_add(1, Ordering::Relaxed)),
                        }
                    }
                    server.finish();
                })
            })
            .collect();
        scope.spawn(|| {
            let mut dice = 99;
            while !over.load(Ordering::Relaxed) {
                let [bytes, names] = limited.standing();
                // What is being looked at may be replaced in between, by a file that is 60 000 bytes larger.
                assert!(names <= 14 && bytes <= 1000 * 1024 + 60_000, "{bytes} bytes, {names} names");
                if below(&mut dice, 3) == 0 {
                    let _ = fs::remove_file(limited.scene.site.path(&format!("{}", below(&mut dice, 24))));
                }
                thread::sleep(Duration::from_millis(3));
            }
        });
        let failed = sessions.into_iter().map(thread::ScopedJoinHandle::join).filter(Result::is_err).count();
        over.store(true, Ordering::Relaxed);
        assert_eq!(failed, 0);
    });
    let [puts, refusals, killed] = [&puts, &refusals, &killed].map(|n| n.load(Ordering::Relaxed));
    println!("{puts} puts, {refusals} refusals, {killed} sessions killed");
    assert!(puts > 20 && refusals > 20 && (killed > 5) == kills);
    // Never too little, and once everything was looked at, exactly what stands.
    limited.server().finish();
    let (counted, standing) = (limited.counted(), limited.standing());
    assert!(counted[0] >= standing[0] && counted[1] >= standing[1], "{counted:?} {standing:?}");
    limited.refuses("too large", 1001 * 1024);
    assert_eq!(limited.counted(), standing);
}

#[test]
#[ignore = "needs root to write a policy: run by tests/run"]
fn s10_a_ledger_that_is_looked_over_while_others_publish_loses_no_file() {
    turmoil(false);
}

#[test]
#[ignore = "needs root to write a policy: run by tests/run"]
fn s10_sessions_that_are_killed_while_they_publish_leave_no_file_uncounted() {
    turmoil(true);
}
