//! A file that is being received: written front to back, holes left holes.

use std::ffi::{OsStr, OsString};
use std::os::fd::{AsFd, BorrowedFd, OwnedFd};
use std::sync::Arc;

use rustix::fs::{
    AtFlags, FileType, FlockOperation, Mode, OFlags, flock, fstat, ftruncate, openat, statat, unlinkat,
};
use rustix::io::{Errno, fcntl_dupfd_cloexec, pwrite, retry_on_intr};

use crate::error::PublishError;
use crate::ladder::{Rungs, Staging};
use crate::name;
use crate::publisher::How;

/// Bytes that are written in one call: for more the page cache looks for as much memory in one piece, and where there
/// is none makes some, which takes it ten times as long as the writing.
const PIECE: usize = 256 * 1024;

/// Bytes of a run of zeros that is left out of the stage: a page, below which file systems keep no holes.
const HOLE: usize = 4096;

/// How often a reserved name is drawn again. 128 random bits do not collide; a swap by another principal makes
/// a try fail, and that one may keep at it.
const TRIES: usize = 8;

/// What a stage is to become, and where.
#[derive(Debug)]
pub(crate) struct Target {
    /// Shared, because files often come into the same directory one after another.
    pub(crate) dir: Arc<OwnedFd>,
    pub(crate) device: u64,
    pub(crate) name: OsString,
    pub(crate) how: How,
    /// The permission bits that the file was to get when it was begun, where its stage has a name and is
    /// closed to others until then.
    pub(crate) closed_as: Option<u32>,
}

/// A file that nobody sees under its name yet. Dropping it removes it.
#[derive(Debug)]
pub struct Stage {
    pub(crate) target: Target,
    pub(crate) file: OwnedFd,
    pub(crate) rungs: Rungs,
    /// The reserved name that stands for the file now, if any.
    pub(crate) reserved: Option<String>,
    position: u64,
    /// Whether the bytes just before `position` were left out, so that the length is still to be settled.
    ends_in_hole: bool,
}

impl Stage {
    /// Opens an unnamed file in `dir`.
    pub(crate) fn open_unnamed(dir: BorrowedFd<'_>, readable: bool) -> Result<OwnedFd, Errno> {
        let flags = OFlags::TMPFILE | access(readable) | OFlags::CLOEXEC;
        // "." because a handle with O_PATH cannot be reopened otherwise; 0666 less what umask and ACL take.
        retry_on_intr(|| openat(dir, ".", flags, Mode::from_raw_mode(0o666)))
    }

    /// Creates, locks and checks a file under a reserved name in `dir`. One that is `closed` can be opened by
    /// this account alone: what is to replace a private file must not be readable while it is received.
    pub(crate) fn open_named(
        dir: BorrowedFd<'_>,
        closed: bool,
        readable: bool,
    ) -> Result<(OwnedFd, String), PublishError> {
        let io = PublishError::io("creating a stage");
        let mode = Mode::from_raw_mode(if closed { 0o600 } else { 0o666 });
        let flags = OFlags::CREATE | OFlags::EXCL | access(readable) | OFlags::NOFOLLOW | OFlags::CLOEXEC;
        for _ in 0..TRIES {
            let reserved = name::random().map_err(&io)?;
            let file = match retry_on_intr(|| openat(dir, &*reserved, flags, mode)) {
                Err(Errno::EXIST) => continue,
                file => file.map_err(&io)?,
            };
            // The lock tells a sweep that the stage is alive. Where the file system has no locks, a sweep gets
            // none either, and leaves every stage alone.
            let locked = retry_on_intr(|| flock(&file, FlockOperation::NonBlockingLockExclusive));
            if locked == Err(Errno::WOULDBLOCK) {
                // A sweep was quicker, and takes the name away.
                continue;
            }
            match is_still(dir, &reserved, file.as_fd()) {
                Ok(true) => return Ok((file, reserved)),
                Ok(false) => {}
                Err(errno) => {
                    let _ = retry_on_intr(|| unlinkat(dir, &*reserved, AtFlags::empty()));
                    return Err(io(errno));
                }
            }
        }
        Err(io(Errno::AGAIN))
    }

    pub(crate) const fn new(target: Target, file: OwnedFd, rungs: Rungs, reserved: Option<String>) -> Self {
        Self { target, file, rungs, reserved, position: 0, ends_in_hole: false }
    }

