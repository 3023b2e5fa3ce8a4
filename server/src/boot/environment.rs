//! The environment, read once. Whoever holds the account may have put anything there.

use std::path::PathBuf;

/// What the server takes from its environment.
#[derive(Debug)]
pub(crate) struct Environment {
    /// HOME: the root in personal mode where none is named.
    pub(crate) home: Option<PathBuf>,
}

impl Environment {
    #[allow(clippy::disallowed_methods, reason = "this is the one place")]
    pub(crate) fn read() -> Self {
        Self { home: std::env::var_os("HOME").filter(|home| !home.is_empty()).map(PathBuf::from) }
    }
}
