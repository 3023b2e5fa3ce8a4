//! Announced blocks that the store may have: read and checked on one thread while another puts them into the stage.

use std::ops::Range;
use std::os::fd::OwnedFd;
use std::sync::mpsc::{channel, sync_channel};
use std::thread;

use bcmr_wire::Hash;

use crate::failure::Failure;

/// Blocks that are looked up in one step; a session that is to end waits for no more.
pub(super) const AT_ONCE: u64 = 8;

/// The same of those that are not there, which costs no reading.
pub(super) const ABSENT_AT_ONCE: u64 = 4096;

/// A block that was looked up.
pub(super) struct Looked {
    pub(super) index: u64,
    /// Its bytes, where it is there.
    pub(super) bytes: Vec<u8>,
    /// Its file, and what it adds to the whole.
    pub(super) there: Option<(OwnedFd, Hash)>,
}

/// Has `look` look up each block, one ahead of `take`, which gets them in order. The buffers are handed round.
pub(super) fn ahead(
    blocks: Range<u64>,
    buffers: &mut Vec<Vec<u8>>,
    look: impl Fn(u64, Vec<u8>) -> Looked + Sync,
    mut take: impl FnMut(&Looked) -> Result<(), Failure>,
) -> Result<(), Failure> {
    if blocks.is_empty() {
        return Ok(());
    }
    let mut left = blocks.clone();
    let taken = thread::scope(|scope| {
        // In here, so that the thread, which is waited for when this ends, never waits for a buffer itself by then.
        let (give, looked) = sync_channel(1);
        let (back, free) = channel();
        for buffer in buffers.drain(..) {
            let _ = back.send(buffer);
        }
        let look = &look;
        let reader = move || {
            for index in blocks {
                // Whoever takes them has failed where nobody wants one any more.
                let Ok(buffer) = free.recv() else { break };
                if give.send(look(index, buffer)).is_err() {
                    break;
                }
            }
            free.try_iter().collect::<Vec<_>>()
        };
        let reader = thread::Builder::new().stack_size(256 * 1024).spawn_scoped(scope, reader);
        let Ok(reader) = reader else { return Ok(Vec::new()) };
        let mut spare = Vec::new();
        for block in looked {
            left.start += 1;
            take(&block)?;
            spare.extend(back.send(block.bytes).err().map(|unsent| unsent.0));
        }
        spare.extend(reader.join().unwrap_or_else(|panic| std::panic::resume_unwind(panic)));
        Ok::<Vec<Vec<u8>>, Failure>(spare)
    });
    *buffers = taken?;
    buffers.resize_with(2, Vec::new);
    // Where no thread could be started.
    left.try_for_each(|index| take(&look(index, Vec::new())))
}

#[cfg(test)]
mod tests {
    use std::time::Duration;

    use super::*;

    #[test]
    fn who_fails_to_take_a_block_does_not_wait_for_those_that_would_follow() {
        let look = |index, bytes| Looked { index, bytes, there: None };
        let mut taken = Vec::new();
        let result = ahead(0..AT_ONCE, &mut vec![Vec::new(); 2], look, |block| {
            // By now the next one is there, and a buffer is waited for.
            thread::sleep(Duration::from_millis(20));
            taken.push(block.index);
            if block.index == 2 { Err(Failure::PastSize(0)) } else { Ok(()) }
        });
        assert!(result.is_err());
        assert_eq!(taken, [0, 1, 2]);
    }
}
