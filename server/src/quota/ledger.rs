//! What an account published below a root and still stands: bytes and names.
//!
//! A session reserves room in its slot before it stages a file. The record is written before the file is published, and
//! counts from when it has been: until then the reservation stands for it. Whoever finds the slot of a session that died
//! in between counts its record. So whenever a session dies, the ledger counts too much rather than too little. Before
//! anything is refused, every entry is looked at again, and what is gone from the tree is struck: consumers move files
//! away.

use std::os::fd::{AsFd, BorrowedFd, OwnedFd};
use std::thread::sleep;
use std::time::{Duration, Instant};

use rustix::fs::{Mode, OFlags, fstat, openat, renameat};
use rustix::io::{Errno, retry_on_intr};

use super::record::{GONE, Record, decode, tag_of};
use crate::state::bytes::{read_full, write_full};
use crate::state::locked::{Held, PATIENCE, Shared};
use crate::state::slot::{Dead, NOTHING, NUMBERS, Others, Slot};
use crate::state::{State, private_dir, private_file};

/// Files that the records are spread over, so that a publication reads little.
const BUCKETS: u16 = 4096;

/// Sessions that may write at the same time.
const WRITERS: u64 = 4096;

/// Bytes of struck records that a bucket may have in any case.
const UNTIDY: u64 = 4096;

/// Bytes and names.
#[derive(Clone, Copy, PartialEq, Eq, Debug, Default)]
pub(crate) struct Amount {
    pub(crate) bytes: u64,
    pub(crate) entries: u64,
}

impl Amount {
    fn of(numbers: [u64; 2]) -> Self {
        Self { bytes: numbers[0], entries: numbers[1] }
    }

    const fn numbers(self) -> [u64; 2] {
        [self.bytes, self.entries]
    }

    fn plus(self, other: Self) -> Self {
        Self {
            bytes: self.bytes.saturating_add(other.bytes),
            entries: self.entries.saturating_add(other.entries),
        }
    }

    fn minus(self, other: Self) -> Self {
        Self {
            bytes: self.bytes.saturating_sub(other.bytes),
            entries: self.entries.saturating_sub(other.entries),
        }
    }
}

/// The ledger of one account and one root.
#[derive(Debug)]
pub(crate) struct Ledger {
    buckets: OwnedFd,
    totals: Shared<2>,
    slots: OwnedFd,
    /// What this session has reserved stands in here: bytes, names, and which record and which path that is for.
    slot: Slot,
    reserved: bool,
}

impl Ledger {
    pub(crate) fn open(state: &State) -> Result<Self, Errno> {
        let totals = Shared::open(state.root(), "published")?;
        let mut held = totals.hold()?;
        let slots = private_dir(state.root(), "writers")?;
        let buckets = private_dir(state.root(), "ledger")?;
        let (slot, died) = Slot::take(slots.as_fd(), WRITERS)?.ok_or(Errno::USERS)?;
        if held.unknown || died {
            count(buckets.as_fd(), &mut held, &slot.others(slots.as_fd())?, |_| true)?;
        }
        slot.set(NOTHING)?;
        drop(held);
        Ok(Self { buckets, totals, slots, slot, reserved: false })
    }

    /// Reserves room for a file of `size` at `path`; returns false where `limit` would be exceeded. `stands` tells
    /// whether a path still leads to an inode.
    pub(crate) fn reserve(
        &mut self,
        path: &str,
        size: u64,
        limit: Amount,
        stands: impl Fn(&str) -> Option<u64>,
    ) -> Result<bool, Errno> {
        let mut held = self.totals.hold()?;
        let others = self.others(&mut held)?;
        let Some(Amount { bytes, entries }) = self.fit(&mut held, &others, path, size, limit, stands)? else {
            return Ok(false);
        };
        self.slot.set([bytes, entries, 0, tag_of(path)])?;
        self.reserved = true;
        Ok(true)
    }

