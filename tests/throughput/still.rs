//! Either end stands still for a while, and goes on.

use std::fs;
use std::path::Path;
use std::thread::sleep;
use std::time::{Duration, Instant};

use bcmr_tests::client::serve;
use bcmr_tests::content::noise;
use bcmr_tests::{Client, Site};
use rustix::process::{Pid, Signal, kill_process};

use crate::{MIB, figure};

/// How long.
const STILL: Duration = Duration::from_millis(700);

/// Bytes that a process has read.
fn read(pid: Pid) -> u64 {
    figure(pid, "io", "rchar:").unwrap_or_default()
}

/// Copies a large file, stops the client or the server in its midst, and lets it go on.
#[track_caller]
fn stopped(source: &str, target: &str, client: bool) {
    let site = Site::new();
    let content = noise(256 * MIB, 3);
    let (from, to) = (site.path("root-file"), site.outside().join("here-file"));
    let (from, to) = if source.starts_with(':') { (from, to) } else { (to, from) };
    fs::write(&from, &content).unwrap();
    let pid = site.base().join("pid");
    let via = format!("echo $$ > '{}'; {}", pid.display(), serve(&site.root()));
    let started = Client::ours().via(via).within(&site.outside());
    let running = started.args(["copy", "--compress", "none", source, target]).start();
    let victim = if client { running.pid() } else { written(&pid) };
    let deadline = Instant::now() + Duration::from_secs(20);
    while read(victim) < 8 * MIB as u64 {
        assert!(Instant::now() < deadline, "nothing moves");
        sleep(Duration::from_micros(200));
    }
    kill_process(victim, Signal::STOP).unwrap();
    sleep(STILL / 2);
    let before = read(victim);
    sleep(STILL / 2);
    assert!(read(victim) == before && before < 250 * MIB as u64, "it was not stopped in the middle");
    kill_process(victim, Signal::CONT).unwrap();
    running.end().succeeds();
    assert!(fs::read(to).unwrap() == content);
}

/// The process that a shell has written down.
fn written(path: &Path) -> Pid {
    let deadline = Instant::now() + Duration::from_secs(20);
    loop {
        let text = fs::read_to_string(path).unwrap_or_default();
        if let Some(pid) = text.strip_suffix('\n').and_then(|text| Pid::from_raw(text.parse().ok()?)) {
            return pid;
        }
        assert!(Instant::now() < deadline, "the server does not start");
        sleep(Duration::from_millis(1));
    }
}

#[test]
fn an_upload_goes_on_when_the_server_does() {
    stopped("here-file", ":root-file", false);
}

#[test]
fn an_upload_goes_on_when_the_client_does() {
    stopped("here-file", ":root-file", true);
}

#[test]
fn a_download_goes_on_when_the_server_does() {
    stopped(":root-file", "here-file", false);
}

#[test]
fn a_download_goes_on_when_the_client_does() {
    stopped(":root-file", "here-file", true);
}