    /// Bytes that the stage holds so far, holes included.
    #[must_use]
    pub const fn len(&self) -> u64 {
        self.position
    }

    /// Whether nothing was written so far.
    #[must_use]
    pub const fn is_empty(&self) -> bool {
        self.position == 0
    }

    /// Where the file was staged.
    #[must_use]
    pub const fn staging(&self) -> Staging {
        self.rungs.staging
    }

    /// The file's descriptor, for reading attributes.
    #[must_use]
    pub fn as_fd(&self) -> BorrowedFd<'_> {
        self.file.as_fd()
    }

    /// Appends bytes. Runs of zeros of a page or more become holes.
    ///
    /// # Errors
    /// [`PublishError::Io`]: ENOSPC, EDQUOT, EFBIG, EIO among others. The stage is then good for nothing.
    pub fn write(&mut self, mut bytes: &[u8]) -> Result<(), PublishError> {
        while !bytes.is_empty() {
            let zeros = leading_zeros(bytes);
            if zeros > 0 {
                self.position += zeros as u64;
                self.ends_in_hole = true;
                bytes = &bytes[zeros..];
                continue;
            }
            let data = data_len(bytes);
            self.write_data(&bytes[..data])?;
            bytes = &bytes[data..];
        }
        Ok(())
    }

    fn write_data(&mut self, mut bytes: &[u8]) -> Result<(), PublishError> {
        let io = PublishError::io("writing");
        while !bytes.is_empty() {
            let piece = &bytes[..bytes.len().min(PIECE)];
            let written = retry_on_intr(|| pwrite(&self.file, piece, self.position)).map_err(&io)?;
            if written == 0 {
                return Err(io(Errno::NOSPC));
            }
            self.position += written as u64;
            bytes = &bytes[written..];
        }
        self.ends_in_hole = false;
        Ok(())
    }

    /// Goes on at `position`: what a file consists of may come out of order.
    pub fn seek(&mut self, position: u64) {
        self.position = position;
    }

    /// Goes to the file's end. Whatever was written last, the length is settled by this.
    pub fn end_at(&mut self, len: u64) {
        self.position = len;
        self.ends_in_hole = true;
    }

    /// Makes the file at least as long as it is by now, where what was written last became a hole: whoever reads the
    /// stage meanwhile would find nothing there.
    ///
    /// # Errors
    /// [`PublishError::Io`].
    pub fn show_hole(&mut self) -> Result<(), PublishError> {
        let io = PublishError::io("setting the length");
        if self.ends_in_hole {
            let len = fstat(&self.file).map_err(&io)?.st_size;
            if u64::try_from(len).is_ok_and(|len| len < self.position) {
                retry_on_intr(|| ftruncate(&self.file, self.position)).map_err(&io)?;
            }
        }
        Ok(())
    }

    /// Moves the end to `position`; what lies between is a hole.
    pub(crate) fn advance_to(&mut self, position: u64) {
        if position > self.position {
            self.position = position;
            self.ends_in_hole = true;
        }
    }

    /// Tells that bytes up to `position` were put there by other means.
    pub(crate) fn filled_to(&mut self, position: u64) {
        self.position = position;
        self.ends_in_hole = false;
    }

    /// Gives the file its length where it ends in a hole.
    pub(crate) fn settle_length(&mut self) -> Result<(), PublishError> {
        let io = PublishError::io("setting the length");
        // Not where it has it already: XFS brings the file to disk before it lets the length be set.
        if std::mem::take(&mut self.ends_in_hole)
            && u64::try_from(fstat(&self.file).map_err(&io)?.st_size) != Ok(self.position)
        {
            retry_on_intr(|| ftruncate(&self.file, self.position)).map_err(&io)?;
        }
        Ok(())
    }

    /// Has errors reported that a file system keeps for close(2): those that store elsewhere (NFS, SMB, FUSE)
    /// may learn only then that the disk is full or the quota used up.
    pub(crate) fn ask_for_late_errors(&self) -> Result<(), PublishError> {
        let again = || {
            let twin = fcntl_dupfd_cloexec(&self.file, 0)?;
            nix::unistd::close(twin).map_err(|errno| Errno::from_raw_os_error(errno as i32))
        };
        retry_on_intr(again).map_err(PublishError::io("storing what was written"))
    }

    /// Checks that the reserved name, if the file has one, still stands for it: what is published by that name
    /// must be what was received.
    pub(crate) fn check_reserved(&self) -> Result<(), PublishError> {
        let Some(reserved) = &self.reserved else { return Ok(()) };
        match is_still(self.target.dir.as_fd(), reserved, self.file.as_fd()) {
            Ok(true) => Ok(()),
            Ok(false) => Err(PublishError::StageLost),
            Err(errno) => Err(PublishError::io("looking at the stage")(errno)),
        }
    }

    /// Takes the reserved name away, if the file has one and nobody has put another file there.
    fn remove_reserved(&mut self) {
        let Some(reserved) = self.reserved.take() else { return };
        let dir = self.target.dir.as_fd();
        if is_called(dir, &reserved, self.file.as_fd()) == Ok(false) {
            return;
        }
        // Where even this fails the next sweep finds the name; there is no one to tell.
        let _ = retry_on_intr(|| unlinkat(dir, &*reserved, AtFlags::empty()));
    }
}