    /// What a file adds, if that fits. What it replaces is credited to it: that stays counted until then, though it be
    /// taken away meanwhile.
    fn fit(
        &self,
        held: &mut Held<'_, 2>,
        others: &Others,
        path: &str,
        size: u64,
        limit: Amount,
        stands: impl Fn(&str) -> Option<u64>,
    ) -> Result<Option<Amount>, Errno> {
        let fits = |held: &Held<'_, 2>| {
            let (records, _) = self.bucket(path)?;
            let records = records.iter().map(|(_, record)| record);
            let replaced = records.filter(|record| record.path == path && !pending(others, record));
            let replaced = replaced.fold(Amount::default(), |sum, record| sum.plus(record.amount()));
            let wanted = Amount { bytes: size, entries: 1 }.minus(replaced);
            let reserved =
                others.live.iter().map(|[bytes, entries, ..]| Amount { bytes: *bytes, entries: *entries });
            let sum = reserved.fold(Amount::of(held.numbers()).plus(wanted), Amount::plus);
            Ok((sum.bytes <= limit.bytes && sum.entries <= limit.entries).then_some(wanted))
        };
        if let Some(wanted) = fits(held)? {
            return Ok(Some(wanted));
        }
        self.recount(held, others, stands)?;
        fits(held)
    }

    /// Gives back what is reserved.
    pub(crate) fn release(&mut self) {
        if std::mem::take(&mut self.reserved) {
            // Where even this fails the reservation lasts as long as the session.
            let _ = self.slot.set(NOTHING);
        }
    }

    /// Writes down a file that is about to be published; returns false where it does not fit any more. It does not
    /// count before it is [settled](Self::settle). Of sessions that publish at one path each waits for the one before.
    pub(crate) fn write(
        &mut self,
        path: &str,
        inode: u64,
        size: u64,
        limit: Amount,
        stands: impl Fn(&str) -> Option<u64>,
    ) -> Result<bool, Errno> {
        let deadline = Instant::now() + PATIENCE;
        let (mut held, others) = loop {
            let mut held = self.totals.hold()?;
            let others = self.others(&mut held)?;
            let busy = |other: &[u64; NUMBERS]| other[2] != 0 && other[3] == tag_of(path);
            if !others.live.iter().any(busy) {
                break (held, others);
            }
            drop(held);
            if Instant::now() > deadline {
                return Err(Errno::AGAIN);
            }
            sleep(Duration::from_millis(1));
        };
        self.strike_stale(&mut held, path, inode)?;
        let Some(Amount { bytes, entries }) = self.fit(&mut held, &others, path, size, limit, stands)? else {
            return Ok(false);
        };
        let record = Record { inode, size, path: path.to_owned() };
        self.slot.set([bytes, entries, record.tag(), tag_of(path)])?;
        self.append(&record)?;
        Ok(true)
    }

    /// Strikes what a session that died has left of this path and inode, whose number is used again by a file that
    /// stands nowhere yet.
    fn strike_stale(&self, held: &mut Held<'_, 2>, path: &str, inode: u64) -> Result<(), Errno> {
        let (records, _) = self.bucket(path)?;
        let mut total = Amount::of(held.numbers());
        for (at, record) in records.iter().filter(|(_, record)| record.path == path && record.inode == inode)
        {
            self.strike(path, *at)?;
            total = total.minus(record.amount());
        }
        held.set(total.numbers())
    }

    /// Counts a file that was published, in place of what it replaced; or forgets one that was not.
    pub(crate) fn settle(
        &mut self,
        path: &str,
        inode: u64,
        size: u64,
        published: bool,
        stands: impl Fn(&str) -> Option<u64>,
    ) -> Result<(), Errno> {
        let mut held = self.totals.hold()?;
        let others = self.others(&mut held)?;
        let own = Record { inode, size, path: path.to_owned() };
        let standing = stands(path);
        // Another session may have replaced it already.
        let counts = published && standing.is_none_or(|standing| standing == inode);
        let (records, _) = self.bucket(path)?;
        let mut total = Amount::of(held.numbers());
        let mut written = false;
        for (at, record) in records.iter().filter(|(_, record)| record.path == path) {
            if *record == own {
                written = true;
                if !counts {
                    self.strike(path, *at)?;
                }
            } else if standing != Some(record.inode) && !pending(&others, record) {
                self.strike(path, *at)?;
                total = total.minus(record.amount());
            }
        }
        if counts {
            total = total.plus(own.amount());
            if !written {
                // Who counted meanwhile found that it did not stand.
                self.append(&own)?;
            }
        }
        held.set(total.numbers())?;
        self.slot.set(NOTHING)?;
        self.reserved = false;
        self.tidy(path)
    }

    /// Counts everything again, keeping only the records that `stands` says still count.
    pub(crate) fn rescan(&self, stands: impl Fn(&str) -> Option<u64>) -> Result<Amount, Errno> {
        let mut held = self.totals.hold()?;
        let others = self.others(&mut held)?;
        self.recount(&mut held, &others, stands)?;
        Ok(Amount::of(held.numbers()))
    }

    /// What is published, as it is counted.
    pub(crate) fn total(&self) -> Result<Amount, Errno> {
        let mut held = self.totals.hold()?;
        self.others(&mut held)?;
        Ok(Amount::of(held.numbers()))
    }

    /// What the sessions that live have reserved. What those that died may have published counts from here on.
    fn others(&self, held: &mut Held<'_, 2>) -> Result<Others, Errno> {
        let mut others = self.slot.others(self.slots.as_fd())?;
        if !others.dead.is_empty() {
            let dead = std::mem::take(&mut others.dead);
            count(self.buckets.as_fd(), held, &others, |_| true)?;
            dead.into_iter().try_for_each(Dead::settle)?;
        }
        Ok(others)
    }

    fn recount(
        &self,
        held: &mut Held<'_, 2>,
        others: &Others,
        stands: impl Fn(&str) -> Option<u64>,
    ) -> Result<(), Errno> {
        count(self.buckets.as_fd(), held, others, |record| stands(&record.path) == Some(record.inode))
    }

    fn append(&self, record: &Record) -> Result<(), Errno> {
        let (_, end) = self.bucket(&record.path)?;
        let bytes = record.encode();
        let file = private_file(self.buckets.as_fd(), &bucket_name(&record.path))?;
        write_full(file.as_fd(), &bytes, end)
    }

    /// Strikes the record at this place of the path's bucket.
    fn strike(&self, path: &str, at: u64) -> Result<(), Errno> {
        let file = private_file(self.buckets.as_fd(), &bucket_name(path))?;
        write_full(file.as_fd(), &[GONE], at)
    }

    /// Takes what was struck out of the path's bucket where it is most of it: a file may be replaced ever so often.
    fn tidy(&self, path: &str) -> Result<(), Errno> {
        let (records, end) = self.bucket(path)?;
        let bytes: Vec<u8> = records.iter().flat_map(|(_, record)| record.encode()).collect();
        if end <= UNTIDY + 2 * bytes.len() as u64 {
            return Ok(());
        }
        rewrite(self.buckets.as_fd(), &bucket_name(path), &bytes)
    }

    fn bucket(&self, path: &str) -> Result<(Vec<(u64, Record)>, u64), Errno> {
        Ok(decode(&read(self.buckets.as_fd(), &bucket_name(path))?))
    }
}

