//! A real file system that is full (sftpgo#2276, Posh-SSH#563). Mounting one needs root: `tests/run` does it.

use std::time::{Duration, Instant};

use bcmr_tests::Site;
use bcmr_tests::content::{hex, noise};
use bcmr_wire::Message;

use bcmr_tests::mounts::{mounted, tree};
use bcmr_tests::rungs::KINDS;

#[test]
#[ignore = "needs root to mount a small file system: run by tests/run"]
fn sftpgo_2276_posh_ssh_563_a_full_disk_is_one_error_within_a_second_and_leaves_everything_whole() {
    for rung in KINDS {
        let site = Site::new();
        let mut server = mounted(&site, "-t tmpfs -o size=32m,mode=755 tmpfs", rung.rules);
        assert!(server.put("f", b"old", false).ok().is_some());
        let before = tree(&server, &site);
        assert_eq!(before.paths(), ["f"], "the file system is the server's own");

        let content = noise(64 << 20, 1);
        for (path, overwrite) in [("f", true), ("new", false), ("a/b/new", false)] {
            server.send(&Message::Put { path, size: content.len() as u64, offset: 0, overwrite });
            server.to.content(&content[..33 << 20]);
            // The file system is full by now, and the rest is passed over.
            let begun = Instant::now();
            let reply = server.reply();
            assert!(begun.elapsed() < Duration::from_secs(1), "{rung:?} {:?}", begun.elapsed());
            assert!(reply.error().contains("no space left"), "{rung:?} {reply:?}");
            server.to.content(&content[33 << 20..]);
            server.send(&Message::Done);
            assert_eq!(tree(&server, &site), before, "{rung:?} {path}");
        }

        // Nothing is lost: what fits still fits, over the old file and over all that a stage had taken.
        let fits = &content[..28 << 20];
        assert_eq!(server.put("f", fits, true).ok(), Some(&*hex(fits)), "{rung:?}");
        // Kept bytes need room, too.
        server.send(&Message::Put { path: "f", size: 29 << 20, offset: 28 << 20, overwrite: true });
        server.send(&Message::Data { payload: &content[..1 << 20] });
        server.send(&Message::Done);
        let reply = server.reply();
        assert!(reply.error().contains("no space left"), "{rung:?} {reply:?}");
        assert_eq!(tree(&server, &site).get("f").map(|f| f.size), Some(28 << 20));
        assert!(server.get("f", 0).content == fits);
        server.finish();
    }
}

#[test]
#[ignore = "needs root to mount a small file system: run by tests/run"]
fn a_disk_without_room_for_another_name_is_one_error() {
    for rung in KINDS {
        let site = Site::new();
        let mut server = mounted(&site, "-t tmpfs -o nr_inodes=8,mode=755 tmpfs", rung.rules);
        let replies: Vec<_> = (0..10).map(|i| server.put(&format!("{i}"), b"x", false)).collect();
        let landed = replies.iter().filter(|reply| !reply.is_error()).count();
        assert!((3..10).contains(&landed), "{replies:?}");
        for reply in replies.iter().filter(|reply| reply.is_error()) {
            assert!(reply.error().contains("no space left"), "{reply:?}");
        }
        assert!(server.put("a/b/c", b"x", false).is_error());
        assert_eq!(tree(&server, &site).paths().len(), landed, "{:?}", tree(&server, &site));
        server.finish();
    }
}

#[test]
#[ignore = "needs root to mount a small file system: run by tests/run"]
fn a_disk_that_is_read_only_is_one_error() {
    let site = Site::new();
    site.file("f", "old");
    let before = site.everything();
    let again = format!("--bind {0} {0} && mount -o remount,ro,bind", site.root().display());
    let mut server = mounted(&site, &again, &[]);
    for (path, overwrite) in [("f", true), ("new", false), ("a/new", false)] {
        let reply = server.put(path, b"new", overwrite);
        assert!(reply.error().contains("read-only"), "{reply:?}");
    }
    assert!(server.ask(&Message::Mkdir { path: "d" }).error().contains("read-only"));
    assert_eq!(server.get("f", 0).content, b"old");
    server.finish();
    assert_eq!(site.everything(), before);
}
