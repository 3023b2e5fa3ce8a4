//! Frames: a length, a type byte, a body (wire-v2, "Frame").
//!
//! The reader holds every limit before it reads or allocates a byte of the body. Bodies up to the size of its
//! buffer are handed out in place; data bodies can be taken piece by piece, so that content is hashed and
//! stored while it is still in the processor's cache and no block is ever held whole.

mod reader;
mod writer;

use std::io;

use thiserror::Error;

use crate::message::{Algo, Malformed, Type};

pub use reader::FrameReader;
pub use writer::{FrameWriter, Splice};

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

impl DataHeader {
    /// Bytes of content that follow, as sent.
    #[must_use]
    pub const fn len(&self) -> usize {
        match *self {
            Self::Raw(len) | Self::Compressed { len, .. } => len,
        }
    }

    /// Bytes of the content after decoding.
    #[must_use]
    pub const fn decoded_len(&self) -> usize {
        match *self {
            Self::Raw(len) | Self::Compressed { original_size: len, .. } => len,
        }
    }

    /// Whether no content follows.
    #[must_use]
    pub const fn is_empty(&self) -> bool {
        self.len() == 0
    }
}
