use std::io::{self, Read};

use super::{DataHeader, FrameError, Header};
use crate::field::Fields;
use crate::limits::{
    COMPRESSED_HEADER, DATA_HEADER, HEADER, LENGTH_PREFIX, MAX_BLOCK, MAX_BODY, MAX_PAYLOAD, RAW_BLOCK,
};
use crate::message::{Malformed, Message, Type, compressed_header};

/// Bytes that the reader asks for at once: a raw block and its neighbours' headers.
const READ_BUFFER: usize = RAW_BLOCK + 4096;

/// Bytes of a long body's buffer that are kept for the next: a whole block's. A list of hashes may be four times as
/// long, and comes seldom.
const KEPT: usize = MAX_BLOCK + 4096;

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
        if self.long.capacity() > KEPT {
            self.long = Vec::new();
        }
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
