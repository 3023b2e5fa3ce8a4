//! The two streams of one client: frames in, frames out, and a clock that knows who is waiting for whom.

use std::io::{self, Read, Write};
use std::os::fd::OwnedFd;
use std::sync::Arc;
use std::sync::atomic::{AtomicU64, Ordering};
use std::time::Instant;

use bcmr_wire::Message;
use bcmr_wire::frame::{FrameReader, FrameWriter, Header};
use rustix::event::{PollFd, PollFlags, poll};
use rustix::io::{Errno, retry_on_intr};

use crate::failure::End;

/// Since when the session has been waiting for the client, in either direction.
#[derive(Debug)]
pub(crate) struct Clock {
    start: Instant,
    /// Milliseconds after `start`, plus one; 0 while the session works.
    waiting_since: AtomicU64,
}

impl Clock {
    pub(crate) fn new() -> Self {
        Self { start: Instant::now(), waiting_since: AtomicU64::new(0) }
    }

    fn now(&self) -> u64 {
        u64::try_from(self.start.elapsed().as_millis()).unwrap_or(u64::MAX)
    }

    /// Milliseconds since the process began to serve.
    pub(crate) fn since_start(&self) -> u64 {
        self.now()
    }

    /// Milliseconds that the session has been waiting for the client; 0 while it works.
    pub(crate) fn waiting(&self) -> u64 {
        match self.waiting_since.load(Ordering::Relaxed) {
            0 => 0,
            since => self.now().saturating_sub(since - 1),
        }
    }

    /// Runs a call that may wait for the client.
    fn while_waiting<T>(&self, call: impl FnOnce() -> T) -> T {
        self.waiting_since.store(self.now() + 1, Ordering::Relaxed);
        let result = call();
        self.waiting_since.store(0, Ordering::Relaxed);
        result
    }
}

/// One direction of the client's streams.
#[derive(Debug)]
pub(crate) struct Stream {
    fd: OwnedFd,
    clock: Arc<Clock>,
}

impl Stream {
    /// Does `call` until it does not have to wait. The descriptor may have been left non-blocking by whoever
    /// made it; setting its flags would change them for all who share it.
    fn transfer(
        &self,
        ready: PollFlags,
        mut call: impl FnMut(&OwnedFd) -> Result<usize, Errno>,
    ) -> io::Result<usize> {
        self.clock.while_waiting(|| {
            loop {
                match retry_on_intr(|| call(&self.fd)) {
                    Err(Errno::AGAIN) => {
                        retry_on_intr(|| poll(&mut [PollFd::new(&self.fd, ready)], None))?;
                    }
                    result => return Ok(result?),
                }
            }
        })
    }
}

impl Read for Stream {
    fn read(&mut self, buffer: &mut [u8]) -> io::Result<usize> {
        self.transfer(PollFlags::IN, |fd| rustix::io::read(fd, &mut *buffer))
    }
}

impl Write for Stream {
    fn write(&mut self, bytes: &[u8]) -> io::Result<usize> {
        self.transfer(PollFlags::OUT, |fd| rustix::io::write(fd, bytes))
    }

    fn write_vectored(&mut self, parts: &[io::IoSlice<'_>]) -> io::Result<usize> {
        self.transfer(PollFlags::OUT, |fd| rustix::io::writev(fd, parts))
    }

    fn flush(&mut self) -> io::Result<()> {
        Ok(())
    }
}

/// Frames from and to one client. Replies are gathered, and written before the session waits for the client.
#[derive(Debug)]
pub(crate) struct Connection {
    pub(crate) reader: FrameReader<Stream>,
    pub(crate) writer: FrameWriter<Stream>,
}

impl Connection {
    pub(crate) fn new(input: OwnedFd, output: OwnedFd, clock: &Arc<Clock>) -> Self {
        let stream = |fd| Stream { fd, clock: Arc::clone(clock) };
        Self { reader: FrameReader::new(stream(input)), writer: FrameWriter::new(stream(output)) }
    }

    /// The next frame's header; None where the client is done.
    pub(crate) fn header(&mut self) -> Result<Option<Header>, End> {
        if !self.reader.holds_frame() {
            self.flush()?;
        }
        Ok(self.reader.header()?)
    }

    pub(crate) fn send(&mut self, message: &Message<'_>) -> Result<(), End> {
        self.writer.push(message).map_err(End::Link)
    }

    pub(crate) fn flush(&mut self) -> Result<(), End> {
        self.writer.flush().map_err(End::Link)
    }
}
