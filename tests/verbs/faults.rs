//! A disk that is full, failing or too small: one Error that names the cause, within a second; the stage gone,
//! the target whole, the session alive.

use std::time::{Duration, Instant};

use bcmr_tests::content::{hex, noise};
use bcmr_tests::{Launch, Site};
use bcmr_wire::{Caps, Message};

use bcmr_tests::rungs::KINDS;

/// An error as the system gives it, and the words for it.
const CAUSES: [(&str, &str); 5] = [
    ("ENOSPC", "no space left"),
    ("EDQUOT", "quota"),
    ("EIO", "input/output error"),
    ("EFBIG", "larger than"),
    ("EROFS", "read-only"),
];

/// Has a call fail, and checks that no Put leaves a trace of itself, and that the session lives.
fn fails(call: &str, puts: &[(&str, bool)]) {
    for rung in KINDS {
        for (error, words) in CAUSES {
            let site = Site::new();
            site.file("f", "old");
            let before = site.everything();
            let rule = format!("{call}={error}");
            let launch = Launch::new(site.root()).without(rung.rules).without(&[&rule]);
            let mut server = launch.start().hello(Caps::NONE);
            for (path, overwrite) in puts {
                let begun = Instant::now();
                let reply = server.put(path, &noise(100_000, 1), *overwrite);
                assert!(reply.error().contains(words), "{rung:?} {rule} {path}: {reply:?}");
                assert!(begun.elapsed() < Duration::from_secs(1));
                assert_eq!(site.everything(), before, "{rung:?} {rule} {path}");
            }
            assert!(!server.ask(&Message::Stat { path: "f" }).is_error());
            server.finish();
        }
    }
}

#[test]
fn a_write_that_fails_leaves_nothing() {
    fails("pwrite64", &[("f", true), ("new", false), ("a/b/new", false)]);
}

#[test]
fn a_length_that_cannot_be_set_leaves_nothing() {
    // Only a file that ends in a hole needs it.
    for (error, words) in CAUSES {
        let site = Site::new();
        site.file("f", "old");
        let before = site.everything();
        let rule = format!("ftruncate={error}");
        let mut server = Launch::new(site.root()).without(&[&rule]).start().hello(Caps::NONE);
        let reply = server.put("f", &[0; 100_000], true);
        assert!(reply.error().contains(words), "{reply:?}");
        assert_eq!(site.everything(), before);
        assert!(server.put("f", b"no hole", true).ok().is_some());
        server.finish();
    }
}

#[test]
fn a_directory_that_cannot_take_a_name_leaves_nothing() {
    fails("mkdirat", &[("a/new", false), ("a/b/new", true)]);
    fails("renameat", &[("f", true)]);
}

#[test]
fn a_mode_that_cannot_be_set_leaves_the_old_file() {
    fails("fchmod", &[("f", true)]);
}

#[test]
fn a_file_above_the_accounts_limit_is_refused_where_it_passes_it() {
    for rung in KINDS {
        let site = Site::new();
        site.file("f", "old");
        let before = site.everything();
        // Blocks of 512 bytes: 100 KiB. The signal that comes with it kills no session.
        let launch = rung.launch(&site).after_shell("ulimit -f 200");
        let mut server = launch.start().hello(Caps::NONE);
        for (path, overwrite) in [("f", true), ("new", false)] {
            let begun = Instant::now();
            let reply = server.put(path, &noise(5 << 20, 1), overwrite);
            assert!(reply.error().contains("larger than"), "{reply:?}");
            assert!(begun.elapsed() < Duration::from_secs(1));
            assert_eq!(site.everything(), before);
        }
        let content = noise(100 << 10, 2);
        assert_eq!(server.put("f", &content, true).ok(), Some(&*hex(&content)));
        server.finish();
    }
}

#[test]
fn a_session_that_has_no_descriptor_left_says_so_and_lives() {
    let site = Site::new();
    site.file("f", "content");
    // Eight are enough to begin with, and not for forty new directories, each held until the file is published.
    let mut server = Launch::new(site.root()).after_shell("ulimit -n 24").start().hello(Caps::NONE);
    let deep = format!("{}f", "d/".repeat(40));
    let reply = server.put(&deep, b"x", false);
    assert!(reply.error().contains("short of descriptors"), "{reply:?}");
    assert_eq!(site.tree().paths(), ["f"]);
    assert_eq!(server.get("f", 0).content, b"content");
    server.finish();
}

#[test]
fn many_missing_directories_are_made_and_too_many_refused() {
    let site = Site::new();
    let mut server = Launch::new(site.root()).start().hello(Caps::NONE);
    let deep = |levels| format!("{}f", "d/".repeat(levels));
    assert!(server.put(&deep(90), b"x", false).ok().is_some());
    assert_eq!(site.read(&deep(90)), b"x");
    let reply = server.put(&format!("other/{}", deep(200)), b"x", false);
    assert!(reply.error().contains("too many directories are missing"), "{reply:?}");
    assert!(!site.path("other").exists());
    server.finish();
}
