//! What an account that is not trusted can do on a host: over a real sshd, by each way in which sshd starts the server,
//! and what a real journald then has of it.
#![allow(
    clippy::expect_used,
    clippy::panic,
    clippy::unwrap_used,
    reason = "a test that cannot go on has failed, and its helpers are part of it"
)]

mod channels;
mod copies;
mod hosts;
mod journal;

mod refused;
mod shells;
