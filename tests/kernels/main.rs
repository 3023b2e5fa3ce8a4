//! Kernels that are older than this one: a real one under qemu, and this one with system calls taken away.
#![allow(
    clippy::expect_used,
    clippy::panic,
    clippy::unwrap_used,
    reason = "a test that cannot go on has failed, and its helpers are part of it"
)]

mod initramfs;
mod linux_5_10;
mod machine;
mod taken_away;
