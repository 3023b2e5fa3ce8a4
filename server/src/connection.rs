//! The two streams of one client: frames in, frames out.

use std::io::{self, Read, Write};
use std::os::fd::{BorrowedFd, OwnedFd};
use std::sync::Arc;
use std::time::{Duration, Instant};

use bcmr_wire::Message;
use bcmr_wire::frame::{FrameReader, FrameWriter, Header, Splice};
use rustix::event::{PollFd, PollFlags, poll};
use rustix::io::{Errno, retry_on_intr};
use rustix::pipe::{SpliceFlags, splice};

use crate::clock::Clock;
use crate::failure::End;
use crate::throttle::Throttle;

/// How long replies are gathered: a client may have asked for much that takes long, and must see that it goes on.
const GATHERED: Duration = Duration::from_secs(1);

/// One direction of the client's streams.
#[derive(Debug)]
pub(crate) struct Stream {
    fd: OwnedFd,
    clock: Arc<Clock>,
    throttle: Option<Arc<Throttle>>,
}

impl Stream {
    /// Bytes that may be moved at a time.
    fn share(&self, len: usize) -> usize {
        self.throttle.as_ref().map_or(len, |throttle| len.min(throttle.share()))
    }

    /// Does `call` until it does not have to wait. The descriptor may have been left non-blocking by whoever
    /// made it; setting its flags would change them for all who share it.
    fn transfer(
        &self,
        ready: PollFlags,
        mut call: impl FnMut(&OwnedFd) -> Result<usize, Errno>,
    ) -> io::Result<usize> {
        let moved: Result<usize, Errno> = self.clock.while_waiting(|| {
            loop {
                match retry_on_intr(|| call(&self.fd)) {
                    Err(Errno::AGAIN) => {
                        retry_on_intr(|| poll(&mut [PollFd::new(&self.fd, ready)], None))?;
                    }
                    result => return result,
                }
            }
        });
        let moved = moved?;
        if let Some(throttle) = &self.throttle {
            throttle.moved(moved);
        }
        Ok(moved)
    }
}

impl Read for Stream {
    fn read(&mut self, buffer: &mut [u8]) -> io::Result<usize> {
        let share = self.share(buffer.len());
        self.transfer(PollFlags::IN, |fd| rustix::io::read(fd, &mut buffer[..share]))
    }
}

impl Write for Stream {
    fn write(&mut self, bytes: &[u8]) -> io::Result<usize> {
        let share = self.share(bytes.len());
        self.transfer(PollFlags::OUT, |fd| rustix::io::write(fd, &bytes[..share]))
    }

    fn write_vectored(&mut self, parts: &[io::IoSlice<'_>]) -> io::Result<usize> {
        if self.throttle.is_some() {
            return match parts.iter().find(|part| !part.is_empty()) {
                Some(part) => self.write(part),
                None => Ok(0),
            };
        }
        self.transfer(PollFlags::OUT, |fd| rustix::io::writev(fd, parts))
    }

    fn flush(&mut self) -> io::Result<()> {
        Ok(())
    }
}

impl Splice for Stream {
    fn splice(&mut self, file: BorrowedFd<'_>, len: usize) -> io::Result<Option<usize>> {
        let share = self.share(len);
        let flags = SpliceFlags::MOVE | SpliceFlags::MORE;
        let moved = self.transfer(PollFlags::OUT, |fd| splice(file, None, fd, None, share, flags));
        match moved {
            // No pipe, or a file system that cannot.
            Err(e) if e.raw_os_error() == Some(Errno::INVAL.raw_os_error()) => Ok(None),
            moved => moved.map(Some),
        }
    }
}

/// Frames from and to one client. Replies are gathered, and written before the session waits for the client, or once a
/// second.
#[derive(Debug)]
pub(crate) struct Connection {
    pub(crate) reader: FrameReader<Stream>,
    pub(crate) writer: FrameWriter<Stream>,
    written: Instant,
}

impl Connection {
    /// `rate` is in bytes per second, both directions together.
    pub(crate) fn new(input: OwnedFd, output: OwnedFd, clock: &Arc<Clock>, rate: Option<u64>) -> Self {
        let throttle = rate.map(|rate| Arc::new(Throttle::new(rate)));
        let stream = |fd| Stream { fd, clock: Arc::clone(clock), throttle: throttle.clone() };
        let (reader, writer) = (FrameReader::new(stream(input)), FrameWriter::new(stream(output)));
        Self { reader, writer, written: Instant::now() }
    }

    /// The next frame's header; None where the client is done.
    pub(crate) fn header(&mut self) -> Result<Option<Header>, End> {
        if !self.reader.holds_frame() || self.written.elapsed() > GATHERED {
            self.flush()?;
        }
        Ok(self.reader.header()?)
    }

    pub(crate) fn send(&mut self, message: &Message<'_>) -> Result<(), End> {
        self.writer.push(message).map_err(End::Link)
    }

    pub(crate) fn flush(&mut self) -> Result<(), End> {
        self.written = Instant::now();
        self.writer.flush().map_err(End::Link)
    }
}
