//! One end of a pipe or socket on which no call waits for ever.

use std::io::{self, Read, Write};
use std::os::fd::{AsFd, BorrowedFd, OwnedFd};
use std::time::{Duration, Instant};

use rustix::event::{PollFd, PollFlags, Timespec, poll};
use rustix::fs::{OFlags, fcntl_getfl, fcntl_setfl};
use rustix::io::{Errno, retry_on_intr};

/// How long the other end may stay silent before a test fails. Machines that run tests are slow and shared;
/// what has to be quick is measured where it matters.
pub const PATIENCE: Duration = Duration::from_secs(60);

/// A descriptor whose every call ends in time, with [`io::ErrorKind::TimedOut`] where nothing came.
#[derive(Debug)]
pub struct Patient {
    fd: OwnedFd,
    /// How long a call may wait.
    pub patience: Duration,
}

impl Patient {
    /// Makes the descriptor non-blocking; the other end of a pipe or socket is not changed by that.
    #[must_use]
    pub fn new(fd: OwnedFd) -> Self {
        let flags = fcntl_getfl(&fd).unwrap();
        fcntl_setfl(&fd, flags | OFlags::NONBLOCK).unwrap();
        Self { fd, patience: PATIENCE }
    }

    /// Does `call` as soon as it does not have to wait.
    fn when(
        &self,
        ready: PollFlags,
        mut call: impl FnMut(&OwnedFd) -> Result<usize, Errno>,
    ) -> io::Result<usize> {
        let deadline = Instant::now() + self.patience;
        loop {
            match retry_on_intr(|| call(&self.fd)) {
                Err(Errno::AGAIN) => {}
                result => return Ok(result?),
            }
            let left = deadline.saturating_duration_since(Instant::now());
            let timeout = Timespec::try_from(left).unwrap();
            if retry_on_intr(|| poll(&mut [PollFd::new(&self.fd, ready)], Some(&timeout)))? == 0 {
                return Err(io::ErrorKind::TimedOut.into());
            }
        }
    }
}

impl Read for Patient {
    fn read(&mut self, buffer: &mut [u8]) -> io::Result<usize> {
        self.when(PollFlags::IN, |fd| rustix::io::read(fd, &mut *buffer))
    }
}

impl Write for Patient {
    fn write(&mut self, bytes: &[u8]) -> io::Result<usize> {
        self.when(PollFlags::OUT, |fd| rustix::io::write(fd, bytes))
    }

    fn flush(&mut self) -> io::Result<()> {
        Ok(())
    }
}

impl AsFd for Patient {
    fn as_fd(&self) -> BorrowedFd<'_> {
        self.fd.as_fd()
    }
}
