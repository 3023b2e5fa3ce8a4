//! Requests of every kind.

use bcmr_wire::Message;

/// Everything that can be asked of a path.
#[must_use]
pub const fn every_verb(path: &str) -> [Message<'_>; 10] {
    [
        Message::Stat { path },
        Message::List { path },
        Message::Hash { path, offset: 0, limit: None },
        Message::Get { path, offset: 0 },
        Message::GetChunked { path, offset: 0, length: 1 },
        Message::Resume { path },
        Message::Mkdir { path },
        Message::Put { path, size: 1, offset: 0, overwrite: false },
        Message::Put { path, size: 1, offset: 0, overwrite: true },
        Message::Put { path, size: 2, offset: 1, overwrite: true },
    ]
}
