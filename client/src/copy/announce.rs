//! Uploads of files whose blocks are announced, so that only those cross the wire that the server's store lacks.

use std::io;
use std::sync::atomic::{AtomicBool, AtomicU64, Ordering};
use std::sync::mpsc::{Receiver, SyncSender, sync_channel};
use std::sync::{Mutex, MutexGuard, PoisonError};
use std::thread;
use std::time::{Duration, Instant};

use bcmr_wire::blocks::dedup::{self, BLOCK, Digest, digest};
use bcmr_wire::limits::{MAX_BLOCK, MAX_BODY};
use bcmr_wire::{Caps, Hash, Message};

use super::Outcomes;
use super::opened::Opened;
use crate::exchange::{Dead, Exchange};
use crate::pulse::Pulse;

/// Bytes from which on announcing pays: below, sending is cheaper than a round trip and a second hash.
const SMALLEST: u64 = 16 << 20;

/// Bytes of HaveBlocks before its hashes: block size and count.
const FIXED: u64 = 8;

/// How long the blocks of a file may take to be hashed. The server waits meanwhile, and ends a session that keeps it
/// waiting, after ten minutes where its operator says nothing else.
const PATIENCE: Duration = Duration::from_secs(240);

/// Threads that hash a file; each has a block in memory.
const THREADS: usize = 4;

/// Where the replies' thread puts the server's answer to an announcement.
#[derive(Debug, Default)]
pub(super) struct Answer(Mutex<Awaited>);

#[derive(Debug, Default)]
enum Awaited {
    #[default]
    NotYet,
    By(SyncSender<Vec<u8>>),
    /// None comes, or it has come.
    NoMore,
}

impl Answer {
    fn lock(&self) -> MutexGuard<'_, Awaited> {
        self.0.lock().unwrap_or_else(PoisonError::into_inner)
    }

    /// The answer to come; that none comes may be known already.
    fn expect(&self) -> Receiver<Vec<u8>> {
        let (sender, receiver) = sync_channel(1);
        let mut awaited = self.lock();
        if matches!(*awaited, Awaited::NotYet) {
            *awaited = Awaited::By(sender);
        }
        receiver
    }

    /// Hands the answer over; returns whether one was expected.
    pub(super) fn give(&self, bits: Vec<u8>) -> bool {
        match std::mem::replace(&mut *self.lock(), Awaited::NoMore) {
            Awaited::By(sender) => sender.send(bits).is_ok(),
            Awaited::NotYet | Awaited::NoMore => false,
        }
    }

    /// Tells whoever waits that no answer comes.
    pub(super) fn give_up(&self) {
        *self.lock() = Awaited::NoMore;
    }
}

/// How an announced upload went.
#[derive(Debug)]
pub(super) enum Sent {
    /// Every missing block was sent; the hash of the whole.
    Whole(blake3::Hash),
    /// Hashing takes too long: nothing was announced, and the content can be sent as it comes.
    NotAnnounced,
    /// The server refused meanwhile.
    Refused,
    /// The source cannot be read to its end.
    Source(io::Error),
}

/// Whether the blocks of a file of this size are announced to a server that can take that.
pub(super) const fn is_worth(size: u64) -> bool {
    size >= SMALLEST && FIXED + dedup::count(size) * 32 <= MAX_BODY as u64
}

/// Whether they are announced to a server with these capabilities.
pub(super) const fn pays(caps: Caps, size: u64) -> bool {
    caps.has(Caps::DEDUP) && is_worth(size)
}

