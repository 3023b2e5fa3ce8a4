//! A FUSE file system for one test. Needs root.

use std::os::unix::fs::MetadataExt;
use std::path::Path;
use std::process::{Child, Command};
use std::thread::sleep;
use std::time::Duration;

/// bindfs, and its mount, which goes with the value.
#[derive(Debug)]
pub struct Fuse<'a> {
    child: Child,
    at: &'a Path,
}

impl<'a> Fuse<'a> {
    /// Shows the directory `of` at another.
    #[must_use]
    pub fn mirror(of: &Path, at: &'a Path) -> Self {
        let device = || at.metadata().unwrap().dev();
        let before = device();
        let child = Command::new("bindfs").arg("-f").arg(of).arg(at).spawn();
        let fuse = Self { child: child.unwrap_or_else(|e| panic!("bindfs: {e}")), at };
        while device() == before {
            sleep(Duration::from_millis(10));
        }
        fuse
    }
}

impl Drop for Fuse<'_> {
    fn drop(&mut self) {
        let _ = Command::new("umount").arg("-l").arg(self.at).status();
        let _ = self.child.kill();
        let _ = self.child.wait();
    }
}
