//! What publication costs: files staged, written and published, against the same files created directly by the
//! same program, in turn: `bench-publish DIR [ROUNDS]`. Fails where it costs more than is aimed at.

#![allow(clippy::panic, clippy::unwrap_used, reason = "a bench that cannot go on has nothing to say")]

use std::ffi::OsStr;
use std::fs;
use std::os::fd::OwnedFd;
use std::path::{Path, PathBuf};
use std::process::ExitCode;
use std::sync::Arc;
use std::time::{Duration, Instant};

use bcmr_publish::{How, Publisher};
use bcmr_tests::content::noise;
use rustix::fs::{CWD, Mode, OFlags, openat, sync};
use rustix::io::write;

/// Files of one round.
const FILES: usize = 10_000;

/// Bytes of each.
const SIZE: usize = 64 * 1024;

/// Rounds of each kind where nobody says.
const ROUNDS: usize = 9;

/// Times direct creation that publication may take.
const AIM: f64 = 1.1;

fn main() -> ExitCode {
    let mut args = std::env::args_os().skip(1);
    let place = PathBuf::from(args.next().unwrap_or_else(|| ".".into()));
    let rounds = args.next().and_then(|text| text.to_str()?.parse().ok()).unwrap_or(ROUNDS);
    let content = noise(SIZE, 1);
    let names: Vec<_> = (0..FILES).map(|i| format!("file-{i:05}")).collect();
    let (mut direct, mut published) = (Vec::new(), Vec::new());
    // The first round of each warms up, and does not count. Which comes first changes from round to round.
    for round in 0..=rounds {
        for turn in [round % 2, (round + 1) % 2] {
            let (create, times): (Way, _) =
                if turn == 0 { (create_directly, &mut direct) } else { (publish, &mut published) };
            let took = measure(&place, &names, &content, create);
            if round > 0 {
                times.push(took);
            }
        }
    }
    println!("{FILES} files of {} KiB, {rounds} rounds of each in turn:", SIZE / 1024);
    let (direct, published) = (report("created directly", &mut direct), report("published", &mut published));
    let ratio = published.as_secs_f64() / direct.as_secs_f64();
    println!("  ratio of the medians {ratio:.3} (aim {AIM})");
    if ratio <= AIM { ExitCode::SUCCESS } else { ExitCode::FAILURE }
}

type Way = fn(Arc<OwnedFd>, &[String], &[u8]);

/// Creates all files in a new directory, and takes them away again.
fn measure(place: &Path, names: &[String], content: &[u8], way: Way) -> Duration {
    let path = place.join("files");
    fs::create_dir(&path).unwrap();
    // What the round before left to be written is no cost of this one.
    sync();
    let dir = openat(CWD, &path, OFlags::PATH | OFlags::DIRECTORY | OFlags::CLOEXEC, Mode::empty()).unwrap();
    let begun = Instant::now();
    way(Arc::new(dir), names, content);
    let took = begun.elapsed();
    let made = fs::read_dir(&path).unwrap().count();
    assert_eq!(made, names.len());
    assert!(fs::read(path.join(&names[made / 2])).unwrap() == content);
    fs::remove_dir_all(path).unwrap();
    took
}

#[allow(clippy::needless_pass_by_value, reason = "the two ways are called alike")]
fn create_directly(dir: Arc<OwnedFd>, names: &[String], content: &[u8]) {
    let flags = OFlags::CREATE | OFlags::EXCL | OFlags::WRONLY | OFlags::CLOEXEC;
    for name in names {
        let file = openat(&dir, &**name, flags, Mode::from_raw_mode(0o666)).unwrap();
        assert_eq!(write(&file, content).unwrap(), content.len());
    }
}

#[allow(clippy::needless_pass_by_value, reason = "the two ways are called alike")]
fn publish(dir: Arc<OwnedFd>, names: &[String], content: &[u8]) {
    let mut publisher = Publisher::default();
    for name in names {
        let mut stage = publisher.begin(Arc::clone(&dir), OsStr::new(name), How::default()).unwrap();
        stage.write(content).unwrap();
        publisher.publish(stage).unwrap();
    }
}

/// Prints how long the rounds took; the median.
fn report(what: &str, times: &mut [Duration]) -> Duration {
    times.sort_unstable();
    let at = |share: usize| times[(times.len() - 1) * share / 100];
    let ms = |time: Duration| time.as_secs_f64() * 1000.0;
    println!("  {what}: median {:.0} ms, least {:.0} ms, most {:.0} ms", ms(at(50)), ms(at(0)), ms(at(100)));
    at(50)
}
