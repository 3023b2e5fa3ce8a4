//! List.

use std::ffi::OsStr;
use std::fs::{self, File};
use std::os::fd::OwnedFd;
use std::os::unix::ffi::OsStrExt;
use std::os::unix::fs::{MetadataExt, symlink};
use std::time::{Duration, Instant};

use bcmr_tests::reply::Entry;
use bcmr_tests::{Launch, Reply, Server, Site};
use bcmr_wire::limits::MAX_PAYLOAD;
use bcmr_wire::{Caps, Message};
use rustix::fs::{Mode, OFlags, mkdirat, openat};

fn list(server: &mut Server, path: &str) -> Reply {
    server.ask(&Message::List { path })
}

/// The paths of a listing of the whole root.
fn paths(site: &Site) -> Vec<String> {
    let mut server = Server::plain(site.root());
    let reply = list(&mut server, "");
    server.finish();
    reply.paths().into_iter().map(str::to_owned).collect()
}

#[test]
fn a_subtree_is_depth_first_and_in_byte_order_of_each_component() {
    let site = Site::new();
    for name in ["a/z", "a-x", "aa", "a/b/c", "B", "ä", "a.d/e", "a/b.c"] {
        site.file(name, name);
    }
    site.dir("empty");
    let order = ["B", "a", "a/b", "a/b/c", "a/b.c", "a/z", "a-x", "a.d", "a.d/e", "aa", "empty", "ä"];
    assert_eq!(paths(&site), order);
}

#[test]
fn entries_have_size_mtime_and_kind() {
    let site = Site::new();
    let mtime = site.file("d/f", "four").metadata().unwrap().mtime();
    let mut server = Server::plain(site.root());
    let reply = list(&mut server, "");
    let [dir, file] = reply.entries() else { panic!("{reply:?}") };
    assert!(dir.is_dir && dir.path == "d");
    assert_eq!(*file, Entry { path: "d/f".into(), size: 4, mtime, is_dir: false });
    server.finish();
}

#[test]
fn paths_are_relative_to_the_listed_directory_by_any_of_its_names() {
    let site = Site::new();
    site.file("d/sub/f", "");
    site.link("l", "d");
    site.link("abs", site.path("d"));
    let mut server = Server::plain(site.root());
    for path in ["d", "d/", "./d//", "l", "l/", "abs", &site.host("d"), &site.host("l")] {
        assert_eq!(list(&mut server, path).paths(), ["sub", "sub/f"], "{path}");
    }
    for path in ["", ".", "./", &site.host(""), &site.host(".")] {
        let reply = list(&mut server, path);
        assert_eq!(reply.paths().first(), Some(&"abs"), "{path}");
        assert!(reply.paths().contains(&"d/sub/f"), "{path}");
    }
    server.finish();
}

#[test]
fn a_file_and_an_empty_directory_list_as_empty_and_what_is_absent_is_an_error() {
    let site = Site::new();
    site.file("f", "x");
    site.dir("d");
    let mut server = Server::plain(site.root());
    for path in ["f", "d"] {
        assert_eq!(list(&mut server, path), Reply::List(Vec::new()), "{path}");
    }
    for path in ["no", "no/where", "f/below"] {
        assert!(list(&mut server, path).is_error(), "{path}");
    }
    server.finish();
}

#[test]
fn links_that_stay_inside_are_listed_and_descended_as_their_targets() {
    let site = Site::new();
    site.file("data/f", "four");
    site.link("to-dir", "data");
    site.link("to-file", "data/f");
    site.link("absolute", site.path("data"));
    site.link("chain", "to-dir");
    site.link("leaves-and-returns", "../root/data");
    let mut server = Server::plain(site.root());
    let reply = list(&mut server, "");
    assert_eq!(
        reply.paths(),
        [
            "absolute",
            "absolute/f",
            "chain",
            "chain/f",
            "data",
            "data/f",
            "leaves-and-returns",
            "leaves-and-returns/f",
            "to-dir",
            "to-dir/f",
            "to-file",
        ]
    );
    let file = reply.entries().last().unwrap();
    assert!(!file.is_dir && file.size == 4, "{file:?}");
    assert!(reply.entries().iter().filter(|e| e.path == "chain").all(|e| e.is_dir));
    server.finish();
}

#[test]
fn what_cannot_be_fetched_is_left_out_and_fails_nothing() {
    let site = Site::new();
    site.outside_file("secret", "s");
    site.file("ok", "");
    site.dir("d");
    site.fifo("fifo");
    site.socket("socket");
    site.link("dangling", "nowhere");
    site.link("out-file", site.outside().join("secret"));
    site.link("out-dir", "../outside");
    site.link("out-dangling", "../outside/no");
    site.link("self", "self");
    site.link("ping", "pong");
    site.link("pong", "ping");
    site.link("to-fifo", "fifo");
    site.link("d/up", "..");
    site.link("d/here", ".");
    site.link("d/root", site.root());
    assert_eq!(paths(&site), ["d", "ok"]);
}

