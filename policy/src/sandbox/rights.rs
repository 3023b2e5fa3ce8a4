//! From verbs to rights on files.

use landlock::{AccessFs, BitFlags};

use crate::rules::Rules;
use crate::verb::Verb;

/// What the served tree needs, and what the state directory needs.
#[derive(Clone, Copy, PartialEq, Eq, Debug)]
pub(super) struct Rights {
    pub(super) root: BitFlags<AccessFs>,
    pub(super) state: BitFlags<AccessFs>,
}

/// The rights that Landlock grants under rules, as the kernel's own bits (linux/landlock.h).
#[derive(Clone, Copy, PartialEq, Eq, Debug)]
pub struct Granted {
    /// In the served tree.
    pub root: u64,
    /// In the state directory.
    pub state: u64,
}

impl Granted {
    /// Whether files of the tree can be read, if only the session's own.
    #[must_use]
    pub fn reads_files(self) -> bool {
        BitFlags::<AccessFs>::from_bits_truncate(self.root).contains(AccessFs::ReadFile)
    }
}

/// What a sandbox under these rules grants.
#[must_use]
pub fn granted(rules: &Rules) -> Granted {
    let Rights { root, state } = of(rules);
    Granted { root: root.bits(), state: state.bits() }
}

pub(super) fn of(rules: &Rules) -> Rights {
    let mut root = BitFlags::EMPTY;
    for verb in rules.verbs.iter() {
        root |= match verb {
            // Landlock has no say over metadata.
            Verb::Stat => BitFlags::EMPTY,
            Verb::List => AccessFs::ReadDir.into(),
            Verb::Hash | Verb::Get | Verb::Resume => AccessFs::ReadFile.into(),
            Verb::Put => put(rules),
            // ReadDir: a directory is opened to set its mode or to flush it.
            Verb::Mkdir => AccessFs::MakeDir | AccessFs::ReadDir,
        };
    }
    if rules.verbs.has(Verb::Put) && rules.verbs.has(Verb::Mkdir) {
        // Parents that were made for a Put that failed are taken away again.
        root |= AccessFs::RemoveDir;
    }
    let state = AccessFs::ReadFile
        | AccessFs::WriteFile
        | AccessFs::ReadDir
        | AccessFs::MakeReg
        | AccessFs::MakeDir
        | AccessFs::RemoveFile
        | AccessFs::Truncate;
    Rights { root, state }
}

/// A stage is created, cut to length, linked, and removed where it is not published; sweeping and flushing read
/// its directory.
fn put(rules: &Rules) -> BitFlags<AccessFs> {
    let stage = AccessFs::WriteFile
        | AccessFs::MakeReg
        | AccessFs::Truncate
        | AccessFs::RemoveFile
        | AccessFs::ReadDir;
    // A Put with an offset copies from the present file; a replaced file's attributes are read from it.
    if rules.overwrite { stage | AccessFs::ReadFile } else { stage }
}
