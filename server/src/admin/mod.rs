//! What operators run by hand. None of it speaks the protocol.

pub(crate) mod check;
mod identity;
pub(crate) mod sweep;
