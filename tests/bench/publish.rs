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
use rustix::fs::{AtFlags, CWD, Mode, OFlags, linkat, openat, sync};
use rustix::io::write;

/// Files of one round.
const FILES: usize = 10_000;

/// Bytes of each.
const SIZE: usize = 64 * 1024;

/// Rounds where nobody says.
const ROUNDS: usize = 9;

/// Files that are made one way before it is the other's turn: what else the machine does meets both alike.
const TURN: usize = 100;

/// Times direct creation that publication may take.
const AIM: f64 = 1.1;

fn main() -> ExitCode {
    let mut args = std::env::args_os().skip(1);
    let place = PathBuf::from(args.next().unwrap_or_else(|| ".".into()));
    let rounds = args.next().and_then(|text| text.to_str()?.parse().ok()).unwrap_or(ROUNDS);
    let content = noise(SIZE, 1);
    let names: Vec<_> = (0..FILES).map(|i| format!("file-{i:05}")).collect();
    let (mut direct, mut published, mut bare) = (Vec::new(), Vec::new(), Vec::new());
    // The first warms up, and does not count.
    for round in 0..=rounds {
        let [a, b, c] = make_all(&place, &names, &content);
        if round > 0 {
            direct.extend(a);
            published.extend(b);
            bare.extend(c);
        }
    }
    println!("{FILES} files of {} KiB each way, {TURN} in turn, {rounds} rounds:", SIZE / 1024);
    let direct = report("created directly", &mut direct);
    let bare = report("the kernel's part of publishing alone", &mut bare);
    let ratio = report("published", &mut published) / direct;
    println!("  of which the kernel's part {:.3}", bare / direct);
    println!("  ratio of the medians {ratio:.3} (aim {AIM})");
    if ratio <= AIM { ExitCode::SUCCESS } else { ExitCode::FAILURE }
}

/// Prints how long the turns took, a file; returns the median, which knows nothing of the turns that something
/// else interrupted.
fn report(what: &str, turns: &mut [Duration]) -> f64 {
    turns.sort_unstable();
    let at = |share: usize| turns[(turns.len() - 1) * share / 100].as_secs_f64() * 1e6 / (TURN as f64);
    println!("  {what}: median {:.1} µs, 10 % {:.1} µs, 90 % {:.1} µs", at(50), at(10), at(90));
    at(50)
}

/// Makes all files every way, each in a directory of its own, and takes them away again: how long each turn took.
fn make_all(place: &Path, names: &[String], content: &[u8]) -> [Vec<Duration>; 3] {
    let paths = ["direct", "published", "bare"].map(|dir| place.join(dir));
    let dirs = paths.each_ref().map(|path| {
        fs::create_dir(path).unwrap();
        let flags = OFlags::PATH | OFlags::DIRECTORY | OFlags::CLOEXEC;
        Arc::new(openat(CWD, path, flags, Mode::empty()).unwrap())
    });
    let mut publisher = Publisher::default();
    let mut took = [Vec::new(), Vec::new(), Vec::new()];
    for (turn, names) in names.chunks(TURN).enumerate() {
        if turn % 5 == 0 {
            // Else the kernel stores what was written while we measure, and slows down who writes.
            sync();
        }
        // Each is first in its turn.
        for way in [turn % 3, (turn + 1) % 3, (turn + 2) % 3] {
            let begun = Instant::now();
            match way {
                0 => create_directly(&dirs[0], names, content),
                2 => link_unnamed(&dirs[2], names, content),
                _ => publish(&mut publisher, &dirs[1], names, content),
            }
            took[way].push(begun.elapsed());
        }
    }
    for path in paths {
        assert_eq!(fs::read_dir(&path).unwrap().count(), names.len());
        assert!(fs::read(path.join(&names[names.len() / 2])).unwrap() == content);
        fs::remove_dir_all(path).unwrap();
    }
    took
}

fn create_directly(dir: &OwnedFd, names: &[String], content: &[u8]) {
    let flags = OFlags::CREATE | OFlags::EXCL | OFlags::WRONLY | OFlags::CLOEXEC;
    for name in names {
        let file = openat(dir, &**name, flags, Mode::from_raw_mode(0o666)).unwrap();
        assert_eq!(write(&file, content).unwrap(), content.len());
    }
}

/// The least that a file without a name costs: what no code around it can save.
fn link_unnamed(dir: &OwnedFd, names: &[String], content: &[u8]) {
    let flags = OFlags::TMPFILE | OFlags::WRONLY | OFlags::CLOEXEC;
    for name in names {
        let file = openat(dir, ".", flags, Mode::from_raw_mode(0o666)).unwrap();
        assert_eq!(write(&file, content).unwrap(), content.len());
        linkat(&file, "", dir, &**name, AtFlags::EMPTY_PATH).unwrap();
    }
}

fn publish(publisher: &mut Publisher, dir: &Arc<OwnedFd>, names: &[String], content: &[u8]) {
    for name in names {
        let mut stage = publisher.begin(Arc::clone(dir), OsStr::new(name), How::default()).unwrap();
        stage.write(content).unwrap();
        publisher.publish(stage).unwrap();
    }
}
