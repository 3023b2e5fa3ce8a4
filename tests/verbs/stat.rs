//! Stat.

use std::fs::{self, File};
use std::os::unix::fs::MetadataExt;
use std::path::Path;
use std::time::{Duration, SystemTime};

use bcmr_tests::{Reply, Server, Site};
use bcmr_wire::Message;

fn stat(server: &mut Server, path: &str) -> Reply {
    server.ask(&Message::Stat { path })
}

#[test]
fn a_file_has_its_size_and_mtime_and_is_no_directory() {
    let site = Site::new();
    let mtime = site.file("f", "four").metadata().unwrap().mtime();
    let mut server = Server::plain(site.root());
    assert_eq!(stat(&mut server, "f"), Reply::Stat { size: 4, mtime, is_dir: false });
    server.finish();
}

#[test]
fn a_directory_is_one_by_any_of_its_names() {
    let site = Site::new();
    site.dir("d");
    let mut server = Server::plain(site.root());
    for path in ["d", "d/", "./d", "d//.", "", ".", "/", &site.host("d"), &site.host("")] {
        let reply = stat(&mut server, path);
        if path == "/" {
            // The host's root, of which the served one is a small part.
            assert!(reply.error().contains("escapes server root"), "{reply:?}");
        } else {
            assert!(matches!(reply, Reply::Stat { is_dir: true, .. }), "{path}: {reply:?}");
        }
    }
    server.finish();
}

#[test]
fn a_link_is_told_as_its_target() {
    let site = Site::new();
    let mtime = site.file("d/f", "four").metadata().unwrap().mtime();
    site.link("l", "d/f");
    site.link("dl", "d");
    let mut server = Server::plain(site.root());
    for path in ["l", "dl/f"] {
        assert_eq!(stat(&mut server, path), Reply::Stat { size: 4, mtime, is_dir: false }, "{path}");
    }
    assert!(matches!(stat(&mut server, "dl"), Reply::Stat { is_dir: true, .. }));
    server.finish();
}

#[test]
fn what_is_not_there_is_an_error_and_the_session_lives() {
    let site = Site::new();
    site.file("f", "four");
    let mut server = Server::plain(site.root());
    for path in ["no", "no/where", "f/below"] {
        let reply = stat(&mut server, path);
        assert!(reply.error().starts_with(&format!("stat '{path}': ")), "{reply:?}");
    }
    assert!(matches!(stat(&mut server, "f"), Reply::Stat { size: 4, .. }));
    server.finish();
}

/// Sets an mtime; returns what the file system keeps of it.
fn touch(path: &Path, mtime: SystemTime) -> i64 {
    File::options().write(true).open(path).unwrap().set_modified(mtime).unwrap();
    path.metadata().unwrap().mtime()
}

#[test]
fn cap_std_328_mtimes_before_the_epoch_and_far_ahead_are_right_in_stat_and_list() {
    // tmpfs keeps 64 bits of seconds, where ext4 keeps 34.
    let shm = Path::new("/dev/shm");
    let writable = tempfile::tempdir_in(shm).is_ok();
    let site = if writable { Site::within(shm) } else { Site::new() };
    let (old, far) = (site.file("old", ""), site.file("far", ""));
    let old = touch(&old, SystemTime::UNIX_EPOCH - Duration::from_secs(1));
    assert_eq!(old, -1, "the file system cannot keep an mtime before the epoch");
    let far = touch(&far, SystemTime::UNIX_EPOCH + Duration::from_secs(1 << 40));
    assert!(far > i64::from(u32::MAX) && (far == 1 << 40 || !writable), "{far}");

    let mut server = Server::plain(site.root());
    for (path, mtime) in [("old", old), ("far", far)] {
        assert_eq!(stat(&mut server, path), Reply::Stat { size: 0, mtime, is_dir: false });
    }
    let list = server.ask(&Message::List { path: "" });
    let mtimes: Vec<i64> = list.entries().iter().map(|entry| entry.mtime).collect();
    assert_eq!(mtimes, [far, old]);
    server.finish();
}

#[test]
fn what_is_neither_file_nor_directory_can_be_told_without_being_opened() {
    let site = Site::new();
    site.fifo("fifo");
    site.socket("socket");
    let mut server = Server::plain(site.root());
    for path in ["fifo", "socket"] {
        let reply = stat(&mut server, path);
        assert!(matches!(reply, Reply::Stat { is_dir: false, .. }), "{path}: {reply:?}");
    }
    server.finish();
}

#[test]
fn a_name_of_255_bytes_is_found_and_one_of_256_is_refused() {
    let site = Site::new();
    let longest = "n".repeat(255);
    fs::write(site.path(&longest), "x").unwrap();
    let mut server = Server::plain(site.root());
    assert!(matches!(stat(&mut server, &longest), Reply::Stat { size: 1, .. }));
    let reply = stat(&mut server, &"n".repeat(256));
    assert!(reply.error().contains("too long"), "{reply:?}");
    server.finish();
}
