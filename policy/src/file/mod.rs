//! The policy file: what operators write, read strictly. Every mistake is an error with its place; an unknown
//! key names the nearest known one.

mod keys;
mod read;
mod safe;
pub(crate) mod values;

use std::fmt;
use std::path::{Path, PathBuf};

pub use keys::{CAS_KEYS, DIRECT_KEYS, PROFILE_KEYS};
pub use safe::{Unsafe, read_root_owned};
pub use values::Free;

use crate::rules::Draft;

/// Where the policy is, unless the forced command names another file.
pub const DEFAULT: &str = "/etc/bcmr/policy.toml";

/// Bytes of the largest policy file that is read.
pub(crate) const MAX_FILE: u64 = 1024 * 1024;

/// A policy file that parsed.
#[derive(Clone, Debug)]
pub struct PolicyFile {
    /// The file, for origins.
    pub path: PathBuf,
    /// Whether personal mode is allowed on this host.
    pub personal: bool,
    pub(crate) profiles: Vec<Draft>,
}

impl PolicyFile {
    /// Parses the text of a policy file; `path` is for messages.
    ///
    /// # Errors
    /// [`PolicyError`], the first mistake in the file's order.
    pub fn parse(text: &str, path: &Path) -> Result<Self, PolicyError> {
        read::file(text, path)
    }

    /// The names of the profiles, in the file's order.
    pub fn names(&self) -> impl Iterator<Item = &str> {
        self.profiles.iter().map(|draft| draft.name.as_str())
    }

    pub(crate) fn draft(&self, name: &str) -> Option<&Draft> {
        self.profiles.iter().find(|draft| draft.name == name)
    }
}

/// A mistake in a policy file, and where it stands.
#[derive(Clone, PartialEq, Eq, Debug)]
pub struct PolicyError {
    /// The file.
    pub path: PathBuf,
    /// From 1.
    pub line: usize,
    /// In characters, from 1.
    pub column: usize,
    /// What is wrong, and what would be right.
    pub what: String,
}

impl fmt::Display for PolicyError {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        write!(f, "{}:{}:{}: {}", self.path.display(), self.line, self.column, self.what)
    }
}

impl std::error::Error for PolicyError {}
