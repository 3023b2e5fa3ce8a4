//! S10 under many sessions at once, some of which are killed.

use std::fs;
use std::path::PathBuf;
use std::process::Command;
use std::sync::atomic::{AtomicBool, AtomicU64, Ordering};
use std::thread;
use std::time::{Duration, Instant};

use bcmr_tests::content::noise;
use bcmr_wire::Message;
use bcmr_wire::limits::MAX_BLOCK;
use rustix::fs::statvfs;
use rustix::process::Signal;

use crate::scene::{MIB, Scene, announce, blocks, missing, send, taken, upload};

const SESSIONS: u64 = 16;

const CAP: u64 = 64;

/// How long a crowd is at it.
fn budget() -> Duration {
    let seconds = std::env::var("BCMR_STORE_SECONDS").ok().and_then(|text| text.parse().ok());
    Duration::from_secs(seconds.unwrap_or(4))
}

/// Numbers that look like chance, the same for the same seed.
struct Dice(u64);

impl Dice {
    fn below(&mut self, n: u64) -> u64 {
        self.0 = self.0.wrapping_mul(6_364_136_223_846_793_005).wrapping_add(1_442_695_040_888_963_407);
        (self.0 >> 33) % n
    }
}

/// What all sessions together have done.
#[derive(Default)]
struct Done {
    uploads: AtomicU64,
    sent: AtomicU64,
    announced: AtomicU64,
    killed: AtomicU64,
}

/// What a crowd is like.
#[derive(Clone, Copy)]
struct Like {
    /// Sessions are killed.
    kills: bool,
    /// No content comes twice. A block that is evicted while another session reads it takes its room until then, though
    /// it is in the store no more.
    distinct: bool,
}

/// One of a few contents, so that sessions find each other's blocks, or one of many, so that they do not: one to seven
/// blocks, the last one short.
fn content(dice: &mut Dice, distinct: bool) -> Vec<u8> {
    let seed = if distinct { dice.below(1 << 30) * 30 + dice.below(30) } else { dice.below(30) };
    noise(MAX_BLOCK * (seed % 7) as usize + (seed as usize % 30 + 1) * 10_007, seed)
}

fn session(scene: &Scene, name: u64, dice: &mut Dice, like: Like, done: &Done) {
    let mut server = scene.server();
    for _ in 0..1 + dice.below(4) {
        let content = content(dice, like.distinct);
        let count = blocks(&content).len();
        let path = format!("{name}/f");
        match dice.below(if like.kills { 10 } else { 8 }) {
            0 => {
                // Claims everything, and sends nothing or half of it.
                let lacks = missing(&announce(&mut server, &path, &content), count);
                send(&mut server, &content, &lacks[..lacks.len() / 2]);
                assert_eq!(server.ask(&Message::Done).is_error(), !lacks.is_empty());
            }
            1 => {
                let mut content = content.clone();
                let at = content.len() / 2;
                content[at] = content[at].wrapping_add(1 + name as u8);
                upload(&mut server, &path, &content);
            }
            2..=7 => {
                let sent = upload(&mut server, &path, &content);
                done.uploads.fetch_add(1, Ordering::Relaxed);
                done.announced.fetch_add(count as u64, Ordering::Relaxed);
                done.sent.fetch_add(sent.len() as u64, Ordering::Relaxed);
            }
            _ => {
                let lacks = missing(&announce(&mut server, &path, &content), count);
                send(&mut server, &content, &lacks);
                thread::sleep(Duration::from_micros(dice.below(30_000)));
                server.signal(Signal::KILL);
                done.killed.fetch_add(1, Ordering::Relaxed);
                return;
            }
        }
    }
    server.finish();
}

/// Sixteen sessions at a time, until the time is over; a watcher adds the store up all the while.
fn crowd(scene: &Scene, like: Like, taken: impl Fn() -> u64 + Sync) {
    let done = Done::default();
    let over = AtomicBool::new(false);
    let until = Instant::now() + budget();
    let (mut looks, mut most) = (0, 0);
    thread::scope(|scope| {
        let workers: Vec<_> = (0..SESSIONS)
            .map(|name| {
                let done = &done;
                scope.spawn(move || {
                    let mut dice = Dice(name + 1);
                    let few = || like.kills && done.killed.load(Ordering::Relaxed) < 20;
                    while Instant::now() < until || few() {
                        session(scene, name, &mut dice, like, done);
                    }
                })
            })
            .collect();
        let watcher = scope.spawn(|| {
            let (mut looks, mut most) = (0_u64, 0);
            while !over.load(Ordering::Relaxed) {
                most = taken().max(most);
                looks += 1;
                assert!(most <= CAP << 20, "{most} bytes in the store");
                thread::sleep(Duration::from_millis(10));
            }
            (looks, most)
        });
        let failed = workers.into_iter().map(thread::ScopedJoinHandle::join).filter(Result::is_err).count();
        over.store(true, Ordering::Relaxed);
        (looks, most) = watcher.join().unwrap();
        assert_eq!(failed, 0, "sessions failed");
    });
    let count = |n: &AtomicU64| n.load(Ordering::Relaxed);
    println!(
        "{} uploads, {} of {} blocks came, {} sessions killed; {looks} looks, {:.1} of {CAP} MiB at most",
        count(&done.uploads),
        count(&done.sent),
        count(&done.announced),
        count(&done.killed),
        most as f64 / MIB as f64
    );
    assert!(
        count(&done.uploads) > 0 && (like.distinct || count(&done.sent) < count(&done.announced)),
        "no block was ever found"
    );
    assert!(most > CAP << 19, "the store was never half full, so that the cap was not tried");
    if like.kills {
        assert!(count(&done.killed) > 0, "nobody was killed");
        // A session that has nobody beside it counts what the dead have left.
        scene.server().finish();
    }
    scene.counts_what_is_there();
    scene.every_block_is_whole();
}

#[test]
fn s10_sixteen_sessions_never_fill_the_store_above_its_cap() {
    let scene = Scene::new(CAP);
    crowd(&scene, Like { kills: false, distinct: false }, || taken(&scene.blocks()));
}

#[test]
fn s10_sixteen_sessions_some_of_them_killed_never_fill_the_store_above_its_cap() {
    let scene = Scene::new(CAP);
    crowd(&scene, Like { kills: true, distinct: false }, || taken(&scene.blocks()));
}

/// A file system for one state directory, whose own word is taken for what lies in it, nameless files included.
struct Disk(PathBuf);

impl Disk {
    fn mount(dir: PathBuf) -> Self {
        fs::create_dir(&dir).unwrap();
        let mounted =
            Command::new("mount").args(["-t", "tmpfs", "-o", "mode=700,size=1g", "none"]).arg(&dir).status();
        assert!(mounted.unwrap().success());
        Self(dir)
    }

    fn used(&self) -> u64 {
        let disk = statvfs(&self.0).unwrap();
        (disk.f_blocks - disk.f_bfree) * disk.f_frsize
    }
}

impl Drop for Disk {
    fn drop(&mut self) {
        let _ = Command::new("umount").arg("-l").arg(&self.0).status();
    }
}

#[test]
#[ignore = "needs root to mount: run by tests/run"]
fn s10_not_even_blocks_that_are_being_written_take_the_store_above_its_cap() {
    let scene = Scene::new(CAP);
    let disk = Disk::mount(scene.state());
    // The few small files beside the blocks are no part of it.
    crowd(&scene, Like { kills: false, distinct: true }, || disk.used().saturating_sub(256 * 1024));
}
