//! Links, holes, and names that the protocol cannot carry.

use std::collections::HashSet;
use std::ffi::{OsStr, OsString};
use std::fs::{self, File};
use std::os::unix::ffi::OsStrExt;
use std::os::unix::fs::{FileExt, MetadataExt, symlink};
use std::path::Path;
use std::time::Duration;

use bcmr_tests::Site;
use bcmr_tests::disk::{Kind, snapshot};

use crate::client;

/// A tree with links of every kind, on the outside.
fn site() -> Site {
    let site = Site::new();
    site.outside_file("tree/f", "f");
    site.outside_file("other/g", "g");
    for (name, target) in [("to-f", "f"), ("to-dir", "../other"), ("dangling", "nowhere")] {
        symlink(target, site.outside().join("tree").join(name)).unwrap();
    }
    symlink("tree/f", site.outside().join("top")).unwrap();
    symlink("tree", site.outside().join("top-dir")).unwrap();
    site
}

#[test]
fn without_following_links_in_a_tree_are_named_and_left_out_and_that_is_no_failure() {
    let site = site();
    let ran = client(&site).copy(["-r", "--no-deref", "tree", ":"]);
    ran.succeeds().says("1 file,");
    for name in ["to-f", "to-dir", "dangling"] {
        ran.says(&format!("tree/{name}: left out: a symbolic link"));
    }
    assert_eq!(ran.said().lines().count(), 4, "{}", ran.said());
    assert_eq!(site.tree().paths(), ["tree", "tree/f"]);
    assert_eq!(client(&site).copy(["-q", "-r", "--no-deref", "tree", ":again"]).succeeds().said(), "");
    // Followed, all but the one that leads nowhere arrive, as what they lead to.
    let ran = client(&site).copy(["-r", "tree", ":followed"]);
    ran.ends_with(1).says("tree/dangling: ").keeps_quiet_about("left out").says("3 files");
    let there = snapshot(&site.path("followed"));
    assert_eq!(there.paths(), ["f", "to-dir", "to-dir/g", "to-f"]);
    assert!(matches!(there.get("to-f").unwrap().kind, Kind::File(_)));
}

#[test]
fn a_source_that_is_a_link_is_left_out_too() {
    let site = site();
    for (source, args) in [("top", &["--no-deref"][..]), ("top-dir", &["-r", "--no-deref"])] {
        let ran = client(&site).arg("copy").args(args).args([source, "tree/f", ":d/"]).run();
        ran.succeeds().says(&format!("{source}: left out: a symbolic link"));
        assert_eq!(site.tree().paths(), ["d", "d/f"]);
    }
    client(&site).copy(["top", ":e/"]).succeeds();
    assert_eq!(site.read("e/top"), b"f");
    // A slash at its end asks for what it leads to.
    client(&site).copy(["-r", "--no-deref", "top-dir/", ":e"]).succeeds();
    assert_eq!(site.read("e/top-dir/f"), b"f");
}

#[test]
fn without_following_is_refused_for_downloads() {
    let site = Site::new();
    site.file("f", "f");
    site.link("to-f", "f");
    let before = site.everything();
    client(&site).copy(["--no-deref", ":to-f", "."]).ends_with(2).says("--no-deref is for uploads");
    assert_eq!(before, site.everything());
    client(&site).copy([":to-f", "."]).succeeds();
    let here = fs::symlink_metadata(site.outside().join("to-f")).unwrap();
    assert!(here.is_file(), "{here:?}");
}

#[test]
fn links_that_lead_round_in_a_circle_are_named_and_end() {
    let site = Site::new();
    site.outside_file("tree/a/f", "f");
    for (name, target) in [("a/up", ".."), ("a/self", "self"), ("a/there", "back"), ("a/back", "there")] {
        symlink(target, site.outside().join("tree").join(name)).unwrap();
    }
    let ran = client(&site).copy(["-r", "tree", ":"]);
    ran.ends_with(1)
        .says("tree/a/up: a symbolic link that leads back to a directory above it")
        .says("1 file,");
    for name in ["self", "there", "back"] {
        ran.says(&format!("tree/a/{name}: "));
    }
    assert_eq!(ran.said().lines().count(), 5, "{}", ran.said());
    assert_eq!(site.tree().paths(), ["tree", "tree/a", "tree/a/f"]);
    client(&site).copy(["-r", "--no-deref", "tree", ":left"]).succeeds();
    assert_eq!(snapshot(&site.path("left")).paths(), ["a", "a/f"]);
    client(&site).copy(["tree/a/self", ":x"]).ends_with(1).says("tree/a/self: ");
}

