use bcmr_wire::RemotePath;
use bcmr_wire::path::PathError;
use thiserror::Error;

use crate::fence::RootedPath;
use crate::profile::{Profile, Usage};
use crate::request::Request;
use crate::verb::Verb;

/// Why a request is refused, in words that the client may see.
#[derive(Clone, Copy, PartialEq, Eq, Debug, Error)]
#[non_exhaustive]
pub enum Refusal {
    /// The path is none.
    #[error("{0}")]
    Path(#[from] PathError),
    /// The path lies outside the root. The phrase is one that clients in the field look for.
    #[error("path escapes server root")]
    Outside,
    /// The path has a component that is reserved for stages.
    #[error("path has a name that is reserved for files being received")]
    Reserved,
    /// The profile lacks the verb.
    #[error("this account may not {0}")]
    Verb(Verb),
    /// The profile forbids to replace files, and the request cannot do without.
    #[error("this account may not overwrite")]
    Overwrite,
    /// A file above `max_file`.
    #[error("a file of {size} bytes is larger than the {max} allowed here")]
    FileSize {
        /// Bytes that were declared.
        size: u64,
        /// Bytes that are allowed.
        max: u64,
    },
    /// The session has moved, or would move, more than `max_transfer`.
    #[error("this is more than one session may move here")]
    Transfer,
    /// A symbolic link is on the way, and the profile follows none.
    #[error("a symbolic link is on the way, and links are not followed here")]
    Symlink,
    /// The account's published files would be more, or larger, than it may have.
    #[error("this account's quota is used up; it frees up as files are moved away or deleted")]
    Quota,
    /// A file that a login shell or ssh may read at its start.
    #[error("names that begin with a dot are not written at the top of this account's home")]
    DotFile,
    /// Storing the file would leave less free space than the profile wants.
    #[error("no space left on the server beyond what it keeps free")]
    Free,
}

/// Leave to do one thing at one path. Only [`judge()`] makes one.
#[derive(Debug)]
pub struct Permit<R> {
    path: RootedPath,
    request: R,
}

impl<R> Permit<R> {
    /// Where it may be done.
    pub const fn path(&self) -> &RootedPath {
        &self.path
    }

    /// What may be done.
    pub const fn request(&self) -> &R {
        &self.request
    }
}

/// Judges a request for a path as it stands in its frame.
///
/// # Errors
/// [`Refusal`]: nothing was looked up on disk.
pub fn judge<R: Request>(
    profile: &Profile,
    usage: Usage,
    path: &str,
    request: R,
) -> Result<Permit<R>, Refusal> {
    if !profile.rules.verbs.has(R::VERB) {
        return Err(Refusal::Verb(R::VERB));
    }
    let path = profile.fence.admit(&RemotePath::parse(path)?)?;
    if R::VERB.writes() && profile.fence.guards(&path) {
        return Err(Refusal::DotFile);
    }
    Ok(Permit { path, request: request.narrow(profile, usage)? })
}
