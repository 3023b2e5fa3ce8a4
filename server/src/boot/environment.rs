//! The environment, read once. Whoever holds the account may have put anything there.

use std::path::PathBuf;

/// What the server takes from its environment.
#[derive(Debug)]
pub(crate) struct Environment {
    /// HOME: the root in personal mode where none is named.
    pub(crate) home: Option<PathBuf>,
    /// LOGNAME, for accounts that passwd does not know.
    pub(crate) logname: Option<String>,
    /// XDG_STATE_HOME: where personal mode keeps state.
    pub(crate) state_home: Option<PathBuf>,
    /// SSH_CONNECTION, for the audit trail: the client's address and port, then the server's.
    pub(crate) ssh_connection: Option<String>,
}

impl Environment {
    #[allow(clippy::disallowed_methods, reason = "this is the one place")]
    pub(crate) fn read() -> Self {
        let path = |name| std::env::var_os(name).filter(|value| !value.is_empty()).map(PathBuf::from);
        Self {
            home: path("HOME"),
            logname: std::env::var("LOGNAME").ok(),
            state_home: path("XDG_STATE_HOME").filter(|path| path.is_absolute()),
            ssh_connection: std::env::var("SSH_CONNECTION").ok(),
        }
    }

    /// The client's address, for the audit trail.
    pub(crate) fn peer(&self) -> &str {
        self.ssh_connection.as_deref().and_then(|text| text.split(' ').next()).unwrap_or("-")
    }
}
