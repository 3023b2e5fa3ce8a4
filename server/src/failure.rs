//! What can go wrong while a request is served, in full; the client gets what [`crate::reply`] leaves of it.

use std::io;

use bcmr_policy::Refusal;
use bcmr_publish::{Kind, PublishError};
use bcmr_wire::Type;
use bcmr_wire::blocks::dedup::BLOCK;
use bcmr_wire::codec::DecodeError;
use bcmr_wire::frame::FrameError;
use bcmr_wire::list::ListTooLong;
use bcmr_wire::message::Algo;
use rustix::io::Errno;
use thiserror::Error;

/// Why a request failed. The session goes on.
#[derive(Debug, Error)]
pub(crate) enum Failure {
    #[error("{0}")]
    Refused(#[from] Refusal),
    #[error("{doing}: {errno}")]
    Os { doing: &'static str, errno: Errno },
    #[error("too many symbolic links on the way")]
    Links,
    #[error("a symbolic link on the way leads nowhere")]
    Dangling,
    #[error("the name on disk is not UTF-8, so the protocol cannot carry it")]
    NotUtf8,
    #[error("it is a {0}, not a regular file")]
    NotAFile(Kind),
    #[error("{0}")]
    Publish(#[from] PublishError),
    #[error("{0}")]
    List(#[from] ListTooLong),
    #[error("offset {0} is beyond any file")]
    Offset(u64),
    #[error("the range of {length} bytes from {offset} is not inside the file of {size} bytes")]
    Range { offset: u64, length: u64, size: u64 },
    #[error("offset {offset} is above the declared size of {size} bytes")]
    OffsetPastSize { offset: u64, size: u64 },
    #[error("the present file has {present} bytes, fewer than the offset {offset}")]
    PresentTooShort { present: u64, offset: u64 },
    #[error("data past the declared size of {0} bytes")]
    PastSize(u64),
    #[error("declared {declared} bytes, received {received}")]
    Short { declared: u64, received: u64 },
    #[error("{0}")]
    Decode(#[from] DecodeError),
    #[error("a {0:?} block came, but that codec was not negotiated")]
    NotNegotiated(Algo),
    #[error("{0} was not negotiated")]
    Capability(&'static str),
    #[error("a dedup block_size of {0} is not the CHUNK_SIZE of {BLOCK}")]
    BlockSize(u32),
    #[error("{announced} blocks were announced, and a file of {size} bytes has {count}")]
    BlockCount { announced: usize, count: u64, size: u64 },
    #[error("block {index} has {len} bytes, and must have {must}")]
    BlockLength { index: u64, len: usize, must: usize },
    #[error("block {0} is not what its hash announced; did the file change while it was sent?")]
    BlockHash(u64),
    #[error("unexpected message {}", .0.name())]
    Unexpected(Type),
    #[error("the upload was broken off by a {} frame before its Done", .0.name())]
    BrokenOff(Type),
    #[error(
        "striped uploads are refused: they would change a visible file piece by piece, and need a transaction"
    )]
    Striped,
}

impl Failure {
    /// Whether the operator must hear of it: the host failed, not the request. What merely is not there, or not
    /// for this account, is between the client and its files.
    pub(crate) fn concerns_operator(&self) -> bool {
        let (Self::Os { errno, .. }
        | Self::Publish(PublishError::Io { errno, .. } | PublishError::NotDurable(errno))) = self
        else {
            return false;
        };
        !matches!(
            *errno,
            Errno::NOENT
                | Errno::ACCESS
                | Errno::PERM
                | Errno::NOTDIR
                | Errno::ISDIR
                | Errno::EXIST
                | Errno::NAMETOOLONG
                | Errno::LOOP
        )
    }

    /// An [`Os`](Self::Os) failure of what was being done.
    pub(crate) fn os(doing: &'static str) -> impl Fn(Errno) -> Self {
        move |errno| Self::Os { doing, errno }
    }
}

/// Why a session ends before the client has asked for everything.
#[derive(Debug, Error)]
pub(crate) enum End {
    /// The client broke the protocol.
    #[error("{0}")]
    Violation(String),
    /// The client or the link to it is gone.
    #[error("{0}")]
    Link(io::Error),
}

impl From<FrameError> for End {
    fn from(error: FrameError) -> Self {
        match error {
            FrameError::Io(error) => Self::Link(error),
            FrameError::Truncated => Self::Link(io::ErrorKind::UnexpectedEof.into()),
            violation => Self::Violation(violation.to_string()),
        }
    }
}

/// How serving a request stops short: the request failed, or the whole session ends.
#[derive(Debug)]
pub(crate) enum Stop {
    Failed(Failure),
    Ended(End),
}

impl<F: Into<Failure>> From<F> for Stop {
    fn from(failure: F) -> Self {
        Self::Failed(failure.into())
    }
}

impl Stop {
    /// The stop that a failed write to the client is.
    pub(crate) fn link(error: io::Error) -> Self {
        Self::Ended(End::Link(error))
    }
}
