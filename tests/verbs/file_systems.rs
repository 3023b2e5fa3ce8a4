//! The same publication on the file systems that people have, each with the rungs that it has by itself.
//! Mounting them needs root, and their tools: `tests/run` sees to both.

use std::fs;
use std::os::unix::fs::MetadataExt;
use std::path::Path;
use std::process::Command;

use bcmr_tests::content::{hex, noise};
use bcmr_tests::disk::snapshot;
use bcmr_tests::fuse::Fuse;
use bcmr_tests::{Launch, Reply, Server, Site};
use bcmr_wire::{Caps, Message};

use bcmr_tests::mounts::{mounted, seen_by};

/// What a file system may lack.
#[derive(Clone, Copy)]
struct Traits {
    holes: bool,
}

/// Puts, replaces, appends, is refused, and looks at what is left; `root` is where the test sees the server's
/// root.
fn works(mut server: Server, root: &Path, Traits { holes }: Traits) {
    let content = noise(300_000, 1);
    assert_eq!(server.put("d/f", &content, false).ok(), Some(&*hex(&content)));
    assert!(fs::read(root.join("d/f")).unwrap() == content);
    assert!(server.put("d/f", b"again", false).error().contains("already exists"));
    let rewritten = noise(200_000, 2);
    assert_eq!(server.put("d/f", &rewritten, true).ok(), Some(&*hex(&rewritten)));

    // An offset keeps what is before it, by whatever way the file system copies.
    server.send(&Message::Put { path: "d/f", size: 150_005, offset: 150_000, overwrite: true });
    server.send(&Message::Data { payload: b"tail\n" });
    assert_eq!(server.ask(&Message::Done), Reply::Ok { hash: None });
    assert!(fs::read(root.join("d/f")).unwrap() == [&rewritten[..150_000], b"tail\n"].concat());

    let mut sparse = vec![0; 8 << 20];
    sparse[4 << 20] = 1;
    assert_eq!(server.put("sparse", &sparse, false).ok(), Some(&*hex(&sparse)));
    server.send(&Message::Put { path: "sparse", size: (8 << 20) + 1, offset: 8 << 20, overwrite: true });
    server.send(&Message::Data { payload: b"x" });
    assert_eq!(server.ask(&Message::Done), Reply::Ok { hash: None });
    let got = server.get("sparse", 0).content;
    assert!(got == [&sparse[..], b"x"].concat());
    let on_disk = root.join("sparse").metadata().unwrap().blocks() * 512;
    assert!(!holes || on_disk < 1 << 20, "{on_disk} bytes on disk");

    // Replaced files keep their mode.
    fs::set_permissions(root.join("d/f"), std::os::unix::fs::PermissionsExt::from_mode(0o640)).unwrap();
    let before = snapshot(root);
    for (path, size, overwrite) in [("d/f", 4, true), ("d/f", 3, false), ("a/b", 4, false)] {
        server.send(&Message::Put { path, size, offset: 0, overwrite });
        server.send(&Message::Data { payload: b"new" });
        server.send(&Message::Done);
        assert!(server.reply().is_error(), "{path}");
        assert_eq!(snapshot(root), before, "{path}");
    }
    assert!(server.put("d/f", b"new", true).ok().is_some());
    assert_eq!(root.join("d/f").metadata().unwrap().mode() & 0o7777, 0o640);

    let list = server.ask(&Message::List { path: "" });
    assert_eq!(list.paths(), ["d", "d/f", "sparse"]);
    let after = snapshot(root);
    assert!(after.stages().is_empty(), "{after:?}");
    assert_eq!(after.get("d/f").unwrap().links, 1);
    server.finish();
}

/// Makes a file system in a file and serves it.
fn on_a_disk(make: &[&str], options: &str, size: u64, traits: Traits) {
    let site = Site::new();
    let image = site.base().join("image");
    fs::File::create(&image).unwrap().set_len(size).unwrap();
    let (program, arguments) = make.split_first().unwrap();
    for rules in [&[][..], &["openat2=ENOSYS"]] {
        let made = Command::new(program).args(arguments).arg(&image).output();
        let made = made.unwrap_or_else(|e| panic!("{program}: {e}"));
        assert!(made.status.success(), "{program}: {}", String::from_utf8_lossy(&made.stderr));
        let mount = format!("{options} -o loop {}", image.display());
        let mut server = mounted(&site, &mount, rules);
        let root = seen_by(&server, &site.root());
        fs::read_dir(&root).unwrap().for_each(|entry| drop(fs::remove_dir(entry.unwrap().path())));
        assert_eq!(server.ask(&Message::List { path: "" }), Reply::List(Vec::new()));
        works(server, &root, traits);
    }
}

#[test]
#[ignore = "needs root to mount a file system: run by tests/run"]
fn btrfs_which_shares_what_is_kept() {
    on_a_disk(&["mkfs.btrfs", "-q", "-f"], "-t btrfs", 256 << 20, Traits { holes: true });
}

#[test]
#[ignore = "needs root to mount a file system: run by tests/run"]
fn xfs_which_shares_what_is_kept() {
    on_a_disk(&["mkfs.xfs", "-q", "-f"], "-t xfs", 512 << 20, Traits { holes: true });
}

#[test]
#[ignore = "needs root to mount a file system: run by tests/run"]
fn ext4_and_its_older_kin() {
    for kind in ["ext2", "ext3", "ext4"] {
        on_a_disk(
            &["mkfs.ext4", "-q", "-F", "-t", kind],
            &format!("-t {kind}"),
            64 << 20,
            Traits { holes: true },
        );
    }
}

#[test]
#[ignore = "needs root to mount a file system: run by tests/run"]
fn file_systems_in_memory() {
    for (kind, holes) in [("tmpfs", true), ("ramfs", false)] {
        let site = Site::new();
        let server = mounted(&site, &format!("-t {kind} none"), &[]);
        let root = seen_by(&server, &site.root());
        works(server, &root, Traits { holes });
    }
}

#[test]
#[ignore = "needs root to mount a file system: run by tests/run"]
fn an_overlay_as_containers_have_it() {
    let site = Site::new();
    for dir in ["lower", "upper", "work"] {
        fs::create_dir(site.base().join(dir)).unwrap();
    }
    let dirs = ["lower", "upper", "work"].map(|dir| format!("{dir}dir={}", site.base().join(dir).display()));
    let server = mounted(&site, &format!("-t overlay -o {} overlay", dirs.join(",")), &[]);
    let root = seen_by(&server, &site.root());
    works(server, &root, Traits { holes: true });
}

#[test]
#[ignore = "needs root to mount a file system: run by tests/run"]
fn listenarr_944_a_fuse_file_system_in_user_space() {
    let site = Site::new();
    let root = site.root();
    let fuse = Fuse::mirror(&site.outside(), &root);
    let server = Launch::new(&root).start().hello(Caps::PUT_OFFSET);
    // bindfs tells of no holes, so that they are copied as zeros.
    works(server, &root, Traits { holes: false });
    drop(fuse);
}
