//! Blocks as files, and the number of bytes that they take.

use std::ffi::OsStr;
use std::os::fd::{AsFd, BorrowedFd, OwnedFd};
use std::sync::Arc;
use std::sync::atomic::{AtomicBool, Ordering};
use std::time::Duration;

use bcmr_policy::file::Free;
use bcmr_publish::{How, PublishError, Publisher, Stage};
use bcmr_wire::Hash;
use bcmr_wire::blocks::dedup::digest;
use bcmr_wire::limits::MAX_BLOCK;
use rustix::fs::{
    AtFlags, Dir, FileType, FlockOperation, Mode, OFlags, Stat, Timespec, Timestamps, UTIME_NOW, UTIME_OMIT,
    flock, fstat, fstatfs, fstatvfs, futimens, openat, statat, unlinkat,
};
use rustix::io::{Errno, retry_on_intr};

use super::Upload;
use super::evict::{self, Block};
use crate::state::bytes::read_full;
use crate::state::locked::{Held, PATIENCE, Shared, lock};
use crate::state::{State, private_dir, private_file};

/// What a block may take beyond its own file system blocks by and by: an extent block, where a disk is fragmented.
const MARGIN: u64 = 4096;

/// `f_type` of the file systems whose copy_file_range shares extents: btrfs, XFS (statfs(2)).
const SHARING: [u64; 2] = [0x9123_683e, 0x5846_5342];

/// How long a session waits for the counters after it has waited in vain: whoever holds them was stopped, and each
/// block would wait anew.
const IMPATIENCE: Duration = Duration::from_millis(20);

/// How much there may be in a store.
#[derive(Clone, Copy, PartialEq, Eq, Debug)]
pub(crate) struct Limits {
    /// Bytes of all blocks together; None for no bound.
    pub(crate) cap: Option<u64>,
    /// What storing a block never takes its file system below.
    pub(crate) min_free: Free,
}

impl Limits {
    /// Whether not even one block of this length fits.
    pub(super) fn is_below(&self, len: usize) -> bool {
        self.cap.is_some_and(|cap| cap < len as u64 + MARGIN)
    }
}

/// Bytes that are stored, and that are about to be: together never above the cap.
type Usage = [u64; 2];

/// An open store.
#[derive(Debug)]
pub(crate) struct Store {
    dir: Arc<OwnedFd>,
    usage: Shared<2>,
    /// Whether another session did not let go of the counters when they were wanted last.
    stuck: AtomicBool,
    limits: Limits,
    device: u64,
    shares: bool,
    /// Tells others that a session lives which may have reserved room.
    _alive: OwnedFd,
}

impl Store {
    /// Opens the store in a state directory. Where no other session lives, and one died while it was storing, its
    /// bytes are counted again.
    ///
    /// # Errors
    /// AGAIN where a session that was stopped is in the way.
    pub(crate) fn open(state: &State, limits: Limits) -> Result<Self, Errno> {
        let dir = private_dir(state.root(), "cas")?;
        let usage = Shared::open(state.root(), "usage")?;
        let alive = private_file(state.root(), "alive")?;
        let alone = retry_on_intr(|| flock(&alive, FlockOperation::NonBlockingLockExclusive)).is_ok();
        let device = fstat(&dir)?.st_dev;
        let kind = fstatfs(&dir)?.f_type;
        let shares = u64::try_from(kind).is_ok_and(|kind| SHARING.contains(&kind));
        let store = Self {
            dir: Arc::new(dir),
            usage,
            stuck: AtomicBool::new(false),
            limits,
            device,
            shares,
            _alive: alive,
        };
        if alone {
            let mut held = store.hold()?;
            let [_, reserved] = held.numbers();
            if held.unknown || reserved != 0 {
                held.set([store.count()?, 0])?;
            }
        }
        lock(store._alive.as_fd(), FlockOperation::NonBlockingLockShared, PATIENCE)?;
        Ok(store)
    }

