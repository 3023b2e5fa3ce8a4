//! Content in blocks of one size that are known by their hashes (docs/wire-v2.md, "Put with dedup"), and the hash of
//! the whole from what is known of its blocks, in whatever order they came.
//!
//! BLAKE3 is a tree: a block of 4 MiB is a subtree, whose chaining value can be computed from the block and its place
//! alone (the BLAKE3 paper, section 2.1). So no content has to be read a second time for the hash of the whole.

use blake3::Hasher;
use blake3::hazmat::{HasherExt, Mode, merge_subtrees_non_root, merge_subtrees_root};

use crate::Hash;
use crate::limits::MAX_BLOCK;

/// Bytes of every block but the last.
pub const BLOCK: u64 = MAX_BLOCK as u64;

/// Bytes that a processor has at hand.
const PIECE: usize = 128 * 1024;

/// What is known of a block.
#[derive(Clone, Copy, PartialEq, Eq, Debug)]
pub struct Digest {
    /// Its hash, by which it is announced and stored.
    pub hash: Hash,
    /// What it adds to the hash of the whole, at its place.
    pub part: Hash,
}

/// Blocks in a file.
#[must_use]
pub const fn count(size: u64) -> u64 {
    size.div_ceil(BLOCK)
}

/// Bytes of the block of this index.
#[must_use]
#[allow(clippy::cast_possible_truncation, reason = "at most a block")]
pub const fn len(size: u64, index: u64) -> usize {
    let left = size.saturating_sub(index.saturating_mul(BLOCK));
    (if left < BLOCK { left } else { BLOCK }) as usize
}

/// Hashes a block that is not empty.
#[must_use]
pub fn digest(index: u64, block: &[u8]) -> Digest {
    let mut digester = Digester::new(index);
    digester.update(block);
    digester.finish()
}

/// Hashes a block that comes in pieces.
#[derive(Debug)]
pub struct Digester {
    hash: Hasher,
    part: Hasher,
}

impl Digester {
    /// For the block of this index.
    #[must_use]
    pub fn new(index: u64) -> Self {
        let mut part = Hasher::new();
        part.set_input_offset(index * BLOCK);
        Self { hash: Hasher::new(), part }
    }

    /// Takes more of the block.
    pub fn update(&mut self, bytes: &[u8]) {
        // Piece by piece, so that what was fetched from memory once is hashed twice.
        for piece in bytes.chunks(PIECE) {
            self.hash.update(piece);
            self.part.update(piece);
        }
    }

    /// What is known of the block, which is whole now and not empty.
    #[must_use]
    pub fn finish(&self) -> Digest {
        Digest { hash: *self.hash.finalize().as_bytes(), part: self.part.finalize_non_root() }
    }
}

/// The hash of a whole. The parts are the blocks' own, in order; of a whole that is one block, that block's hash
/// instead.
#[must_use]
pub fn whole(parts: &[Hash]) -> blake3::Hash {
    match parts {
        [] => blake3::hash(&[]),
        [only] => blake3::Hash::from_bytes(*only),
        parts => {
            let (left, right) = parts.split_at(left(parts.len()));
            merge_subtrees_root(&subtree(left), &subtree(right), Mode::Hash)
        }
    }
}

fn subtree(parts: &[Hash]) -> Hash {
    match parts {
        [only] => *only,
        parts => {
            let (left, right) = parts.split_at(left(parts.len()));
            merge_subtrees_non_root(&subtree(left), &subtree(right), Mode::Hash)
        }
    }
}

/// How many of at least two subtrees stand to the left: the largest power of two that leaves some to the right.
const fn left(count: usize) -> usize {
    1 << (count - 1).ilog2()
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn the_whole_from_its_parts_is_the_hash_of_the_whole() {
        let content: Vec<u8> = (0..9 * MAX_BLOCK + 12_345).map(|i| (i / 7 % 251) as u8).collect();
        for blocks in 0..10 {
            for end in [0, 1, 1023, 1024, 1025, MAX_BLOCK - 1] {
                let content = &content[..(blocks * MAX_BLOCK + end).min(content.len())];
                let digests: Vec<_> =
                    (0..).zip(content.chunks(MAX_BLOCK)).map(|(index, block)| digest(index, block)).collect();
                assert_eq!(digests.len() as u64, count(content.len() as u64));
                let parts: Vec<_> = match &digests[..] {
                    [only] => vec![only.hash],
                    all => all.iter().map(|digest| digest.part).collect(),
                };
                assert_eq!(whole(&parts), blake3::hash(content), "{} bytes", content.len());
                for (index, (digest, block)) in digests.iter().zip(content.chunks(MAX_BLOCK)).enumerate() {
                    assert_eq!(digest.hash, *blake3::hash(block).as_bytes());
                    assert_eq!(len(content.len() as u64, index as u64), block.len());
                }
            }
        }
    }
}
