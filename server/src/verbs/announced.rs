//! A Put whose blocks were announced by their hashes: what the store has is taken from there, and the rest must
//! come in order.

use std::os::fd::AsFd;
use std::sync::Arc;

use bcmr_publish::Stage;
use bcmr_wire::Hash;
use bcmr_wire::blocks::dedup::{self, BLOCK, Digest, Digester};

use super::lookup::{self, ABSENT_AT_ONCE, AT_ONCE, Looked};
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
    /// Room for the blocks that are looked up.
    buffers: Vec<Vec<u8>>,
    /// What is known of the block that is coming, and how much of it is here.
    coming: Digester,
    filled: usize,
    /// The block itself, where it cannot be read from the stage.
    block: Vec<u8>,
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
            buffers: vec![Vec::new(); 2],
            coming: Digester::new(0),
            filled: 0,
            block: Vec::new(),
            upload: Arc::default(),
            shares: file.is_some() && cas.shares_with(stage.as_fd()),
            file,
        })
    }

    /// Looks the next blocks up, and takes them from the store where they are there: whatever becomes of the store, the
    /// client need not send them. Returns whether every block was looked up.
    pub(crate) fn look_up(&mut self, cas: &Cas, stage: &mut Stage) -> Result<bool, Failure> {
        let (count, reader) = (self.slots.len() as u64, cas.reader());
        // Of most uploads nothing is there: then no thread is started.
        let mut first = self.looked_up;
        let step = (first + ABSENT_AT_ONCE).min(count);
        while first < step && !reader.may_have(&self.slots[to_index(first)]) {
            self.missing[to_index(first / 8)] |= 1 << (first % 8);
            first += 1;
        }
        let end = if first < step { (first + AT_ONCE).min(count) } else { first };
        let (slots, size, upload) = (&self.slots, self.size, &self.upload);
        let look = |index, mut bytes: Vec<u8>| {
            bytes.resize(dedup::len(size, index), 0);
            let there = reader.read(&slots[to_index(index)], index, &mut bytes, upload);
            Looked { index, bytes, there }
        };
        let (missing, shares, mut here, mut parts) = (&mut self.missing, self.shares, 0, Vec::new());
        let put = |block: &Looked| {
            let Looked { index, bytes, there } = block;
            let Some((file, part)) = there else {
                missing[to_index(index / 8)] |= 1 << (index % 8);
                return Ok(());
            };
            stage.seek(index * BLOCK);
            if shares {
                stage.copy_from(file.as_fd(), 0, bytes.len() as u64)?;
            } else {
                stage.write(bytes)?;
            }
            here += bytes.len() as u64;
            parts.push((to_index(*index), *part));
            Ok(())
        };
        lookup::ahead(first..end, &mut self.buffers, look, put)?;
        self.here += here;
        for (at, part) in parts {
            // Of a file that is one block the hash itself is what counts.
            if size > BLOCK {
                self.slots[at] = part;
            }
        }
        self.looked_up = end;
        let all = end == count;
        if all {
            self.buffers = Vec::new();
        }
        Ok(all)
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
        self.block.clear();
        while self.next < self.looked_up && !self.is_missing(self.next) {
            self.next += 1;
        }
        if self.next == self.looked_up {
            return Err(Failure::PastSize(self.size));
        }
        self.coming = Digester::new(self.next);
        let must = dedup::len(self.size, self.next);
        if len == must { Ok(()) } else { Err(Failure::BlockLength { index: self.next, len, must }) }
    }

    fn is_missing(&self, index: u64) -> bool {
        self.missing[to_index(index / 8)] >> (index % 8) & 1 == 1
    }

    /// Takes more of the next block into the stage, which nobody sees before all of it was checked. When the block is
    /// whole, and what its hash says, it is returned, to be stored.
    pub(crate) fn receive(
        &mut self,
        bytes: &[u8],
        stage: &mut Stage,
    ) -> Result<Option<(Hash, Source)>, Failure> {
        let (index, len) = (self.next, dedup::len(self.size, self.next));
        // `expect` has seen to it that a frame is no longer than its block.
        let take = bytes.len().min(len - self.filled);
        let (bytes, offset) = (&bytes[..take], index * BLOCK);
        self.coming.update(bytes);
        stage.seek(offset + self.filled as u64);
        stage.write(bytes)?;
        if self.file.is_none() {
            self.block.extend_from_slice(bytes);
        }
        self.filled += take;
        if self.filled < len {
            return Ok(None);
        }
        let Digest { hash, part } = self.coming.finish();
        let slot = &mut self.slots[to_index(index)];
        if hash != *slot {
            return Err(Failure::BlockHash(index));
        }
        // Of a file that is one block the hash itself is what counts.
        if self.size > BLOCK {
            *slot = part;
        }
        self.here += len as u64;
        self.next += 1;
        let source = match &self.file {
            Some(file) => {
                stage.show_hole()?;
                Source::Stage { file: Arc::clone(file), offset, len }
            }
            None => Source::Memory(std::mem::take(&mut self.block)),
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

/// For indices of blocks, of which there are no more than fit a frame.
fn to_index(index: u64) -> usize {
    usize::try_from(index).unwrap_or(usize::MAX)
}