#[test]
fn bupstash_304_each_name_that_is_not_utf8_is_named_once_and_the_rest_is_copied() {
    let site = Site::new();
    let odd = |name: &[u8]| site.outside().join(OsStr::from_bytes(name));
    site.outside_file("tree/ok", "ok");
    fs::create_dir(odd(b"tree/dir\xfe")).unwrap();
    for name in [&b"tree/caf\xe9"[..], b"tree/dir\xfe/inside", b"\xff\n"] {
        fs::write(odd(name), "x").unwrap();
    }
    symlink("ok", odd(b"tree/link\xfd")).unwrap();
    let args = ["copy", "-r", "tree"].map(OsString::from).into_iter();
    let ran = client(&site).args(args.chain([OsStr::from_bytes(b"\xff\n").to_owned(), ":".into()])).run();
    ran.ends_with(1).says("1 file,");
    for name in [r"\xff\n", r"tree/caf\xe9", r"tree/dir\xfe", r"tree/link\xfd"] {
        let lines = ran.said().lines().filter(|line| line.contains(name)).count();
        assert_eq!(lines, 1, "{name}: {}", ran.said());
    }
    assert_eq!(ran.said().lines().count(), 5, "{}", ran.said());
    assert_eq!(site.tree().paths(), ["tree", "tree/ok"]);
    assert!(!ran.said().contains('\u{fffd}'), "{}", ran.said());
    // Under a name of text one goes.
    let args = ["copy".into(), OsStr::from_bytes(b"\xff\n").to_owned(), ":text".into()];
    client(&site).args(args).run().succeeds();
    assert_eq!(site.read("text"), b"x");
}

fn sparse(path: &Path, size: u64) {
    let file = File::create_new(path).unwrap();
    file.set_len(size).unwrap();
    for (offset, piece) in [(0, "begin"), (size / 3, "middle"), (size - 3, "end")] {
        file.write_all_at(piece.as_bytes(), offset).unwrap();
    }
}

fn hash(path: &Path) -> blake3::Hash {
    let mut hasher = blake3::Hasher::new();
    hasher.update_reader(File::open(path).unwrap()).unwrap().finalize()
}

/// Bytes that the calls in strace's log have read from what is at `path`, by its descriptors. A call during which
/// another thread makes one stands in two lines.
fn read_from(log: &str, path: &str) -> u64 {
    let (descriptor, mut begun, mut read) = (format!("<{path}>"), HashSet::new(), 0);
    for line in log.lines() {
        let thread = line.split_whitespace().next().unwrap_or_default();
        if line.contains(&descriptor) && line.ends_with("<unfinished ...>") {
            begun.insert(thread);
        } else if line.contains(&descriptor) || (line.contains(" resumed>") && begun.remove(thread)) {
            let returned = line.rsplit(" = ").next().and_then(|count| count.parse::<u64>().ok());
            read += returned.unwrap_or(0);
        }
    }
    read
}

#[test]
fn holes_of_a_source_are_not_read_and_take_no_room_on_either_side() {
    let site = Site::new();
    let source = site.outside().join("source");
    sparse(&source, 1 << 30);
    let log = site.base().join("log");
    let strace = ["strace", "-f", "-y", "-o", log.to_str().unwrap(), "-e"];
    let calls = "trace=read,pread64,readv,preadv,preadv2,sendfile,splice,copy_file_range";
    let running = client(&site).under(strace).under([calls, "--"]).args(["copy", "source", ":there"]).start();
    running.ends_within(Duration::from_secs(240)).succeeds();
    let read = read_from(&fs::read_to_string(&log).unwrap(), source.to_str().unwrap());
    // What is read around a piece of data is a page, or what comes along with it.
    assert!((14..64 << 20).contains(&read), "{read} bytes were read");
    client(&site).args(["copy", ":there", "back"]).start().ends_within(Duration::from_secs(240)).succeeds();
    let expected = hash(&source);
    for copy in [site.path("there"), site.outside().join("back")] {
        let on_disk = fs::metadata(&copy).unwrap().blocks() * 512;
        assert!(on_disk < 1 << 20, "{} takes {on_disk} bytes", copy.display());
        assert_eq!(hash(&copy), expected, "{}", copy.display());
    }
    // The control: of a file without holes everything is read.
    let full = site.outside().join("full");
    fs::write(&full, bcmr_tests::content::noise(8 << 20, 1)).unwrap();
    client(&site).under(strace).under([calls, "--"]).copy(["full", ":full"]).succeeds();
    let read = read_from(&fs::read_to_string(&log).unwrap(), full.to_str().unwrap());
    assert!(read >= 8 << 20, "{read} bytes were read");
}
