//! What a program asks of the kernel, as strace saw it.

use std::fs;
use std::path::PathBuf;
use std::process::Command;

use tempfile::TempDir;

/// Where strace writes.
pub(crate) struct Trace {
    dir: TempDir,
}

impl Trace {
    pub(crate) fn new() -> Self {
        Self { dir: tempfile::tempdir().unwrap() }
    }

    fn path(&self) -> PathBuf {
        self.dir.path().join("trace")
    }

    /// The command that runs another one under strace, which follows all its threads, names the files behind
    /// descriptors, and shortens nothing. What is asked of it comes behind.
    pub(crate) fn command(&self, more: &[&str]) -> Vec<String> {
        let found = Command::new("strace").arg("--version").output();
        assert!(found.is_ok(), "strace is not installed; tests/run installs it");
        let path = self.path().to_str().unwrap().to_owned();
        let words =
            ["strace", "-f", "-v", "-y", "-s", "64", "-o", &path].into_iter().chain(more.iter().copied());
        words.map(str::to_owned).collect()
    }

    /// The calls so far, one a line, without the process's number.
    pub(crate) fn calls(&self) -> Vec<String> {
        let text = fs::read_to_string(self.path()).unwrap();
        let call = |line: &str| line.split_once(' ').map(|(_, call)| call.trim_start().to_owned());
        text.lines().filter_map(call).collect()
    }
}

/// The name of a call.
pub(crate) fn name(call: &str) -> &str {
    call.split('(').next().unwrap_or_default()
}
