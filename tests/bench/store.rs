//! What dedup costs the first time: an upload over ssh with blocks stored, against the same with none, in turn:
//! `bench-store [ROUNDS] [BAR]`. Root and store are both in TMPDIR. Fails where the ratio of the medians is above the bar.

#![allow(clippy::panic, clippy::unwrap_used, reason = "a bench that cannot go on has nothing to say")]

use std::fs;
use std::os::unix::fs::PermissionsExt;
use std::path::Path;
use std::process::{Command, ExitCode};
use std::time::{Duration, Instant};

use bcmr_tests::client::quoted;
use bcmr_tests::content::noise;
use bcmr_tests::sshd::HOST;
use bcmr_tests::{Sshd, binaries};
use rustix::fs::sync;
use tempfile::TempDir;

/// What the server is called.
const WITH: &str = "bcmr-serve";
const WITHOUT: &str = "without-store";

/// Bytes of the file.
const SIZE: usize = 256 << 20;

/// Rounds where nobody says.
const ROUNDS: usize = 9;

fn main() -> ExitCode {
    let mut args = std::env::args_os().skip(1);
    let mut number = || args.next().and_then(|text| text.to_str()?.parse::<f64>().ok());
    let (rounds, bar) = (number().map_or(ROUNDS, |rounds| rounds as usize), number());
    let source = tempfile::Builder::new().prefix("bcmr-").tempdir_in("/dev/shm").unwrap();
    let file = source.path().join("f");
    fs::write(&file, noise(SIZE, 1)).unwrap();
    let host = Host::new();
    let (mut off, mut on) = (Vec::new(), Vec::new());
    // The first warms up, and does not count.
    for round in 0..=rounds {
        // Each is first in its turn.
        let ways = if round % 2 == 0 { [false, true] } else { [true, false] };
        for dedup in ways {
            let took = host.upload(&file, dedup);
            if round > 0 {
                if dedup { &mut on } else { &mut off }.push(took);
            }
        }
    }
    println!("{} MiB for the first time, {rounds} rounds:", SIZE >> 20);
    let ratio = report("with dedup", &mut on) / report("without", &mut off);
    match bar {
        None => println!("  ratio of the medians {ratio:.3}"),
        Some(bar) => println!("  ratio of the medians {ratio:.3} (bar {bar})"),
    }
    if bar.is_none_or(|bar| ratio <= bar) { ExitCode::SUCCESS } else { ExitCode::FAILURE }
}

/// A host on which the same server is found under two names, once with a store and once without.
struct Host {
    sshd: Sshd,
    _wrappers: TempDir,
}

impl Host {
    fn new() -> Self {
        let wrappers = TempDir::new().unwrap();
        let without = wrappers.path().join("without");
        let line = format!("BCMR_CAS_DIR=/dev/null exec {} \"$@\"", quoted(&binaries::server()));
        fs::write(&without, format!("#!/bin/sh\n{line}\n")).unwrap();
        fs::set_permissions(&without, fs::Permissions::from_mode(0o755)).unwrap();
        let sshd = Sshd::start(&[(WITH, binaries::server()), (WITHOUT, without)]);
        Self { sshd, _wrappers: wrappers }
    }

    /// Uploads the file to an empty home, with a store that is empty or without; returns how long the client took.
    fn upload(&self, file: &Path, dedup: bool) -> Duration {
        let (copy, store) = (self.sshd.home().join("f"), self.sshd.home().parent().unwrap().join("store"));
        let _ = (fs::remove_file(&copy), fs::remove_dir_all(&store));
        // Else the kernel stores what was written while we measure.
        sync();
        let begun = Instant::now();
        let status = Command::new(binaries::client())
            .arg("--ssh-config")
            .arg(self.sshd.client_config())
            .args(["--remote-command", if dedup { WITH } else { WITHOUT }, "copy", "-q"])
            .args([file.as_os_str(), format!("{HOST}:f").as_ref()])
            .status()
            .unwrap();
        let took = begun.elapsed();
        assert!(status.success(), "the upload failed");
        assert_eq!(copy.metadata().unwrap().len(), SIZE as u64);
        // The client does not wait for the store; the next upload must not be measured beside it.
        let deadline = Instant::now() + Duration::from_secs(20);
        while self.someone_is_at_home() {
            assert!(Instant::now() < deadline, "the server does not end");
            std::thread::sleep(Duration::from_millis(10));
        }
        assert_eq!(stored(&store) == SIZE as u64, dedup, "{} bytes are stored", stored(&store));
        took
    }

    /// Whether a process runs in the home directory, as sessions do.
    fn someone_is_at_home(&self) -> bool {
        let processes = fs::read_dir("/proc").unwrap().flatten();
        let mut homes = processes.filter_map(|process| fs::read_link(process.path().join("cwd")).ok());
        homes.any(|cwd| cwd == self.sshd.home())
    }
}

/// Bytes of all blocks in a store.
fn stored(store: &Path) -> u64 {
    let mut parts = fs::read_dir(store).into_iter().flatten().flatten();
    let blocks = parts.find_map(|part| fs::read_dir(part.path().join("cas")).ok());
    let sizes = blocks.into_iter().flatten().flatten().map(|block| block.metadata().unwrap().len());
    sizes.sum()
}

/// Prints how long it took; returns the median.
fn report(what: &str, all: &mut [Duration]) -> f64 {
    all.sort_unstable();
    let at = |share: usize| all[(all.len() - 1) * share / 100].as_secs_f64() * 1e3;
    println!("  {what}: median {:.0} ms, 10 % {:.0} ms, 90 % {:.0} ms", at(50), at(10), at(90));
    at(50)
}
