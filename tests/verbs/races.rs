//! Confinement against someone who exchanges path components as fast as they can while they are walked.

use std::fs;
use std::os::unix::fs::symlink;
use std::path::{Path, PathBuf};
use std::sync::atomic::{AtomicBool, Ordering};
use std::thread;
use std::time::Instant;

use bcmr_tests::content::hex;
use bcmr_tests::disk::snapshot;
use bcmr_tests::stream::PATIENCE;
use bcmr_tests::{Launch, Reply, Server, Site};
use bcmr_wire::{Caps, Message};
use rustix::fs::{CWD, RenameFlags, renameat_with};

/// With openat2, and without.
const WALKS: [&[&str]; 2] = [&[], &["openat2=ENOSYS"]];

/// Requests of each kind.
const ROUNDS: usize = 5_000;

/// Runs `attack` over and over while `work` runs.
fn meanwhile(attack: impl Fn() + Sync, work: impl FnOnce()) {
    let done = AtomicBool::new(false);
    thread::scope(|scope| {
        scope.spawn(|| {
            while !done.load(Ordering::Relaxed) {
                attack();
            }
        });
        // Also where the work fails: the attack would go on for ever.
        struct Done<'a>(&'a AtomicBool);
        impl Drop for Done<'_> {
            fn drop(&mut self) {
                self.0.store(true, Ordering::Relaxed);
            }
        }
        let _done = Done(&done);
        work();
    });
}

fn exchange(a: &Path, b: &Path) {
    renameat_with(CWD, a, CWD, b, RenameFlags::EXCHANGE).unwrap();
}

/// How many of the requests went through, and how many were refused.
#[derive(Debug)]
struct Tally {
    through: usize,
    refused: usize,
}

impl Tally {
    fn count(&mut self, reply: &Reply) {
        match reply {
            Reply::Error { .. } => self.refused += 1,
            _ => self.through += 1,
        }
    }

    /// A race in which one side always wins shows nothing.
    const fn is_one(&self) -> bool {
        self.through > 20 && self.refused > 20
    }
}

/// Runs rounds until there were enough, and a race in each of the tallies.
#[track_caller]
fn rounds<const N: usize>(mut round: impl FnMut(&mut [Tally; N])) {
    let begun = Instant::now();
    let mut tallies = [const { Tally { through: 0, refused: 0 } }; N];
    for i in 0.. {
        round(&mut tallies);
        if i >= ROUNDS && tallies.iter().all(Tally::is_one) {
            return;
        }
        assert!(begun.elapsed() < PATIENCE, "the race was none: {tallies:?}");
    }
}

/// The same content as inside, to be linked to over and over: whoever writes a file anew before each exchange
/// waits for the disk, and is no race.
fn kept(site: &Site) -> PathBuf {
    let kept = site.base().join("kept");
    fs::write(&kept, "inside").unwrap();
    kept
}

#[test]
fn cve_2026_29518_cve_2026_53783_an_exchanged_directory_never_leads_out() {
    for rules in WALKS {
        let site = Site::new();
        site.file("d/f", "inside");
        site.outside_file("f", "outside");
        symlink(site.outside(), site.path("trap")).unwrap();
        let outside = snapshot(&site.outside());
        let mut server = Launch::new(site.root()).without(rules).start().hello(Caps::NONE);
        let (dir, trap) = (site.path("d"), site.path("trap"));
        let mut i = 0;
        meanwhile(
            || exchange(&dir, &trap),
            || {
                rounds(|[gets, puts]| {
                    i += 1;
                    let got = server.get("d/f", 0);
                    assert!(got.content.is_empty() || got.content == b"inside", "outside bytes came in");
                    gets.count(&got.end);
                    puts.count(&server.put(&format!("d/put-{}", i % 50), b"put", true));
                    if i % 10 == 0 {
                        let _ = server.ask(&Message::Mkdir { path: &format!("d/made-{}/x", i % 50) });
                        let reply = server.ask(&Message::List { path: "d" });
                        if let Reply::List(entries) = &reply {
                            assert!(entries.iter().all(|e| e.path != "f" || e.size == 6), "{reply:?}");
                        }
                        let reply = server.ask(&Message::Hash { path: "d/f", offset: 0, limit: None });
                        if let Reply::Hash { hash } = &reply {
                            assert_eq!(*hash, hex(b"inside"));
                        }
                    }
                });
            },
        );
        assert_eq!(snapshot(&site.outside()), outside);
        assert!(site.tree().stages().is_empty());
        server.finish();
    }
}

