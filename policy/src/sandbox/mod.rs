//! The same rules once more, held by the kernel: Landlock for what may be done to which files, seccomp for
//! which system calls there are at all.
//!
//! [`enter`] is called before any thread exists and before a byte of a client is read, and proves what it did.
//! Only it makes a [`Sandboxed`], without which there is no session.

mod calls;
mod landlock;
mod proof;
mod rights;
mod seccomp;

use std::fmt;
use std::os::fd::BorrowedFd;

use thiserror::Error;

use crate::rules::Rules;

pub use self::landlock::Landlock;
pub use self::rights::{Granted, granted};

/// The layers that this build has, whatever the host has of them.
#[must_use]
pub fn layers() -> String {
    format!("Landlock (up to ABI {}), seccomp ({} calls)", landlock::NEWEST as u32, calls::ALLOWED.len())
}

/// What must be there for a session to be served.
#[derive(Clone, Copy, PartialEq, Eq, PartialOrd, Ord, Debug)]
pub enum Level {
    /// Serve with whatever there is, and log what is missing.
    BestEffort,
    /// Serve without Landlock, but not without seccomp.
    Available,
    /// Serve only with both.
    Require,
}

impl Level {
    /// Every level, the strictest last.
    pub const ALL: [Self; 3] = [Self::BestEffort, Self::Available, Self::Require];

    /// The word in the policy file.
    #[must_use]
    pub const fn name(self) -> &'static str {
        match self {
            Self::BestEffort => "best-effort",
            Self::Available => "available",
            Self::Require => "require",
        }
    }
}

/// What holds a process, in fact.
#[derive(Clone, PartialEq, Eq, Debug)]
pub struct Report {
    /// Landlock.
    pub landlock: Landlock,
    /// Why there is no seccomp filter, if there is none.
    pub seccomp: Result<(), String>,
}

impl fmt::Display for Report {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        write!(f, "landlock {}, seccomp ", self.landlock)?;
        match &self.seccomp {
            Ok(()) => f.write_str("on"),
            Err(why) => write!(f, "off ({why})"),
        }
    }
}

/// Why a session is not served.
#[derive(Clone, PartialEq, Eq, Debug, Error)]
#[error("sandbox level '{}' does not allow to serve with {report}: {why}", .level.name())]
pub struct SandboxError {
    level: Level,
    report: Report,
    why: String,
}

/// The proof that this process is in its sandbox, as far as its level asks for one. Not to be had otherwise.
#[derive(Debug)]
pub struct Sandboxed {
    report: Report,
}

impl Sandboxed {
    /// What holds the process.
    #[must_use]
    pub const fn report(&self) -> &Report {
        &self.report
    }
}

/// Confines this process for good to `root` (and `state`, where there is one), to the file operations that the
/// verbs of `rules` need, and to the system calls that serving needs.
///
/// To be called while there is one thread.
///
/// # Errors
/// [`SandboxError`], where something is missing that the level of `rules` asks for. The process is then partly
/// confined, and good for saying so.
pub fn enter(
    rules: &Rules,
    root: BorrowedFd<'_>,
    state: Option<BorrowedFd<'_>>,
) -> Result<Sandboxed, SandboxError> {
    let level = rules.sandbox;
    let landlock = landlock::restrict(rights::of(rules), root, state);
    let seccomp = seccomp::filter(rules);
    let report = Report { landlock, seccomp };
    let refuse = |why: String| Err(SandboxError { level, report: report.clone(), why });
    if level == Level::Require && !report.landlock.is_whole() {
        return refuse("Landlock is missing or not what the kernel announces".to_owned());
    }
    if level >= Level::Available && report.seccomp.is_err() {
        return refuse("the seccomp filter is missing".to_owned());
    }
    // What is said to stand must stand, whatever the level.
    match proof::check(&report, root) {
        Ok(()) => Ok(Sandboxed { report }),
        Err(why) => refuse(why),
    }
}
