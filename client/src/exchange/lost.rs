use bcmr_wire::frame::FrameError;

use crate::exit::Fatal;
use crate::pulse::GivenUp;
use crate::{interrupt, rerun};

/// Why a connection cannot be used any more.
#[derive(Debug, thiserror::Error)]
pub(crate) enum Lost {
    #[error("the server closed the connection")]
    Closed,
    #[error("the server's answer cannot be understood: {0}")]
    Stream(FrameError),
    #[error("the server sent {0} where it should not")]
    Unexpected(&'static str),
    /// An Error to a Put by a server that is not ours.
    #[error("the server refused a file in a way that makes the connection unusable")]
    Foreign,
    #[error("no byte moved for {0} seconds")]
    Stalled(u64),
    #[error("it moved {0} bytes a second, fewer than --min-rate asks for")]
    Slow(u64),
    #[error("interrupted")]
    Interrupted,
    /// The disk here is full or broken.
    #[error("{0}")]
    Local(String),
}

impl Lost {
    /// Whether another connection may do better.
    pub(crate) const fn may_pass(&self) -> bool {
        matches!(self, Self::Closed)
    }

    /// The end of the command, where nothing can be done about it.
    pub(crate) fn into_fatal(self) -> Fatal {
        match self {
            Self::Local(text) => Fatal::here(format!("{text}; nothing more was copied; {}", rerun::then())),
            Self::Interrupted => interrupt::fatal(),
            why => Fatal::link(format!("the connection was lost: {why}; {}", rerun::then())),
        }
    }
}

impl From<GivenUp> for Lost {
    fn from(why: GivenUp) -> Self {
        match why {
            GivenUp::Stalled(seconds) => Self::Stalled(seconds),
            GivenUp::Slow(rate) => Self::Slow(rate),
            GivenUp::Interrupted => Self::Interrupted,
        }
    }
}

impl From<FrameError> for Lost {
    fn from(error: FrameError) -> Self {
        match error {
            FrameError::Truncated | FrameError::Io(_) => Self::Closed,
            other => Self::Stream(other),
        }
    }
}
