//! What a server says, owned.

use bcmr_wire::message::Algo;
use bcmr_wire::{Caps, Message};

/// A message from a server. The fields are those of the protocol's message table.
#[derive(Clone, PartialEq, Debug)]
#[allow(missing_docs, reason = "the names are those of the protocol's message table")]
pub enum Reply {
    Welcome { version: u8, caps: Caps },
    Ok { hash: Option<String> },
    Error { message: String },
    Data { payload: Vec<u8> },
    DataCompressed { algo: Algo, original_size: u32, payload: Vec<u8> },
    Stat { size: u64, mtime: i64, is_dir: bool },
    Hash { hash: String },
    List(Vec<Entry>),
    Resume { size: u64, block_hash: Option<String> },
    MissingBlocks { bits: Vec<u8> },
    DirectChannelReady { addr: String, session_key: [u8; 32] },
    AuthChallenge { nonce: [u8; 32] },
}

/// One entry of a listing.
#[derive(Clone, PartialEq, Eq, Debug)]
#[allow(missing_docs, reason = "the names are those of the protocol's message table")]
pub struct Entry {
    pub path: String,
    pub size: u64,
    pub mtime: i64,
    pub is_dir: bool,
}

impl Reply {
    /// The reply that a message is. No server sends the messages of a client.
    #[must_use]
    pub fn new(message: &Message<'_>) -> Self {
        let owned = |text: Option<&str>| text.map(str::to_owned);
        match *message {
            Message::Welcome { version, caps } => Self::Welcome { version, caps },
            Message::Ok { hash } => Self::Ok { hash: owned(hash) },
            Message::Error { message } => Self::Error { message: message.to_owned() },
            Message::Data { payload } => Self::Data { payload: payload.to_owned() },
            Message::DataCompressed { algo, original_size, payload } => {
                Self::DataCompressed { algo, original_size, payload: payload.to_owned() }
            }
            Message::StatResponse { size, mtime, is_dir } => Self::Stat { size, mtime, is_dir },
            Message::HashResponse { hash } => Self::Hash { hash: hash.to_owned() },
            Message::ListResponse(list) => Self::List(
                list.iter()
                    .map(|entry| Entry {
                        path: entry.path.to_owned(),
                        size: entry.size,
                        mtime: entry.mtime,
                        is_dir: entry.is_dir,
                    })
                    .collect(),
            ),
            Message::ResumeResponse { size, block_hash } => {
                Self::Resume { size, block_hash: owned(block_hash) }
            }
            Message::MissingBlocks { bits } => Self::MissingBlocks { bits: bits.to_owned() },
            Message::DirectChannelReady { addr, session_key } => {
                Self::DirectChannelReady { addr: addr.to_owned(), session_key }
            }
            Message::AuthChallenge { nonce } => Self::AuthChallenge { nonce },
            ref other => panic!("a server sent {}", other.kind().name()),
        }
    }

    /// The text of an Error, without the session's id.
    #[must_use]
    #[track_caller]
    pub fn error(&self) -> &str {
        let Self::Error { message } = self else { panic!("an Error was due, but this came: {self:?}") };
        message.rsplit_once(" (session ").map_or(message, |(text, _)| text)
    }

    /// The hash in an Ok.
    #[must_use]
    #[track_caller]
    pub fn ok(&self) -> Option<&str> {
        let Self::Ok { hash } = self else { panic!("an Ok was due, but this came: {self:?}") };
        hash.as_deref()
    }

    /// The hash in a HashResponse.
    #[must_use]
    #[track_caller]
    pub fn hash(&self) -> &str {
        let Self::Hash { hash } = self else { panic!("a HashResponse was due, but this came: {self:?}") };
        hash
    }

    /// The entries of a ListResponse.
    #[must_use]
    #[track_caller]
    pub fn entries(&self) -> &[Entry] {
        let Self::List(entries) = self else { panic!("a ListResponse was due, but this came: {self:?}") };
        entries
    }

    /// The paths of a ListResponse, in the order in which they came.
    #[must_use]
    #[track_caller]
    pub fn paths(&self) -> Vec<&str> {
        self.entries().iter().map(|entry| entry.path.as_str()).collect()
    }

    /// Whether this is an Error.
    #[must_use]
    pub const fn is_error(&self) -> bool {
        matches!(self, Self::Error { .. })
    }
}
