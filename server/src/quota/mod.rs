//! What an account may have published at all, over all its sessions: `account_quota` and `max_entries`.

mod ledger;
mod record;

use bcmr_policy::{Refusal, RootedPath, Rules};
use rustix::io::Errno;

use crate::failure::Failure;
use crate::state::State;
use crate::tree::Tree;

pub(crate) use self::ledger::{Amount, Ledger};

/// The ledger of a session whose rules limit what may be published.
#[derive(Debug)]
pub(crate) struct Quota {
    ledger: Ledger,
    limit: Amount,
}

/// Whether rules limit anything that has to be kept between sessions.
pub(crate) const fn needs_state(rules: &Rules) -> bool {
    rules.max_sessions.is_some() || limits_published(rules)
}

const fn limits_published(rules: &Rules) -> bool {
    rules.account_quota.is_some() || rules.max_entries.is_some()
}

impl Quota {
    /// Opens the ledger where the rules want one.
    pub(crate) fn open(state: &State, rules: &Rules) -> Result<Option<Self>, Errno> {
        if !limits_published(rules) {
            return Ok(None);
        }
        let limit = Amount {
            bytes: rules.account_quota.unwrap_or(u64::MAX),
            entries: rules.max_entries.unwrap_or(u64::MAX),
        };
        Ok(Some(Self { ledger: Ledger::open(state)?, limit }))
    }

    /// Reserves room for a file, or refuses it.
    pub(crate) fn reserve(&mut self, path: &RootedPath, size: u64, tree: &Tree) -> Result<(), Failure> {
        let failed = Failure::os("counting what this account published");
        match self
            .ledger
            .reserve(path.as_str(), size, self.limit, |path| stands(tree, path))
            .map_err(failed)?
        {
            true => Ok(()),
            false => Err(Refusal::Quota.into()),
        }
    }

    /// Gives back what was reserved last.
    pub(crate) fn release(&mut self) {
        self.ledger.release();
    }

    /// Does `publish` between what is written before and after it.
    pub(crate) fn publish<T>(
        &mut self,
        path: &RootedPath,
        inode: u64,
        size: u64,
        tree: &Tree,
        publish: impl FnOnce() -> (T, bool),
    ) -> Result<T, Failure> {
        let failed = Failure::os("writing down what this account published");
        let (path, stands) = (path.as_str(), |path: &str| stands(tree, path));
        if !self.ledger.write(path, inode, size, self.limit, stands).map_err(failed)? {
            return Err(Refusal::Quota.into());
        }
        let (result, published) = publish();
        // Where this fails the ledger counts too much until someone looks at it again.
        let _ = self.ledger.settle(path, inode, size, published, stands);
        self.release();
        Ok(result)
    }
}

/// The inode that stands at a path of the ledger.
pub(crate) fn stands(tree: &Tree, path: &str) -> Option<u64> {
    tree.inode(path)
}
