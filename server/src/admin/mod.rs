//! What operators run by hand. None of it speaks the protocol.

pub(crate) mod check;
pub(crate) mod doctor;
mod identity;
pub(crate) mod sessions;
pub(crate) mod sweep;
