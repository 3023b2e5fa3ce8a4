use std::fmt;

/// Something that a client may ask for; the words of a profile's `verbs`.
#[derive(Clone, Copy, PartialEq, Eq, PartialOrd, Ord, Debug, Hash)]
#[allow(missing_docs, reason = "the words of the policy file")]
pub enum Verb {
    Stat,
    List,
    Hash,
    Get,
    Put,
    Mkdir,
    Resume,
}

impl Verb {
    /// Every verb.
    pub const ALL: [Self; 7] =
        [Self::Stat, Self::List, Self::Hash, Self::Get, Self::Put, Self::Mkdir, Self::Resume];

    /// The word in the policy file.
    #[must_use]
    pub const fn name(self) -> &'static str {
        match self {
            Self::Stat => "stat",
            Self::List => "list",
            Self::Hash => "hash",
            Self::Get => "get",
            Self::Put => "put",
            Self::Mkdir => "mkdir",
            Self::Resume => "resume",
        }
    }

    /// Whether it changes what is on disk.
    #[must_use]
    pub const fn writes(self) -> bool {
        matches!(self, Self::Put | Self::Mkdir)
    }
}

impl fmt::Display for Verb {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.write_str(self.name())
    }
}

/// A set of verbs.
#[derive(Clone, Copy, PartialEq, Eq, Debug, Default)]
pub struct Verbs(u8);

impl Verbs {
    /// Every verb.
    #[must_use]
    pub fn all() -> Self {
        Verb::ALL.into_iter().collect()
    }

    /// The verbs in the set.
    pub fn iter(self) -> impl Iterator<Item = Verb> {
        Verb::ALL.into_iter().filter(move |verb| self.has(*verb))
    }

    /// Whether `verb` is in the set.
    #[must_use]
    pub const fn has(self, verb: Verb) -> bool {
        self.0 >> verb as u8 & 1 == 1
    }
}

impl FromIterator<Verb> for Verbs {
    fn from_iter<T: IntoIterator<Item = Verb>>(verbs: T) -> Self {
        Self(verbs.into_iter().fold(0, |set, verb| set | 1 << verb as u8))
    }
}
