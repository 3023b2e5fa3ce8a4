//! Frames: a length, a type byte, a body (wire-v2, "Frame").
//!
//! The reader holds every limit before it reads or allocates a byte of the body. Bodies up to the size of its
//! buffer are handed out in place; data bodies can be taken piece by piece, so that content is hashed and
//! stored while it is still in the processor's cache and no block is ever held whole.

use std::io::{self, IoSlice, Read, Write};

use thiserror::Error;

use crate::codec::Encoded;
use crate::field::Fields;
use crate::limits::{
    COMPRESSED_HEADER, DATA_HEADER, HEADER, LENGTH_PREFIX, MAX_BODY, MAX_PAYLOAD, RAW_BLOCK,
};
use crate::message::{Algo, Malformed, Message, Type, compressed_header};

/// Bytes that the reader asks for at once: a raw block and its neighbours' headers.
const READ_BUFFER: usize = RAW_BLOCK + 4096;

/// Bytes that the writer gathers before it writes: two raw blocks, so that one is filled while little waits.
const WRITE_BUFFER: usize = 2 * (RAW_BLOCK + HEADER + DATA_HEADER);

/// Why no further frame can be read.
#[derive(Debug, Error)]
#[non_exhaustive]
pub enum FrameError {
    /// The stream ended inside a frame.
    #[error("the stream ended inside a frame")]
    Truncated,
    /// The payload length is 0.
    #[error("a frame of length 0")]
    Empty,
    /// The payload length is above 16 MiB, or above what the type or the state allows.
    #[error("a frame of {length} bytes is longer than the {limit} allowed here")]
    Oversized {
        /// Bytes that the length prefix announced.
        length: usize,
        /// Bytes that were allowed.
        limit: usize,
    },
    /// The type byte is not assigned.
    #[error("unknown frame type 0x{0:02x}")]
    UnknownType(u8),
    /// The body is not what its type says.
    #[error("malformed {}: {why}", .kind.name())]
    Malformed {
        /// The frame's type.
        kind: Type,
        /// What is wrong with it.
        why: Malformed,
    },
    /// Reading failed.
    #[error("reading failed: {0}")]
    Io(#[from] io::Error),
}

impl FrameError {
    /// Whether the other end broke the protocol, as opposed to the link breaking.
    #[must_use]
    pub const fn is_violation(&self) -> bool {
        !matches!(self, Self::Truncated | Self::Io(_))
    }
}

/// A frame whose length and type are known and allowed, and whose body is still to be read.
#[derive(Clone, Copy, PartialEq, Eq, Debug)]
pub struct Header {
    /// The type.
    pub kind: Type,
    /// Bytes of the body.
    pub body: usize,
}

/// What comes before the content of a data frame.
#[derive(Clone, Copy, PartialEq, Eq, Debug)]
pub enum DataHeader {
    /// Content as it is: bytes.
    Raw(usize),
    /// Content through a codec.
    Compressed {
        /// Which codec.
        algo: Algo,
        /// Bytes after decoding, between 1 and 4 MiB.
        original_size: usize,
        /// Bytes as sent.
        len: usize,
    },
}

/// Cuts a stream into frames.
///
/// After [`header`](Self::header) the body must be taken whole, by [`body`](Self::body),
/// [`message`](Self::message), [`skip`](Self::skip), or [`data_header`](Self::data_header) and then pieces,
/// before the next header.
#[derive(Debug)]
pub struct FrameReader<R> {
    input: R,
    buffer: Box<[u8]>,
    start: usize,
    end: usize,
    long: Vec<u8>,
    max_body: usize,
    taken: u64,
}

impl<R: Read> FrameReader<R> {
    /// A reader at the start of a stream.
    pub fn new(input: R) -> Self {
        Self {
            input,
            buffer: vec![0; READ_BUFFER].into_boxed_slice(),
            start: 0,
            end: 0,
            long: Vec::new(),
            max_body: MAX_BODY,
            taken: 0,
        }
    }

    /// The stream below. Bytes that were read ahead are not in it any more.
    pub fn get_ref(&self) -> &R {
        &self.input
    }

    /// From now on refuses bodies above `max` bytes, whatever their type allows.
    pub fn limit_body(&mut self, max: usize) {
        self.max_body = max;
    }

    /// Bytes taken from the stream so far.
    pub fn bytes_taken(&self) -> u64 {
        self.taken
    }

    /// Bytes that were read ahead: what the other end sent before its last error, for instance.
    pub fn read_ahead(&self) -> &[u8] {
        &self.buffer[self.start..self.end]
    }

    /// Whether `len` bytes can be taken without reading, that is without waiting for the other end.
    pub fn holds(&self, len: usize) -> bool {
        self.end - self.start >= len
    }

    /// Whether the next frame is here whole. A frame that will be refused counts as here; one that is longer
    /// than the buffer never does.
    pub fn holds_frame(&self) -> bool {
        match self.judge() {
            Ok(Some(header)) => self.holds(HEADER + header.body),
            Ok(None) => false,
            Err(_) => true,
        }
    }

    /// The next frame's header, or None where the stream ends between frames.
    ///
    /// # Errors
    /// [`FrameError`]; after it the stream cannot be read further.
    pub fn header(&mut self) -> Result<Option<Header>, FrameError> {
        let header = loop {
            if let Some(header) = self.judge()? {
                break header;
            }
            if self.fill()? == 0 {
                return if self.start == self.end { Ok(None) } else { Err(FrameError::Truncated) };
            }
        };
        self.start += HEADER;
        Ok(Some(header))
    }

