use std::fmt;

use rustix::fs::FileType;
use rustix::io::Errno;
use thiserror::Error;

/// Why a file was not published. Unless it says otherwise, the name holds what it held before.
#[derive(Clone, Copy, PartialEq, Eq, Debug, Error)]
#[non_exhaustive]
pub enum PublishError {
    /// The name exists, and overwriting was not asked for.
    #[error("the name exists")]
    Taken,
    /// What stands under the name is nothing that a file may replace.
    #[error("a {0} stands under the name")]
    NotAFile(Kind),
    /// The file system has no call that publishes a name without risk to one that exists.
    #[error("the file system can publish a new name only by overwriting; nothing was published")]
    NoAtomicPublish,
    /// The reserved name of the stage is gone, stands for another file, or is not its only name.
    #[error("someone moved, removed or linked the file while it was being received; nothing was published")]
    StageLost,
    /// A call failed: what was being done, and why.
    #[error("{doing}: {errno}")]
    Io {
        /// What was being done.
        doing: &'static str,
        /// Why it failed.
        errno: Errno,
    },
    /// The file is published whole, but a flush to disk failed, so that a power cut may undo it.
    #[error("published, but not durable: flushing to disk: {0}")]
    NotDurable(Errno),
}

impl PublishError {
    /// An [`Io`](Self::Io) failure of what was being done.
    pub fn io(doing: &'static str) -> impl Fn(Errno) -> Self {
        move |errno| Self::Io { doing, errno }
    }
}

/// A kind of directory entry, in words.
#[derive(Clone, Copy, PartialEq, Eq, Debug)]
pub struct Kind(pub FileType);

impl fmt::Display for Kind {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.write_str(match self.0 {
            FileType::RegularFile => "regular file",
            FileType::Directory => "directory",
            FileType::Symlink => "symbolic link",
            FileType::Fifo => "FIFO",
            FileType::Socket => "socket",
            FileType::CharacterDevice | FileType::BlockDevice => "device",
            FileType::Unknown => "file of unknown kind",
        })
    }
}
