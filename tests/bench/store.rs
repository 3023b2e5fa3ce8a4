//! What dedup costs the first time: an upload with blocks stored, against the same with none, in turn:
//! `bench-store DIR [ROUNDS] [BAR]`. Root and store are both in DIR. Fails where the ratio of the medians is above the bar.

#![allow(clippy::panic, clippy::unwrap_used, reason = "a bench that cannot go on has nothing to say")]

use std::fs;
use std::path::{Path, PathBuf};
use std::process::{Command, ExitCode, Stdio};
use std::time::{Duration, Instant};

use bcmr_tests::binaries;
use bcmr_tests::client::{quoted, serve};
use bcmr_tests::content::noise;
use rustix::fs::sync;

/// Bytes of the file.
const SIZE: usize = 256 << 20;

/// Rounds where nobody says.
const ROUNDS: usize = 9;

fn main() -> ExitCode {
    let mut args = std::env::args_os().skip(1);
    let place = PathBuf::from(args.next().unwrap_or_else(|| ".".into()));
    let mut number = || args.next().and_then(|text| text.to_str()?.parse::<f64>().ok());
    let (rounds, bar) = (number().map_or(ROUNDS, |rounds| rounds as usize), number());
    let source = tempfile::Builder::new().prefix("bcmr-").tempdir_in("/dev/shm").unwrap();
    let file = source.path().join("f");
    fs::write(&file, noise(SIZE, 1)).unwrap();
    let (mut off, mut on) = (Vec::new(), Vec::new());
    // The first warms up, and does not count.
    for round in 0..=rounds {
        // Each is first in its turn.
        let ways = if round % 2 == 0 { [false, true] } else { [true, false] };
        for dedup in ways {
            let took = upload(&place, &file, dedup);
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

/// Uploads the file into a new root; returns how long the client took.
fn upload(place: &Path, file: &Path, dedup: bool) -> Duration {
    let dir = tempfile::Builder::new().prefix("bcmr-").tempdir_in(place).unwrap();
    let (root, state) = (dir.path().join("root"), dir.path().join("state"));
    fs::create_dir(&root).unwrap();
    // Else the kernel stores what was written while we measure.
    sync();
    let begun = Instant::now();
    let status = Command::new(binaries::client())
        .args(["--via", &serve(&root), "copy", "-q"])
        .args([file.as_os_str(), ":f".as_ref()])
        .env("BCMR_CAS_DIR", if dedup { &state } else { Path::new("/dev/null") })
        .stderr(Stdio::inherit())
        .status()
        .unwrap();
    let took = begun.elapsed();
    assert!(status.success(), "the upload failed: {}", quoted(file));
    assert_eq!(root.join("f").metadata().unwrap().len(), SIZE as u64);
    assert_eq!(state.exists(), dedup);
    took
}

/// Prints how long it took; returns the median.
fn report(what: &str, all: &mut [Duration]) -> f64 {
    all.sort_unstable();
    let at = |share: usize| all[(all.len() - 1) * share / 100].as_secs_f64() * 1e3;
    println!("  {what}: median {:.0} ms, 10 % {:.0} ms, 90 % {:.0} ms", at(50), at(10), at(90));
    at(50)
}
