//! Replacing files: `-f` asks, `-y` answers.

use std::fs::{self, File};
use std::io::{Read, Write};
use std::os::fd::OwnedFd;

use bcmr_tests::Site;
use rustix::fs::{CWD, Mode, OFlags, openat};
use rustix::pty::{OpenptFlags, grantpt, openpt, ptsname, unlockpt};

use crate::client;

/// A terminal: the person's end, and the program's.
pub(crate) fn terminal() -> (File, OwnedFd) {
    let person = openpt(OpenptFlags::RDWR | OpenptFlags::NOCTTY).unwrap();
    grantpt(&person).unwrap();
    unlockpt(&person).unwrap();
    let name = ptsname(&person, Vec::new()).unwrap();
    let program = openat(CWD, name, OFlags::RDWR | OFlags::NOCTTY, Mode::empty()).unwrap();
    (person.into(), program)
}

fn site() -> Site {
    let site = Site::new();
    site.file("f", "old");
    fs::write(site.outside().join("f"), "new").unwrap();
    site
}

#[test]
fn forced_without_a_terminal_and_without_yes_nothing_is_replaced() {
    let site = site();
    let before = site.everything();
    client(&site).copy(["-f", "f", ":"]).ends_with(2).says("-y");
    assert_eq!(before, site.everything());
    client(&site).copy(["-f", "-y", "f", ":"]).succeeds();
    assert_eq!(site.read("f"), b"new");
}

#[test]
fn forced_on_a_terminal_the_person_is_asked() {
    for (answer, code, there) in
        [("y\n", 0, "new"), ("yes\n", 0, "new"), ("n\n", 2, "old"), ("\n", 2, "old"), ("\x04", 2, "old")]
    {
        let site = site();
        let (mut person, program) = terminal();
        let running = client(&site).input(program).args(["copy", "-f", "f", ":"]).start();
        person.write_all(answer.as_bytes()).unwrap();
        running.end().ends_with(code).says("Replace files that exist? [y/N]");
        assert_eq!(site.read("f"), there.as_bytes(), "{answer:?}");
    }
}

#[test]
fn yes_alone_replaces_nothing() {
    let site = site();
    let before = site.everything();
    client(&site).copy(["-y", "f", ":"]).ends_with(1).says("exists");
    assert_eq!(before, site.everything());
}

#[test]
fn on_a_terminal_progress_is_drawn_and_leaves_one_summary() {
    let site = site();
    let (mut person, program) = terminal();
    let dir = site.outside();
    let serve = bcmr_tests::client::serve(&site.root());
    let mut child = std::process::Command::new(bcmr_tests::binaries::client())
        .args(["--via", &serve, "copy", "f", ":other"])
        .current_dir(dir)
        .env("TERM", "xterm")
        .stdin(program.try_clone().unwrap())
        .stdout(program.try_clone().unwrap())
        .stderr(program)
        .spawn()
        .unwrap();
    let mut screen = Vec::new();
    // Ends with EIO when the last of the program's descriptors is closed.
    let _ = person.read_to_end(&mut screen);
    assert!(child.wait().unwrap().success());
    let screen = String::from_utf8_lossy(&screen);
    assert!(screen.contains('\x1b'), "nothing was drawn: {screen:?}");
    assert_eq!(screen.matches("on the wire").count(), 1, "{screen:?}");
    assert_eq!(site.read("other"), b"new");
}
