//! Much at once: full pipes that must not stop each other, ends that stand still, connections that are refused or
//! lost among several, and numbers of files at which what grows too fast shows.
#![allow(
    clippy::expect_used,
    clippy::panic,
    clippy::unwrap_used,
    reason = "a test that cannot go on has failed, and its helpers are part of it"
)]

mod budget;
mod full;
mod growth;
mod order;
mod pool;
mod still;

use std::fs;
use std::path::{Path, PathBuf};

use bcmr_tests::content::noise;
use rustix::process::Pid;

const MIB: usize = 1 << 20;

/// Where many files are made: in memory, where there is some, since it is not the disk that is looked at.
fn memory() -> PathBuf {
    let memory = PathBuf::from("/dev/shm");
    if memory.is_dir() { memory } else { std::env::temp_dir() }
}

/// Files of these sizes in a new directory `dir`, each of other content.
fn fill(dir: &Path, sizes: impl IntoIterator<Item = usize>) {
    fs::create_dir(dir).unwrap();
    for (number, size) in sizes.into_iter().enumerate() {
        fs::write(dir.join(format!("{number:05}")), noise(size, number as u64)).unwrap();
    }
}

/// The hashes of the files in a directory, by name.
#[track_caller]
fn hashes(dir: &Path) -> Vec<(String, blake3::Hash)> {
    let entries = fs::read_dir(dir).unwrap_or_else(|e| panic!("{}: {e}", dir.display()));
    let mut paths: Vec<PathBuf> = entries.map(|entry| entry.unwrap().path()).collect();
    paths.sort();
    let name = |path: &Path| path.file_name().unwrap().to_str().unwrap().to_owned();
    paths.iter().map(|path| (name(path), blake3::hash(&fs::read(path).unwrap()))).collect()
}

/// A number after a label in a file of /proc; None where the process has gone.
fn figure(pid: Pid, file: &str, label: &str) -> Option<u64> {
    let text = fs::read_to_string(format!("/proc/{}/{file}", pid.as_raw_nonzero())).ok()?;
    let rest = text.lines().find_map(|line| line.strip_prefix(label))?;
    rest.split_whitespace().next()?.parse().ok()
}
