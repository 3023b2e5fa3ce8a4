//! The claims of SECURITY.md, each with what would show it to be false. A test that something is refused shows
//! first that its allowed twin works, and looks at the disk both times.
#![allow(
    clippy::expect_used,
    clippy::panic,
    clippy::unwrap_used,
    reason = "a test that cannot go on has failed, and its helpers are part of it"
)]

mod attack;
mod audit;
mod confinement;
mod doctor;
mod endings;
mod forced;
mod keys;
mod landlock;
mod memory;
mod nothing_widens;
mod policy_file;
mod profiles;
mod sandbox;
mod secrecy;
mod stricter;
mod trace;
