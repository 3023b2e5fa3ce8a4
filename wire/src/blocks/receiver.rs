use std::io::Read;

use thiserror::Error;

use crate::codec::{DecodeError, Decoder};
use crate::frame::{DataHeader, FrameError, FrameReader};
use crate::message::Algo;

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
