use std::ffi::OsStr;
use std::os::fd::AsFd;

use bcmr_policy::file::Free;
use bcmr_policy::{Permit, Refusal, Verb, request};
use bcmr_publish::{How, Kind, NewDirs, PublishError, Publisher, Stage};
use cap_std::fs::File;
use rustix::fs::{FileType, fstatvfs};
use rustix::io::Errno;

use crate::failure::Failure;
use crate::tree::{self, Entry, Place, Tree};

/// A Put that was permitted and begun, and is not finished. Dropping it leaves the disk as it was.
#[derive(Debug)]
pub(crate) struct LivePut {
    // Dropped in this order: the stage goes before the directories that were made for it.
    stage: Stage,
    parents: NewDirs,
    /// The present file, of which the first bytes are kept, and how many.
    kept: Option<(File, u64)>,
    size: u64,
    sync: bool,
    /// None where the first bytes were kept, so that no hash of the whole is known.
    /// In a box: it has 2 KiB, and a Put changes hands often.
    hasher: Option<Box<blake3::Hasher>>,
    min_free: Free,
    /// Bytes received at which the free space is looked at again.
    look_at: u64,
}

/// What holds for every Put of a session.
#[derive(Clone, Copy, Debug)]
pub(crate) struct Terms {
    /// Whether file and directory are flushed to disk.
    pub(crate) sync: bool,
    /// Whether missing parents are made.
    pub(crate) parents: bool,
    /// Permission bits of new files.
    pub(crate) mode: Option<u32>,
    /// What the file system is never taken below.
    pub(crate) min_free: Free,
}

/// Bytes that are received between two looks at the free space: other sessions use it up, too.
const LOOK_EVERY: u64 = 16 << 20;

impl LivePut {
    /// Stages a file. What is kept of the present one is to be copied by [`keep_some`](Self::keep_some) then.
    pub(crate) fn begin(
        tree: &Tree,
        publisher: &mut Publisher,
        permit: Permit<request::Put>,
        terms: &Terms,
    ) -> Result<Self, Failure> {
        let &request::Put { size, offset, overwrite } = permit.request();
        if offset > size {
            return Err(Failure::OffsetPastSize { offset, size });
        }
        let place = tree.place_to_write(permit.path())?;
        let kept = match &place {
            Place::Entry(entry) => {
                may_replace(entry, overwrite)?;
                open_kept(entry, offset)?
            }
            Place::Absent { .. } | Place::NoParent { .. } if offset > 0 => {
                return Err(Failure::os("opening")(Errno::NOENT));
            }
            Place::NoParent { .. } if !terms.parents => return Err(Refusal::Verb(Verb::Mkdir).into()),
            Place::Absent { .. } | Place::NoParent { .. } => None,
        };
        let (dir, name, parents) = tree.parent(place)?;
        let how = How { overwrite, sync: terms.sync, mode: terms.mode };
        let stage = publisher.begin(dir, OsStr::new(&name), how)?;
        let kept = kept.map(|file| (file, offset));
        let hasher = kept.is_none().then(Box::default);
        let (min_free, look_at) = (terms.min_free, LOOK_EVERY);
        let sync = terms.sync;
        let put = Self { stage, parents, kept, size, sync, hasher, min_free, look_at };
        // All of it: what is kept may have to be copied.
        put.check_free(size)?;
        Ok(put)
    }

    /// Copies more of what is kept of the present file; returns whether all of it is there.
    pub(crate) fn keep_some(&mut self) -> Result<bool, Failure> {
        match &self.kept {
            Some((file, offset)) => Ok(self.stage.keep_some(file.as_fd(), *offset)?),
            None => Ok(true),
        }
    }

    /// Refuses to go on where storing `more` bytes would leave less than must stay free.
    fn check_free(&self, more: u64) -> Result<(), Failure> {
        if self.min_free == Free::Bytes(0) {
            return Ok(());
        }
        let fs = fstatvfs(self.stage.as_fd()).map_err(Failure::os("looking at the free space"))?;
        let (free, total) =
            (fs.f_bavail.saturating_mul(fs.f_frsize), fs.f_blocks.saturating_mul(fs.f_frsize));
        if free.saturating_sub(more) < self.min_free.of(total) { Err(Refusal::Free.into()) } else { Ok(()) }
    }

    pub(crate) fn receive(&mut self, bytes: &[u8]) -> Result<(), Failure> {
        if bytes.len() as u64 > self.size - self.stage.len() {
            return Err(Failure::PastSize(self.size));
        }
        if self.stage.len() >= self.look_at {
            self.look_at = self.stage.len() + LOOK_EVERY;
            self.check_free(0)?;
        }
        if let Some(hasher) = &mut self.hasher {
            hasher.update(bytes);
        }
        Ok(self.stage.write(bytes)?)
    }

    /// Publishes the file; returns its hash, where all of it was received.
    pub(crate) fn finish(self, publisher: &mut Publisher) -> Result<Option<blake3::Hash>, Failure> {
        let received = self.stage.len();
        if received != self.size {
            return Err(Failure::Short { declared: self.size, received });
        }
        let published = publisher.publish(self.stage);
        if let Ok(()) | Err(PublishError::NotDurable(_)) = published {
            let durable = if self.sync { self.parents.sync() } else { Ok(()) };
            self.parents.keep();
            published.and(durable)?;
        } else {
            published?;
        }
        Ok(self.hasher.map(|hasher| hasher.finalize()))
    }
}

fn may_replace(entry: &Entry, overwrite: bool) -> Result<(), Failure> {
    match entry.kind() {
        FileType::RegularFile if overwrite => Ok(()),
        FileType::RegularFile => Err(PublishError::Taken.into()),
        other => Err(PublishError::NotAFile(Kind(other)).into()),
    }
}

/// The present file, where its first `offset` bytes are to be kept.
fn open_kept(entry: &Entry, offset: u64) -> Result<Option<File>, Failure> {
    if offset == 0 {
        return Ok(None);
    }
    let (file, stat) = entry.open_file()?;
    let present = tree::size(&stat);
    if present < offset { Err(Failure::PresentTooShort { present, offset }) } else { Ok(Some(file)) }
}
