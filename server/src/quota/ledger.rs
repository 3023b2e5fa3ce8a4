//! What an account published below a root and still stands: bytes and names.
//!
//! A record is written before its file is published, and the record of the file that it replaces is struck after:
//! whenever a session dies, the ledger counts too much rather than too little. Before anything is refused, every
//! entry is looked at again, and what is gone from the tree is struck: consumers move files away.

use std::os::fd::{AsFd, BorrowedFd, OwnedFd};

use rustix::fs::{Mode, OFlags, fstat, openat, renameat};
use rustix::io::{Errno, pread, pwrite, retry_on_intr};

use super::record::{GONE, Record, decode};
use crate::state::locked::{Held, Shared};
use crate::state::slot::Slot;
use crate::state::{State, private_dir, private_file};

/// Files that the records are spread over, so that a publication reads little.
const BUCKETS: u16 = 4096;

/// Sessions that may write at the same time.
const WRITERS: u64 = 4096;

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
    /// What this session has reserved stands in here.
    slot: Slot,
    reserved: Amount,
}

impl Ledger {
    pub(crate) fn open(state: &State) -> Result<Self, Errno> {
        let slots = private_dir(state.root(), "writers")?;
        let slot = Slot::take(slots.as_fd(), WRITERS)?.ok_or(Errno::USERS)?;
        let ledger = Self {
            buckets: private_dir(state.root(), "ledger")?,
            totals: Shared::open(state.root(), "published")?,
            slots,
            slot,
            reserved: Amount::default(),
        };
        let mut held = ledger.totals.hold()?;
        if held.unknown {
            ledger.count(&mut held, |_| true)?;
        }
        drop(held);
        Ok(ledger)
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
        let (records, _) = self.bucket(path)?;
        let replaced =
            records.iter().any(|(_, record)| record.path == path && stands(path) == Some(record.inode));
        let before: u64 = if replaced {
            records.iter().filter(|(_, record)| record.path == path).map(|(_, record)| record.size).sum()
        } else {
            0
        };
        let wanted = Amount { bytes: size.saturating_sub(before), entries: u64::from(!replaced) };
        let others = Amount::of(self.slot.of_others(self.slots.as_fd())?);
        let fits = |total: Amount| {
            let sum = total.plus(others).plus(wanted);
            sum.bytes <= limit.bytes && sum.entries <= limit.entries
        };
        let mut total = Amount::of(held.numbers());
        if !fits(total) {
            self.count(&mut held, |record| stands(&record.path) == Some(record.inode))?;
            total = Amount::of(held.numbers());
        }
        if !fits(total) {
            return Ok(false);
        }
        self.slot.set(wanted.numbers())?;
        self.reserved = wanted;
        Ok(true)
    }

    /// Gives back what is reserved.
    pub(crate) fn release(&mut self) {
        if std::mem::take(&mut self.reserved) != Amount::default() {
            // Where even this fails the reservation lasts as long as the session.
            let _ = self.slot.set([0, 0]);
        }
    }

    /// Writes down a file that is about to be published.
    pub(crate) fn write(&self, path: &str, inode: u64, size: u64) -> Result<(), Errno> {
        let mut held = self.totals.hold()?;
        let (_, end) = self.bucket(path)?;
        let record = Record { inode, size, path: path.to_owned() };
        let bytes = record.encode();
        // Counted first: what is counted and not there is found out when someone counts.
        held.set(Amount::of(held.numbers()).plus(Amount { bytes: size, entries: 1 }).numbers())?;
        let file = private_file(self.buckets.as_fd(), &bucket_name(path))?;
        let written = retry_on_intr(|| pwrite(&file, &bytes, end))?;
        if written == bytes.len() { Ok(()) } else { Err(Errno::NOSPC) }
    }

    /// Strikes the records of a path that are not of this inode: it was published; or, of this very inode, where it
    /// was not.
    pub(crate) fn strike(&self, path: &str, inode: u64, published: bool) -> Result<(), Errno> {
        let mut held = self.totals.hold()?;
        let (records, _) = self.bucket(path)?;
        let mut total = Amount::of(held.numbers());
        for (at, record) in records {
            if record.path == path && (record.inode == inode) != published {
                let file = private_file(self.buckets.as_fd(), &bucket_name(path))?;
                retry_on_intr(|| pwrite(&file, &[GONE], at))?;
                total = total.minus(Amount { bytes: record.size, entries: 1 });
            }
        }
        held.set(total.numbers())
    }

    /// Counts everything again, keeping only the records that `stands` says still count.
    pub(crate) fn rescan(&self, stands: impl Fn(&str) -> Option<u64>) -> Result<Amount, Errno> {
        let mut held = self.totals.hold()?;
        self.count(&mut held, |record| stands(&record.path) == Some(record.inode))?;
        Ok(Amount::of(held.numbers()))
    }

    /// What is published, as it is counted.
    pub(crate) fn total(&self) -> Result<Amount, Errno> {
        Ok(Amount::of(self.totals.hold()?.numbers()))
    }

    fn count(&self, held: &mut Held<'_, 2>, keep: impl Fn(&Record) -> bool) -> Result<(), Errno> {
        let mut total = Amount::default();
        for bucket in 0..BUCKETS {
            let name = format!("{bucket:03x}");
            let (records, end) = decode(&read(self.buckets.as_fd(), &name)?);
            let kept: Vec<_> =
                records.iter().map(|(_, record)| record).filter(|record| keep(record)).collect();
            for record in &kept {
                total = total.plus(Amount { bytes: record.size, entries: 1 });
            }
            let bytes: Vec<u8> = kept.iter().flat_map(|record| record.encode()).collect();
            if bytes.len() as u64 != end {
                self.rewrite(&name, &bytes)?;
            }
        }
        held.set(total.numbers())
    }

    /// Puts a bucket in the place of another, whole.
    fn rewrite(&self, name: &str, bytes: &[u8]) -> Result<(), Errno> {
        let dir = self.buckets.as_fd();
        let new = format!("{name}.new");
        let flags = OFlags::WRONLY | OFlags::CREATE | OFlags::TRUNC | OFlags::NOFOLLOW | OFlags::CLOEXEC;
        let file = retry_on_intr(|| openat(dir, &*new, flags, Mode::RUSR | Mode::WUSR))?;
        if retry_on_intr(|| pwrite(&file, bytes, 0))? != bytes.len() {
            return Err(Errno::NOSPC);
        }
        renameat(dir, &*new, dir, name)
    }

    fn bucket(&self, path: &str) -> Result<(Vec<(u64, Record)>, u64), Errno> {
        Ok(decode(&read(self.buckets.as_fd(), &bucket_name(path))?))
    }
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
    let mut filled = 0;
    while filled < len {
        match retry_on_intr(|| pread(&file, &mut bytes[filled..], filled as u64))? {
            0 => break,
            read => filled += read,
        }
    }
    bytes.truncate(filled);
    Ok(bytes)
}
