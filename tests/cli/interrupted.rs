//! Signals: the first stops the command with nothing half-written left, the second ends it at once.

use std::fs;
use std::time::{Duration, Instant};

use bcmr_tests::client::{Running, quoted, serve};
use bcmr_tests::content::noise;
use bcmr_tests::disk::snapshot;
use bcmr_tests::{Client, Site, binaries};
use rustix::process::{Signal, kill_process};

/// How soon it has ended: a few looks of those that look each half a second, on a busy machine.
const SOON: Duration = Duration::from_secs(10);

/// An upload that has begun, and goes on only when the file `go` is there.
fn upload(site: &Site) -> Running {
    fs::write(site.outside().join("first"), "first").unwrap();
    fs::write(site.outside().join("second"), noise(32 << 20, 1)).unwrap();
    let go = quoted(&site.base().join("go"));
    let fake = quoted(&binaries::tool("fake-server"));
    let slow = format!("exec {fake} slow {go} {}", serve(&site.root()).replace("exec ", ""));
    let client = Client::ours().retrying().via(slow).within(&site.outside());
    let running = client.args(["copy", "--compress", "none", "first", "second", ":"]).start();
    until(|| site.path("first").exists());
    running
}

fn until(mut happens: impl FnMut() -> bool) {
    let deadline = Instant::now() + Duration::from_secs(20);
    while !happens() {
        assert!(Instant::now() < deadline, "it does not begin");
        std::thread::sleep(Duration::from_millis(5));
    }
}

#[test]
fn an_upload_that_is_interrupted_leaves_what_is_whole_and_says_how_to_go_on() {
    for (signal, code) in [(Signal::INT, 130), (Signal::TERM, 143), (Signal::HUP, 129)] {
        let site = Site::new();
        let running = upload(&site);
        kill_process(running.pid(), signal).unwrap();
        let ran = running.ends_within(SOON);
        ran.ends_with(code).says("interrupted").says("1 file, 5 B");
        ran.says("copy -C --compress none first second :").keeps_quiet_about("trying again");
        // The server sees the end of its input.
        until(|| site.tree().paths() == ["first"]);
        assert_eq!(snapshot(&site.outside()).paths(), ["first", "second"]);
        // What was printed works.
        client_again(&site).succeeds().says("2 files (1 already there)");
        assert!(site.read("second") == noise(32 << 20, 1));
    }
}

fn client_again(site: &Site) -> bcmr_tests::client::Ran {
    crate::client(site).copy(["-C", "--compress", "none", "first", "second", ":"])
}

#[test]
fn a_download_that_is_interrupted_leaves_no_part_of_a_file() {
    let site = Site::new();
    site.file("first", "first");
    site.file("second", noise(64 << 20, 1));
    let slow = format!(
        "{} | {{ dd bs=64K count=8M iflag=count_bytes status=none; sleep 30; }}",
        serve(&site.root())
    );
    let client = Client::ours().via(slow).within(&site.outside());
    let running = client.args(["copy", "--compress", "none", ":first", ":second", "."]).start();
    until(|| site.outside().join("first").exists());
    kill_process(running.pid(), Signal::INT).unwrap();
    running.ends_within(SOON).ends_with(130).says("interrupted").says("1 file, 5 B");
    assert_eq!(snapshot(&site.outside()).paths(), ["first"]);
}

#[test]
fn the_second_signal_ends_it_at_once() {
    let site = Site::new();
    let running = upload(&site);
    kill_process(running.pid(), Signal::INT).unwrap();
    // Two that come before the first is looked at may be one.
    until(|| kill_process(running.pid(), Signal::INT).is_err() || has_ended(&running));
    let ran = running.ends_within(SOON);
    assert!([-Signal::INT.as_raw(), 130].contains(&ran.code), "{}", ran.code);
}

/// Whether a process is a zombie that nobody has waited for yet.
fn has_ended(running: &Running) -> bool {
    let stat =
        fs::read_to_string(format!("/proc/{}/stat", running.pid().as_raw_nonzero())).unwrap_or_default();
    stat.rsplit_once(") ").is_none_or(|(_, rest)| rest.starts_with('Z'))
}

#[test]
fn a_command_that_waits_before_it_tries_again_can_be_interrupted_too() {
    let site = Site::new();
    fs::write(site.outside().join("f"), "f").unwrap();
    let count = quoted(&site.base().join("count"));
    let serve = serve(&site.root());
    // The first link takes the greeting and is lost; so are all that follow.
    let via = format!("echo >> {count}; dd bs=1 count=24 status=none | {serve}");
    let client = Client::ours().retrying().via(via).within(&site.outside());
    let running = client.args(["copy", "f", ":"]).start();
    until(|| running.said().contains("trying again in 4 s"));
    kill_process(running.pid(), Signal::INT).unwrap();
    running.ends_within(Duration::from_secs(3)).ends_with(130).says("interrupted");
}

/// scp's rule puts a directory into a destination that is there: by then the one that the first run made.
#[test]
fn what_is_printed_for_a_tree_goes_on_in_the_same_place() {
    let site = Site::new();
    fs::create_dir(site.outside().join("tree")).unwrap();
    fs::write(site.outside().join("tree/a"), "a").unwrap();
    fs::write(site.outside().join("tree/b"), noise(32 << 20, 1)).unwrap();
    let go = quoted(&site.base().join("go"));
    let fake = quoted(&binaries::tool("fake-server"));
    let slow = format!("exec {fake} slow {go} {}", serve(&site.root()).replace("exec ", ""));
    let client = Client::ours().via(slow).within(&site.outside());
    let running = client.args(["copy", "--compress", "none", "-r", "tree", ":k"]).start();
    until(|| site.path("k/a").exists());
    kill_process(running.pid(), Signal::INT).unwrap();
    running.ends_within(SOON).ends_with(130).says("copy -C --compress none -r tree/. :k");
    crate::client(&site).copy(["-C", "--compress", "none", "-r", "tree/.", ":k"]).succeeds();
    assert_eq!(site.tree().paths(), ["k", "k/a", "k/b"]);
}
