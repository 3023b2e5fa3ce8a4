use std::borrow::Cow;

use crate::exit::Exit;

/// All that a client learns of a policy that does not let it in.
pub(super) const REFUSED: &str = "policy refused; ask the administrator";

/// Why nobody is served, for two audiences.
#[derive(Clone, PartialEq, Eq, Debug)]
pub(crate) struct Denial {
    /// What the client may know. Under a profile it learns even less.
    pub(crate) told: Cow<'static, str>,
    /// What the operator must know.
    pub(crate) why: String,
    pub(crate) exit: Exit,
}

impl Denial {
    /// The policy does not let anyone in.
    pub(crate) const fn policy(why: String) -> Self {
        Self::new(REFUSED, why)
    }

    /// Policy or sandbox refuse.
    pub(crate) const fn new(told: &'static str, why: String) -> Self {
        Self { told: Cow::Borrowed(told), why, exit: Exit::Refused }
    }

    /// What was asked for is no transfer.
    pub(crate) const fn not_bcmr(why: String) -> Self {
        Self { told: Cow::Borrowed("this account serves bcmr transfers only"), why, exit: Exit::NotBcmr }
    }

    /// The operator lets no new session begin.
    pub(crate) fn draining() -> Self {
        let why = format!("draining: {} is there", super::drain::DRAIN);
        Self { told: Cow::Borrowed("the server is draining, try again later"), why, exit: Exit::TryAgain }
    }

    /// The account has as many sessions as it may have.
    pub(crate) fn too_many(max: u64) -> Self {
        let told = format!("too many sessions ({max}), try again");
        Self { told: Cow::Owned(told.clone()), why: told, exit: Exit::TryAgain }
    }
}
