//! Permissions and attributes of published files: those of a file created directly, or of the one replaced.

use std::fs;
use std::os::unix::fs::{MetadataExt, PermissionsExt};
use std::path::Path;

use bcmr_tests::{Launch, Site};
use bcmr_wire::{Caps, Message};
use rustix::fs::{XattrFlags, getxattr, setxattr};
use rustix::io::Errno;

use bcmr_tests::rungs::KINDS;

fn mode(path: &Path) -> u32 {
    path.metadata().unwrap().permissions().mode() & 0o7777
}

/// An extended attribute, None where there is none.
fn xattr(path: &Path, name: &str) -> Option<Vec<u8>> {
    let mut value = vec![0; 4096];
    match getxattr(path, name, &mut value[..]) {
        Ok(len) => Some(value[..len].to_vec()),
        Err(Errno::NODATA | Errno::OPNOTSUPP) => None,
        Err(errno) => panic!("{name}: {errno}"),
    }
}

/// Sets an attribute; whether the file system has it.
fn set_xattr(path: &Path, name: &str, value: &[u8]) -> bool {
    match setxattr(path, name, value, XattrFlags::empty()) {
        Ok(()) => true,
        Err(Errno::OPNOTSUPP) => {
            println!("not run: {} keeps no {name}", path.display());
            false
        }
        Err(errno) => panic!("{name}: {errno}"),
    }
}

/// An access control list that lets user 4242 read and write (acl(5), linux/posix_acl_xattr.h).
fn acl() -> Vec<u8> {
    const NOBODY: u32 = u32::MAX;
    let entries = [(1u16, 6u16, NOBODY), (2, 6, 4242), (4, 4, NOBODY), (0x10, 6, NOBODY), (0x20, 0, NOBODY)];
    let mut acl = 2u32.to_le_bytes().to_vec();
    for (tag, rights, id) in entries {
        acl.extend(tag.to_le_bytes());
        acl.extend(rights.to_le_bytes());
        acl.extend(id.to_le_bytes());
    }
    acl
}

const ACCESS: &str = "system.posix_acl_access";
const DEFAULT: &str = "system.posix_acl_default";

#[test]
fn a_new_file_is_like_one_created_directly() {
    for rung in KINDS {
        for umask in ["022", "077", "002"] {
            let site = Site::new();
            site.dir("plain");
            site.dir("setgid");
            site.chmod("setgid", 0o2775);
            site.dir("acl");
            set_xattr(&site.path("acl"), DEFAULT, &acl());
            let line = format!("umask {umask}");
            let made =
                format!("cd {0} && : > plain/here && : > setgid/here && : > acl/here", site.root().display());
            let script = ["-c", &format!("{line}; {made}")];
            assert!(std::process::Command::new("sh").args(script).status().unwrap().success());
            let mut server = rung.launch(&site).after_shell(&line).start().hello(Caps::NONE);
            for dir in ["plain", "setgid", "acl"] {
                assert!(server.put(&format!("{dir}/put"), b"", false).ok().is_some());
                let (here, put) = (site.path(dir).join("here"), site.path(dir).join("put"));
                assert_eq!(mode(&put), mode(&here), "{rung:?} {umask} {dir}");
                assert_eq!(xattr(&put, ACCESS), xattr(&here, ACCESS), "{rung:?} {umask} {dir}");
                let [here, put] = [here, put].map(|path| path.metadata().unwrap());
                assert_eq!((put.uid(), put.gid()), (here.uid(), here.gid()), "{rung:?} {umask} {dir}");
            }
            server.finish();
        }
    }
}

