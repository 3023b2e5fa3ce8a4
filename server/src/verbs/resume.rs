use bcmr_policy::{Permit, request};
use bcmr_wire::limits::MAX_BLOCK;

use super::hash::{hash_rest, seek_to};
use crate::failure::Failure;
use crate::tree::{self, Place, Tree};

/// What is there of a file: its size, and the hash of its last whole block of 4 MiB.
#[derive(Debug)]
pub(crate) struct Present {
    pub(crate) size: u64,
    pub(crate) block_hash: Option<blake3::Hash>,
}

pub(crate) fn resume(tree: &Tree, permit: Permit<request::Resume>) -> Result<Present, Failure> {
    const BLOCK: u64 = MAX_BLOCK as u64;
    let entry = match tree.place(permit.path())? {
        Place::Entry(entry) => entry,
        Place::Absent { .. } | Place::NoParent { .. } => return Ok(Present { size: 0, block_hash: None }),
    };
    let (file, stat) = entry.open_file()?;
    let size = tree::size(&stat);
    let block_hash = match size / BLOCK {
        0 => None,
        blocks => {
            seek_to(&file, (blocks - 1) * BLOCK)?;
            Some(hash_rest(&file, BLOCK)?)
        }
    };
    Ok(Present { size, block_hash })
}
