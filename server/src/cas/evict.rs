//! Which blocks go first.

use bcmr_wire::Hash;

/// A stored block.
#[derive(Clone, Copy, PartialEq, Eq, Debug)]
pub(crate) struct Block {
    pub(crate) hash: Hash,
    /// Bytes of its content, where that may be a block's.
    pub(super) len: Option<usize>,
    /// Bytes that it counts for.
    pub(crate) cost: u64,
    /// When it was stored or used last: seconds and nanoseconds.
    pub(super) used: (i64, i64),
}

/// To where a store that is full is emptied, so that not every block makes room for itself alone.
pub(super) const fn low_water(cap: u64) -> u64 {
    cap / 10 * 9
}

/// The least recently used first; the hash decides where two are equal.
pub(super) fn oldest_first(mut blocks: Vec<Block>) -> Vec<Block> {
    blocks.sort_unstable_by_key(|block| (block.used, block.hash));
    blocks
}
