//! What a session has of what is kept between sessions.

use std::os::fd::{AsFd, BorrowedFd};

use bcmr_policy::Rules;
use rustix::fs::Stat;

use crate::boot::denial::Denial;
use crate::cas::Cas;
use crate::quota::{self, Quota};
use crate::state::slot::Slot;
use crate::state::{State, private_dir};

/// Store, ledger and slot, as far as the rules want them.
#[derive(Debug, Default)]
pub(crate) struct Kept {
    pub(crate) cas: Option<Cas>,
    pub(crate) quota: Option<Quota>,
    pub(crate) slot: Option<Slot>,
}

impl Kept {
    /// Opens what the rules want in the state directory `top`. Without a store an upload goes well; the second value
    /// says why there is none.
    ///
    /// # Errors
    /// [`Denial`], where a limit could not be held, or every slot is taken.
    pub(crate) fn open(
        top: Option<BorrowedFd<'_>>,
        root: &Stat,
        rules: &Rules,
    ) -> Result<(Self, Option<String>), Denial> {
        let denied = |why: String| {
            let state = rules.state.display();
            Denial::policy(format!(
                "the profile sets account_quota, max_entries or max_sessions, and the state directory {state} cannot \
                 be used: {why} (bcmr-serve provision makes one)"
            ))
        };
        let opened = match top {
            Some(top) => State::open(top, root).map(|state| (top, state)).map_err(|e| e.to_string()),
            None => Err("it is not there, or not for this account".to_owned()),
        };
        let (top, state) = match opened {
            Ok(opened) => opened,
            Err(why) if quota::needs_state(rules) => return Err(denied(why)),
            Err(why) => return Ok((Self::default(), Some(why))),
        };
        let slot = match rules.max_sessions {
            None => None,
            Some(max) => {
                let slots = private_dir(top, "sessions").map_err(|e| denied(e.to_string()))?;
                let taken = Slot::take(slots.as_fd(), max).map_err(|e| denied(e.to_string()))?;
                let (slot, _) = taken.ok_or_else(|| Denial::too_many(max))?;
                Some(slot)
            }
        };
        let quota = Quota::open(&state, rules).map_err(|e| denied(e.to_string()))?;
        let (cas, why) = match Cas::open(&state, rules) {
            Ok(cas) => (cas, None),
            Err(errno) => (None, Some(errno.to_string())),
        };
        Ok((Self { cas, quota, slot }, why))
    }
}
