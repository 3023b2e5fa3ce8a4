//! Missing parent directories: made on the way to a stage, taken back if nothing is published.

use std::ffi::{OsStr, OsString};
use std::os::fd::{AsFd, BorrowedFd, OwnedFd};

use rustix::fs::{AtFlags, Mode, OFlags, fchmod, mkdirat, openat, unlinkat};
use rustix::io::{Errno, retry_on_intr};

use crate::error::PublishError;
use crate::publisher::sync_dir;

/// Directories made in one go, each of which holds a descriptor until it is kept or taken back.
const DEPTH: usize = 100;

/// Directories that were made and are not yet kept. Dropping it removes those that are still empty.
#[derive(Debug, Default)]
pub struct NewDirs {
    made: Vec<(OwnedFd, OsString)>,
}

impl NewDirs {
    /// Makes the directories `names`, each in the one before it, the first in `base`, and returns a handle
    /// (O_PATH) of the last. A directory that someone else made in the meantime is used and not taken back; a
    /// symbolic link is not followed.
    ///
    /// # Errors
    /// [`PublishError::Io`]; what was made by then is removed again.
    pub fn make<'a>(
        base: OwnedFd,
        names: impl IntoIterator<Item = &'a OsStr>,
        mode: Option<u32>,
    ) -> Result<(OwnedFd, Self), PublishError> {
        let io = PublishError::io("creating a directory");
        let mut dirs = Self::default();
        let mut dir = base;
        for name in names {
            if dirs.made.len() == DEPTH {
                return Err(io(Errno::NAMETOOLONG));
            }
            let made = match retry_on_intr(|| mkdirat(&dir, name, Mode::from_raw_mode(0o777))) {
                Ok(()) => true,
                Err(Errno::EXIST) => false,
                Err(errno) => return Err(io(errno)),
            };
            let child = open_child(dir.as_fd(), name);
            if made {
                dirs.made.push((dir, name.to_owned()));
            }
            let child = child.map_err(&io)?;
            if let (true, Some(mode)) = (made, mode) {
                set_mode(child.as_fd(), mode).map_err(&io)?;
            }
            dir = child;
        }
        Ok((dir, dirs))
    }

    /// Whether no directory was made.
    #[must_use]
    pub fn is_empty(&self) -> bool {
        self.made.is_empty()
    }

    /// Lets the directories stand.
    pub fn keep(mut self) {
        self.made.clear();
    }

    /// Flushes the directories in which new ones were made, so that the way to the published file is durable.
    ///
    /// # Errors
    /// [`PublishError::NotDurable`].
    pub fn sync(&self) -> Result<(), PublishError> {
        self.made.iter().try_for_each(|(dir, _)| sync_dir(dir.as_fd())).map_err(PublishError::NotDurable)
    }
}

impl Drop for NewDirs {
    fn drop(&mut self) {
        while let Some((dir, name)) = self.made.pop() {
            // One that is not empty is someone's by now, and so are those above it.
            if retry_on_intr(|| unlinkat(&dir, &name, AtFlags::REMOVEDIR)).is_err() {
                self.made.clear();
            }
        }
    }
}

fn open_child(dir: BorrowedFd<'_>, name: &OsStr) -> Result<OwnedFd, Errno> {
    let flags = OFlags::PATH | OFlags::DIRECTORY | OFlags::NOFOLLOW | OFlags::CLOEXEC;
    retry_on_intr(|| openat(dir, name, flags, Mode::empty()))
}

/// Sets the permission bits of a directory given by an O_PATH handle. The setgid bit that the directory may
/// have inherited stays.
fn set_mode(dir: BorrowedFd<'_>, mode: u32) -> Result<(), Errno> {
    let flags = OFlags::RDONLY | OFlags::DIRECTORY | OFlags::CLOEXEC;
    let readable = retry_on_intr(|| openat(dir, ".", flags, Mode::empty()))?;
    let inherited = rustix::fs::fstat(&readable)?.st_mode & 0o2000;
    retry_on_intr(|| fchmod(&readable, Mode::from_raw_mode(mode & 0o777 | inherited)))
}
