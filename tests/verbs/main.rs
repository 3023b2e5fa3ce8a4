//! Each verb over a pipe, bad input included; what is on disk before and after.
#![allow(
    clippy::expect_used,
    clippy::panic,
    clippy::unwrap_used,
    reason = "a test that cannot go on has failed, and its helpers are part of it"
)]

mod append;
mod boot;
mod codecs;
mod faults;
mod file_systems;
mod frames;
mod full_disk;
mod get;
mod hash;
mod large;
mod launcher;
mod list;
mod memory;
mod metadata;
mod mkdir;
mod paths;
mod publish;
mod put;
mod races;
mod refused;
mod resume;
mod session;
mod signals;
mod stat;
mod streams;
mod sweep;
