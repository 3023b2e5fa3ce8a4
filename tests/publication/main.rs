//! Publication by exhaustion: kills before every call, faults at every call, freezes, races, file systems.
#![allow(
    clippy::expect_used,
    clippy::panic,
    clippy::unwrap_used,
    reason = "a test that cannot go on has failed, and its helpers are part of it"
)]

mod attributes;
mod budget;
mod disks;
mod fault_sweep;
mod frozen;
mod kill_get;
mod kill_sweep;
mod ladder;
mod limits;
mod publication_races;
mod scene;
mod swapped;
mod sweep_command;
mod trace;