    /// The counters, which no other session changes meanwhile.
    fn hold(&self) -> Result<Held<'_, 2>, Errno> {
        let stuck = self.stuck.load(Ordering::Relaxed);
        let held = self.usage.hold_within(if stuck { IMPATIENCE } else { PATIENCE });
        self.stuck.store(held.is_err(), Ordering::Relaxed);
        held
    }

    pub(super) const fn limits(&self) -> Limits {
        self.limits
    }

    /// Whether files of its file system can share extents.
    pub(super) const fn shares(&self) -> bool {
        self.shares
    }

    pub(super) fn shares_with(&self, dir: BorrowedFd<'_>) -> bool {
        self.shares && fstat(dir).is_ok_and(|stat| stat.st_dev == self.device)
    }

    /// Remembers whose block this is; where nothing is ever evicted there is no need to.
    pub(super) fn own(&self, hash: Hash, upload: &Upload) {
        if self.limits.cap.is_some() {
            upload.add(hash);
        }
    }

    /// Reads a block of the length of `block`, and checks that it is what its name says; returns its file, and what it
    /// adds to the whole as the one of that index. One that is damaged, or is no block at all, is removed as far as
    /// that goes.
    pub(super) fn read(&self, hash: &Hash, index: u64, block: &mut [u8]) -> Option<(OwnedFd, Hash)> {
        let name = name(hash);
        let flags = OFlags::RDONLY | OFlags::NOFOLLOW | OFlags::NONBLOCK | OFlags::CLOEXEC;
        let file = match retry_on_intr(|| openat(&self.dir, &*name, flags, Mode::empty())) {
            Ok(file) => file,
            // A symbolic link, or a socket.
            Err(Errno::LOOP | Errno::NXIO) => {
                self.remove(&name);
                return None;
            }
            Err(_) => return None,
        };
        let is_whole =
            is_block(&fstat(&file).ok()?, block.len()) && read_full(file.as_fd(), block) == Ok(block.len());
        let digest = is_whole.then(|| digest(index, block));
        match digest {
            Some(digest) if digest.hash == *hash => {
                touch(file.as_fd());
                Some((file, digest.part))
            }
            _ => {
                self.remove(&name);
                None
            }
        }
    }

    /// Whether something stands under a block's name.
    pub(super) fn may_have(&self, hash: &Hash) -> bool {
        retry_on_intr(|| statat(&self.dir, &*name(hash), AtFlags::SYMLINK_NOFOLLOW)).is_ok()
    }

    /// Stores a block of `len` bytes that `fill` puts into a stage. Returns false where there is no room for it.
    pub(super) fn put(
        &self,
        hash: &Hash,
        len: usize,
        upload: &Upload,
        publisher: &mut Publisher,
        fill: impl FnOnce(&mut Stage) -> Result<(), PublishError>,
    ) -> Result<bool, PublishError> {
        let name = name(hash);
        if self.may_have(hash) {
            // Stored by another session, or something that is no block: the next who asks for it finds out.
            self.own(*hash, upload);
            return Ok(true);
        }
        let room = len as u64 + MARGIN;
        if !self.reserve(room, upload).map_err(PublishError::io("making room"))? {
            return Ok(false);
        }
        let stored = self.write(&name, publisher, fill);
        let counted = self.settle(room, stored, publisher);
        if matches!(counted, Ok(true)) {
            self.own(*hash, upload);
        }
        counted
    }

    fn write(
        &self,
        name: &str,
        publisher: &mut Publisher,
        fill: impl FnOnce(&mut Stage) -> Result<(), PublishError>,
    ) -> Result<Stage, PublishError> {
        let how = How { mode: Some(0o600), ..How::default() };
        let mut stage = publisher.begin(Arc::clone(&self.dir), OsStr::new(name), how)?;
        fill(&mut stage)?;
        Ok(stage)
    }

    /// Gives a reservation back, and publishes what was written under the same lock, so that no byte is visible that
    /// is not counted.
    fn settle(
        &self,
        room: u64,
        stage: Result<Stage, PublishError>,
        publisher: &mut Publisher,
    ) -> Result<bool, PublishError> {
        let io = PublishError::io("counting a block");
        let mut held = self.hold().map_err(&io)?;
        let [bytes, reserved] = held.numbers();
        let without = reserved.saturating_sub(room);
        let (published, cost) = match stage {
            Err(error) => (Err(error), 0),
            Ok(stage) => {
                let cost = cost(&fstat(stage.as_fd()).map_err(&io)?);
                let fits = self.limits.cap.is_none_or(|cap| bytes + without + cost <= cap);
                if fits { (publisher.publish(stage).map(|()| true), cost) } else { (Ok(false), 0) }
            }
        };
        match published {
            Ok(true) => {
                held.set([bytes + cost, without]).map_err(&io)?;
                Ok(true)
            }
            other => {
                held.set([bytes, without]).map_err(&io)?;
                match other {
                    // Another session was quicker.
                    Err(PublishError::Taken) => Ok(true),
                    other => other,
                }
            }
        }
    }

    /// Makes room for a block, if need be by removing those that were not used for longest.
    fn reserve(&self, room: u64, upload: &Upload) -> Result<bool, Errno> {
        let mut held = self.hold()?;
        let [mut bytes, reserved] = held.numbers();
        let pending = reserved.saturating_add(room);
        if let Some(cap) = self.limits.cap
            && bytes.saturating_add(pending) > cap
        {
            if pending > cap {
                return Ok(false);
            }
            // Said before it is done: if this process dies in between, someone counts again.
            held.set([bytes, pending])?;
            bytes = self.evict(cap - pending, evict::low_water(cap).saturating_sub(pending), upload)?;
            if bytes > cap - pending {
                held.set([bytes, reserved])?;
                return Ok(false);
            }
        }
        self.has_free(room, &mut held, [bytes, reserved])
    }

    fn has_free(&self, room: u64, held: &mut Held<'_, 2>, [bytes, reserved]: Usage) -> Result<bool, Errno> {
        let fs = fstatvfs(&self.dir)?;
        let (free, total) =
            (fs.f_bavail.saturating_mul(fs.f_frsize), fs.f_blocks.saturating_mul(fs.f_frsize));
        let enough = free.saturating_sub(room) >= self.limits.min_free.of(total) && free >= room;
        held.set([bytes, if enough { reserved + room } else { reserved }])?;
        Ok(enough)
    }

    /// Where the blocks have more than `most` bytes, removes the least recently used until no more than `low` are
    /// left. They are counted anew: whoever owns the store may have changed it. Returns the bytes that are left.
    fn evict(&self, most: u64, low: u64, upload: &Upload) -> Result<u64, Errno> {
        let blocks = self.blocks()?;
        let mut bytes = blocks.iter().map(|block| block.cost).sum();
        if bytes <= most {
            return Ok(bytes);
        }
        for block in evict::oldest_first(blocks) {
            if bytes <= low {
                break;
            }
            let gone = || unlinkat(&self.dir, name(&block.hash), AtFlags::empty());
            if !upload.owns(&block.hash) && retry_on_intr(gone).is_ok() {
                bytes -= block.cost;
            }
        }
        Ok(bytes)
    }

    /// Removes blocks until no more are there than may be.
    pub(super) fn shrink(&self, upload: &Upload) -> Result<(), Errno> {
        let mut held = self.hold()?;
        let [bytes, reserved] = held.numbers();
        held.set([bytes, reserved.saturating_add(1)])?;
        let most = self.limits.cap.map_or(u64::MAX, |cap| cap.saturating_sub(reserved));
        let left = self.evict(most, most, upload)?;
        held.set([left, reserved])
    }

    /// Removes a block.
    pub(super) fn remove_block(&self, hash: &Hash) {
        self.remove(&name(hash));
    }

    /// Removes what stands under a block's name and is none.
    fn remove(&self, name: &str) {
        let Ok(mut held) = self.hold() else { return };
        let Ok(stat) = statat(&self.dir, name, AtFlags::SYMLINK_NOFOLLOW) else { return };
        let [bytes, reserved] = held.numbers();
        let cost = if is_file(&stat) { cost(&stat) } else { 0 };
        // Said before it is done: if this process dies in between, someone counts again.
        if held.set([bytes, reserved.saturating_add(cost)]).is_err() {
            return;
        }
        let gone = retry_on_intr(|| unlinkat(&self.dir, name, AtFlags::empty())).is_ok();
        let _ = held.set([if gone { bytes.saturating_sub(cost) } else { bytes }, reserved]);
    }

    /// Bytes of all blocks, counted.
    fn count(&self) -> Result<u64, Errno> {
        Ok(self.blocks()?.iter().map(|block| block.cost).sum())
    }

    /// Every block.
    pub(crate) fn blocks(&self) -> Result<Vec<Block>, Errno> {
        let mut blocks = Vec::new();
        let flags = OFlags::RDONLY | OFlags::DIRECTORY | OFlags::CLOEXEC;
        for entry in Dir::new(retry_on_intr(|| openat(&self.dir, ".", flags, Mode::empty()))?)? {
            let entry = entry?;
            let Some(hash) = entry.file_name().to_str().ok().and_then(parse) else { continue };
            let Ok(stat) = statat(&self.dir, entry.file_name(), AtFlags::SYMLINK_NOFOLLOW) else { continue };
            if is_file(&stat) {
                let used = (stat.st_mtime, i64::try_from(stat.st_mtime_nsec).unwrap_or(0));
                let len = usize::try_from(stat.st_size).ok().filter(|len| *len > 0 && *len <= MAX_BLOCK);
                blocks.push(Block { hash, len, cost: cost(&stat), used });
            }
        }
        Ok(blocks)
    }
}

/// A block's name.
fn name(hash: &Hash) -> String {
    blake3::Hash::from_bytes(*hash).to_hex().to_string()
}

fn parse(name: &str) -> Option<Hash> {
    blake3::Hash::from_hex(name).ok().map(|hash| *hash.as_bytes())
}

fn is_file(stat: &Stat) -> bool {
    FileType::from_raw_mode(stat.st_mode) == FileType::RegularFile
}

fn is_block(stat: &Stat, len: usize) -> bool {
    is_file(stat) && u64::try_from(stat.st_size).is_ok_and(|size| size == len as u64)
}

/// Marks a block as used, which keeps it for longer. Best effort.
fn touch(file: BorrowedFd<'_>) {
    let omit = Timespec { tv_sec: 0, tv_nsec: UTIME_OMIT };
    let now = Timespec { tv_sec: 0, tv_nsec: UTIME_NOW };
    let _ = futimens(file, &Timestamps { last_access: omit, last_modification: now });
}

/// What a block counts for: at least what it takes.
fn cost(stat: &Stat) -> u64 {
    u64::try_from(stat.st_blocks).unwrap_or(0) * 512 + MARGIN
}
