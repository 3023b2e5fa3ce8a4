use std::fs::File;
use std::io::{self, Read, Write};
use std::time::Instant;

use thiserror::Error;

use super::choice::Choice;
use crate::caps::Caps;
use crate::codec::{Encoded, Encoder, negotiated};
use crate::frame::{FrameWriter, Splice};
use crate::limits::{CODED_BLOCK, MAX_BLOCK, RAW_BLOCK};
use crate::message::Algo;

/// Content that goes raw after a block that would not shrink; doubled each time, up to the second.
const SKIP: u64 = CODED_BLOCK as u64;
const MOST_SKIP: u64 = 64 * SKIP;

/// Why content could not be sent to its end.
#[derive(Debug, Error)]
pub enum SendError {
    /// The source could not be read; the stream is whole and can carry an Error or a Done.
    #[error("{0}")]
    Source(io::Error),
    /// The stream broke.
    #[error("{0}")]
    Stream(io::Error),
}

/// What became of a spliced block.
#[derive(Clone, Copy, PartialEq, Eq, Debug)]
pub struct Spliced {
    /// Bytes of the file that were sent.
    pub sent: usize,
    /// Whether the file ended before the block did, which was filled up with zeros.
    pub ended: bool,
}

/// Sends content as data frames.
pub struct BlockSender {
    algo: Option<Algo>,
    /// Where the receiver takes any codec, whether to encode is a matter of speed; where it asked for one, it is
    /// always done.
    choice: Option<Choice>,
    encoder: Encoder,
    block: Vec<u8>,
    /// Content that goes raw before the next try, and how much that will be after it.
    skip: u64,
    next_skip: u64,
}

impl BlockSender {
    /// A sender for a receiver with the capabilities `agreed`: none of the codecs, one that is always used, or
    /// both, which leaves the sender to find out whether encoding is worth its time.
    #[must_use]
    pub fn new(agreed: Caps) -> Self {
        let both = agreed.has(Caps::LZ4 | Caps::ZSTD);
        Self {
            algo: negotiated(agreed),
            choice: both.then(Choice::new),
            encoder: Encoder::default(),
            block: Vec::new(),
            skip: 0,
            next_skip: SKIP,
        }
    }

    /// Says that the next block is the first of another file, about which nothing is known.
    pub fn begin(&mut self) {
        self.skip = 0;
        self.next_skip = SKIP;
    }

    /// Sends the next block of `file` without looking at it, at most `left` bytes; None where a codec was agreed
    /// on, or where so little is left that gathering it is cheaper. Returns the bytes that were sent: fewer than
    /// the block has where the file ended before, and then no more may be sent of it.
    ///
    /// # Errors
    /// Of the stream, or of the file.
    pub fn splice<W: Write + Splice>(
        &mut self,
        file: &File,
        left: u64,
        stream: &mut FrameWriter<W>,
    ) -> io::Result<Option<Spliced>> {
        let len = at_most(left, MAX_BLOCK);
        if self.algo.is_some() || len < RAW_BLOCK {
            return Ok(None);
        }
        let sent = stream.splice_data(file, len)?;
        Ok(Some(Spliced { sent, ended: sent < len }))
    }

    /// Sends one block in one frame, as the receiver of announced blocks wants it.
    ///
    /// # Errors
    /// Of the stream.
    pub fn send_block<W: Write>(&mut self, block: &[u8], stream: &mut FrameWriter<W>) -> io::Result<()> {
        let start = Instant::now();
        let len = block.len() as u64;
        let codes = self.skip == 0 && self.choice.as_ref().is_none_or(Choice::codes);
        let (Some(algo), true) = (self.algo, codes) else {
            stream.push_block(Encoded::Raw(block))?;
            self.skip = self.skip.saturating_sub(len);
            if let Some(choice) = &mut self.choice
                && !choice.codes()
            {
                choice.sent(len, start.elapsed(), start.elapsed());
            }
            return Ok(());
        };
        let encoded = self.encoder.encode(algo, block);
        let shrank = matches!(encoded, Encoded::Compressed { .. });
        let writing = Instant::now();
        stream.push_block(encoded)?;
        self.coded(shrank, len, start, writing);
        Ok(())
    }

    /// Learns from a block that was encoded.
    fn coded(&mut self, shrank: bool, len: u64, start: Instant, writing: Instant) {
        if shrank {
            self.begin();
            if let Some(choice) = &mut self.choice {
                choice.sent(len, start.elapsed(), writing.elapsed());
            }
        } else {
            self.skip = self.next_skip;
            self.next_skip = (self.next_skip * 2).min(MOST_SKIP);
        }
    }

    /// Reads and sends the next block of `source`, at most `left` bytes, passing it through `hasher`. Returns
    /// the bytes that were read: 0 at the source's end, and then nothing was sent.
    ///
    /// # Errors
    /// [`SendError`].
    pub fn send<W: Write>(
        &mut self,
        source: &mut impl Read,
        left: u64,
        hasher: Option<&mut blake3::Hasher>,
        stream: &mut FrameWriter<W>,
    ) -> Result<usize, SendError> {
        let Some(algo) = self.algo else { return send_raw(source, left, hasher, stream) };
        let start = Instant::now();
        if self.skip > 0 || self.choice.as_ref().is_some_and(|choice| !choice.codes()) {
            let sent = send_raw(source, left, hasher, stream)?;
            self.skip = self.skip.saturating_sub(sent as u64);
            if let Some(choice) = &mut self.choice
                && !choice.codes()
            {
                choice.sent(sent as u64, start.elapsed(), start.elapsed());
            }
            return Ok(sent);
        }
        if self.block.is_empty() {
            self.block = vec![0; CODED_BLOCK];
        }
        let block = &mut self.block[..at_most(left, CODED_BLOCK)];
        let read = read_full(source, block).map_err(SendError::Source)?;
        if read == 0 {
            return Ok(0);
        }
        if let Some(hasher) = hasher {
            hasher.update(&block[..read]);
        }
        let encoded = self.encoder.encode(algo, &block[..read]);
        let shrank = matches!(encoded, Encoded::Compressed { .. });
        let writing = Instant::now();
        stream.push_block(encoded).map_err(SendError::Stream)?;
        self.coded(shrank, read as u64, start, writing);
        Ok(read)
    }
}

fn send_raw<W: Write>(
    source: &mut impl Read,
    left: u64,
    hasher: Option<&mut blake3::Hasher>,
    stream: &mut FrameWriter<W>,
) -> Result<usize, SendError> {
    let sent = stream.push_data(at_most(left, RAW_BLOCK), |block| {
        let read = read_full(source, block)?;
        if let Some(hasher) = hasher {
            hasher.update(&block[..read]);
        }
        Ok(read)
    });
    sent.map_err(SendError::Stream)?.map_err(SendError::Source)
}

fn at_most(left: u64, block: usize) -> usize {
    usize::try_from(left).map_or(block, |left| left.min(block))
}

/// Reads until `block` is full or the source ends.
fn read_full(source: &mut impl Read, block: &mut [u8]) -> io::Result<usize> {
    let mut filled = 0;
    while filled < block.len() {
        match source.read(&mut block[filled..]) {
            Ok(0) => break,
            Ok(read) => filled += read,
            Err(e) if e.kind() == io::ErrorKind::Interrupted => {}
            Err(e) => return Err(e),
        }
    }
    Ok(filled)
}
