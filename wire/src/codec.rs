//! Block codecs: LZ4 and Zstd, each block on its own, skipped where it does not pay.

use lz4_flex::block as lz4;
use thiserror::Error;
use zstd::bulk::{Compressor, Decompressor};
use zstd::zstd_safe;

use crate::caps::Caps;
use crate::limits::{MAX_BLOCK, MAX_ZSTD_WINDOW, WORTH_PERCENT};
use crate::message::Algo;

/// Zstd's level: the protocol's authors and ours found 3 the best trade.
const ZSTD_LEVEL: i32 = 3;

/// The codec that both ends' capabilities agree on: Zstd, else LZ4, else none.
#[must_use]
pub const fn negotiated(agreed: Caps) -> Option<Algo> {
    if agreed.has(Caps::ZSTD) {
        Some(Algo::Zstd)
    } else if agreed.has(Caps::LZ4) {
        Some(Algo::Lz4)
    } else {
        None
    }
}

/// A block as it goes on the wire.
#[derive(Clone, Copy, Debug)]
pub enum Encoded<'a> {
    /// As it was: no codec, or none that paid.
    Raw(&'a [u8]),
    /// Smaller by at least a twentieth.
    Compressed {
        /// Which codec.
        algo: Algo,
        /// Bytes before encoding.
        original_size: u32,
        /// The encoded bytes.
        content: &'a [u8],
    },
}

/// Encodes blocks of one connection. Holds the codec's state and one output buffer, made at first use.
#[derive(Default)]
pub struct Encoder {
    output: Vec<u8>,
    zstd: Option<Compressor<'static>>,
}

impl Encoder {
    /// Encodes a block of at most [`MAX_BLOCK`] bytes with `algo`; raw where the result is above
    /// [`WORTH_PERCENT`] of it, or where the codec fails, since a raw block is always right.
    pub fn encode<'a>(&'a mut self, algo: Algo, block: &'a [u8]) -> Encoded<'a> {
        let bound = match algo {
            Algo::Lz4 => lz4::get_maximum_output_size(block.len()),
            Algo::Zstd => zstd_safe::compress_bound(block.len()),
        };
        if self.output.len() < bound {
            self.output.resize(bound, 0);
        }
        let encoded = match algo {
            Algo::Lz4 => lz4::compress_into(block, &mut self.output).ok(),
            Algo::Zstd => self.zstd(block),
        };
        match (encoded, u32::try_from(block.len())) {
            (Some(len), Ok(original_size)) if len * 100 <= block.len() * WORTH_PERCENT => {
                Encoded::Compressed { algo, original_size, content: &self.output[..len] }
            }
            _ => Encoded::Raw(block),
        }
    }

    fn zstd(&mut self, block: &[u8]) -> Option<usize> {
        if self.zstd.is_none() {
            self.zstd = Compressor::new(ZSTD_LEVEL).ok();
        }
        self.zstd.as_mut()?.compress_to_buffer(block, &mut self.output[..]).ok()
    }
}

/// Why a compressed block could not be decoded. An Error of its Put or Get, not a malformed frame.
#[derive(Clone, Copy, PartialEq, Eq, Debug, Error)]
#[non_exhaustive]
pub enum DecodeError {
    /// The codec refused the bytes, or they decode to another length than was declared.
    #[error("a compressed block does not decode to the {0} bytes it declares")]
    Corrupt(usize),
    /// The Zstd header asks for more memory than any block can need.
    #[error("a zstd block declares a window of {0} bytes, above the limit of {MAX_ZSTD_WINDOW}")]
    Window(u64),
    /// The bytes are not exactly one Zstd frame.
    #[error("a zstd block is not exactly one zstd frame")]
    NotOneFrame,
}

/// Decodes blocks of one connection. Holds the codec's state and one block, made at first use.
#[derive(Default)]
pub struct Decoder {
    block: Vec<u8>,
    zstd: Option<Decompressor<'static>>,
}

impl Decoder {
    /// Decodes a block that must come out at exactly `original_size` bytes (at most [`MAX_BLOCK`]), which is
    /// also all that is allocated for it.
    ///
    /// # Errors
    /// [`DecodeError`]. None of the decoded bytes can be seen then.
    pub fn decode(&mut self, algo: Algo, original_size: usize, content: &[u8]) -> Result<&[u8], DecodeError> {
        if original_size > MAX_BLOCK {
            return Err(DecodeError::Corrupt(original_size));
        }
        if self.block.len() < original_size {
            self.block.resize(original_size, 0);
        }
        let decoded = match algo {
            Algo::Lz4 => lz4::decompress_into(content, &mut self.block[..original_size]).ok(),
            Algo::Zstd => self.zstd(original_size, content)?,
        };
        if decoded == Some(original_size) {
            Ok(&self.block[..original_size])
        } else {
            Err(DecodeError::Corrupt(original_size))
        }
    }

    fn zstd(&mut self, original_size: usize, content: &[u8]) -> Result<Option<usize>, DecodeError> {
        let window = zstd_window(content).ok_or(DecodeError::NotOneFrame)?;
        if window > MAX_ZSTD_WINDOW {
            return Err(DecodeError::Window(window));
        }
        if zstd_safe::find_frame_compressed_size(content) != Ok(content.len()) {
            return Err(DecodeError::NotOneFrame);
        }
        if self.zstd.is_none() {
            self.zstd = Decompressor::new().ok();
        }
        let Some(zstd) = self.zstd.as_mut() else { return Ok(None) };
        Ok(zstd.decompress_to_buffer(content, &mut self.block[..original_size]).ok())
    }
}

/// The window in bytes that a Zstd frame's header declares (RFC 8878, section 3.1.1.1); None where the bytes
/// do not begin with one, a skippable frame included.
fn zstd_window(content: &[u8]) -> Option<u64> {
    const MAGIC: [u8; 4] = [0x28, 0xb5, 0x2f, 0xfd];
    const SINGLE_SEGMENT: u8 = 0x20;
    let (&[descriptor, next], _) = content.strip_prefix(&MAGIC)?.split_first_chunk()?;
    if descriptor & SINGLE_SEGMENT != 0 {
        // Without a window field the window is the content's size, which stands after the dictionary's id.
        return zstd_safe::get_frame_content_size(content).ok().flatten();
    }
    let (exponent, mantissa) = (u64::from(next >> 3), u64::from(next & 7));
    let base = 1u64 << (10 + exponent);
    Some(base + base / 8 * mantissa)
}
