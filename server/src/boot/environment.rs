//! The environment, read once. Whoever holds the account may have put anything there.

use std::ffi::OsString;
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
    /// BCMR_CAS_DIR: where personal mode keeps blocks instead.
    pub(crate) cas_dir: Option<PathBuf>,
    /// BCMR_CAS_CAP_MB: how many MiB of them, 0 for any number.
    pub(crate) cas_cap: Option<String>,
    /// SSH_CONNECTION, for the audit trail: the client's address and port, then the server's.
    pub(crate) ssh_connection: Option<String>,
    /// SSH_ORIGINAL_COMMAND: what the client asked sshd to run, where sshd runs something else.
    pub(crate) original_command: Option<OsString>,
}

impl Environment {
    #[allow(clippy::disallowed_methods, reason = "this is the one place")]
    pub(crate) fn read() -> Self {
        let path = |name| std::env::var_os(name).filter(|value| !value.is_empty()).map(PathBuf::from);
        Self {
            home: path("HOME"),
            logname: std::env::var("LOGNAME").ok(),
            state_home: path("XDG_STATE_HOME").filter(|path| path.is_absolute()),
            cas_dir: path("BCMR_CAS_DIR"),
            cas_cap: std::env::var("BCMR_CAS_CAP_MB").ok(),
            ssh_connection: std::env::var("SSH_CONNECTION").ok(),
            original_command: std::env::var_os("SSH_ORIGINAL_COMMAND"),
        }
    }

    /// That of an account at home, of which nothing else is known.
    pub(crate) fn at(home: Option<PathBuf>) -> Self {
        Self {
            home,
            logname: None,
            state_home: None,
            cas_dir: None,
            cas_cap: None,
            ssh_connection: None,
            original_command: None,
        }
    }

    /// The original command, for the audit trail.
    pub(crate) fn asked_for(&self) -> String {
        let command = self.original_command.as_deref().unwrap_or_default();
        format!("not a bcmr request: {}", command.display())
    }

    /// The client's address, for the audit trail.
    pub(crate) fn peer(&self) -> &str {
        self.ssh_connection.as_deref().and_then(|text| text.split(' ').next()).unwrap_or("-")
    }
}

/// The command line, the program's name first.
#[allow(clippy::disallowed_methods, reason = "this is the one place")]
pub(crate) fn words() -> Vec<OsString> {
    std::env::args_os().collect()
}

/// Where this program is installed; None without /proc.
#[allow(clippy::disallowed_methods, reason = "this is the one place")]
pub(crate) fn own_path() -> Option<PathBuf> {
    std::env::current_exe().ok()
}
