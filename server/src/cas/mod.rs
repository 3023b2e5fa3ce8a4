//! The store of blocks: what an account uploaded to a root once need not cross the wire again.
//!
//! A block is a file named by its hash, in the state directory of the account, in the part that belongs to the root.
//! [`store`] holds it below its cap, with any number of sessions; [`keeper`] fills it beside the upload, on a thread
//! of its own.

mod evict;
mod inspected;
mod keeper;
mod store;

use std::collections::HashSet;
use std::os::fd::{AsFd, OwnedFd};
use std::sync::Arc;
use std::sync::atomic::{AtomicBool, Ordering};
use std::sync::{Mutex, PoisonError};

use bcmr_policy::{self as policy, Rules, Verb};
use bcmr_wire::Hash;
use rustix::io::Errno;

pub(crate) use self::inspected::Inspected;
use self::keeper::{Job, Keeper, Lender};
pub(crate) use self::keeper::{Lent, Source};
use self::store::{Limits, Store};
use crate::state::State;

/// The store of a session, and who fills it.
#[derive(Debug)]
pub(crate) struct Cas {
    store: Arc<Store>,
    keeper: Keeper,
    lender: Lender,
}

/// One upload, as far as the store is concerned: it never evicts blocks of its own, and once it does not fit it
/// stores no more.
#[derive(Debug, Default)]
pub(crate) struct Upload {
    own: Mutex<HashSet<Hash>>,
    full: AtomicBool,
}

impl Upload {
    fn owns(&self, hash: &Hash) -> bool {
        self.own.lock().unwrap_or_else(PoisonError::into_inner).contains(hash)
    }

    fn add(&self, hash: Hash) {
        self.own.lock().unwrap_or_else(PoisonError::into_inner).insert(hash);
    }

    fn is_full(&self) -> bool {
        self.full.load(Ordering::Relaxed)
    }
}

fn limits_of(rules: &Rules) -> Limits {
    let policy::Cas { cap, min_free } = rules.cas;
    Limits { cap: (cap < u64::MAX).then_some(cap), min_free }
}

impl Cas {
    /// Opens the store that the rules want; None where they want none.
    ///
    /// # Errors
    /// Where it cannot be had; an upload goes well without.
    pub(crate) fn open(state: &State, rules: &Rules) -> Result<Option<Self>, Errno> {
        if rules.cas.cap == 0 || !rules.verbs.has(Verb::Put) {
            return Ok(None);
        }
        let store = Store::open(state, limits_of(rules))?;
        Ok(Some(Self { store: Arc::new(store), keeper: Keeper::default(), lender: Lender::default() }))
    }

    /// Who reads blocks, on whatever thread.
    pub(crate) fn reader(&self) -> Reader<'_> {
        Reader { store: &self.store }
    }

    /// Has a block stored in the background, as far as there is room. It must be what its hash says.
    pub(crate) fn keep(&mut self, hash: Hash, source: Source, upload: &Arc<Upload>) {
        if upload.is_full() || self.store.limits().is_below(source.len()) {
            return;
        }
        self.keeper.give(&self.store, Job { hash, source, upload: Arc::clone(upload) });
    }

    /// Lends a stage to whoever stores its blocks; None where the blocks had better be kept in memory.
    pub(crate) fn lend(&self, stage: impl AsFd) -> Option<Arc<Lent>> {
        self.lender.lend(stage.as_fd())
    }

    /// Whether blocks of files in `dir` and stored blocks can share their extents.
    pub(crate) fn shares_with(&self, dir: impl AsFd) -> bool {
        self.store.shares_with(dir.as_fd())
    }

    /// Waits for what is still to be stored.
    pub(crate) fn finish(self) {
        self.keeper.finish();
    }
}

/// Reads blocks out of a store.
#[derive(Clone, Copy, Debug)]
pub(crate) struct Reader<'a> {
    store: &'a Store,
}

impl Reader<'_> {
    /// Whether something stands under a block's name.
    pub(crate) fn may_have(&self, hash: &Hash) -> bool {
        self.store.may_have(hash)
    }

    /// Reads a stored block into `block`, whose length is the block's; returns its file, and what it adds to the whole
    /// as the block of that index, where it is there and is what its name says.
    pub(crate) fn read(
        &self,
        hash: &Hash,
        index: u64,
        block: &mut [u8],
        upload: &Upload,
    ) -> Option<(OwnedFd, Hash)> {
        let found = self.store.read(hash, index, block)?;
        self.store.own(*hash, upload);
        Some(found)
    }
}
