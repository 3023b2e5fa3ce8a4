//! S10 to S12: what is kept between sessions. The store of blocks never exceeds its cap, tells and gives nobody what
//! they did not upload there, and keeps what it promised; quotas hold with any number of sessions.
#![allow(
    clippy::expect_used,
    clippy::panic,
    clippy::unwrap_used,
    reason = "a test that cannot go on has failed, and its helpers are part of it"
)]

mod admin;
mod announced;
mod cap;
mod crowd;
mod damage;
mod formats;
mod host;
mod peers;
mod present;
mod provision;
mod quota;
mod resume;
mod scene;
mod secrecy;
mod slots;
mod stuck;
