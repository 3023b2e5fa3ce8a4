//! The block pipeline that both ends share: read, hash, encode, frame; and back: unframe, decode, hash, store.

mod choice;
pub mod dedup;
mod receiver;
mod sender;

pub use receiver::{BlockReceiver, ReceiveError};
pub use sender::{BlockSender, SendError, Spliced};