impl Drop for Stage {
    fn drop(&mut self) {
        self.remove_reserved();
    }
}

fn access(readable: bool) -> OFlags {
    if readable { OFlags::RDWR } else { OFlags::WRONLY }
}

/// Whether `name` in `dir` is still the very file that is open, with no other name.
fn is_still(dir: BorrowedFd<'_>, name: &str, file: BorrowedFd<'_>) -> Result<bool, Errno> {
    let open = fstat(file)?;
    let regular = FileType::from_raw_mode(open.st_mode) == FileType::RegularFile;
    Ok(regular && open.st_nlink == 1 && is_called(dir, name, file)?)
}

/// Whether `name` in `dir` stands for the file that is open.
fn is_called(dir: BorrowedFd<'_>, name: &str, file: BorrowedFd<'_>) -> Result<bool, Errno> {
    let open = fstat(file)?;
    match retry_on_intr(|| statat(dir, OsStr::new(name), AtFlags::SYMLINK_NOFOLLOW)) {
        Err(Errno::NOENT) => Ok(false),
        there => there.map(|there| (open.st_dev, open.st_ino) == (there.st_dev, there.st_ino)),
    }
}

/// Bytes of zeros at the front that may become a hole: whole pages, or all of `bytes`.
fn leading_zeros(bytes: &[u8]) -> usize {
    let pages = bytes.chunks_exact(HOLE).take_while(|page| is_zero(page)).count() * HOLE;
    let rest = &bytes[pages..];
    if rest.len() < HOLE && is_zero(rest) { bytes.len() } else { pages }
}

/// Bytes at the front up to the next page of zeros, counted in pages from the front.
fn data_len(bytes: &[u8]) -> usize {
    let pages = bytes.chunks_exact(HOLE).take_while(|page| !is_zero(page)).count() * HOLE;
    if bytes.len() - pages < HOLE { bytes.len() } else { pages }
}

fn is_zero(bytes: &[u8]) -> bool {
    // The first bytes decide for nearly all data; only then is a whole page worth a look.
    let (head, tail) = bytes.split_at(bytes.len().min(16));
    head.iter().all(|b| *b == 0) && tail.iter().all(|b| *b == 0)
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn zeros_are_cut_in_pages_and_data_never_is() {
        let mut bytes = vec![0; 3 * HOLE];
        assert_eq!(leading_zeros(&bytes), 3 * HOLE);
        bytes[2 * HOLE] = 1;
        assert_eq!(leading_zeros(&bytes), 2 * HOLE);
        bytes[0] = 1;
        assert_eq!(leading_zeros(&bytes), 0);
        assert_eq!(data_len(&bytes), HOLE);
        assert_eq!(leading_zeros(&[0; 10]), 10);
        assert_eq!(leading_zeros(&[0, 1]), 0);
        assert_eq!(data_len(&[1, 0]), 2);
    }

    #[test]
    fn zero_bytes_short_of_a_page_between_data_stay() {
        let mut bytes = vec![7; 2 * HOLE];
        bytes[100..HOLE].fill(0);
        assert_eq!(data_len(&bytes), 2 * HOLE);
    }
}
