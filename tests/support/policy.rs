//! A policy file that the server believes: one that root owns, as it does every directory above it. Needs root.

use std::fmt::Display;
use std::fs;
use std::os::unix::fs::PermissionsExt;
use std::path::{Path, PathBuf};

use rustix::process::geteuid;
use tempfile::TempDir;

use crate::launch::Launch;
use crate::site::Site;

/// A directory that only root may write, as are those above it.
const PLACE: &str = "/run";

/// Every verb, as a profile lists them.
pub const EVERY_VERB: &str = r#"["stat", "list", "hash", "get", "put", "mkdir", "resume"]"#;

/// A policy file, gone with the value.
#[derive(Debug)]
pub struct Policy {
    dir: TempDir,
}

impl Policy {
    /// A policy of this text.
    #[must_use]
    pub fn new(text: impl AsRef<str>) -> Self {
        assert!(geteuid().is_root(), "only root can write a policy that is believed");
        let open = fs::Permissions::from_mode(0o755);
        let dir =
            tempfile::Builder::new().prefix("bcmr-policy-").permissions(open).tempdir_in(PLACE).unwrap();
        let policy = Self { dir };
        policy.write(text);
        policy
    }

    /// A policy with one profile.
    #[must_use]
    pub fn of(profile: &Profile) -> Self {
        Self::new(profile.text())
    }

    /// Writes another text.
    pub fn write(&self, text: impl AsRef<str>) {
        fs::write(self.path(), text.as_ref()).unwrap();
        fs::set_permissions(self.path(), fs::Permissions::from_mode(0o644)).unwrap();
    }

    /// The file.
    #[must_use]
    pub fn path(&self) -> PathBuf {
        self.dir.path().join("policy.toml")
    }

    /// The directory that it is in.
    #[must_use]
    pub fn dir(&self) -> &Path {
        self.dir.path()
    }

    /// A server under a profile, with more words on its command line.
    #[must_use]
    pub fn launch_with(&self, profile: &str, more: &[&str]) -> Launch {
        let path = self.path().into_os_string();
        let words = ["--profile", profile].into_iter().chain(more.iter().copied()).map(Into::into);
        Launch::with_args(words.chain(["--policy".into(), path]))
    }

    /// A server under the profile that [`Profile`] writes.
    #[must_use]
    pub fn launch(&self) -> Launch {
        self.launch_with(NAME, &[])
    }
}

/// The name of the profile that [`Profile`] writes.
pub const NAME: &str = "p";

/// A profile for anyone, root included; the rest as it is set.
#[derive(Clone, Debug)]
pub struct Profile(Vec<(String, String)>);

impl Profile {
    /// A profile of the site's root, whose state is kept in `state` beside it, with every verb.
    #[must_use]
    pub fn new(site: &Site) -> Self {
        let quoted = |path: &Path| format!("{:?}", path.to_str().unwrap());
        Self(Vec::new())
            .key("accounts", r#"["*"]"#)
            .key("allow_root", true)
            .key("root", quoted(&site.root()))
            .key("state", quoted(&site.base().join("state")))
            .key("verbs", EVERY_VERB)
    }

    /// Sets a key to a value as the file has it.
    #[must_use]
    pub fn key(mut self, key: &str, value: impl Display) -> Self {
        self.0.retain(|(name, _)| name != key);
        self.0.push((key.to_owned(), value.to_string()));
        self
    }

    /// Sets several.
    #[must_use]
    pub fn keys(self, keys: &[(&str, &str)]) -> Self {
        keys.iter().fold(self, |profile, (key, value)| profile.key(key, value))
    }

    /// A policy file with this profile alone.
    #[must_use]
    pub fn text(&self) -> String {
        let lines = self.0.iter().map(|(key, value)| format!("{key} = {value}\n"));
        format!("version = 1\n[profile.{NAME}]\n{}", lines.collect::<String>())
    }
}
