//! A store in the hands of its operator.

use bcmr_policy::Rules;
use bcmr_wire::limits::MAX_BLOCK;
use rustix::io;

use super::store::{Limits, Store};
use super::{Upload, limits_of};
use crate::state::State;

/// An open store.
#[derive(Debug)]
pub(crate) struct Inspected(Store);

impl Inspected {
    pub(crate) fn open(state: &State, rules: &Rules) -> io::Result<Self> {
        Store::open(state, limits_of(rules)).map(Self)
    }

    pub(crate) const fn cap(&self) -> Option<u64> {
        let Limits { cap, .. } = self.0.limits();
        cap
    }

    /// Removes what is not what its name says; returns how many there were.
    pub(crate) fn remove_damaged(&self) -> io::Result<usize> {
        let mut room = vec![0; MAX_BLOCK];
        let mut damaged = 0;
        for block in self.0.blocks()? {
            let whole = block.len.and_then(|len| self.0.read(&block.hash, 0, room.get_mut(..len)?));
            if whole.is_none() {
                // Of a length that no block has, it was not even read.
                self.0.remove_block(&block.hash);
                damaged += 1;
            }
        }
        Ok(damaged)
    }

    /// Removes the least recently used until the store is below its cap.
    pub(crate) fn shrink(&self) -> io::Result<usize> {
        let before = self.0.blocks()?.len();
        self.0.shrink(&Upload::default())?;
        Ok(before - self.0.blocks()?.len().min(before))
    }

    pub(crate) fn clear(&self) -> io::Result<usize> {
        let blocks = self.0.blocks()?;
        blocks.iter().for_each(|block| self.0.remove_block(&block.hash));
        Ok(blocks.len())
    }

    /// Counts blocks and bytes anew.
    pub(crate) fn recount(&self) -> io::Result<(usize, u64)> {
        let blocks = self.0.blocks()?;
        Ok((blocks.len(), blocks.iter().map(|block| block.cost).sum()))
    }
}
