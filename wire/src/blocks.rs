//! The block pipeline that both ends share: read, hash, encode, frame; and back: unframe, decode, hash, store.

use std::io::{self, Read, Write};

use thiserror::Error;

use crate::codec::{DecodeError, Decoder, Encoder};
use crate::frame::{DataHeader, FrameError, FrameReader, FrameWriter};
use crate::limits::{CODED_BLOCK, RAW_BLOCK};
use crate::message::Algo;

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

/// Sends content as data frames.
pub struct BlockSender {
    algo: Option<Algo>,
    encoder: Encoder,
    block: Vec<u8>,
}

impl BlockSender {
    /// A sender that encodes blocks with `algo`, or sends them raw.
    #[must_use]
    pub fn new(algo: Option<Algo>) -> Self {
        Self { algo, encoder: Encoder::default(), block: Vec::new() }
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
        let at_most = |block: usize| usize::try_from(left).map_or(block, |left| left.min(block));
        let Some(algo) = self.algo else {
            let sent = stream.push_data(at_most(RAW_BLOCK), |block| {
                let read = read_full(source, block)?;
                if let Some(hasher) = hasher {
                    hasher.update(&block[..read]);
                }
                Ok(read)
            });
            return sent.map_err(SendError::Stream)?.map_err(SendError::Source);
        };
        if self.block.is_empty() {
            self.block = vec![0; CODED_BLOCK];
        }
        let block = &mut self.block[..at_most(CODED_BLOCK)];
        let read = read_full(source, block).map_err(SendError::Source)?;
        if read == 0 {
            return Ok(0);
        }
        if let Some(hasher) = hasher {
            hasher.update(&block[..read]);
        }
        stream.push_block(self.encoder.encode(algo, &block[..read])).map_err(SendError::Stream)?;
        Ok(read)
    }
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

/// Why a data frame's content could not be taken. After all but [`Frame`](Self::Frame) the frame has been
/// consumed whole, and the stream goes on.
#[derive(Debug, Error)]
pub enum ReceiveError<E> {
    /// The stream cannot be read further.
    #[error("{0}")]
    Frame(#[from] FrameError),
    /// The content does not decode.
    #[error("{0}")]
    Decode(DecodeError),
    /// The codec was not agreed on in the handshake.
    #[error("a {0:?} block, which was not negotiated")]
    NotNegotiated(Algo),
    /// The sink refused the content.
    #[error("{0}")]
    Sink(E),
}

/// Receives the content of data frames.
pub struct BlockReceiver {
    lz4: bool,
    zstd: bool,
    decoder: Decoder,
}

impl BlockReceiver {
    /// A receiver of raw blocks and of those codecs that are in `agreed`.
    #[must_use]
    pub fn new(agreed: crate::Caps) -> Self {
        Self {
            lz4: agreed.has(crate::Caps::LZ4),
            zstd: agreed.has(crate::Caps::ZSTD),
            decoder: Decoder::default(),
        }
    }

    /// Takes the content that follows `header` and gives it to `sink`, in one or more pieces in order.
    ///
    /// # Errors
    /// [`ReceiveError`].
    pub fn receive<R: Read, E>(
        &mut self,
        header: DataHeader,
        stream: &mut FrameReader<R>,
        mut sink: impl FnMut(&[u8]) -> Result<(), E>,
    ) -> Result<(), ReceiveError<E>> {
        match header {
            DataHeader::Raw(mut left) => {
                while left > 0 {
                    let piece = stream.piece(left)?;
                    left -= piece.len();
                    if let Err(refused) = sink(piece) {
                        stream.skip(left)?;
                        return Err(ReceiveError::Sink(refused));
                    }
                }
                Ok(())
            }
            DataHeader::Compressed { algo, original_size, len } => {
                let content = stream.body(len)?;
                let agreed = match algo {
                    Algo::Lz4 => self.lz4,
                    Algo::Zstd => self.zstd,
                };
                if !agreed {
                    return Err(ReceiveError::NotNegotiated(algo));
                }
                let block =
                    self.decoder.decode(algo, original_size, content).map_err(ReceiveError::Decode)?;
                sink(block).map_err(ReceiveError::Sink)
            }
        }
    }
}
