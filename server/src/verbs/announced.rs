//! A Put whose blocks were announced by their hashes: what the store has is taken from there, and the rest must
//! come in order.

use std::os::fd::AsFd;
use std::sync::Arc;

use bcmr_publish::Stage;
use bcmr_wire::Hash;
use bcmr_wire::blocks::dedup::{self, BLOCK, digest};
use bcmr_wire::limits::MAX_BLOCK;

use crate::cas::{Cas, Lent, Source, Upload};
use crate::failure::Failure;

/// The blocks of one file.
#[derive(Debug)]
pub(crate) struct Announced {
    size: u64,
    /// Of each block its announced hash, and its part of the whole once it is here.
    slots: Vec<Hash>,
    /// Bit i, the lowest first, is set where block i has to come.
    missing: Vec<u8>,
    /// Blocks that were looked up in the store.
    looked_up: u64,
    /// The first block that may have to come.
    next: u64,
    /// Bytes that are here.
    here: u64,
    /// Room for one block, and how much of it is filled.
    block: Vec<u8>,
    filled: usize,
    upload: Arc<Upload>,
    /// The stage, where it can be read again.
    file: Option<Arc<Lent>>,
    /// Whether the file and the store share extents.
    shares: bool,
}

impl Announced {
    pub(crate) fn new(
        block_size: u32,
        hashes: Vec<Hash>,
        size: u64,
        readable: bool,
        stage: &Stage,
        cas: &Cas,
    ) -> Result<Self, Failure> {
        if u64::from(block_size) != BLOCK {
            return Err(Failure::BlockSize(block_size));
        }
        let count = dedup::count(size);
        if hashes.len() as u64 != count {
            return Err(Failure::BlockCount { announced: hashes.len(), count, size });
        }
        let file = if readable { cas.lend(stage.as_fd()) } else { None };
        Ok(Self {
            size,
            missing: vec![0; hashes.len().div_ceil(8)],
            slots: hashes,
            looked_up: 0,
            next: 0,
            here: 0,
            block: vec![0; MAX_BLOCK],
            filled: 0,
            upload: Arc::default(),
            shares: file.is_some() && cas.shares_with(stage.as_fd()),
            file,
        })
    }

    /// Looks the next block up, and takes it from the store where it is there: whatever becomes of the store, the
    /// client need not send it. Returns whether every block was looked up.
    pub(crate) fn look_up(&mut self, cas: &Cas, stage: &mut Stage) -> Result<bool, Failure> {
        let index = self.looked_up;
        let Some(slot) = usize::try_from(index).ok().and_then(|at| self.slots.get_mut(at)) else {
            return Ok(true);
        };
        let block = &mut self.block[..dedup::len(self.size, index)];
        match cas.read(slot, block, &self.upload) {
            Some(file) => {
                *slot = part(index, self.size, block).1;
                stage.seek(index * BLOCK);
                if self.shares {
                    stage.copy_from(file.as_fd(), 0, block.len() as u64)?;
                } else {
                    stage.write(block)?;
                }
                self.here += block.len() as u64;
            }
            None => self.missing[to_index(index / 8)] |= 1 << (index % 8),
        }
        self.looked_up += 1;
        Ok(false)
    }

    /// The answer to the announcement.
    pub(crate) fn missing(&self) -> &[u8] {
        &self.missing
    }

    /// Bytes that are here, from wherever.
    pub(crate) const fn here(&self) -> u64 {
        self.here
    }

    /// Checks that a frame of `len` bytes is the next block, whole.
    pub(crate) fn expect(&mut self, len: usize) -> Result<(), Failure> {
        self.filled = 0;
        while self.next < self.looked_up && !self.is_missing(self.next) {
            self.next += 1;
        }
        if self.next == self.looked_up {
            return Err(Failure::PastSize(self.size));
        }
        let must = dedup::len(self.size, self.next);
        if len == must { Ok(()) } else { Err(Failure::BlockLength { index: self.next, len, must }) }
    }

    fn is_missing(&self, index: u64) -> bool {
        self.missing[to_index(index / 8)] >> (index % 8) & 1 == 1
    }

    /// Takes more of the next block. When it is whole, and what its hash says, it is written; then it is returned, to
    /// be stored.
    pub(crate) fn receive(
        &mut self,
        bytes: &[u8],
        stage: &mut Stage,
    ) -> Result<Option<(Hash, Source)>, Failure> {
        let (index, len) = (self.next, dedup::len(self.size, self.next));
        // `expect` has seen to it that a frame is no longer than its block.
        let take = bytes.len().min(len - self.filled);
        self.block[self.filled..self.filled + take].copy_from_slice(&bytes[..take]);
        self.filled += take;
        if self.filled < len {
            return Ok(None);
        }
        let block = &self.block[..len];
        let slot = &mut self.slots[to_index(index)];
        let (hash, part) = part(index, self.size, block);
        if hash != *slot {
            return Err(Failure::BlockHash(index));
        }
        *slot = part;
        let offset = index * BLOCK;
        stage.seek(offset);
        stage.write(block)?;
        self.here += len as u64;
        self.next += 1;
        let source = match &self.file {
            Some(file) => {
                stage.show_hole()?;
                Source::Stage { file: Arc::clone(file), offset, len }
            }
            None => Source::Memory(block.to_vec()),
        };
        Ok(Some((hash, source)))
    }

    /// For whom blocks are stored.
    pub(crate) const fn upload(&self) -> &Arc<Upload> {
        &self.upload
    }

    /// The hash of the whole, when every block is here.
    pub(crate) fn whole(&self, stage: &mut Stage) -> Result<blake3::Hash, Failure> {
        if self.here != self.size {
            return Err(Failure::Short { declared: self.size, received: self.here });
        }
        stage.end_at(self.size);
        Ok(dedup::whole(&self.slots))
    }
}

/// A block's hash, and what it adds to the whole; of a file that is one block, that is the hash itself.
fn part(index: u64, size: u64, block: &[u8]) -> (Hash, Hash) {
    let digest = digest(index, block);
    (digest.hash, if size <= BLOCK { digest.hash } else { digest.part })
}

/// For indices of blocks, of which there are no more than fit a frame.
fn to_index(index: u64) -> usize {
    usize::try_from(index).unwrap_or(usize::MAX)
}