#[test]
fn devices_are_left_out() {
    let mut server = Server::plain("/dev");
    // Not all of it: below it lies what others keep in memory.
    let reply = list(&mut server, "pts");
    assert!(!reply.paths().contains(&"ptmx"), "{reply:?}");
    // The twin: it is there, and can be told.
    assert!(matches!(server.ask(&Message::Stat { path: "pts/ptmx" }), Reply::Stat { .. }));
    server.finish();
}

#[test]
fn a_cycle_by_way_of_two_directories_ends() {
    let site = Site::new();
    site.file("a/f", "");
    site.link("a/to-b", "../b");
    site.link("b/to-a", "../a");
    // Each is descended until the way would meet a directory that it came through.
    assert_eq!(paths(&site), ["a", "a/f", "a/to-b", "b", "b/to-a", "b/to-a/f"]);
}

#[test]
fn a_directory_that_may_not_be_read_is_listed_without_contents() {
    let site = Site::new();
    site.file("closed/f", "");
    site.file("open/f", "");
    let server = Launch::new(site.root()).unprivileged(&site);
    site.chmod("closed", 0o000);
    let mut server = server.start().hello(Caps::NONE);
    assert_eq!(list(&mut server, "").paths(), ["closed", "open", "open/f"]);
    // Asked for itself, it is refused: this is how a client knows it from an empty one.
    let reply = list(&mut server, "closed");
    assert!(reply.error().contains("permission denied"), "{reply:?}");
    server.finish();
    site.chmod("closed", 0o755);
}

#[test]
fn bupstash_304_a_name_that_is_not_utf8_is_listed_escaped_and_refused_with_the_reason() {
    let site = Site::new();
    site.file("ok", "content");
    let raw = |name: &[u8]| site.root().join(OsStr::from_bytes(name));
    fs::write(raw(b"\xff"), "x").unwrap();
    fs::write(raw(b"caf\xe9"), "x").unwrap();
    fs::create_dir(raw(b"d\xc3")).unwrap();
    fs::write(raw(b"d\xc3/inside"), "x").unwrap();
    symlink("ok", raw(b"link\xfe")).unwrap();

    let mut server = Server::plain(site.root());
    let reply = list(&mut server, "");
    assert_eq!(reply.paths(), ["caf\\xe9", "d\\xc3", "link\\xfe", "ok", "\\xff"]);
    for path in ["caf\\xe9", "d\\xc3", "d\\xc3/inside", "link\\xfe", "\\xff"] {
        for request in [
            Message::Stat { path },
            Message::List { path },
            Message::Get { path, offset: 0 },
            Message::Hash { path, offset: 0, limit: None },
        ] {
            let reply = server.ask(&request);
            assert!(reply.error().contains("not UTF-8"), "{path}: {reply:?}");
        }
    }
    assert_eq!(server.get("ok", 0).content, b"content");
    server.finish();
}

#[test]
fn a_name_that_only_looks_escaped_is_a_name() {
    let site = Site::new();
    site.file("caf\\xe9", "backslash");
    assert_eq!(paths(&site), ["caf\\xe9"]);
    let mut server = Server::plain(site.root());
    assert_eq!(server.get("caf\\xe9", 0).content, b"backslash");
    server.finish();
}

#[test]
fn names_with_every_other_byte_come_as_they_are() {
    let site = Site::new();
    let names = ["\x01", "\n", " ", "\"", "'", "*", "-rf", "\\", "a\nFAKE ok", "\u{7f}", "ß", "\u{202e}x"];
    for name in names {
        site.file(name, name);
    }
    assert_eq!(paths(&site), names);
    let mut server = Server::plain(site.root());
    for name in names {
        assert_eq!(server.get(name, 0).content, name.as_bytes());
    }
    server.finish();
}

#[test]
fn stages_are_not_listed_and_peoples_own_names_are() {
    let site = Site::new();
    let hex = "0123456789abcdef0123456789abcdef";
    let stage = format!(".bcmr-{hex}");
    site.file(&stage, "stage");
    site.file(&format!("d/{stage}"), "stage");
    site.link("to-stage", &stage);
    let own = [".bcmr-notes".to_owned(), format!(".bcmr-{hex}.txt"), format!(".bcmr-{}", hex.to_uppercase())];
    own.iter().for_each(|name| drop(site.file(name, "")));
    assert_eq!(paths(&site), [&*own[2], &own[1], &own[0], "d"]);
}

/// Makes a chain of directories deeper than any path that can be asked for; returns how many.
fn deep(site: &Site) -> usize {
    let flags = OFlags::PATH | OFlags::DIRECTORY | OFlags::CLOEXEC;
    let mut here = OwnedFd::from(File::open(site.root()).unwrap());
    let name = "n".repeat(200);
    for _ in 0..25 {
        mkdirat(&here, &*name, Mode::from_raw_mode(0o755)).unwrap();
        here = openat(&here, &*name, flags, Mode::empty()).unwrap();
    }
    25
}

