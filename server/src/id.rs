use std::fmt;

use rustix::io::{Errno, retry_on_intr};
use rustix::rand::{GetRandomFlags, getrandom};

/// The name of one session: 16 lower-case hex digits, in every Error and in the audit trail.
#[derive(Clone, Copy, PartialEq, Eq, Debug)]
pub(crate) struct SessionId(u64);

impl SessionId {
    pub(crate) fn random() -> Result<Self, Errno> {
        let mut bits = [0; 8];
        retry_on_intr(|| getrandom(&mut bits, GetRandomFlags::empty()))?;
        Ok(Self(u64::from_le_bytes(bits)))
    }
}

impl fmt::Display for SessionId {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        write!(f, "{:016x}", self.0)
    }
}
