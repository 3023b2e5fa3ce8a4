//! What is kept between the sessions of an account: blocks, quotas, slots. It lies where the protocol does not
//! reach, and is the account's own (docs/policy.md, "State").

pub(crate) mod bytes;
mod format;
pub(crate) mod locked;
pub(crate) mod slot;

use std::os::fd::{AsFd, BorrowedFd, OwnedFd};

use rustix::fs::{FileType, Mode, OFlags, Stat, fstat, mkdirat, openat};
use rustix::io::{Errno, retry_on_intr};
use rustix::process::geteuid;

pub(crate) use self::format::Unusable;

/// The state directory, and what in it belongs to one root: no other root learns of it, though the account be
/// the same.
#[derive(Debug)]
pub(crate) struct State {
    root: OwnedFd,
}

impl State {
    /// Opens the state that belongs to the root with this look.
    ///
    /// # Errors
    /// [`Unusable`], where it is left alone.
    pub(crate) fn open(top: BorrowedFd<'_>, root: &Stat) -> Result<Self, Unusable> {
        if fstat(top).map_err(Unusable::Io)?.st_uid != geteuid().as_raw() {
            return Err(Unusable::NotOwn);
        }
        format::check(top)?;
        let name = format!("{:x}-{:x}", root.st_dev, root.st_ino);
        let root = private_dir(top, &name)?;
        Ok(Self { root })
    }

    /// What belongs to the root.
    pub(crate) fn root(&self) -> BorrowedFd<'_> {
        self.root.as_fd()
    }
}

/// A directory of the account's own, made where it is missing.
pub(crate) fn private_dir(dir: BorrowedFd<'_>, name: &str) -> Result<OwnedFd, Errno> {
    match retry_on_intr(|| mkdirat(dir, name, Mode::RWXU)) {
        Ok(()) | Err(Errno::EXIST) => {}
        Err(errno) => return Err(errno),
    }
    let flags = OFlags::PATH | OFlags::DIRECTORY | OFlags::NOFOLLOW | OFlags::CLOEXEC;
    let opened = retry_on_intr(|| openat(dir, name, flags, Mode::empty()))?;
    if fstat(&opened)?.st_uid == geteuid().as_raw() { Ok(opened) } else { Err(Errno::PERM) }
}

/// A file of the account's own, made where it is missing.
pub(crate) fn private_file(dir: BorrowedFd<'_>, name: &str) -> Result<OwnedFd, Errno> {
    let flags = OFlags::RDWR | OFlags::CREATE | OFlags::NOFOLLOW | OFlags::NONBLOCK | OFlags::CLOEXEC;
    let file = retry_on_intr(|| openat(dir, name, flags, Mode::RUSR | Mode::WUSR))?;
    let stat = fstat(&file)?;
    let own = stat.st_uid == geteuid().as_raw();
    if own && FileType::from_raw_mode(stat.st_mode) == FileType::RegularFile {
        Ok(file)
    } else {
        Err(Errno::PERM)
    }
}
