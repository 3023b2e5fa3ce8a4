use std::fs::File;
use std::io::{self, IoSlice, Read, Write};
use std::os::fd::{AsFd, BorrowedFd};

use crate::codec::Encoded;
use crate::limits::{COMPRESSED_HEADER, DATA_HEADER, HEADER, MAX_BLOCK, MAX_PAYLOAD, RAW_BLOCK};
use crate::message::{Algo, Message, Type};

/// Bytes that the writer gathers before it writes: two raw blocks, so that one is filled while little waits.
const WRITE_BUFFER: usize = 2 * (RAW_BLOCK + HEADER + DATA_HEADER);

/// A stream into which the kernel can move a file's content without copying it through the process.
pub trait Splice {
    /// Moves at most `len` bytes of `file`, from where it stands. 0 at the file's end; None where these two
    /// cannot be spliced, and then nothing was moved.
    ///
    /// # Errors
    /// Of either side, without telling which: a file that cannot be read is a rare thing to lose a stream for.
    fn splice(&mut self, file: BorrowedFd<'_>, len: usize) -> io::Result<Option<usize>>;
}

/// Gathers frames and writes them with few system calls.
#[derive(Debug)]
pub struct FrameWriter<W> {
    output: W,
    /// Allocated and zeroed once; the first `filled` bytes wait to be written.
    buffer: Box<[u8]>,
    filled: usize,
    scratch: Vec<u8>,
    given: u64,
}

impl<W: Write> FrameWriter<W> {
    /// A writer at the start of a stream.
    pub fn new(output: W) -> Self {
        let buffer = vec![0; WRITE_BUFFER].into_boxed_slice();
        Self { output, buffer, filled: 0, scratch: Vec::new(), given: 0 }
    }

    /// The stream below. Gathered frames are not in it yet.
    pub fn get_ref(&self) -> &W {
        &self.output
    }

    /// Bytes given to the stream so far.
    pub fn bytes_given(&self) -> u64 {
        self.given
    }

    /// Whether nothing waits to be written.
    pub fn is_flushed(&self) -> bool {
        self.filled == 0
    }

    /// Gathers a message; writes only when much has been gathered.
    ///
    /// # Errors
    /// Of the stream; [`io::ErrorKind::InvalidInput`] where the message does not fit in a frame.
    pub fn push(&mut self, message: &Message<'_>) -> io::Result<()> {
        let mut frame = std::mem::take(&mut self.scratch);
        frame.clear();
        let result = match message.encode(&mut frame) {
            Ok(()) => self.push_encoded(&frame),
            Err(too_long) => Err(io::Error::new(io::ErrorKind::InvalidInput, too_long)),
        };
        // A rare giant, a list of block hashes, is not kept.
        if frame.capacity() <= WRITE_BUFFER {
            self.scratch = frame;
        }
        result
    }

    /// Gathers frames that stand encoded already, such as a [`crate::list::ListBuilder`]'s.
    ///
    /// # Errors
    /// Of the stream.
    pub fn push_encoded(&mut self, frames: &[u8]) -> io::Result<()> {
        self.gather(frames, &[])
    }

    /// Gathers a Data frame whose content `fill` puts straight into the gathered bytes: it gets `len` bytes
    /// (at most [`RAW_BLOCK`]) to fill and returns how many it did fill. Where it fills none, no frame is
    /// gathered.
    ///
    /// # Errors
    /// The outer one of the stream, the inner one of `fill`; after the inner one nothing of the frame stands.
    pub fn push_data<E>(
        &mut self,
        len: usize,
        fill: impl FnOnce(&mut [u8]) -> Result<usize, E>,
    ) -> io::Result<Result<usize, E>> {
        const BEFORE: usize = HEADER + DATA_HEADER;
        let len = len.min(RAW_BLOCK);
        if self.buffer.len() - self.filled < BEFORE + len {
            self.flush()?;
        }
        let (before, content) = self.buffer[self.filled..][..BEFORE + len].split_at_mut(BEFORE);
        let filled = match fill(content) {
            Ok(filled) if filled > 0 => filled.min(len),
            nothing => return Ok(nothing),
        };
        before.copy_from_slice(&data_prefix(filled));
        self.filled += BEFORE + filled;
        self.flush_if_much()?;
        Ok(Ok(filled))
    }

