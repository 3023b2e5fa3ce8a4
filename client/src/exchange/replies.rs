//! The stream of replies, frame by frame.

use std::fs::File;

use bcmr_wire::Message;
use bcmr_wire::blocks::BlockReceiver;
use bcmr_wire::frame::{FrameReader, Header};
use bcmr_wire::shown::shown;

use super::{Listed, Lost, Reply, ServerError, Stat};
use crate::pulse::Felt;

/// The stream of replies.
pub(crate) struct Replies {
    pub(crate) reader: FrameReader<Felt<File>>,
    pub(crate) blocks: BlockReceiver,
    /// Whether a Get is answered with its hash.
    pub(crate) hashed: bool,
}

impl Replies {
    pub(crate) fn header(&mut self) -> Result<Header, Lost> {
        self.reader.header()?.ok_or(Lost::Closed)
    }

    /// A reply that carries no content.
    pub(crate) fn reply(&mut self) -> Result<Reply, Lost> {
        let header = self.header()?;
        self.reply_of(header)
    }

    /// The reply whose header was read last.
    pub(crate) fn reply_of(&mut self, header: Header) -> Result<Reply, Lost> {
        Ok(match self.reader.message(header)? {
            Message::Ok { hash } => Reply::Ok(hash.map(str::to_owned)),
            Message::Error { message } => Reply::Error(ServerError { text: shorten(message) }),
            Message::StatResponse { size, mtime, is_dir } => Reply::Stat(Stat { size, mtime, is_dir }),
            Message::HashResponse { hash } => Reply::Hash(hash.to_owned()),
            Message::ListResponse(list) => {
                let owned = |entry: bcmr_wire::list::Entry<'_>| Listed {
                    path: entry.path.to_owned(),
                    size: entry.size,
                    mtime: entry.mtime,
                    is_dir: entry.is_dir,
                };
                Reply::List(list.iter().map(owned).collect())
            }
            Message::MissingBlocks { bits } => Reply::Missing(bits.to_vec()),
            other => return Err(Lost::Unexpected(other.kind().name())),
        })
    }
}

/// An Error may carry megabytes; people read its beginning, and its end tells whose it is.
fn shorten(text: &str) -> String {
    const HEAD: usize = 600;
    const TAIL: usize = 60;
    if text.len() <= HEAD + TAIL {
        return shown(text).to_string();
    }
    let head = &text[..text.floor_char_boundary(HEAD)];
    let tail = &text[text.ceil_char_boundary(text.len() - TAIL)..];
    format!("{} … {}", shown(head), shown(tail))
}
