//! Some files fail: the rest is copied, each that failed is named once, and the exit code is 1.

use std::fs;
use std::os::unix::ffi::OsStrExt;
use std::os::unix::fs::PermissionsExt;

use bcmr_tests::client::Ran;
use bcmr_tests::{Client, Site};

use crate::client;

/// Ten files on one side, of which the fifth may not be read.
fn one_of_ten(side: &str) -> Site {
    let site = Site::new();
    let dir = site.base().join(side).join("ten");
    fs::create_dir(&dir).unwrap();
    for number in 0..10 {
        fs::write(dir.join(format!("file-{number}")), number.to_string()).unwrap();
    }
    fs::set_permissions(dir.join("file-5"), fs::Permissions::from_mode(0o000)).unwrap();
    site
}

#[track_caller]
fn nine_of_ten(ran: &Ran, copies: &std::path::Path) {
    ran.ends_with(1).says("9 files").says("ermission denied");
    let named = ran.said().lines().filter(|line| line.starts_with("bcmr: ")).count();
    assert_eq!(named, 1, "{}", ran.said());
    ran.says("file-5");
    let mut names: Vec<_> =
        fs::read_dir(copies).unwrap().map(|e| e.unwrap().file_name().into_string().unwrap()).collect();
    names.sort();
    let expected: Vec<_> = [0, 1, 2, 3, 4, 6, 7, 8, 9].iter().map(|n| format!("file-{n}")).collect();
    assert_eq!(names, expected);
}

/// mina-sshd#392.
#[test]
fn mina_sshd_392_nine_files_arrive_and_the_one_that_cannot_be_read_here_is_named() {
    let site = one_of_ten("outside");
    let ran = client(&site).unprivileged(site.base()).copy(["-r", "ten", ":"]);
    nine_of_ten(&ran, &site.path("ten"));
}

/// mina-sshd#392.
#[test]
fn mina_sshd_392_nine_files_come_and_the_one_that_cannot_be_read_there_is_named() {
    let site = one_of_ten("root");
    let ran = client(&site).unprivileged(site.base()).copy(["-r", ":ten", "."]);
    nine_of_ten(&ran, &site.outside().join("ten"));
}

#[test]
fn a_directory_that_cannot_be_read_is_named_and_the_rest_copied() {
    for (side, source, target) in [("outside", "tree", ":"), ("root", ":tree", ".")] {
        let site = Site::new();
        let dir = site.base().join(side).join("tree");
        fs::create_dir_all(dir.join("closed")).unwrap();
        fs::create_dir_all(dir.join("empty")).unwrap();
        fs::write(dir.join("closed/secret"), "s").unwrap();
        fs::write(dir.join("open"), "o").unwrap();
        fs::set_permissions(dir.join("closed"), fs::Permissions::from_mode(0o000)).unwrap();
        let ran = client(&site).unprivileged(site.base()).copy(["-r", source, target]);
        ran.ends_with(1).says("tree/closed").says("ermission denied").says("1 file,");
        assert_eq!(ran.said().lines().count(), 2, "{}", ran.said());
        let other = if side == "root" { site.outside() } else { site.root() };
        assert_eq!(bcmr_tests::disk::snapshot(&other.join("tree")).paths(), ["closed", "empty", "open"]);
    }
}

#[test]
fn a_destination_that_cannot_be_written_is_named_and_nothing_is_left() {
    for (side, source, target) in [("root", "f", ":d/f"), ("outside", ":f", "d/f")] {
        let site = Site::new();
        for dir in [site.root(), site.outside()] {
            fs::write(dir.join("f"), "f").unwrap();
        }
        let dir = site.base().join(side).join("d");
        fs::create_dir(&dir).unwrap();
        fs::set_permissions(&dir, fs::Permissions::from_mode(0o555)).unwrap();
        let ran = client(&site).unprivileged(site.base()).copy([source, target]);
        ran.ends_with(1).says("ermission denied").says(if side == "root" { "f: " } else { "d/f: " });
        assert_eq!(fs::read_dir(dir).unwrap().count(), 0);
    }
}

#[test]
fn a_missing_source_is_named_and_the_others_are_copied() {
    let site = Site::new();
    for dir in [site.root(), site.outside()] {
        fs::write(dir.join("f"), "f").unwrap();
    }
    client(&site).copy(["no-such", "f", ":up/"]).ends_with(1).says("no-such: ").says("1 file,");
    client(&site).copy([":no-such", ":f", "down/"]).ends_with(1).says("no-such").says("1 file,");
    assert_eq!(site.read("up/f"), b"f");
    assert_eq!(fs::read(site.outside().join("down/f")).unwrap(), b"f");
    // Alone, it makes nothing at all.
    let before = site.everything();
    client(&site).copy(["no-such", ":new"]).ends_with(1);
    client(&site).copy([":no-such", "new"]).ends_with(1);
    assert_eq!(before, site.everything());
}

