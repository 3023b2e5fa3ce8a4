//! What can be asked of the judge: one type per verb, without the path, which every one has.

use crate::judge::Refusal;
use crate::profile::{Profile, Usage};
use crate::verb::Verb;

/// A request that names a path.
pub trait Request: Sized {
    /// The verb that the profile must have.
    const VERB: Verb;

    /// What the profile leaves of this request, beyond verb and path.
    ///
    /// # Errors
    /// [`Refusal`], where the request makes no sense without what is denied.
    fn narrow(self, _profile: &Profile, _usage: Usage) -> Result<Self, Refusal> {
        Ok(self)
    }
}

/// Stat.
#[derive(Clone, Copy, Debug)]
pub struct Stat;

/// List.
#[derive(Clone, Copy, Debug)]
pub struct List;

/// Hash of `limit` bytes, or all, from `offset`.
#[derive(Clone, Copy, Debug)]
pub struct Hash {
    /// Bytes before the first that is hashed.
    pub offset: u64,
    /// Bytes to hash at most.
    pub limit: Option<u64>,
}

/// Get, or GetChunked where `length` is given.
#[derive(Clone, Copy, Debug)]
pub struct Get {
    /// Bytes before the first that is sent.
    pub offset: u64,
    /// Bytes to send, all of which must be there.
    pub length: Option<u64>,
    /// Bytes that the session may still move; what is asked for must not be more. The judge fills it in.
    pub allowance: u64,
}

impl Get {
    /// A request as it came.
    #[must_use]
    pub const fn asked(offset: u64, length: Option<u64>) -> Self {
        Self { offset, length, allowance: 0 }
    }
}

/// Put.
#[derive(Clone, Copy, Debug)]
pub struct Put {
    /// Bytes of the whole file.
    pub size: u64,
    /// Bytes kept from the present file.
    pub offset: u64,
    /// Whether the client asks to replace an existing file.
    pub overwrite: bool,
}

/// Mkdir.
#[derive(Clone, Copy, Debug)]
pub struct Mkdir;

/// Resume.
#[derive(Clone, Copy, Debug)]
pub struct Resume;

impl Request for Stat {
    const VERB: Verb = Verb::Stat;
}

impl Request for List {
    const VERB: Verb = Verb::List;
}

impl Request for Hash {
    const VERB: Verb = Verb::Hash;
}

impl Request for Get {
    const VERB: Verb = Verb::Get;

    /// How long the file is, and so whether it may be sent, is known only when it is open.
    fn narrow(self, profile: &Profile, usage: Usage) -> Result<Self, Refusal> {
        let allowance = profile.left(usage);
        if allowance == 0 || self.length.is_some_and(|length| length > allowance) {
            return Err(Refusal::Transfer);
        }
        Ok(Self { allowance, ..self })
    }
}

impl Request for Put {
    const VERB: Verb = Verb::Put;

    /// Clients ask to overwrite where nothing stands, too; so where that is denied the Put goes on without,
    /// and fails if something does stand there.
    fn narrow(self, profile: &Profile, usage: Usage) -> Result<Self, Refusal> {
        let rules = &profile.rules;
        if self.offset > 0 && !rules.overwrite {
            return Err(Refusal::Overwrite);
        }
        match rules.max_file {
            Some(max) if self.size > max => return Err(Refusal::FileSize { size: self.size, max }),
            _ => {}
        }
        if self.size.saturating_sub(self.offset) > profile.left(usage) {
            return Err(Refusal::Transfer);
        }
        Ok(Self { overwrite: self.overwrite && rules.overwrite, ..self })
    }
}

impl Request for Mkdir {
    const VERB: Verb = Verb::Mkdir;
}

impl Request for Resume {
    const VERB: Verb = Verb::Resume;
}
