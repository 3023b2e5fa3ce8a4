//! Numbered slots, each held by one live session through a lock that goes with its process.

use std::os::fd::{AsFd, BorrowedFd, OwnedFd};

use rustix::fs::{FlockOperation, Mode, OFlags, flock, openat};
use rustix::io::{Errno, pread, pwrite, retry_on_intr};

use super::private_file;

/// A slot that this process holds, with two numbers in it that others may read.
#[derive(Debug)]
pub(crate) struct Slot {
    file: OwnedFd,
    number: u64,
}

impl Slot {
    /// Takes the first free slot of `max` in a directory; None where each is held by someone who lives.
    pub(crate) fn take(dir: BorrowedFd<'_>, max: u64) -> Result<Option<Self>, Errno> {
        for number in 0..max {
            let file = private_file(dir, &number.to_string())?;
            match retry_on_intr(|| flock(&file, FlockOperation::NonBlockingLockExclusive)) {
                Ok(()) => {
                    let slot = Self { file, number };
                    slot.set([0, 0])?;
                    return Ok(Some(slot));
                }
                Err(Errno::WOULDBLOCK) => {}
                Err(errno) => return Err(errno),
            }
        }
        Ok(None)
    }

    /// Sets the numbers.
    pub(crate) fn set(&self, numbers: [u64; 2]) -> Result<(), Errno> {
        let bytes: Vec<u8> = numbers.iter().flat_map(|number| number.to_le_bytes()).collect();
        let written = retry_on_intr(|| pwrite(self.file.as_fd(), &bytes, 0))?;
        if written == bytes.len() { Ok(()) } else { Err(Errno::NOSPC) }
    }

    /// The sums of the numbers that the other live holders of slots in the same directory have set.
    pub(crate) fn of_others(&self, dir: BorrowedFd<'_>) -> Result<[u64; 2], Errno> {
        let mut sums = [0_u64; 2];
        for number in 0.. {
            let flags = OFlags::RDONLY | OFlags::NOFOLLOW | OFlags::NONBLOCK | OFlags::CLOEXEC;
            let file = match retry_on_intr(|| openat(dir, number.to_string(), flags, Mode::empty())) {
                // Slots are taken from the first on and their files stay, so that there are no gaps.
                Err(Errno::NOENT) => break,
                file => file?,
            };
            let held = number != self.number
                && retry_on_intr(|| flock(&file, FlockOperation::NonBlockingLockShared)).is_err();
            let mut bytes = [0; 16];
            if held && retry_on_intr(|| pread(&file, &mut bytes, 0))? == bytes.len() {
                for (sum, bytes) in sums.iter_mut().zip(bytes.as_chunks().0) {
                    *sum = sum.saturating_add(u64::from_le_bytes(*bytes));
                }
            }
        }
        Ok(sums)
    }
}
