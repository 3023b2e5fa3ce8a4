//! Ten times as many files cost ten times as much, and a million fit in the memory that the client may have.

use std::fs::{self, File};
use std::os::unix::fs::symlink;
use std::path::Path;
use std::process::Command;
use std::time::Duration;

use bcmr_tests::client::quoted;
use bcmr_tests::{Client, binaries};
use tempfile::TempDir;

use crate::{figure, memory};

/// Empty files in directories of `each`.
fn tree(dir: &Path, files: usize, each: usize) {
    for number in 0..files {
        let sub = dir.join(format!("{:04}", number / each));
        if number % each == 0 {
            fs::create_dir_all(&sub).unwrap();
        }
        File::create(sub.join(format!("{number:07}"))).unwrap();
    }
}

/// System calls of both ends for copying so many files, by strace.
fn calls(files: usize, up: bool) -> u64 {
    let place = TempDir::new_in(memory()).unwrap();
    let path = |name: &str| place.path().join(name);
    tree(&path("root/d"), files, 500);
    fs::rename(path("root/d"), path("d")).unwrap();
    let (from, to) = if up { ("d", ":up") } else { (":d", "down") };
    if !up {
        fs::rename(path("d"), path("root/d")).unwrap();
    }
    let serve = format!("exec {} --root {}", quoted(&binaries::server()), quoted(&path("root")));
    let status = Command::new("strace")
        .args(["-f", "-qq", "-c", "-o"])
        .arg(path("calls"))
        .arg(binaries::client())
        .args(["--via", &serve, "copy", "-q", "-r", from, to])
        .current_dir(place.path())
        .status();
    assert!(status.expect("strace is not installed").success());
    let counted = fs::read_to_string(path("calls")).unwrap();
    let total = counted.lines().find(|line| line.ends_with(" total")).unwrap();
    total.split_whitespace().nth(3).unwrap().parse().unwrap()
}

#[test]
#[ignore = "traces 220 000 files: run by tests/run"]
fn a_hundred_thousand_files_cost_no_more_calls_each_than_ten_thousand() {
    for up in [true, false] {
        let [few, many] = [10_000, 100_000].map(|files| calls(files, up) as f64 / files as f64);
        println!("up: {up}: {few:.2} and {many:.2} system calls per file");
        assert!(few > 4.0 && many <= 1.2 * few, "up: {up}: {few:.2} and then {many:.2} per file");
    }
}

/// KiB of the client's resident set at its largest, uploading a million files from `d` in `place` to a server that
/// stores none.
fn peak_of_a_million(place: &TempDir) -> u64 {
    let client = Client::ours().to_fake("puts honestly").within(place.path());
    let running = client.args(["copy", "-r", "d", ":"]).start();
    let mut peak = 0;
    // It is looked at until it is gone; the peak only grows.
    while let Some(kib) = figure(running.pid(), "status", "VmHWM:") {
        peak = kib;
        std::thread::sleep(Duration::from_millis(1));
    }
    running.ends_within(Duration::from_secs(240)).succeeds().says("1000000 files");
    peak
}

/// Files are sent while they are found: what was sent before and what is found later takes no room.
#[test]
#[ignore = "uploads a million files: run by tests/run"]
fn a_million_files_in_a_thousand_directories_take_no_more_memory_than_a_few() {
    let place = TempDir::new_in(memory()).unwrap();
    tree(&place.path().join("one"), 1000, 1000);
    fs::create_dir(place.path().join("d")).unwrap();
    for number in 0..1000 {
        // The same thousand each time.
        symlink("../one/0000", place.path().join(format!("d/{number}"))).unwrap();
    }
    let peak = peak_of_a_million(&place);
    println!("{peak} KiB");
    assert!(peak > 1024 && peak < 32 * 1024, "{peak} KiB");
}

/// One directory is sorted before it is walked.
#[test]
#[ignore = "makes a million files: run by tests/run"]
fn mscp_8_a_million_files_in_one_directory_go_up_within_200_mib_of_the_client() {
    let place = TempDir::new_in(memory()).unwrap();
    tree(&place.path().join("d"), 1_000_000, 1_000_000);
    let peak = peak_of_a_million(&place);
    println!("{peak} KiB");
    assert!(peak > 1024 && peak < 200 * 1024, "{peak} KiB");
}
