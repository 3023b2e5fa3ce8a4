//! Our client and the public server, the public client and our server, ours and ours, each over a real sshd; and
//! our server beside the public one. What differs is in README.md.
#![allow(
    clippy::expect_used,
    clippy::panic,
    clippy::unwrap_used,
    reason = "a test that cannot go on has failed, and its helpers are part of it"
)]

mod endurance;
mod fallback;
mod oracle;
mod pair;
mod pairs;
mod refusals;
