//! The house is as it is said to be: who uses whom, how long files are, what is banned, which commands are real.

#![allow(
    clippy::expect_used,
    clippy::panic,
    clippy::unwrap_used,
    reason = "a test that cannot go on has failed, and its helpers are part of it"
)]

mod arrows;
mod docs;
mod manual;
mod sources;

use std::fs;
use std::path::{Path, PathBuf};

/// The crates that ship, by their directories.
const SHIPPED: [&str; 5] = ["wire", "publish", "policy", "server", "client"];

/// The project's top directory.
fn top() -> &'static Path {
    Path::new(env!("CARGO_MANIFEST_DIR")).parent().unwrap()
}

fn read(path: impl AsRef<Path>) -> String {
    let path = top().join(path);
    fs::read_to_string(&path).unwrap_or_else(|e| panic!("{}: {e}", path.display()))
}

/// The Rust sources below a directory, with their texts, by paths from the top.
fn sources(dir: &str) -> Vec<(PathBuf, String)> {
    let mut found = Vec::new();
    let mut dirs = vec![top().join(dir)];
    while let Some(dir) = dirs.pop() {
        for entry in fs::read_dir(&dir).unwrap() {
            let path = entry.unwrap().path();
            if path.is_dir() && path.file_name().is_some_and(|name| name != "target") {
                dirs.push(path);
            } else if path.extension().is_some_and(|extension| extension == "rs") {
                let text = fs::read_to_string(&path).unwrap();
                found.push((path.strip_prefix(top()).unwrap().to_owned(), text));
            }
        }
    }
    assert!(!found.is_empty(), "no sources in {dir}");
    found.sort();
    found
}

/// Fails with every place that a check found, or passes.
fn none(what: &str, places: &[String]) {
    assert!(places.is_empty(), "{what}:\n  {}", places.join("\n  "));
}
