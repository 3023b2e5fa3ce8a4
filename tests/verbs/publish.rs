//! Publication: old or new bytes and nothing else, on every rung of the ladder.

use std::fs;
use std::os::unix::fs::MetadataExt;
use std::sync::atomic::{AtomicBool, Ordering};
use std::thread;
use std::time::Duration;

use bcmr_tests::content::{hex, noise};
use bcmr_tests::{Launch, Reply, Server, Site};
use bcmr_wire::{Caps, Message};

use bcmr_tests::rungs::{KINDS, RUNGS};

const fn put(path: &str, size: u64, overwrite: bool) -> Message<'_> {
    Message::Put { path, size, offset: 0, overwrite }
}

const DONE: Message<'_> = Message::Done;

#[test]
fn obsidian_mcp_103_envoy_23821_every_rung_publishes_new_replaces_and_leaves_nothing() {
    let content = noise(100_000, 1);
    for rung in RUNGS {
        let site = Site::new();
        let mut server = rung.server(&site);
        assert_eq!(server.put("d/new", &content, false).ok(), Some(&*hex(&content)), "{rung:?}");
        assert_eq!(server.put("d/new", b"replaced", true).ok(), Some(&*hex(b"replaced")), "{rung:?}");
        assert_eq!(site.read("d/new"), b"replaced");
        assert_eq!(
            server.put("d/absent", b"may replace", true).ok(),
            Some(&*hex(b"may replace")),
            "{rung:?}"
        );
        server.send(&Message::Put { path: "d/new", size: 10, offset: 8, overwrite: true });
        server.send(&Message::Data { payload: b"!!" });
        assert_eq!(server.ask(&DONE), Reply::Ok { hash: None }, "{rung:?}");
        assert_eq!(site.read("d/new"), b"replaced!!");
        assert_eq!(server.put("d/empty", b"", false).ok(), Some(&*hex(b"")), "{rung:?}");
        server.finish();
        let tree = site.tree();
        assert_eq!(tree.paths(), ["d", "d/absent", "d/empty", "d/new"], "{rung:?}");
        assert!(tree.paths()[1..].iter().all(|path| tree.get(path).unwrap().links == 1), "{rung:?} {tree:?}");
    }
}

#[test]
fn what_is_refused_leaves_the_old_bytes_and_nothing_else_on_every_rung() {
    for rung in RUNGS {
        let site = Site::new();
        site.file("f", "old");
        let before = site.everything();
        let mut server = rung.server(&site);
        // Too few, too many, taken, taken meanwhile, broken off.
        for request in [put("f", 4, true), put("f", 2, true), put("f", 3, false), put("a/b", 9, false)] {
            server.send(&request);
            server.send(&Message::Data { payload: b"new" });
            server.send(&DONE);
            assert!(server.reply().is_error(), "{rung:?} {request:?}");
            assert_eq!(site.everything(), before, "{rung:?} {request:?}");
        }
        server.send(&put("f", 3, true));
        server.send(&Message::Data { payload: b"new" });
        assert!(server.ask(&Message::Stat { path: "" }).is_error());
        assert!(matches!(server.reply(), Reply::Stat { .. }));
        assert_eq!(site.everything(), before, "{rung:?}");

        server.send(&put("taken", 3, false));
        server.send(&Message::Data { payload: b"new" });
        server.from.stays_silent(Duration::from_millis(50));
        site.file("taken", "someone else's");
        let taken = site.tree().get("taken").cloned();
        let reply = server.ask(&DONE);
        assert!(reply.error().contains("already exists"), "{rung:?} {reply:?}");
        let after = site.tree();
        assert_eq!((after.paths(), after.get("taken")), (vec!["f", "taken"], taken.as_ref()), "{rung:?}");
        server.finish();
    }
}

#[test]
fn a_stage_is_seen_by_nobody_and_lies_beside_its_target() {
    for rung in RUNGS {
        let site = Site::new();
        site.dir("d");
        let before = site.everything();
        let mut server = rung.server(&site);
        server.send(&put("d/f", 4, false));
        server.send(&Message::Data { payload: b"abcd" });
        server.from.stays_silent(Duration::from_millis(50));
        if rung.is_named(&site) {
            let tree = site.tree();
            let [stage] = &tree.stages()[..] else { panic!("{rung:?} {tree:?}") };
            assert!(stage.starts_with("d") && tree.paths().len() == 2, "{rung:?} {tree:?}");
        } else {
            assert_eq!(site.everything(), before, "{rung:?}");
        }
        let mut other = Server::plain(site.root());
        assert_eq!(other.ask(&Message::List { path: "" }).paths(), ["d"]);
        assert_eq!(server.ask(&DONE).ok(), Some(&*hex(b"abcd")));
        assert_eq!(other.ask(&Message::List { path: "" }).paths(), ["d", "d/f"]);
        other.finish();
        server.finish();
    }
}

#[test]
fn where_nothing_publishes_without_risk_a_new_name_is_refused_and_overwriting_goes_on() {
    for rules in [
        ["tmpfile=EOPNOTSUPP", "renameat2=EINVAL", "linkat=EPERM"],
        ["tmpfile=EISDIR", "renameat2=ENOSYS", "linkat=EOPNOTSUPP"],
        ["tmpfile=EINVAL", "renameat2=EPERM", "linkat=ENOSYS"],
    ] {
        let site = Site::new();
        site.file("f", "old");
        let before = site.everything();
        let mut server = Launch::new(site.root()).without(&rules).start().hello(Caps::NONE);
        let reply = server.put("a/new", b"new", false);
        assert!(reply.error().contains("only by overwriting"), "{reply:?}");
        assert_eq!(site.everything(), before);
        // Who may overwrite does not need the promise.
        assert!(server.put("f", b"replaced", true).ok().is_some());
        assert!(server.put("absent", b"new", true).ok().is_some());
        assert_eq!((site.read("f"), site.read("absent")), (b"replaced".to_vec(), b"new".to_vec()));
        assert_eq!(site.tree().paths(), ["absent", "f"]);
        server.finish();
    }
}

