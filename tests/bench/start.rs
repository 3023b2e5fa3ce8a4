//! How long from starting a server to its Welcome, with the whole sandbox on, and what an idle session holds in
//! memory: `bench-start SERVER [STARTS]`. Figures for people; nothing fails.

#![allow(clippy::panic, clippy::unwrap_used, reason = "a bench that cannot go on has nothing to say")]

use std::io::{Read, Write};
use std::path::Path;
use std::process::{Command, Stdio};
use std::time::{Duration, Instant};

use bcmr_tests::policy::Profile;
use bcmr_tests::{Policy, Site};
use bcmr_wire::{Caps, Message};
use rustix::process::geteuid;

/// Starts that are measured where nobody says.
const STARTS: usize = 200;

/// What is aimed at: milliseconds at the median, and MiB of an idle session at its peak.
const AIM: (f64, f64) = (2.0, 4.0);

fn main() {
    let mut args = std::env::args().skip(1);
    let server = args.next().unwrap_or_else(|| "bcmr-serve".to_owned());
    let starts = args.next().and_then(|text| text.parse().ok()).unwrap_or(STARTS);
    let site = Site::new();
    let policy = geteuid().is_root().then(|| Policy::of(&Profile::new(&site)));
    let words: Vec<String> = match &policy {
        Some(policy) => {
            let path = policy.path();
            ["--profile", "p", "--policy", path.to_str().unwrap()].map(str::to_owned).to_vec()
        }
        None => ["--root", site.root().to_str().unwrap()].map(str::to_owned).to_vec(),
    };
    let mut times = Vec::new();
    let mut peaks = Vec::new();
    for _ in 0..starts {
        let (time, peak) = start(Path::new(&server), &words);
        times.push(time);
        peaks.push(peak);
    }
    times.sort_unstable();
    peaks.sort_unstable();
    let at = |share: usize| times[(times.len() * share / 100).min(times.len() - 1)].as_secs_f64() * 1000.0;
    let mode = if policy.is_some() { "under a profile" } else { "in personal mode" };
    println!("{starts} starts {mode}, from spawning the process to its Welcome:");
    let (ms, mib) = AIM;
    println!("  median {:.2} ms (aim {ms}), 10 % {:.2} ms, 90 % {:.2} ms", at(50), at(10), at(90));
    let mib_of = |kib: u64| f64::from(u32::try_from(kib).unwrap_or(u32::MAX)) / 1024.0;
    println!("  resident at its peak, idle: {:.2} MiB (aim {mib})", mib_of(*peaks.last().unwrap()));
}

/// One start: how long it took, and the peak of the resident set in KiB.
fn start(server: &Path, words: &[String]) -> (Duration, u64) {
    let mut hello = Vec::new();
    Message::Hello { version: 2, caps: Caps(0xff) }.encode(&mut hello).unwrap();
    let begun = Instant::now();
    let mut child = Command::new(server)
        .args(words)
        .stdin(Stdio::piped())
        .stdout(Stdio::piped())
        .spawn()
        .unwrap_or_else(|e| panic!("{}: {e}", server.display()));
    let (mut to, mut from) = (child.stdin.take().unwrap(), child.stdout.take().unwrap());
    to.write_all(&hello).unwrap();
    let mut welcome = [0; 7];
    from.read_exact(&mut welcome).unwrap();
    let took = begun.elapsed();
    assert_eq!(welcome[4], 0x81, "no Welcome: the server refuses to serve");
    let peak = bcmr_tests::server::peak_kib(child.id());
    drop(to);
    child.wait().unwrap();
    (took, peak)
}
