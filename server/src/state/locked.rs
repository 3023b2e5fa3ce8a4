//! Numbers that all sessions of an account share, in a file under a lock that a dead process cannot hold.

use std::os::fd::{AsFd, BorrowedFd, OwnedFd};
use std::sync::{Mutex, MutexGuard, PoisonError};
use std::thread::sleep;
use std::time::{Duration, Instant};

use rustix::fs::{FlockOperation, flock};
use rustix::io::{Errno, retry_on_intr};

use super::bytes::{read_numbers, write_numbers};
use super::private_file;

/// How long a session waits for another that holds the lock; one that was stopped may hold it for ever.
pub(crate) const PATIENCE: Duration = Duration::from_secs(2);

/// A few numbers in a file.
#[derive(Debug)]
pub(crate) struct Shared<const N: usize> {
    /// In a mutex, because flock(2) is held by all threads of a process alike.
    file: Mutex<OwnedFd>,
}

/// The numbers while nobody else changes them.
#[derive(Debug)]
pub(crate) struct Held<'a, const N: usize> {
    file: MutexGuard<'a, OwnedFd>,
    numbers: [u64; N],
    /// Whether the file was new, or no such file.
    pub(crate) unknown: bool,
}

impl<const N: usize> Shared<N> {
    pub(crate) fn open(dir: BorrowedFd<'_>, name: &str) -> Result<Self, Errno> {
        Ok(Self { file: Mutex::new(private_file(dir, name)?) })
    }

    /// Waits for the lock, and reads.
    ///
    /// # Errors
    /// AGAIN where another session does not let go of it; what reading fails with.
    pub(crate) fn hold(&self) -> Result<Held<'_, N>, Errno> {
        self.hold_within(PATIENCE)
    }

    /// The same with another patience.
    pub(crate) fn hold_within(&self, patience: Duration) -> Result<Held<'_, N>, Errno> {
        let file = self.file.lock().unwrap_or_else(PoisonError::into_inner);
        lock(file.as_fd(), FlockOperation::NonBlockingLockExclusive, patience)?;
        let numbers = match read_numbers(file.as_fd()) {
            Ok(numbers) => numbers,
            Err(errno) => {
                let _ = flock(file.as_fd(), FlockOperation::Unlock);
                return Err(errno);
            }
        };
        Ok(Held { file, numbers: numbers.unwrap_or([0; N]), unknown: numbers.is_none() })
    }
}

impl<const N: usize> Held<'_, N> {
    pub(crate) const fn numbers(&self) -> [u64; N] {
        self.numbers
    }

    /// Writes the numbers. Where that fails they are as they were.
    pub(crate) fn set(&mut self, numbers: [u64; N]) -> Result<(), Errno> {
        write_numbers(self.file.as_fd(), numbers)?;
        self.numbers = numbers;
        Ok(())
    }
}

impl<const N: usize> Drop for Held<'_, N> {
    fn drop(&mut self) {
        let _ = flock(self.file.as_fd(), FlockOperation::Unlock);
    }
}

/// Tries to lock until it is, or patience ends.
///
/// # Errors
/// AGAIN where another does not let go; what flock(2) fails with.
pub(crate) fn lock(file: BorrowedFd<'_>, how: FlockOperation, patience: Duration) -> Result<(), Errno> {
    let deadline = Instant::now() + patience;
    loop {
        match retry_on_intr(|| flock(file, how)) {
            Err(Errno::WOULDBLOCK) if Instant::now() < deadline => sleep(Duration::from_millis(1)),
            locked => return locked,
        }
    }
}
