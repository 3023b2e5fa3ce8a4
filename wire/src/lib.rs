//! The bcmr protocol, version 2, as both ends speak it.
//!
//! The way of the bytes: [`frame`] cuts a stream into frames and holds every limit before it allocates;
//! [`message`] gives a frame's body its meaning without copying it; [`blocks`] carries file content through
//! hash and [`codec`] into data frames and back; [`seal`] wraps frames on a direct TCP connection.
//! [`path`] is the only form in which a path from the wire goes further.
//!
//! Nothing in this crate opens a file or a socket.

pub mod blocks;
pub mod caps;
pub mod codec;
mod field;
pub mod frame;
pub mod limits;
pub mod list;
pub mod message;
pub mod path;
pub mod seal;
pub mod shown;

pub use caps::Caps;
pub use message::{Message, Type};
pub use path::RemotePath;

/// The protocol version that this crate speaks; the only one it accepts in Hello and Welcome.
pub const VERSION: u8 = 2;

/// A BLAKE3 hash as it stands in HaveBlocks and in block names.
pub type Hash = [u8; 32];