#[test]
fn what_is_no_file_is_named_and_left_out() {
    let site = Site::new();
    let tree = site.outside().join("tree");
    fs::create_dir(&tree).unwrap();
    fs::write(tree.join("f"), "f").unwrap();
    let fifo = site.fifo("fifo");
    fs::rename(fifo, tree.join("fifo")).unwrap();
    std::os::unix::fs::symlink("nowhere", tree.join("dangling")).unwrap();
    std::os::unix::fs::symlink("..", tree.join("loop")).unwrap();
    std::os::unix::fs::symlink("f", tree.join("link")).unwrap();
    let ran = client(&site).copy(["-r", "tree", ":"]);
    ran.ends_with(1)
        .says("tree/fifo: not a regular file")
        .says("tree/dangling: ")
        .says("tree/loop: ")
        .says("2 files");
    assert_eq!(site.tree().paths(), ["tree", "tree/f", "tree/link"]);
    client(&site).copy(["tree/fifo", ":x"]).ends_with(1).says("not a regular file");
    client(&site).copy(["/dev/null", ":x"]).ends_with(1).says("not a regular file");
}

/// bupstash#304: a name that is not UTF-8 is told, never changed.
#[test]
fn bupstash_304_a_name_that_is_not_utf8_is_named_in_escaped_form_and_left_out() {
    for (side, source, target) in [("outside", "tree", ":"), ("root", ":tree", ".")] {
        let site = Site::new();
        let dir = site.base().join(side).join("tree");
        fs::create_dir(&dir).unwrap();
        fs::write(dir.join("ok"), "ok").unwrap();
        fs::write(dir.join(std::ffi::OsStr::from_bytes(b"caf\xff")), "x").unwrap();
        let ran = client(&site).copy(["-r", source, target]);
        ran.ends_with(1).says(r"caf\xff").says("UTF-8").says("1 file,");
        let other = if side == "root" { site.outside() } else { site.root() };
        assert_eq!(bcmr_tests::disk::snapshot(&other.join("tree")).paths(), ["ok"]);
    }
}

#[test]
fn a_file_of_proc_whose_size_is_not_known_is_not_copied_as_an_empty_one() {
    let site = Site::new();
    client(&site).copy(["/proc/self/status", ":status"]).ends_with(1).says("/proc/self/status: ");
    assert!(site.tree().paths().is_empty());
}

#[test]
fn the_same_name_from_two_places_is_refused_the_second_time() {
    let site = Site::new();
    for dir in [site.root(), site.outside()] {
        fs::create_dir_all(dir.join("a")).unwrap();
        fs::create_dir_all(dir.join("b")).unwrap();
        fs::write(dir.join("a/f"), "first").unwrap();
        fs::write(dir.join("b/f"), "second").unwrap();
    }
    client(&site).copy(["a/f", "b/f", ":up/"]).ends_with(1).says("b/f: ").says("exists");
    assert_eq!(site.read("up/f"), b"first");
    client(&site).copy([":a/f", ":b/f", "down/"]).ends_with(1).says("f: exists");
    assert_eq!(fs::read(site.outside().join("down/f")).unwrap(), b"first");
}

/// rclone#8958.
#[test]
fn rclone_8958_an_upload_done_before_counts_as_done_and_other_content_is_refused() {
    let site = Site::new();
    fs::create_dir(site.outside().join("d")).unwrap();
    for number in 0..20 {
        fs::write(site.outside().join(format!("d/{number}")), format!("content {number}")).unwrap();
    }
    client(&site).copy(["-r", "d", ":"]).succeeds();
    let before = site.tree();
    client(&site).copy(["-r", "d", ":"]).succeeds().says("20 files (20 already there)");
    assert_eq!(before, site.tree());
    site.file("d/7", "CONTENT 7");
    let ran = client(&site).copy(["-r", "d", ":"]);
    ran.ends_with(1).says("d/7: ").says("already exists");
    assert_eq!(site.read("d/7"), b"CONTENT 7");
}

#[test]
fn a_program_that_is_started_without_ssh_installed_says_so() {
    let site = Site::new();
    fs::write(site.outside().join("f"), "f").unwrap();
    let ran = Client::ours().env("PATH", "/no/such").within(&site.outside()).copy(["f", "h:x"]);
    ran.ends_with(74).says("cannot start ssh");
}
