//! How the process ends: the exit codes, and the one line that stderr may carry.

use std::io::Write;
use std::process::ExitCode;

/// An exit code (README.md has the table).
#[derive(Clone, Copy, PartialEq, Eq, Debug)]
#[repr(u8)]
pub(crate) enum Exit {
    /// Everything asked for was answered.
    Done = 0,
    /// A question of the public client is answered with no; the doctor found something degraded.
    No = 1,
    /// The doctor found that something is not served.
    Refuses = 2,
    /// The command line is wrong.
    Usage = 64,
    /// A bug of ours; nothing half-done was published.
    Internal = 70,
    /// The link or the disk failed.
    Io = 74,
    /// Not now; later perhaps.
    TryAgain = 75,
    /// The client broke the protocol.
    Protocol = 76,
    /// Whoever asks may not do this.
    NotPermitted = 77,
    /// Policy or sandbox refused to serve.
    Refused = 78,
    /// What is asked of the account is no transfer.
    NotBcmr = 126,
}

impl Exit {
    /// What the audit trail says of a session that ended by itself.
    pub(crate) const fn word(self) -> &'static str {
        match self {
            Self::Done => "done",
            Self::Protocol => "protocol violation",
            Self::TryAgain => "try again",
            _ => "link lost",
        }
    }
}

impl From<Exit> for ExitCode {
    fn from(exit: Exit) -> Self {
        Self::from(exit as u8)
    }
}

/// Says one line on stderr, which sshd passes on to the client. Best effort.
pub(crate) fn say(line: &str) {
    let _ = writeln!(std::io::stderr(), "bcmr-serve: {line}");
}
