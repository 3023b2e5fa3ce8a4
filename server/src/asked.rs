//! From a message to what it asks for, owned, so that the frame's bytes can be given back.

use bcmr_policy::request;
use bcmr_wire::{Message, Type};

/// What one frame asks for, its path apart.
#[derive(Clone, Copy, Debug)]
pub(crate) enum Asked {
    Stat(request::Stat),
    List(request::List),
    Hash(request::Hash),
    Get(request::Get),
    Put(request::Put),
    Mkdir(request::Mkdir),
    Resume(request::Resume),
    /// PutChunked, whose data follow.
    Striped,
    Truncate,
    DirectChannel,
    /// A message that asks for nothing here and now.
    Nothing(Type),
}

impl Asked {
    /// The word for it in an Error.
    pub(crate) const fn name(self) -> &'static str {
        match self {
            Self::Stat(_) => "stat",
            Self::List(_) => "list",
            Self::Hash(_) => "hash",
            Self::Get(_) => "get",
            Self::Put(_) | Self::Striped => "put",
            Self::Mkdir(_) => "mkdir",
            Self::Resume(_) => "resume",
            Self::Truncate => "truncate",
            Self::DirectChannel => "direct channel",
            Self::Nothing(kind) => kind.name(),
        }
    }
}

/// What a message asks for, and the path as the client spelled it.
pub(crate) fn asked(message: &Message<'_>) -> (Asked, String) {
    let (asked, path) = match *message {
        Message::Stat { path } => (Asked::Stat(request::Stat), path),
        Message::List { path } => (Asked::List(request::List), path),
        Message::Hash { path, offset, limit } => (Asked::Hash(request::Hash { offset, limit }), path),
        Message::Get { path, offset } => (Asked::Get(request::Get::asked(offset, None)), path),
        Message::GetChunked { path, offset, length } => {
            (Asked::Get(request::Get::asked(offset, Some(length))), path)
        }
        Message::Put { path, size, offset, overwrite } => {
            (Asked::Put(request::Put { size, offset, overwrite }), path)
        }
        Message::Mkdir { path } => (Asked::Mkdir(request::Mkdir), path),
        Message::Resume { path } => (Asked::Resume(request::Resume), path),
        Message::PutChunked { path, .. } => (Asked::Striped, path),
        Message::Truncate { path, .. } => (Asked::Truncate, path),
        Message::OpenDirectChannel => (Asked::DirectChannel, ""),
        ref other => (Asked::Nothing(other.kind()), ""),
    };
    (asked, path.to_owned())
}
