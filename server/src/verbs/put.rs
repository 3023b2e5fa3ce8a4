use std::ffi::OsStr;
use std::os::fd::AsFd;

use bcmr_policy::{Permit, request};
use bcmr_publish::{How, Kind, NewDirs, PublishError, Publisher, Stage};
use cap_std::fs::File;
use rustix::fs::FileType;
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
    name: String,
    size: u64,
    how: How,
    /// None where the first bytes were kept, so that no hash of the whole is known.
    hasher: Option<blake3::Hasher>,
}

impl LivePut {
    /// Stages a file. What is kept of the present one is to be copied by [`keep_some`](Self::keep_some) then.
    pub(crate) fn begin(
        tree: &Tree,
        publisher: &mut Publisher,
        permit: Permit<request::Put>,
        sync: bool,
    ) -> Result<Self, Failure> {
        let &request::Put { size, offset, overwrite } = permit.request();
        if offset > size {
            return Err(Failure::OffsetPastSize { offset, size });
        }
        let place = tree.place(permit.path())?;
        let kept = match &place {
            Place::Entry(entry) => {
                may_replace(entry, overwrite)?;
                open_kept(entry, offset)?
            }
            Place::Absent { .. } | Place::NoParent { .. } if offset > 0 => {
                return Err(Failure::os("opening")(Errno::NOENT));
            }
            Place::Absent { .. } | Place::NoParent { .. } => None,
        };
        let (dir, name, parents) = tree.parent(place)?;
        let stage = publisher.begin(dir)?;
        let kept = kept.map(|file| (file, offset));
        let hasher = kept.is_none().then(blake3::Hasher::new);
        Ok(Self { stage, parents, kept, name, size, how: How { overwrite, sync, mode: None }, hasher })
    }

    /// Copies more of what is kept of the present file; returns whether all of it is there.
    pub(crate) fn keep_some(&mut self) -> Result<bool, Failure> {
        match &self.kept {
            Some((file, offset)) => Ok(self.stage.keep_some(file.as_fd(), *offset)?),
            None => Ok(true),
        }
    }

    pub(crate) fn receive(&mut self, bytes: &[u8]) -> Result<(), Failure> {
        if bytes.len() as u64 > self.size - self.stage.len() {
            return Err(Failure::PastSize(self.size));
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
        let published = publisher.publish(self.stage, OsStr::new(&self.name), self.how);
        if let Ok(()) | Err(PublishError::NotDurable(_)) = published {
            let durable = if self.how.sync { self.parents.sync() } else { Ok(()) };
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
