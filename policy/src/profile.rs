use crate::fence::Fence;
use crate::verb::Verbs;

/// What one account may do in one session, resolved and ready to judge by.
#[derive(Clone, Debug)]
pub struct Profile {
    /// Which paths lie inside.
    pub fence: Fence,
    /// What may be asked for.
    pub verbs: Verbs,
    /// Whether an existing file may be replaced when the client asks for it.
    pub overwrite: bool,
}

impl Profile {
    /// Personal mode: someone serves their own files over their own account, which gives them those anyway.
    #[must_use]
    pub fn personal(fence: Fence) -> Self {
        Self { fence, verbs: Verbs::all(), overwrite: true }
    }
}
