//! Numbered slots, each held by one live session through a lock that goes with its process.

use std::os::fd::{AsFd, BorrowedFd, OwnedFd};

use rustix::fs::{FlockOperation, Mode, OFlags, flock, openat};
use rustix::io::{Errno, retry_on_intr};

use super::bytes::{read_numbers, write_numbers};
use super::private_file;

/// Numbers that a slot has room for.
pub(crate) const NUMBERS: usize = 4;

/// What a slot says when it says nothing.
pub(crate) const NOTHING: [u64; NUMBERS] = [0; NUMBERS];

/// A slot that this process holds, with numbers in it that others may read.
#[derive(Debug)]
pub(crate) struct Slot {
    file: OwnedFd,
    number: u64,
}

/// A slot whose holder died without a last word.
#[derive(Debug)]
pub(crate) struct Dead(OwnedFd);

/// What the other slots of a directory say.
#[derive(Debug, Default)]
pub(crate) struct Others {
    /// The numbers of those who live.
    pub(crate) live: Vec<[u64; NUMBERS]>,
    /// Those who do not; nobody else takes them meanwhile.
    pub(crate) dead: Vec<Dead>,
}

impl Slot {
    /// Takes the first free slot of `max` in a directory; None where each is held by someone who lives. The second
    /// value tells whether its last holder died without a last word, which it goes on saying until it is [set](Self::set).
    pub(crate) fn take(dir: BorrowedFd<'_>, max: u64) -> Result<Option<(Self, bool)>, Errno> {
        for number in 0..max {
            let file = private_file(dir, &number.to_string())?;
            match retry_on_intr(|| flock(&file, FlockOperation::NonBlockingLockExclusive)) {
                Ok(()) => {
                    let died = said(file.as_fd())? != NOTHING;
                    return Ok(Some((Self { file, number }, died)));
                }
                Err(Errno::WOULDBLOCK) => {}
                Err(errno) => return Err(errno),
            }
        }
        Ok(None)
    }

    /// Sets the numbers.
    pub(crate) fn set(&self, numbers: [u64; NUMBERS]) -> Result<(), Errno> {
        write_numbers(self.file.as_fd(), numbers)
    }

    /// What the other slots in the same directory say.
    pub(crate) fn others(&self, dir: BorrowedFd<'_>) -> Result<Others, Errno> {
        let mut others = Others::default();
        for number in 0.. {
            let flags = OFlags::RDWR | OFlags::NOFOLLOW | OFlags::NONBLOCK | OFlags::CLOEXEC;
            let file = match retry_on_intr(|| openat(dir, number.to_string(), flags, Mode::empty())) {
                // Slots are taken from the first on and their files stay, so that there are no gaps.
                Err(Errno::NOENT) => break,
                file => file?,
            };
            let numbers = said(file.as_fd())?;
            if number == self.number || numbers == NOTHING {
                continue;
            }
            match retry_on_intr(|| flock(&file, FlockOperation::NonBlockingLockExclusive)) {
                Ok(()) => others.dead.push(Dead(file)),
                Err(_) => others.live.push(numbers),
            }
        }
        Ok(others)
    }
}

impl Dead {
    /// Speaks the last word for the dead.
    pub(crate) fn settle(self) -> Result<(), Errno> {
        write_numbers(self.0.as_fd(), NOTHING)
    }
}

/// What a slot says; one that is new says nothing.
fn said(file: BorrowedFd<'_>) -> Result<[u64; NUMBERS], Errno> {
    Ok(read_numbers(file)?.unwrap_or(NOTHING))
}
