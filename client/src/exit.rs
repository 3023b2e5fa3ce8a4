//! How the process ends.

use std::process::ExitCode;

/// An exit code of the client.
#[derive(Clone, Copy, PartialEq, Eq, PartialOrd, Ord, Debug)]
#[repr(u8)]
pub(crate) enum Exit {
    /// Everything was copied.
    Done = 0,
    /// Some files failed; each was named.
    SomeFailed = 1,
    /// The command line is wrong, or asks for what cannot be done.
    Usage = 2,
    /// The link to the server, or the server itself, was lost.
    Link = 74,
    /// The server is busy; try again later.
    Busy = 75,
    /// The server refused to serve.
    Refused = 77,
    /// The terminal went away (SIGHUP).
    HungUp = 129,
    /// Somebody pressed Ctrl-C (SIGINT).
    Interrupted = 130,
    /// It was asked to end (SIGTERM).
    Terminated = 143,
}

impl From<Exit> for ExitCode {
    fn from(exit: Exit) -> Self {
        Self::from(exit as u8)
    }
}

/// Why a command ends before it has copied anything, or in the middle: what to say, and the exit code.
#[derive(Debug, thiserror::Error)]
#[error("{message}")]
pub(crate) struct Fatal {
    pub(crate) exit: Exit,
    pub(crate) message: String,
    /// Whether nothing was changed, because no server is there that speaks the protocol.
    pub(crate) serverless: bool,
}

impl Fatal {
    pub(crate) fn new(exit: Exit, message: impl Into<String>) -> Self {
        Self { exit, message: message.into(), serverless: false }
    }

    pub(crate) fn usage(message: impl Into<String>) -> Self {
        Self::new(Exit::Usage, message)
    }

    /// Of this machine's disk.
    pub(crate) fn here(message: impl Into<String>) -> Self {
        Self::new(Exit::SomeFailed, message)
    }

    pub(crate) fn link(message: impl Into<String>) -> Self {
        Self::new(Exit::Link, message)
    }
}
