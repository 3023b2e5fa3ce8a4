//! What operators run by hand. None of it speaks the protocol.

pub(crate) mod cas;
pub(crate) mod check;
pub(crate) mod doctor;
mod identity;
pub(crate) mod provision;
pub(crate) mod quota;
mod served;
pub(crate) mod sessions;
pub(crate) mod sweep;
