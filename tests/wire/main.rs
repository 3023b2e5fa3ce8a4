//! The protocol byte for byte: what is written, what is read, what is refused, and at what cost.
#![allow(
    clippy::expect_used,
    clippy::panic,
    clippy::unwrap_used,
    reason = "a test that cannot go on has failed, and its helpers are part of it"
)]

mod blocks;
mod bounds;
mod codec;
mod frames;
mod golden;
mod lengths;
mod list;
mod messages;
mod parts;
mod paths;
mod seal;
mod shown;
mod streams;
mod table;
mod writer;