/// Announces the blocks of a file whose Put has gone out, and sends those that are missing. `known` has their hashes,
/// where those are known already.
pub(super) fn send(
    link: &mut Exchange,
    file: &Opened,
    size: u64,
    known: Option<Vec<Digest>>,
    answer: &Answer,
    refused: impl Fn() -> bool + Sync,
    outcomes: &Outcomes,
) -> Result<Sent, Dead> {
    // The server may refuse the name: that is worth knowing before everything is hashed.
    link.flush()?;
    let all = || digests(file, size, &refused, &link.pulse, threads());
    let digests = match known.map_or_else(all, Ok) {
        Ok(digests) => digests,
        Err(sent) => return Ok(sent),
    };
    let hashes: Vec<Hash> = digests.iter().map(|digest| digest.hash).collect();
    let parts: Vec<Hash> = digests.iter().map(|digest| digest.part).collect();
    drop(digests);
    let mut block = vec![0; MAX_BLOCK];
    let bits = answer.expect();
    link.requests.push(&Message::HaveBlocks { block_size: MAX_BLOCK as u32, hashes: &hashes })?;
    link.flush()?;
    drop(hashes);
    // It reads what it has.
    link.pulse.silent(size);
    let bits = bits.recv();
    link.pulse.spoke(size);
    let Ok(bits) = bits else { return if refused() { Ok(Sent::Refused) } else { Err(Dead) } };
    for (index, byte) in (0..dedup::count(size)).zip(bits.iter().flat_map(|byte| [byte; 8])) {
        let len = dedup::len(size, index);
        if byte >> (index % 8) & 1 == 0 {
            outcomes.meter().add_present(len as u64);
            outcomes.ui().moved(len as u64);
            link.lane.moved(len as u64);
        } else {
            if refused() {
                return Ok(Sent::Refused);
            }
            let block = &mut block[..len];
            if let Err(e) = file.read_exact_at(block, index * BLOCK) {
                return Ok(Sent::Source(e));
            }
            link.blocks.send_block(block, &mut link.requests)?;
            link.stores = true;
            outcomes.moved(len as u64);
            link.lane.moved(len as u64);
        }
    }
    Ok(Sent::Whole(dedup::whole(&parts)))
}

/// How many threads hash a file while nobody else has anything to do.
fn threads() -> usize {
    thread::available_parallelism().map_or(1, |n| n.get().min(THREADS))
}

/// Hashes every block.
pub(super) fn digests(
    file: &Opened,
    size: u64,
    refused: &(impl Fn() -> bool + Sync),
    pulse: &Pulse,
    threads: usize,
) -> Result<Vec<Digest>, Sent> {
    let (started, next, failed) = (Instant::now(), AtomicU64::new(0), AtomicBool::new(false));
    let count = dedup::count(size);
    let some = || {
        let (mut block, mut digests) = (vec![0; MAX_BLOCK], Vec::new());
        let mut hash = |index| {
            if refused() {
                return Err(Sent::Refused);
            }
            if started.elapsed() > PATIENCE {
                return Err(Sent::NotAnnounced);
            }
            let block = &mut block[..dedup::len(size, index)];
            file.read_exact_at(block, index * BLOCK).map_err(Sent::Source)?;
            pulse.beat();
            digests.push((index, digest(index, block)));
            Ok(())
        };
        while !failed.load(Ordering::Relaxed) {
            let index = next.fetch_add(1, Ordering::Relaxed);
            if index >= count {
                break;
            }
            if let Err(why) = hash(index) {
                failed.store(true, Ordering::Relaxed);
                return Err(why);
            }
        }
        Ok(digests)
    };
    let mut all = thread::scope(|scope| {
        // Where no thread can be started this one does it all.
        let others: Vec<_> =
            (1..threads).filter_map(|_| thread::Builder::new().spawn_scoped(scope, some).ok()).collect();
        let mut all = some();
        for other in others {
            let theirs = other.join().unwrap_or_else(|panic| std::panic::resume_unwind(panic));
            all = all.and_then(|mut all| theirs.map(|theirs| all.extend(theirs)).map(|()| all));
        }
        all
    })?;
    all.sort_unstable_by_key(|(index, _)| *index);
    Ok(all.into_iter().map(|(_, digest)| digest).collect())
}
