use std::fmt;

use rustix::io::Errno;

/// The name of one session: 16 lower-case hex digits, in every Error and in the audit trail.
#[derive(Clone, Copy, PartialEq, Eq, Debug)]
pub(crate) struct SessionId(u64);

impl SessionId {
    pub(crate) fn random() -> Result<Self, Errno> {
        bcmr_publish::random::bytes().map(u64::from_le_bytes).map(Self)
    }
}

impl fmt::Display for SessionId {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        write!(f, "{:016x}", self.0)
    }
}