#[test]
fn a_file_exchanged_for_a_link_out_is_never_read_or_replaced_through_it() {
    for rules in WALKS {
        let site = Site::new();
        site.file("f", "inside");
        site.outside_file("f", "outside");
        let outside = snapshot(&site.outside());
        let mut server = Launch::new(site.root()).without(rules).start().hello(Caps::PUT_OFFSET);
        let (file, spare) = (site.path("f"), site.base().join("spare"));
        let kept = kept(&site);
        meanwhile(
            || {
                symlink(site.outside().join("f"), &spare).unwrap();
                fs::rename(&spare, &file).unwrap();
                fs::hard_link(&kept, &spare).unwrap();
                fs::rename(&spare, &file).unwrap();
            },
            || {
                rounds(|[gets, puts]| {
                    let got = server.get("f", 0);
                    assert!(got.content.is_empty() || got.content == b"inside", "outside bytes came in");
                    gets.count(&got.end);
                    // What is kept of the present file must not come from outside either.
                    server.send(&Message::Put { path: "f", size: 6, offset: 5, overwrite: true });
                    server.send(&Message::Data { payload: b"e" });
                    server.send(&Message::Done);
                    puts.count(&server.reply());
                });
            },
        );
        assert_eq!(snapshot(&site.outside()), outside);
        assert_eq!(fs::read(&file).unwrap(), b"inside");
        assert!(site.tree().stages().is_empty());
        server.finish();
    }
}

#[test]
fn a_file_exchanged_for_a_fifo_is_never_taken_for_an_empty_file() {
    let site = Site::new();
    site.file("f", "inside");
    let mut server = Server::plain(site.root());
    let (file, spare) = (site.path("f"), site.path("spare"));
    let kept = kept(&site);
    meanwhile(
        || {
            site.fifo("spare");
            fs::rename(&spare, &file).unwrap();
            fs::hard_link(&kept, &spare).unwrap();
            fs::rename(&spare, &file).unwrap();
        },
        || {
            rounds(|[gets, hashes]| {
                let got = server.get("f", 0);
                assert!(got.end.is_error() || got.content == b"inside", "{got:?}");
                gets.count(&got.end);
                let reply = server.ask(&Message::Hash { path: "f", offset: 0, limit: None });
                assert!(reply.is_error() || reply.hash() == hex(b"inside"), "{reply:?}");
                hashes.count(&reply);
            });
        },
    );
    server.finish();
}

#[test]
fn a_root_that_is_moved_is_still_the_root() {
    // The handle holds it; its name may by now lead to something else.
    let site = Site::new();
    site.file("f", "inside");
    let mut server = Server::plain(site.root());
    fs::rename(site.root(), site.base().join("moved")).unwrap();
    fs::create_dir(site.root()).unwrap();
    fs::write(site.path("f"), "another").unwrap();
    assert_eq!(server.get("f", 0).content, b"inside");
    assert!(server.put("g", b"put", false).ok().is_some());
    assert_eq!(site.names(), ["f"]);
    assert!(site.base().join("moved/g").exists());
    server.finish();
}

#[test]
fn rsync_939_a_path_through_a_link_with_dots_is_found_while_others_rename() {
    for rules in WALKS {
        let site = Site::new();
        site.file("a/b/f", "inside");
        site.link("a/l", "b/../b/../../a/b");
        site.dir("elsewhere/x");
        let (x, y) = (site.path("elsewhere/x"), site.path("elsewhere/y"));
        let mut server = Launch::new(site.root()).without(rules).start().hello(Caps::NONE);
        meanwhile(
            || {
                fs::rename(&x, &y).unwrap();
                fs::rename(&y, &x).unwrap();
            },
            || {
                for _ in 0..ROUNDS {
                    assert_eq!(server.get("a/l/f", 0).end.ok().map(str::len), Some(64));
                }
            },
        );
        server.finish();
    }
}

#[test]
fn parents_that_are_taken_away_while_a_put_runs_take_it_with_them_or_not() {
    let site = Site::new();
    let mut server = Server::plain(site.root());
    let (mut i, mut landed) = (0, 0);
    meanwhile(
        || {
            let _ = fs::remove_dir(site.path("a/b/c"));
            let _ = fs::remove_dir(site.path("a/b"));
            let _ = fs::remove_dir(site.path("a"));
        },
        || {
            while i < 1_000 || landed < 20 {
                let path = format!("a/b/c/{i}");
                i += 1;
                if !server.put(&path, b"put", false).is_error() {
                    landed += 1;
                    fs::remove_file(site.path(&path)).unwrap();
                }
            }
        },
    );
    assert!(site.tree().stages().is_empty());
    server.finish();
}
