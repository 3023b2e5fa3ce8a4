//! What the whole-program tests share: the programs, a server at the other end of two pipes, a place on disk.
#![allow(
    clippy::expect_used,
    clippy::panic,
    clippy::unwrap_used,
    reason = "a test that cannot go on has failed, and its helpers are part of it"
)]

pub mod asked;
pub mod binaries;
pub mod client;
pub mod content;
pub mod disk;
pub mod fuse;
pub mod host;
pub mod launch;
pub mod log;
pub mod mounts;
pub mod policy;
pub mod reply;
pub mod rungs;
pub mod server;
pub mod site;
pub mod sshd;
pub mod stream;

pub use client::Client;
pub use host::Host;
pub use launch::Launch;
pub use log::Log;
pub use policy::Policy;
pub use reply::Reply;
pub use server::Server;
pub use site::Site;
pub use sshd::Sshd;
