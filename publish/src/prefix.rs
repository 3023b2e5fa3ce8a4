//! The part of a file that a Put with an offset keeps: shared where the file system can, else copied.

use std::os::fd::{AsFd, BorrowedFd};

use rustix::fs::{SeekFrom, copy_file_range, ftruncate, ioctl_ficlone, seek};
use rustix::io::{Errno, pread, retry_on_intr};

use crate::error::PublishError;
use crate::stage::Stage;

/// Bytes that are copied at a time where the kernel does not copy.
const COPY: usize = 256 * 1024;

/// Bytes that one step copies at most: a fraction of a second's work on a slow disk.
const STEP: u64 = 16 * 1024 * 1024;

impl Stage {
    /// Puts more of the first `len` bytes of `from` at the end of this stage, holes included, as much as one
    /// short step does. Returns whether all of them are there.
    ///
    /// # Errors
    /// [`PublishError::Io`]; with EIO also where `from` turns out to be shorter.
    pub fn keep_some(&mut self, from: BorrowedFd<'_>, len: u64) -> Result<bool, PublishError> {
        let io = PublishError::io("keeping the file's beginning");
        if len <= self.len() {
            return Ok(true);
        }
        if self.is_empty() && retry_on_intr(|| ioctl_ficlone(&self.file, from)).is_ok() {
            // The clone is as long as the file is now; what is beyond the prefix goes, and a file that was cut
            // in the meantime must not be made longer.
            let cloned = rustix::fs::fstat(&self.file).map_err(&io)?.st_size;
            if u64::try_from(cloned).is_ok_and(|cloned| cloned >= len) {
                retry_on_intr(|| ftruncate(&self.file, len)).map_err(&io)?;
                self.filled_to(len);
                return Ok(true);
            }
            return Err(io(Errno::IO));
        }
        let (start, end) = next_data(from, self.len(), len).map_err(&io)?;
        self.advance_to(start);
        self.copy_range(from, start, end.min(start + STEP))?;
        Ok(self.len() >= len)
    }

    /// Puts `len` bytes of `from`, from `offset` on, where this stage goes on; they share their extents where the
    /// file system does that.
    ///
    /// # Errors
    /// [`PublishError::Io`]; with EIO also where `from` turns out to be shorter.
    pub fn copy_from(&mut self, from: BorrowedFd<'_>, offset: u64, len: u64) -> Result<(), PublishError> {
        self.copy_range(from, offset, self.len() + len)
    }

    /// Copies from `offset` to where the stage goes on, up to `end`, by the kernel as far as it goes.
    fn copy_range(&mut self, from: BorrowedFd<'_>, offset: u64, end: u64) -> Result<(), PublishError> {
        let start = self.len();
        while self.len() < end {
            let (mut read_at, mut write_at) = (offset + (self.len() - start), self.len());
            let ask = usize::try_from(end - write_at).unwrap_or(COPY);
            let copied = retry_on_intr(|| {
                copy_file_range(from, Some(&mut read_at), self.file.as_fd(), Some(&mut write_at), ask)
            });
            match copied {
                Ok(copied) if copied > 0 => self.filled_to(self.len() + copied as u64),
                // Refused, by the kernel, the file system, the pair of file systems or a filter, perhaps after
                // part of the work; 0 is also what some kernels answer for files of /proc and the like.
                _ => return self.copy_by_hand(from, offset + (self.len() - start), end),
            }
        }
        Ok(())
    }

    fn copy_by_hand(&mut self, from: BorrowedFd<'_>, mut offset: u64, end: u64) -> Result<(), PublishError> {
        let io = PublishError::io("keeping the file's beginning");
        let mut buffer = vec![0; COPY];
        while self.len() < end {
            let ask = usize::try_from(end - self.len()).map_or(COPY, |left| left.min(COPY));
            let read = retry_on_intr(|| pread(from, &mut buffer[..ask], offset)).map_err(&io)?;
            if read == 0 {
                return Err(io(Errno::IO));
            }
            self.write(&buffer[..read])?;
            offset += read as u64;
        }
        Ok(())
    }
}

/// The next run of data at or after `position`, cut at `len`; an empty one at `len` where only a hole is left.
fn next_data(from: BorrowedFd<'_>, position: u64, len: u64) -> Result<(u64, u64), Errno> {
    let start = match retry_on_intr(|| seek(from, SeekFrom::Data(position))) {
        Ok(start) => start.min(len),
        Err(Errno::NXIO) => return Ok((len, len)),
        // A file system without holes.
        Err(Errno::INVAL | Errno::OPNOTSUPP) => return Ok((position, len)),
        Err(errno) => return Err(errno),
    };
    let end = retry_on_intr(|| seek(from, SeekFrom::Hole(start))).unwrap_or(len).min(len);
    // A file that shrinks under our eyes has no hole after its data; what is missing shows when it is read.
    Ok((start, if end > start { end } else { len }))
}
