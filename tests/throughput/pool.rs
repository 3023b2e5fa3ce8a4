//! Several ssh connections at once: some are refused, some are lost, no file is.

use std::fs;
use std::os::unix::fs::PermissionsExt;
use std::path::PathBuf;
use std::thread::sleep;
use std::time::{Duration, Instant};

use bcmr_tests::client::Running;
use bcmr_tests::{Client, Sshd, binaries};
use rustix::process::{Pid, Signal, kill_process};
use tempfile::TempDir;

use crate::{MIB, figure, fill, hashes, memory};

fn client(sshd: &Sshd, here: &TempDir) -> Client {
    Client::ours().over(sshd).within(here.path()).args(["copy", "-r", "--compress", "none"])
}

/// Connections that sshd has let in.
fn accepted(sshd: &Sshd) -> usize {
    sshd.log().matches("Accepted publickey").count()
}

/// Copies a tree up and down over eight connections, and compares.
#[track_caller]
fn arrives_whole(sshd: &Sshd, options: &[&str]) {
    let here = TempDir::new_in(memory()).unwrap();
    fill(&here.path().join("d"), (0..600).map(|n| n * 100).chain([5 * MIB; 6]));
    client(sshd, &here).args(["-P", "8"]).args(options).args(["d", "remote:up"]).run().succeeds();
    // What a test's server remembers of the first copy does not hold for the second.
    let _ = fs::remove_dir_all(sshd.home().join("places"));
    client(sshd, &here).args(["-P", "8"]).args(options).args(["remote:up", "back"]).run().succeeds();
    let there = hashes(&here.path().join("d"));
    assert!(there.len() == 606 && there == hashes(&sshd.home().join("up")));
    assert!(there == hashes(&here.path().join("back")));
}

#[test]
#[ignore = "needs sshd: run by tests/run"]
fn eight_connections_are_eight_and_bring_every_file() {
    let sshd = Sshd::ours();
    arrives_whole(&sshd, &[]);
    assert_eq!(accepted(&sshd), 16, "{}", sshd.log());
}

#[test]
#[ignore = "needs sshd: run by tests/run"]
fn connections_that_max_startups_refuses_are_done_without_or_tried_again() {
    let sshd = Sshd::with(&[("bcmr-serve", binaries::server())], &["MaxStartups 1", "LogLevel VERBOSE"]);
    arrives_whole(&sshd, &[]);
    assert!(sshd.log().contains("MaxStartups"), "none was refused: {}", sshd.log());
}

/// The user's ssh keeps one connection for all, over which sshd allows one session: the others are the client's own.
#[test]
#[ignore = "needs sshd: run by tests/run"]
fn max_sessions_of_a_shared_connection_does_not_stop_the_others() {
    let sshd = Sshd::with(&[("bcmr-serve", binaries::server())], &["MaxSessions 1"]);
    let shared = format!("ControlMaster auto\nControlPath {}/shared\n", sshd.home().display());
    let config = fs::read_to_string(sshd.client_config()).unwrap();
    fs::write(sshd.client_config(), config + &shared).unwrap();
    arrives_whole(&sshd, &[]);
    assert!(accepted(&sshd) >= 16, "{}", sshd.log());
}

/// A server that serves two sessions and no third, however often that is tried.
#[test]
#[ignore = "needs sshd: run by tests/run"]
fn connections_that_are_refused_for_good_are_done_without() {
    let sshd = Sshd::ours();
    let script = "#!/bin/sh\nmkdir -p \"$HOME/places\"\nfor place in 1 2; do\n\
                  mkdir \"$HOME/places/$place\" 2>/dev/null && exec bcmr-serve \"$@\"\ndone\n\
                  touch \"$HOME/refused\"\nexit 75\n";
    let path = sshd.bin().join("two-at-most");
    fs::write(&path, script).unwrap();
    fs::set_permissions(&path, fs::Permissions::from_mode(0o755)).unwrap();
    arrives_whole(&sshd, &["--remote-command", "two-at-most"]);
    assert!(sshd.home().join("refused").exists());
}

/// The servers of this sshd, oldest first: each writes itself down.
fn servers(sshd: &Sshd) -> Vec<Pid> {
    let written = fs::read_to_string(sshd.home().join("pids")).unwrap_or_default();
    written.lines().filter_map(|line| Pid::from_raw(line.parse().ok()?)).collect()
}

/// Starts a copy over three connections, and ends the server of the first, or of another one, when it has moved
/// some.
fn one_is_lost(sshd: &Sshd, here: &TempDir, args: [&str; 2], first: bool) -> Running {
    let path = sshd.bin().join("told");
    fs::write(&path, "#!/bin/sh\necho $$ >> \"$HOME/pids\"\nexec bcmr-serve \"$@\"\n").unwrap();
    fs::set_permissions(&path, fs::Permissions::from_mode(0o755)).unwrap();
    let client = client(sshd, here).args(["-P", "3", "--remote-command", "told"]);
    let running = client.args(args).start();
    let deadline = Instant::now() + Duration::from_secs(20);
    loop {
        assert!(Instant::now() < deadline, "nothing moves: {}", running.said());
        let servers = servers(sshd);
        let candidates = if first { servers.get(..1) } else { servers.get(1..) };
        let moved = |pid: &&Pid| figure(**pid, "io", "rchar:").is_some_and(|moved| moved > 2 * MIB as u64);
        if let Some(&victim) = candidates.unwrap_or_default().iter().find(moved) {
            kill_process(victim, Signal::KILL).unwrap();
            return running;
        }
        sleep(Duration::from_micros(500));
    }
}

fn files() -> impl Iterator<Item = usize> {
    (0..400).map(|n| (n % 7 + 1) * 200_000)
}

fn sources(sshd: &Sshd, here: &TempDir, up: bool) -> (PathBuf, PathBuf) {
    let (local, remote) = (here.path().join("d"), sshd.home().join("d"));
    let (from, to) = if up { (local, remote) } else { (remote, local) };
    fill(&from, files());
    (from, to)
}

#[test]
#[ignore = "needs sshd: run by tests/run"]
fn what_a_killed_connection_leaves_of_an_upload_goes_to_the_others() {
    for first in [true, false] {
        let (sshd, here) = (Sshd::ours(), TempDir::new_in(memory()).unwrap());
        let (from, to) = sources(&sshd, &here, true);
        one_is_lost(&sshd, &here, ["d", "remote:"], first).end().succeeds().says("400 files");
        assert!(hashes(&from) == hashes(&to));
    }
}

#[test]
#[ignore = "needs sshd: run by tests/run"]
fn what_a_killed_connection_leaves_of_a_download_goes_to_the_others() {
    for first in [true, false] {
        let (sshd, here) = (Sshd::ours(), TempDir::new_in(memory()).unwrap());
        let (from, to) = sources(&sshd, &here, false);
        one_is_lost(&sshd, &here, ["remote:d", "."], first).end().succeeds().says("400 files");
        assert!(hashes(&from) == hashes(&to));
    }
}
