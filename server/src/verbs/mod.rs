//! What a client can ask for, one file per verb. Each takes the judge's permit by value.

#![allow(clippy::needless_pass_by_value, reason = "a permit is spent by the act that it permits")]

pub(crate) mod announced;
pub(crate) mod get;
pub(crate) mod hash;
pub(crate) mod list;
mod lookup;
pub(crate) mod mkdir;
pub(crate) mod put;
pub(crate) mod resume;
pub(crate) mod stat;