/// Whether a session that lives is about to publish what a record says, and has reserved room for it.
fn pending(others: &Others, record: &Record) -> bool {
    !others.live.is_empty() && others.live.iter().any(|other| other[2] == record.tag())
}

/// Whether a session that lives is about to replace what stands at a path, and has it credited.
fn credited(others: &Others, path: &str) -> bool {
    !others.live.is_empty() && others.live.iter().any(|other| other[3] == tag_of(path))
}

/// Counts the records that are not pending, and keeps of those only the ones that `keep` wants.
fn count(
    buckets: BorrowedFd<'_>,
    held: &mut Held<'_, 2>,
    others: &Others,
    keep: impl Fn(&Record) -> bool,
) -> Result<(), Errno> {
    let mut total = Amount::default();
    for bucket in 0..BUCKETS {
        let name = format!("{bucket:03x}");
        let (records, end) = decode(&read(buckets, &name)?);
        let mut bytes = Vec::new();
        for (_, record) in &records {
            if pending(others, record) {
                bytes.extend(record.encode());
            } else if credited(others, &record.path) || keep(record) {
                bytes.extend(record.encode());
                total = total.plus(record.amount());
            }
        }
        if bytes.len() as u64 != end {
            rewrite(buckets, &name, &bytes)?;
        }
    }
    held.set(total.numbers())
}

/// Puts a bucket in the place of another, whole.
fn rewrite(buckets: BorrowedFd<'_>, name: &str, bytes: &[u8]) -> Result<(), Errno> {
    let new = format!("{name}.new");
    let flags = OFlags::WRONLY | OFlags::CREATE | OFlags::TRUNC | OFlags::NOFOLLOW | OFlags::CLOEXEC;
    let file = retry_on_intr(|| openat(buckets, &*new, flags, Mode::RUSR | Mode::WUSR))?;
    write_full(file.as_fd(), bytes, 0)?;
    renameat(buckets, &*new, buckets, name)
}

fn bucket_name(path: &str) -> String {
    let hash = blake3::hash(path.as_bytes());
    let number = u16::from_le_bytes([hash.as_bytes()[0], hash.as_bytes()[1]]) % BUCKETS;
    format!("{number:03x}")
}

/// A file's whole content; nothing where there is none.
fn read(dir: BorrowedFd<'_>, name: &str) -> Result<Vec<u8>, Errno> {
    let flags = OFlags::RDONLY | OFlags::NOFOLLOW | OFlags::NONBLOCK | OFlags::CLOEXEC;
    let file = match retry_on_intr(|| openat(dir, name, flags, Mode::empty())) {
        Err(Errno::NOENT) => return Ok(Vec::new()),
        file => file?,
    };
    let len = usize::try_from(fstat(&file)?.st_size).unwrap_or(0);
    let mut bytes = vec![0; len];
    let filled = read_full(file.as_fd(), &mut bytes)?;
    bytes.truncate(filled);
    Ok(bytes)
}
