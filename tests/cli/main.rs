//! The client as a person meets it: what it copies where, what it says, and how it ends. Where no sshd is needed
//! the server is at the other end of a pipe (`--via`).
#![allow(
    clippy::expect_used,
    clippy::panic,
    clippy::unwrap_used,
    reason = "a test that cannot go on has failed, and its helpers are part of it"
)]

mod asking;
mod asking_server;
mod changing;
mod config;
mod content;
mod destinations;
mod disk;
mod exits;
mod failures;
mod handshake;
mod help;
mod hostile;
mod interrupted;
mod json;
mod links;
mod lost;
mod output;
mod reconnect;
mod refused;
mod resuming;
mod scp;
mod serve;
mod silence;
mod stars;
mod targets;
mod terminal;

use bcmr_tests::{Client, Site};

/// A client in the site's outside, whose server serves the site's root.
fn client(site: &Site) -> Client {
    Client::ours().to_root(&site.root()).within(&site.outside())
}

/// A client in the site's outside that talks to the fake server.
fn victim(site: &Site, scenario: &str) -> Client {
    Client::ours().to_fake(scenario).within(&site.outside())
}
