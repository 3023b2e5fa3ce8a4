//! What one profile says: as drafted in the file, and as it holds for one account.

mod draft;
mod show;

use std::path::PathBuf;
use std::time::Duration;

use crate::file::Free;
use crate::sandbox::Level;
use crate::verb::Verbs;

pub(crate) use draft::{Draft, set, set_cas, set_direct};

/// What personal mode has for a profile's name.
pub const PERSONAL: &str = "personal";

/// What absolute paths count from.
#[derive(Clone, Copy, PartialEq, Eq, Debug)]
pub enum View {
    /// They are the host's own paths, and must lie under the root.
    Host,
    /// `/` is the root.
    Jail,
}

/// What becomes of symbolic links.
#[derive(Clone, Copy, PartialEq, Eq, Debug)]
pub enum Symlinks {
    /// They are followed while they stay under the root.
    Inside,
    /// A path with one on the way is refused.
    Never,
}

/// Codecs that may be agreed on.
#[derive(Clone, Copy, PartialEq, Eq, Debug)]
pub struct Compression {
    /// Zstd.
    pub zstd: bool,
    /// LZ4.
    pub lz4: bool,
}

/// The store of blocks.
#[derive(Clone, Copy, PartialEq, Eq, Debug)]
pub struct Cas {
    /// Bytes that it may hold; 0 turns dedup off, and `u64::MAX` is no bound.
    pub cap: u64,
    /// What storing a block never takes its file system below.
    pub min_free: Free,
}

/// Direct TCP.
#[derive(Clone, PartialEq, Eq, Debug)]
pub struct Direct {
    /// First and last port.
    pub ports: (u16, u16),
    /// Where to listen; None for the address at which ssh arrived.
    pub address: Option<std::net::IpAddr>,
    /// What the client is told, behind NAT.
    pub advertise: Option<std::net::IpAddr>,
}

/// A profile's rules for one account, all paths expanded.
#[derive(Clone, PartialEq, Debug)]
pub struct Rules {
    /// The profile's name; `personal` in personal mode.
    pub profile: String,
    /// The served directory.
    pub root: PathBuf,
    /// Where state is kept, out of the protocol's reach.
    pub state: PathBuf,
    /// Who must own the root, where the account's name comes from the environment alone.
    pub root_owner: Option<u32>,
    /// What may be asked for.
    pub verbs: Verbs,
    /// What absolute paths count from.
    pub view: View,
    /// Whether files may be replaced.
    pub overwrite: bool,
    /// What becomes of symbolic links.
    pub symlinks: Symlinks,
    /// The umask; None for the account's own.
    pub umask: Option<u32>,
    /// Permission bits of new files; None for what umask and inheritance give.
    pub file_mode: Option<u32>,
    /// Permission bits of new directories.
    pub dir_mode: Option<u32>,
    /// Bytes of the largest file.
    pub max_file: Option<u64>,
    /// Bytes of content that a session may move, both ways.
    pub max_transfer: Option<u64>,
    /// Names that the account may have published and that still stand.
    pub max_entries: Option<u64>,
    /// Bytes that the account may have published and that still stand.
    pub account_quota: Option<u64>,
    /// What a Put never takes the root's file system below.
    pub min_free: Free,
    /// Sessions of the account at once.
    pub max_sessions: Option<u64>,
    /// Bytes per second, both ways.
    pub rate: Option<u64>,
    /// How long a session may wait for its client.
    pub idle: Duration,
    /// What the sandbox must have.
    pub sandbox: Level,
    /// Codecs that may be agreed on.
    pub compression: Compression,
    /// Whether uid 0 may use the profile.
    pub allow_root: bool,
    /// The store of blocks.
    pub cas: Cas,
    /// Direct TCP; None where it is not offered.
    pub direct: Option<Direct>,
}

impl Rules {
    /// Personal mode: someone serves their own files over their own account, which gives them those anyway.
    #[must_use]
    pub fn personal(root: PathBuf, state: PathBuf) -> Self {
        Self {
            profile: PERSONAL.to_owned(),
            root,
            state,
            verbs: Verbs::all(),
            overwrite: true,
            sandbox: Level::BestEffort,
            allow_root: true,
            ..Self::defaults()
        }
    }

    /// What holds where a profile is silent.
    pub(crate) fn defaults() -> Self {
        Self {
            profile: String::new(),
            root: PathBuf::new(),
            state: PathBuf::new(),
            root_owner: None,
            verbs: Verbs::default(),
            view: View::Host,
            overwrite: false,
            symlinks: Symlinks::Inside,
            umask: None,
            file_mode: None,
            dir_mode: None,
            max_file: None,
            max_transfer: None,
            max_entries: None,
            account_quota: None,
            min_free: Free::Bytes(0),
            max_sessions: None,
            rate: None,
            idle: Duration::from_secs(600),
            sandbox: Level::Require,
            compression: Compression { zstd: true, lz4: true },
            allow_root: false,
            cas: Cas { cap: 2 << 30, min_free: Free::Bytes(0) },
            direct: None,
        }
    }
}