#[test]
fn listenarr_944_zed_51779_of_racing_puts_that_may_not_replace_exactly_one_is_ok() {
    const RACERS: usize = 4;
    for rung in KINDS {
        let site = Site::new();
        let mut servers: Vec<_> = (0..RACERS).map(|_| rung.server(&site)).collect();
        for round in 0..25 {
            let name = format!("{round}");
            for (i, server) in servers.iter_mut().enumerate() {
                server.send(&put(&name, 1, false));
                server.send(&Message::Data { payload: &[b'0' + u8::try_from(i).unwrap()] });
            }
            let replies: Vec<Reply> = thread::scope(|scope| {
                let asked: Vec<_> = servers.iter_mut().map(|s| scope.spawn(|| s.ask(&DONE))).collect();
                asked.into_iter().map(|asked| asked.join().unwrap()).collect()
            });
            let winners: Vec<_> = (0..RACERS).filter(|i| !replies[*i].is_error()).collect();
            let [winner] = winners[..] else { panic!("{rung:?}: {replies:?}") };
            assert_eq!(site.read(&name), [b'0' + u8::try_from(winner).unwrap()]);
        }
        servers.into_iter().for_each(Server::finish);
        assert_eq!(site.tree().paths().len(), 25, "{rung:?}: {:?}", site.tree());
    }
}

#[test]
fn a_name_that_is_replaced_holds_old_or_new_bytes_at_every_moment() {
    let versions = [noise(50_000, 1), noise(70_000, 2)];
    for rung in KINDS {
        let site = Site::new();
        let path = site.file("f", &versions[0]);
        let mut server = rung.server(&site);
        let done = AtomicBool::new(false);
        thread::scope(|scope| {
            let reader = scope.spawn(|| {
                let mut reads = 0;
                while !done.load(Ordering::Relaxed) {
                    let seen = fs::read(&path).expect("the name is gone");
                    assert!(versions.contains(&seen), "{rung:?}: {} bytes of a mix", seen.len());
                    reads += 1;
                }
                reads
            });
            for i in 0..100 {
                assert!(server.put("f", &versions[i % 2], true).ok().is_some());
            }
            done.store(true, Ordering::Relaxed);
            assert!(reader.join().unwrap() > 10);
        });
        server.finish();
    }
}

#[test]
fn racing_puts_that_may_replace_are_all_ok_and_one_of_them_stands() {
    for rung in KINDS {
        let site = Site::new();
        let contents = [1, 2, 3].map(|seed| noise(40_000, seed));
        thread::scope(|scope| {
            for content in &contents {
                let mut server = rung.server(&site);
                scope.spawn(move || {
                    for _ in 0..20 {
                        assert_eq!(server.put("f", content, true).ok(), Some(&*hex(content)));
                    }
                    server.finish();
                });
            }
        });
        assert!(contents.contains(&site.read("f")));
        assert_eq!(site.tree().paths(), ["f"], "{rung:?}");
    }
}

#[test]
fn with_sync_a_flush_that_fails_before_publishing_publishes_nothing() {
    for rung in KINDS {
        let site = Site::new();
        site.file("f", "old");
        let before = site.everything();
        let rules = [rung.rules, &["fsync=EIO"]].concat();
        let launch = || Launch::new(site.root()).without(&rules).start();
        let mut server = launch().hello(Caps::SYNC);
        for (path, overwrite) in [("f", true), ("a/new", false)] {
            let reply = server.put(path, b"new", overwrite);
            assert!(reply.error().contains("input/output error"), "{reply:?}");
        }
        server.finish();
        assert_eq!(site.everything(), before);
        // The twin, which asks for no flush.
        let mut server = launch().hello(Caps::NONE);
        assert!(server.put("f", b"new", true).ok().is_some());
        server.finish();
    }
}

#[test]
fn with_sync_a_flush_that_fails_after_publishing_is_an_error_that_says_so() {
    for rung in KINDS {
        let site = Site::new();
        // The directory cannot be opened to be flushed.
        let rules = [rung.rules, &["opendir=EIO"]].concat();
        let server = Launch::new(site.root()).without(&rules).start();
        let mut server = server.hello(Caps::SYNC);
        for name in ["f", "a/f"] {
            let reply = server.put(name, b"new", false);
            let error = reply.error();
            assert!(error.contains("published whole") && error.contains("not durable"), "{reply:?}");
            assert_eq!(site.read(name), b"new");
        }
        server.finish();
        assert!(site.tree().stages().is_empty());
    }
    // The twin: everything can be flushed.
    let site = Site::new();
    let mut server = Server::start(site.root()).hello(Caps::SYNC);
    assert!(server.put("a/b/f", b"new", false).ok().is_some());
    assert!(server.put("a/b/f", b"newer", true).ok().is_some());
    server.finish();
}

#[test]
fn two_uploads_in_one_second_are_two_files() {
    // Whoever compares by number alone must see that the file is another one.
    let site = Site::new();
    let mut server = Server::plain(site.root());
    assert!(server.put("f", b"one", true).ok().is_some());
    let first = site.path("f").metadata().unwrap();
    let held = fs::File::open(site.path("f")).unwrap();
    assert!(server.put("f", b"two", true).ok().is_some());
    assert_ne!(first.ino(), site.path("f").metadata().unwrap().ino());
    drop(held);
    server.finish();
}