    /// Writes a Data frame whose content the kernel moves from `file`, at most [`MAX_BLOCK`] bytes; where it
    /// cannot, they are read and written. Returns the bytes of content that came from the file: where they are
    /// fewer than `len`, because it ended before, zeros stand in their place, since the frame had begun.
    ///
    /// # Errors
    /// Of the stream, or of the file.
    pub fn splice_data(&mut self, mut file: &File, len: usize) -> io::Result<usize>
    where
        W: Splice,
    {
        let len = len.min(MAX_BLOCK);
        self.gather(&data_prefix(len), &[])?;
        self.flush()?;
        let mut moved = 0;
        while moved < len {
            let more = match self.output.splice(file.as_fd(), len - moved)? {
                Some(more) => more,
                None => {
                    let most = (len - moved).min(self.buffer.len());
                    let read = file.read(&mut self.buffer[..most])?;
                    self.output.write_all(&self.buffer[..read])?;
                    read
                }
            };
            if more == 0 {
                break;
            }
            moved += more;
        }
        self.given += moved as u64;
        if moved < len {
            self.pad(len - moved)?;
        }
        Ok(moved)
    }

    /// Fills a frame up that has begun.
    fn pad(&mut self, mut missing: usize) -> io::Result<()> {
        self.buffer.fill(0);
        while missing > 0 {
            let zeros = missing.min(self.buffer.len());
            self.output.write_all(&self.buffer[..zeros])?;
            self.given += zeros as u64;
            missing -= zeros;
        }
        Ok(())
    }

    /// Gathers a block as the codec left it, at most [`MAX_BLOCK`] bytes of content.
    ///
    /// # Errors
    /// Of the stream.
    pub fn push_block(&mut self, block: Encoded<'_>) -> io::Result<()> {
        match block {
            Encoded::Raw(content) => self.gather(&data_prefix(content.len()), content),
            Encoded::Compressed { algo, original_size, content } => {
                self.gather(&compressed_prefix(algo, original_size, content.len()), content)
            }
        }
    }

    /// Writes what was gathered.
    ///
    /// # Errors
    /// Of the stream.
    pub fn flush(&mut self) -> io::Result<()> {
        let filled = std::mem::take(&mut self.filled);
        self.output.write_all(&self.buffer[..filled])?;
        self.given += filled as u64;
        Ok(())
    }

    /// Gathers `head` and `tail`, or, where they are too much to gather, writes them at once and together.
    fn gather(&mut self, head: &[u8], tail: &[u8]) -> io::Result<()> {
        let len = head.len() + tail.len();
        if self.buffer.len() - self.filled < len {
            self.flush()?;
        }
        if len > self.buffer.len() {
            return self.write_both(head, tail);
        }
        let place = &mut self.buffer[self.filled..][..len];
        place[..head.len()].copy_from_slice(head);
        place[head.len()..].copy_from_slice(tail);
        self.filled += len;
        self.flush_if_much()
    }

    fn write_both(&mut self, head: &[u8], tail: &[u8]) -> io::Result<()> {
        let mut parts = &mut [IoSlice::new(head), IoSlice::new(tail)][..];
        while !parts.is_empty() {
            match self.output.write_vectored(parts) {
                Ok(0) => return Err(io::ErrorKind::WriteZero.into()),
                Ok(written) => {
                    self.given += written as u64;
                    IoSlice::advance_slices(&mut parts, written);
                }
                Err(e) if e.kind() == io::ErrorKind::Interrupted => {}
                Err(e) => return Err(e),
            }
        }
        Ok(())
    }

    fn flush_if_much(&mut self) -> io::Result<()> {
        if self.filled > WRITE_BUFFER / 2 { self.flush() } else { Ok(()) }
    }
}

/// Everything of a Data frame before `len` bytes of content.
fn data_prefix(len: usize) -> [u8; HEADER + DATA_HEADER] {
    let mut prefix = [0; HEADER + DATA_HEADER];
    prefix[..4].copy_from_slice(&le32(1 + DATA_HEADER + len));
    prefix[4] = Type::Data as u8;
    prefix[5..].copy_from_slice(&le32(len));
    prefix
}

/// Everything of a DataCompressed frame before `len` bytes of content.
fn compressed_prefix(algo: Algo, original_size: u32, len: usize) -> [u8; HEADER + COMPRESSED_HEADER] {
    let mut prefix = [0; HEADER + COMPRESSED_HEADER];
    prefix[..4].copy_from_slice(&le32(1 + COMPRESSED_HEADER + len));
    prefix[4] = Type::DataCompressed as u8;
    prefix[5] = algo as u8;
    prefix[6..10].copy_from_slice(&original_size.to_le_bytes());
    prefix[10..].copy_from_slice(&le32(len));
    prefix
}

fn le32(len: usize) -> [u8; 4] {
    debug_assert!(len <= MAX_PAYLOAD, "a block is at most 4 MiB");
    u32::try_from(len).unwrap_or(u32::MAX).to_le_bytes()
}
