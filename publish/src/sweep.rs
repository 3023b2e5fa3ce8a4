//! Clearing away what a killed session left: stages under reserved names that nobody holds any more.

use std::ffi::OsStr;
use std::os::fd::{BorrowedFd, OwnedFd};
use std::os::unix::ffi::OsStrExt;

use rustix::fs::{
    AtFlags, Dir, FileType, FlockOperation, Mode, OFlags, Stat, fchmod, flock, fstat, ftruncate, openat,
    statat, unlinkat,
};
use rustix::io::{Errno, retry_on_intr};
use rustix::process::geteuid;

use crate::name::is_reserved;

/// What a sweep of one directory did.
#[derive(Clone, Copy, PartialEq, Eq, Debug, Default)]
pub struct Swept {
    /// Dead stages removed.
    pub removed: usize,
    /// Dead stages emptied and left, in a directory where others can exchange names.
    pub emptied: usize,
    /// Entries under reserved names that were left alone: alive, foreign, not regular, or not to be opened.
    pub left: usize,
}

enum Fate {
    Removed,
    Emptied,
    Left,
}

/// Clears the dead stages in one directory, whose handle may be one with O_PATH. A directory that cannot be
/// read is left as it is.
///
/// A dead stage is a regular file of this account under a reserved name, with no lock on it, and one link, or
/// two where the kill came between a link and the removal of the reserved name; the latter is published, so it
/// is never emptied.
pub fn sweep_dir(dir: BorrowedFd<'_>) -> Swept {
    let mut swept = Swept::default();
    let Ok(listing) = open_listing(dir) else { return swept };
    for entry in listing {
        // A directory that fails half-way is swept by the next session.
        let Ok(entry) = entry else { break };
        let name = entry.file_name().to_bytes();
        if is_reserved(name) {
            match clear(dir, OsStr::from_bytes(name)) {
                Ok(Fate::Removed) => swept.removed += 1,
                Ok(Fate::Emptied) => swept.emptied += 1,
                Ok(Fate::Left) | Err(_) => swept.left += 1,
            }
        }
    }
    swept
}

fn open_listing(dir: BorrowedFd<'_>) -> Result<Dir, Errno> {
    let flags = OFlags::RDONLY | OFlags::DIRECTORY | OFlags::CLOEXEC;
    Dir::new(retry_on_intr(|| openat(dir, ".", flags, Mode::empty()))?)
}

fn clear(dir: BorrowedFd<'_>, name: &OsStr) -> Result<Fate, Errno> {
    let look = || retry_on_intr(|| statat(dir, name, AtFlags::SYMLINK_NOFOLLOW));
    if !may_be_ours(&look()?) {
        return Ok(Fate::Left);
    }
    // A stage that was killed right before it was published may have the mode of the file that it was going to
    // replace, which may be read-only.
    let file = open(dir, name, OFlags::WRONLY).or_else(|_| open(dir, name, OFlags::RDONLY))?;
    retry_on_intr(|| flock(&file, FlockOperation::NonBlockingLockExclusive))?;
    // Looked at again through the handle and by name, now that no session can begin to use it.
    let stat = fstat(&file)?;
    if !may_be_ours(&stat) || !is_same(&stat, &look()?) {
        return Ok(Fate::Left);
    }
    if !others_exchange_names(dir)? {
        retry_on_intr(|| unlinkat(dir, name, AtFlags::empty()))?;
        return Ok(Fate::Removed);
    }
    // Someone else could put another file under the name right before it is unlinked.
    if stat.st_nlink == 1 && stat.st_size > 0 {
        empty(dir, name, &file, &stat)?;
        return Ok(Fate::Emptied);
    }
    Ok(Fate::Left)
}

fn open(dir: BorrowedFd<'_>, name: &OsStr, access: OFlags) -> Result<OwnedFd, Errno> {
    let flags = access | OFlags::NOFOLLOW | OFlags::NONBLOCK | OFlags::NOCTTY | OFlags::CLOEXEC;
    retry_on_intr(|| openat(dir, name, flags, Mode::empty()))
}

/// Empties a file that is open, for reading only perhaps.
fn empty(dir: BorrowedFd<'_>, name: &OsStr, file: &OwnedFd, stat: &Stat) -> Result<(), Errno> {
    let refused = match retry_on_intr(|| ftruncate(file, 0)) {
        // EINVAL and EBADF both stand for a handle that cannot write (ftruncate(2)).
        Err(errno @ (Errno::INVAL | Errno::BADF)) => errno,
        emptied => return emptied,
    };
    retry_on_intr(|| fchmod(file, Mode::from_raw_mode(0o600)))?;
    let writable = open(dir, name, OFlags::WRONLY)?;
    // The name may stand for another file by now.
    if is_same(stat, &fstat(&writable)?) { retry_on_intr(|| ftruncate(&writable, 0)) } else { Err(refused) }
}

fn is_same(a: &Stat, b: &Stat) -> bool {
    (a.st_dev, a.st_ino) == (b.st_dev, b.st_ino)
}

fn may_be_ours(stat: &Stat) -> bool {
    FileType::from_raw_mode(stat.st_mode) == FileType::RegularFile
        && stat.st_uid == geteuid().as_raw()
        && (1..=2).contains(&stat.st_nlink)
}

/// Whether another principal may rename and unlink this account's files in `dir`: it is writable by group or
/// others (an ACL's mask shows as the group's bits) and not sticky, or belongs to someone else.
fn others_exchange_names(dir: BorrowedFd<'_>) -> Result<bool, Errno> {
    let stat = fstat(dir)?;
    let foreign = stat.st_uid != geteuid().as_raw() && stat.st_uid != 0;
    Ok(foreign || (stat.st_mode & 0o022 != 0 && stat.st_mode & 0o1000 == 0))
}