#[test]
fn a_replaced_file_keeps_mode_acl_and_user_attributes() {
    for rung in KINDS {
        let site = Site::new();
        // What the directory would give a new file.
        site.dir("d");
        set_xattr(&site.path("d"), DEFAULT, &acl());
        let mut server = rung.server(&site);
        for kept in [0o600, 0o640, 0o777, 0o444] {
            let path = site.file("d/f", "old");
            let attributes = set_xattr(&path, "user.note", b"kept");
            let _ = rustix::fs::removexattr(&path, ACCESS);
            site.chmod("d/f", kept);
            let before = path.metadata().unwrap();
            assert!(server.put("d/f", b"new", true).ok().is_some(), "{rung:?} {kept:o}");
            assert_eq!(site.read("d/f"), b"new");
            assert_eq!((mode(&path), xattr(&path, ACCESS)), (kept, None), "{rung:?}");
            assert_eq!(xattr(&path, "user.note").is_some(), attributes, "{rung:?}");
            assert_eq!(path.metadata().unwrap().gid(), before.gid());
            fs::remove_file(&path).unwrap();
        }
        // A list of its own, where the directory gives none.
        let path = site.file("g", "old");
        if set_xattr(&path, ACCESS, &acl()) {
            let before = (mode(&path), xattr(&path, ACCESS));
            assert!(server.put("g", b"new", true).ok().is_some());
            assert_eq!((mode(&path), xattr(&path, ACCESS)), before, "{rung:?}");
        }
        server.finish();
    }
}

#[test]
fn set_id_bits_never_survive() {
    for rung in KINDS {
        let site = Site::new();
        let mut server = rung.server(&site);
        for (old, new) in [(0o4755, 0o755), (0o2755, 0o755), (0o6777, 0o777), (0o1644, 0o644)] {
            let path = site.file("f", "old");
            site.chmod("f", old);
            assert_eq!(mode(&path), old, "the account may set the bit itself");
            assert!(server.put("f", b"new", true).ok().is_some());
            assert_eq!(mode(&path), new, "{rung:?}");
            site.chmod("f", old);
            server.send(&Message::Put { path: "f", size: 4, offset: 3, overwrite: true });
            server.send(&Message::Data { payload: b"!" });
            assert!(!server.ask(&Message::Done).is_error());
            assert_eq!(mode(&path), new, "{rung:?}");
        }
        server.finish();
    }
}

#[test]
fn a_file_that_the_account_can_neither_read_nor_write_is_refused_and_untouched() {
    let site = Site::new();
    site.file("closed", "old");
    site.file("write-only", "old");
    let launch = Launch::new(site.root()).unprivileged(&site);
    site.chmod("closed", 0o000);
    site.chmod("write-only", 0o200);
    let before = site.everything();
    let mut server = launch.start().hello(Caps::NONE);
    let reply = server.put("closed", b"new", true);
    assert!(reply.error().contains("permission denied"), "{reply:?}");
    assert_eq!(site.everything(), before);
    assert!(server.put("write-only", b"new", true).ok().is_some());
    server.finish();
    assert_eq!(mode(&site.path("write-only")), 0o200);
    site.chmod("write-only", 0o600);
    assert_eq!(site.read("write-only"), b"new");
}

#[test]
fn a_directory_that_the_account_cannot_write_is_refused() {
    let site = Site::new();
    site.file("d/f", "old");
    let launch = Launch::new(site.root()).unprivileged(&site);
    site.chmod("d", 0o555);
    let before = site.everything();
    let mut server = launch.start().hello(Caps::NONE);
    for (path, overwrite) in [("d/f", true), ("d/new", false), ("d/a/b", false)] {
        let reply = server.put(path, b"new", overwrite);
        assert!(reply.error().contains("permission denied"), "{path}: {reply:?}");
    }
    assert!(server.ask(&Message::Mkdir { path: "d/new" }).is_error());
    server.finish();
    assert_eq!(site.everything(), before);
    site.chmod("d", 0o755);
}

#[test]
fn without_attribute_calls_a_file_is_published_all_the_same() {
    let site = Site::new();
    let rules =
        ["fgetxattr=ENOSYS", "flistxattr=EOPNOTSUPP", "fsetxattr=EOPNOTSUPP", "fremovexattr=EOPNOTSUPP"];
    let mut server = Launch::new(site.root()).without(&rules).start().hello(Caps::NONE);
    assert!(server.put("f", b"one", false).ok().is_some());
    assert!(server.put("f", b"two", true).ok().is_some());
    assert_eq!(site.read("f"), b"two");
    server.finish();
}
