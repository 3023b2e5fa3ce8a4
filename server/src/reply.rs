//! What the client may know of a failure: what was asked, and the cause in plain words. No host path, no
//! number that tells of the host, nothing of what lies outside the root.

use std::io::{self, Write};
use std::os::fd::OwnedFd;

use bcmr_publish::PublishError;
use bcmr_wire::Message;
use bcmr_wire::frame::FrameWriter;
use bcmr_wire::shown::shown;
use rustix::io::Errno;

use crate::failure::Failure;
use crate::id::SessionId;
use crate::verbs::resume::Present;

/// Bytes of a client's path that an Error repeats.
const SHOWN: usize = 256;

/// Tells a client, unasked, that it is not served, and why as far as it may know. Best effort: it may be gone.
pub(crate) fn refuse(output: OwnedFd, id: SessionId, why: &str) {
    let message = with_session(why, id);
    let mut frame = Vec::new();
    if (Message::Error { message: &message }).encode(&mut frame).is_ok() {
        let _ = std::fs::File::from(output).write_all(&frame);
    }
}

/// An Error's whole text. The session's id also tells our client that it talks to our server.
pub(crate) fn with_session(text: &str, id: SessionId) -> String {
    format!("{text} (session {id})")
}

/// The text of an Error about a request for `path`, as the client spelled it.
pub(crate) fn text(what: &str, path: &str, failure: &Failure) -> String {
    let start = &path[..path.floor_char_boundary(SHOWN)];
    let more = if start.len() < path.len() { "…" } else { "" };
    format!("{what} '{}{more}': {}", shown(start), coarse(failure))
}

/// The cause, as far as the client may know it.
pub(crate) fn coarse(failure: &Failure) -> String {
    match failure {
        Failure::Os { errno, .. } | Failure::Publish(PublishError::Io { errno, .. }) => {
            cause(*errno).to_owned()
        }
        Failure::Publish(PublishError::NotDurable(errno)) => {
            format!("the file is published whole, but not durable: {}", cause(*errno))
        }
        Failure::Publish(PublishError::Taken) => "already exists, and overwriting was not allowed".to_owned(),
        other => other.to_string(),
    }
}

fn cause(errno: Errno) -> &'static str {
    match errno {
        Errno::NOENT => "no such file or directory",
        Errno::ACCESS | Errno::PERM => "permission denied",
        Errno::NOTDIR => "not a directory",
        Errno::ISDIR => "is a directory",
        Errno::EXIST => "already exists",
        Errno::NAMETOOLONG => "a name is too long, or too many directories are missing",
        Errno::LOOP => "too many symbolic links on the way",
        Errno::NOSPC => "no space left on the server",
        Errno::DQUOT => "the server's disk quota is used up",
        Errno::FBIG => "larger than the server's file system or limits allow",
        Errno::ROFS => "the server's file system is read-only",
        Errno::IO => "the server had an input/output error",
        Errno::MFILE | Errno::NFILE | Errno::NOMEM => {
            "the server is short of descriptors or memory, try again"
        }
        Errno::OPNOTSUPP => "the server's file system does not support it",
        Errno::TXTBSY => "is being executed",
        _ => "the server could not do it; its log says why",
    }
}

/// What a request is answered with when it succeeded.
#[derive(Debug)]
pub(crate) enum Reply {
    Message(Message<'static>),
    Hash(blake3::Hash),
    Ok(Option<blake3::Hash>),
    Present(Present),
    /// A ListResponse, as a whole frame.
    Listing(Vec<u8>),
}

impl Reply {
    pub(crate) fn send<W: Write>(self, stream: &mut FrameWriter<W>) -> io::Result<()> {
        let hex = |hash: Option<blake3::Hash>| hash.map(|hash| hash.to_hex());
        match self {
            Self::Message(message) => stream.push(&message),
            Self::Hash(hash) => stream.push(&Message::HashResponse { hash: &hash.to_hex() }),
            Self::Ok(hash) => stream.push(&Message::Ok { hash: hex(hash).as_deref() }),
            Self::Present(Present { size, block_hash }) => {
                stream.push(&Message::ResumeResponse { size, block_hash: hex(block_hash).as_deref() })
            }
            Self::Listing(frame) => stream.push_encoded(&frame),
        }
    }
}