    /// The header at the front of what was read ahead, None where too little was. A length is refused as soon
    /// as it is here: the other end may wait for the answer and never send the type.
    fn judge(&self) -> Result<Option<Header>, FrameError> {
        let held = self.read_ahead();
        let Some(prefix) = held.first_chunk::<LENGTH_PREFIX>() else { return Ok(None) };
        let length = u32::from_le_bytes(*prefix) as usize;
        if length == 0 {
            return Err(FrameError::Empty);
        }
        if length > MAX_PAYLOAD {
            return Err(FrameError::Oversized { length, limit: MAX_PAYLOAD });
        }
        let Some(&code) = held.get(LENGTH_PREFIX) else { return Ok(None) };
        let kind = Type::from_code(code).ok_or(FrameError::UnknownType(code))?;
        let (body, limit) = (length - 1, kind.max_body().min(self.max_body));
        if body > limit {
            return Err(FrameError::Oversized { length, limit: limit + 1 });
        }
        Ok(Some(Header { kind, body }))
    }

    /// The next `len` bytes, all of them. `len` must not be above a limit that [`header`](Self::header) checked.
    ///
    /// # Errors
    /// [`FrameError::Truncated`] where the stream ends before, [`FrameError::Io`].
    pub fn body(&mut self, len: usize) -> Result<&[u8], FrameError> {
        if len <= self.buffer.len() {
            while self.end - self.start < len {
                self.fill_more()?;
            }
            self.start += len;
            return Ok(&self.buffer[self.start - len..self.start]);
        }
        self.long.clear();
        self.long.reserve_exact(len);
        while self.long.len() < len {
            if self.start == self.end {
                self.fill_more()?;
            }
            let piece = (len - self.long.len()).min(self.end - self.start);
            self.long.extend_from_slice(&self.buffer[self.start..self.start + piece]);
            self.start += piece;
        }
        Ok(&self.long)
    }

    /// The message of the frame whose header was read last.
    ///
    /// # Errors
    /// [`FrameError`].
    pub fn message(&mut self, header: Header) -> Result<Message<'_>, FrameError> {
        let body = self.body(header.body)?;
        Message::decode(header.kind, body).map_err(|why| FrameError::Malformed { kind: header.kind, why })
    }

    /// What stands before the content of the Data or DataCompressed frame whose header was read last; None for
    /// any other frame. The content follows, to be taken by [`body`](Self::body) or [`piece`](Self::piece).
    ///
    /// # Errors
    /// [`FrameError`].
    pub fn data_header(&mut self, header: Header) -> Result<Option<DataHeader>, FrameError> {
        let fixed = match header.kind {
            Type::Data => DATA_HEADER,
            Type::DataCompressed => COMPRESSED_HEADER,
            _ => return Ok(None),
        };
        let malformed = |why| FrameError::Malformed { kind: header.kind, why };
        let content = header.body.checked_sub(fixed).ok_or(malformed(Malformed::Short))?;
        let mut f = Fields::new(self.body(fixed)?);
        let coded = if header.kind == Type::DataCompressed {
            Some(compressed_header(&mut f).map_err(malformed)?)
        } else {
            None
        };
        let len = f.u32().map_err(malformed)? as usize;
        if len != content {
            let why = if len > content { Malformed::Short } else { Malformed::Trailing };
            return Err(malformed(why));
        }
        Ok(Some(match coded {
            None => DataHeader::Raw(len),
            Some((algo, original_size)) => {
                DataHeader::Compressed { algo, original_size: original_size as usize, len }
            }
        }))
    }

    /// The next bytes of a body of which `left` are still to come: at least one, at most what is at hand.
    ///
    /// # Errors
    /// [`FrameError::Truncated`] where the stream ends before, [`FrameError::Io`].
    pub fn piece(&mut self, left: usize) -> Result<&[u8], FrameError> {
        if self.start == self.end {
            self.fill_more()?;
        }
        let piece = left.min(self.end - self.start);
        self.start += piece;
        Ok(&self.buffer[self.start - piece..self.start])
    }

    /// Passes over `len` bytes of a body.
    ///
    /// # Errors
    /// [`FrameError::Truncated`] where the stream ends before, [`FrameError::Io`].
    pub fn skip(&mut self, mut len: usize) -> Result<(), FrameError> {
        while len > 0 {
            len -= self.piece(len)?.len();
        }
        Ok(())
    }

    fn fill_more(&mut self) -> Result<(), FrameError> {
        if self.fill()? == 0 { Err(FrameError::Truncated) } else { Ok(()) }
    }

    /// Reads once, after making room; 0 at the end of the stream.
    fn fill(&mut self) -> io::Result<usize> {
        if self.start == self.end {
            (self.start, self.end) = (0, 0);
        } else if self.start > 0 {
            self.buffer.copy_within(self.start..self.end, 0);
            (self.start, self.end) = (0, self.end - self.start);
        }
        let read = loop {
            match self.input.read(&mut self.buffer[self.end..]) {
                Err(e) if e.kind() == io::ErrorKind::Interrupted => {}
                result => break result?,
            }
        };
        self.end += read;
        self.taken += read as u64;
        Ok(read)
    }
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

    /// Gathers a block as the codec left it, at most [`crate::limits::MAX_BLOCK`] bytes of content.
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
