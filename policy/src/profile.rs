use crate::fence::Fence;
use crate::rules::Rules;

/// What one account may do in one session, ready to judge by.
#[derive(Clone, Debug)]
pub struct Profile {
    /// What was laid down.
    pub rules: Rules,
    /// Which paths lie inside.
    pub fence: Fence,
}

/// What a session has used up so far.
#[derive(Clone, Copy, PartialEq, Eq, Debug, Default)]
pub struct Usage {
    /// Bytes of content, both ways.
    pub moved: u64,
}

impl Profile {
    /// Bytes of content that the session may still move.
    #[must_use]
    pub const fn left(&self, usage: Usage) -> u64 {
        match self.rules.max_transfer {
            Some(max) => max.saturating_sub(usage.moved),
            None => u64::MAX,
        }
    }
}
