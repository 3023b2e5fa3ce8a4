//! Every rung of the ladder on which a file can be staged and published, forced by taking system calls away.

use bcmr_wire::Caps;
use rustix::fs::{CWD, Mode, OFlags, openat};

use crate::launch::Launch;
use crate::server::Server;
use crate::site::Site;

/// A kernel and file system as the server finds them.
#[derive(Clone, Copy, Debug)]
pub struct Rung {
    /// What is taken away.
    pub rules: &'static [&'static str],
    /// Whether a stage has a reserved name.
    pub named: bool,
}

const fn unnamed(rules: &'static [&'static str]) -> Rung {
    Rung { rules, named: false }
}

const fn named(rules: &'static [&'static str]) -> Rung {
    Rung { rules, named: true }
}

/// All that end in a published file.
pub const RUNGS: &[Rung] = &[
    unnamed(&[]),
    // Kernels that link no descriptor for an ordinary account, and systems without /proc.
    unnamed(&["linkat-empty=ENOENT"]),
    unnamed(&["linkat-empty=EPERM"]),
    unnamed(&["linkat-follow=ENOENT"]),
    // File systems without O_TMPFILE, in every way in which they say so.
    named(&["tmpfile=EOPNOTSUPP"]),
    named(&["tmpfile=EISDIR"]),
    named(&["tmpfile=EINVAL"]),
    named(&["tmpfile=ENOENT"]),
    // O_TMPFILE, but no way to link what it made.
    named(&["linkat-empty=EPERM", "linkat-follow=ENOENT"]),
    named(&["linkat=EPERM"]),
    named(&["linkat=EOPNOTSUPP"]),
    // Without RENAME_NOREPLACE either: NFS and FUSE, old kernels, filters of container engines.
    named(&["tmpfile=EOPNOTSUPP", "renameat2=EINVAL"]),
    named(&["tmpfile=EISDIR", "renameat2=ENOSYS"]),
    named(&["tmpfile=EINVAL", "renameat2=EPERM"]),
    // And no way to look at the directory, or to lock.
    named(&["tmpfile=EOPNOTSUPP", "opendir=EACCES", "flock=ENOSYS"]),
];

/// A few that stand for the rest where a test takes long.
pub const KINDS: [Rung; 3] =
    [unnamed(&[]), named(&["tmpfile=EOPNOTSUPP"]), named(&["tmpfile=EINVAL", "renameat2=EINVAL"])];

impl Rung {
    /// A server of the site on this rung, about to be started.
    #[must_use]
    pub fn launch(&self, site: &Site) -> Launch {
        Launch::new(site.root()).without(self.rules)
    }

    /// The same, greeted.
    #[must_use]
    pub fn server(&self, site: &Site) -> Server {
        self.launch(site).start().hello(Caps::PUT_OFFSET)
    }

    /// Whether a stage has a reserved name here, where the file system may lack O_TMPFILE by itself.
    #[must_use]
    pub fn is_named(&self, site: &Site) -> bool {
        let flags = OFlags::TMPFILE | OFlags::WRONLY | OFlags::CLOEXEC;
        self.named || openat(CWD, site.root(), flags, Mode::from_raw_mode(0o600)).is_err()
    }
}