#[test]
fn a_path_too_long_to_be_asked_for_is_listed_and_refused_with_the_reason() {
    let site = Site::new();
    let made = deep(&site);
    let mut server = Server::plain(site.root());
    let reply = list(&mut server, "");
    // 20 levels fit in 4095 bytes. The next is told of, and what is in it is not: a client asks for it.
    let paths = reply.paths();
    assert_eq!(paths.len(), 21, "of {made}");
    let last = paths.last().unwrap();
    assert_eq!(last.len(), 21 * 201 - 1);
    assert!(list(&mut server, last).error().contains("longer than 4095 bytes"));
    server.finish();
}

/// A directory of 1000 long names, and as many links to it: `links` × 223 000 bytes of listing.
fn wide(site: &Site, links: usize) {
    let dir = site.dir("d");
    for i in 0..1000 {
        File::create(dir.join(format!("{i:0196}"))).unwrap();
    }
    (1..links).for_each(|i| drop(site.link(&format!("{i}"), "d")));
}

#[test]
fn a_listing_just_below_16_mib_comes_whole_in_one_frame() {
    let site = Site::new();
    wide(&site, 75);
    let mut server = Server::plain(site.root());
    let reply = list(&mut server, "");
    assert_eq!(reply.entries().len(), 75 * 1001);
    let bytes: usize = reply.entries().iter().map(|e| 21 + e.path.len()).sum();
    assert!((MAX_PAYLOAD - 400_000..MAX_PAYLOAD).contains(&bytes), "{bytes}");
    server.finish();
}

#[test]
fn rclone_7974_a_listing_beyond_one_frame_is_an_error_that_names_the_limit_and_the_session_lives() {
    let site = Site::new();
    wide(&site, 77);
    let mut server = Server::plain(site.root());
    let reply = list(&mut server, "");
    assert!(reply.error().contains("16 MiB") && reply.error().contains("1048576"), "{reply:?}");
    assert_eq!(list(&mut server, "d").entries().len(), 1000);
    server.finish();
}

#[test]
#[ignore = "slow: run by tests/run"]
fn rclone_7974_300_000_entries_of_one_directory_are_an_error_that_names_the_limit() {
    let site = Site::new();
    for i in 0..300_000 {
        File::create(site.path(&format!("{i:064}"))).unwrap();
    }
    let mut server = Server::plain(site.root());
    let reply = list(&mut server, "");
    assert!(reply.error().contains("16 MiB"), "{reply:?}");
    assert!(matches!(server.ask(&Message::Stat { path: "" }), Reply::Stat { is_dir: true, .. }));
    server.finish();
}

#[test]
fn a_tree_of_links_that_doubles_at_each_level_ends_in_the_limit_and_soon() {
    let site = Site::new();
    let names = ["x", "y"].map(|name| name.repeat(100));
    for level in 0..24 {
        let dir = format!("level-{level:02}");
        site.dir(&dir);
        for name in &names {
            site.link(&format!("{dir}/{name}"), format!("../level-{:02}", level + 1));
        }
    }
    site.dir("level-24");
    let begun = Instant::now();
    let mut server = Server::plain(site.root());
    let reply = list(&mut server, "level-00");
    assert!(reply.error().contains("16 MiB"), "{reply:?}");
    assert!(begun.elapsed() < Duration::from_secs(5), "{:?}", begun.elapsed());
    let [x, y] = &names;
    let (xx, xy, yx, yy) = (format!("{x}/{x}"), format!("{x}/{y}"), format!("{y}/{x}"), format!("{y}/{y}"));
    assert_eq!(list(&mut server, "level-22").paths(), [x, &xx, &xy, y, &yx, &yy]);
    server.finish();
}

#[test]
fn a_tree_that_changes_while_it_is_listed_fails_nothing() {
    let site = Site::new();
    (0..50).for_each(|i| drop(site.file(&format!("stays/{i}"), "")));
    let mut server = Server::plain(site.root());
    let done = std::sync::atomic::AtomicBool::new(false);
    std::thread::scope(|scope| {
        scope.spawn(|| {
            let (a, b) = (site.path("moves/a"), site.path("moves/b"));
            fs::create_dir_all(&a).unwrap();
            while !done.load(std::sync::atomic::Ordering::Relaxed) {
                fs::write(a.join("f"), "").unwrap();
                fs::rename(&a, &b).unwrap();
                fs::remove_dir_all(&b).unwrap();
                fs::create_dir(&a).unwrap();
            }
        });
        for _ in 0..200 {
            let reply = list(&mut server, "");
            let stays = reply.paths().iter().filter(|path| path.starts_with("stays/")).count();
            assert_eq!(stays, 50);
        }
        done.store(true, std::sync::atomic::Ordering::Relaxed);
    });
    server.finish();
}
