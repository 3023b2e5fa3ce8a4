//! A place on disk for one test: a root to be served, and an outside that must never be touched.

use std::fs::{self, File};
use std::os::unix::fs::{FileExt, PermissionsExt, symlink};
use std::os::unix::net::UnixListener;
use std::path::{Path, PathBuf};

use rustix::fs::{CWD, FileType, Mode, mknodat};
use tempfile::TempDir;

use crate::disk::{Tree, snapshot};

/// Two directories beside each other, `root` and `outside`, gone with the value.
#[derive(Debug)]
pub struct Site {
    dir: TempDir,
}

impl Default for Site {
    fn default() -> Self {
        Self::new()
    }
}

impl Site {
    /// An empty root and an empty outside.
    #[must_use]
    pub fn new() -> Self {
        Self::within(&std::env::temp_dir())
    }

    /// The same below `parent`, for a test that wants a certain file system.
    #[must_use]
    pub fn within(parent: &Path) -> Self {
        let dir = tempfile::Builder::new().prefix("bcmr-").tempdir_in(parent).unwrap();
        let site = Self { dir };
        fs::create_dir(site.root()).unwrap();
        fs::create_dir(site.outside()).unwrap();
        site
    }

    /// What the two directories stand in.
    #[must_use]
    pub fn base(&self) -> &Path {
        self.dir.path()
    }

    /// The root to be served.
    #[must_use]
    pub fn root(&self) -> PathBuf {
        self.base().join("root")
    }

    /// The directory beside the root.
    #[must_use]
    pub fn outside(&self) -> PathBuf {
        self.base().join("outside")
    }

    /// A path below the root.
    #[must_use]
    pub fn path(&self, name: &str) -> PathBuf {
        self.root().join(name)
    }

    /// The same as the text of an absolute path in a request.
    #[must_use]
    pub fn host(&self, name: &str) -> String {
        self.path(name).to_str().unwrap().to_owned()
    }

    /// Makes a directory below the root, with its parents.
    pub fn dir(&self, name: &str) -> PathBuf {
        let path = self.path(name);
        fs::create_dir_all(&path).unwrap();
        path
    }

    /// Makes a file below the root, with its parents.
    pub fn file(&self, name: &str, content: impl AsRef<[u8]>) -> PathBuf {
        let path = self.path(name);
        fs::create_dir_all(path.parent().unwrap()).unwrap();
        fs::write(&path, content).unwrap();
        path
    }

    /// Makes a file outside the root.
    pub fn outside_file(&self, name: &str, content: impl AsRef<[u8]>) -> PathBuf {
        let path = self.outside().join(name);
        fs::create_dir_all(path.parent().unwrap()).unwrap();
        fs::write(&path, content).unwrap();
        path
    }

    /// Makes a file of `size` bytes below the root that holds the given pieces, each with its offset, and
    /// holes between them.
    pub fn sparse(&self, name: &str, size: u64, pieces: &[(u64, &[u8])]) -> PathBuf {
        let path = self.file(name, "");
        let file = File::options().write(true).open(&path).unwrap();
        file.set_len(size).unwrap();
        pieces.iter().for_each(|(offset, bytes)| file.write_all_at(bytes, *offset).unwrap());
        path
    }

    /// Makes a symbolic link below the root.
    pub fn link(&self, name: &str, target: impl AsRef<Path>) -> PathBuf {
        let path = self.path(name);
        fs::create_dir_all(path.parent().unwrap()).unwrap();
        symlink(target, &path).unwrap();
        path
    }

    /// Makes a FIFO below the root, which nobody holds open.
    pub fn fifo(&self, name: &str) -> PathBuf {
        let path = self.path(name);
        mknodat(CWD, &path, FileType::Fifo, Mode::from_raw_mode(0o644), 0).unwrap();
        path
    }

    /// Makes a socket below the root, on which nobody listens any more.
    pub fn socket(&self, name: &str) -> PathBuf {
        let path = self.path(name);
        drop(UnixListener::bind(&path).unwrap());
        path
    }

    /// Sets the permission bits of something below the root.
    pub fn chmod(&self, name: &str, mode: u32) {
        fs::set_permissions(self.path(name), fs::Permissions::from_mode(mode)).unwrap();
    }

    /// The content of a file below the root.
    #[must_use]
    pub fn read(&self, name: &str) -> Vec<u8> {
        fs::read(self.path(name)).unwrap()
    }

    /// The names that stand right in the root now, for where content is too much to be read.
    #[must_use]
    pub fn names(&self) -> Vec<String> {
        let name = |entry: std::io::Result<fs::DirEntry>| entry.unwrap().file_name().into_string().unwrap();
        let mut names: Vec<_> = self.root().read_dir().unwrap().map(name).collect();
        names.sort_unstable();
        names
    }

    /// What stands below the root now.
    #[must_use]
    pub fn tree(&self) -> Tree {
        snapshot(&self.root())
    }

    /// What stands below the root and outside of it now.
    #[must_use]
    pub fn everything(&self) -> Tree {
        snapshot(self.base())
    }
}
