use std::ffi::OsStr;
use std::os::fd::AsFd;
use std::sync::Arc;

use bcmr_policy::file::Free;
use bcmr_policy::{Permit, Refusal, RootedPath, Verb, request};
use bcmr_publish::{How, Kind, NewDirs, PublishError, Publisher, Stage};
use bcmr_wire::{Hash, Type};
use cap_std::fs::File;
use rustix::fs::{FileType, fstat, fstatvfs};
use rustix::io::Errno;

use super::announced::Announced;
use crate::cas::{Cas, Source, Upload};
use crate::failure::Failure;
use crate::quota::Quota;
use crate::tree::{self, Entry, Place, Tree};

/// A Put that was permitted and begun, and is not finished. Dropping it leaves the disk as it was.
#[derive(Debug)]
pub(crate) struct LivePut {
    // Dropped in this order: the stage goes before the directories that were made for it.
    stage: Stage,
    parents: NewDirs,
    /// Without a symbolic link on the way.
    path: RootedPath,
    content: Content,
    size: u64,
    sync: bool,
    /// Whether the stage can be read.
    readable: bool,
    min_free: Free,
    /// Bytes received at which the free space is looked at again.
    look_at: u64,
}

/// A block that was received and can be stored.
#[derive(Debug)]
pub(crate) struct Stored {
    pub(crate) hash: Hash,
    pub(crate) source: Source,
    pub(crate) upload: Arc<Upload>,
}

/// How the content comes.
#[derive(Debug)]
enum Content {
    /// Front to back, hashed as it comes. In a box: the hasher has 2 KiB, and a Put changes hands often.
    Stream(Box<blake3::Hasher>),
    /// After the first bytes of the present file, which are kept. No hash of the whole is known.
    Kept(File, u64),
    /// In blocks that were announced.
    Blocks(Box<Announced>),
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
    /// Whether stages can be read: files of the tree may be, and blocks may be announced.
    pub(crate) readable: bool,
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
        quota: Option<&mut Quota>,
    ) -> Result<Self, Failure> {
        let &request::Put { size, offset, overwrite } = permit.request();
        if offset > size {
            return Err(Failure::OffsetPastSize { offset, size });
        }
        let (path, place) = tree.place_to_write(permit.path())?;
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
        if let Some(quota) = quota {
            quota.reserve(&path, size, tree)?;
        }
        let (dir, name, parents) = tree.parent(place)?;
        let Terms { sync, mode, min_free, readable, .. } = *terms;
        let how = How { overwrite, sync, readable, mode };
        let stage = publisher.begin(dir, OsStr::new(&name), how)?;
        let content = match kept {
            Some(file) => Content::Kept(file, offset),
            None => Content::Stream(Box::default()),
        };
        let put = Self { stage, parents, path, content, size, sync, readable, min_free, look_at: LOOK_EVERY };
        // All of it: what is kept may have to be copied.
        put.check_free(size)?;
        Ok(put)
    }

    /// Copies more of what is kept of the present file; returns whether all of it is there.
    pub(crate) fn keep_some(&mut self) -> Result<bool, Failure> {
        match &self.content {
            Content::Kept(file, offset) => Ok(self.stage.keep_some(file.as_fd(), *offset)?),
            Content::Stream(_) | Content::Blocks(_) => Ok(true),
        }
    }

    /// Takes the announcement of the content's blocks, which must come before all content.
    pub(crate) fn announce(&mut self, block_size: u32, hashes: Vec<Hash>, cas: &Cas) -> Result<(), Failure> {
        if !matches!(self.content, Content::Stream(_)) || !self.stage.is_empty() {
            return Err(Failure::Unexpected(Type::HaveBlocks));
        }
        let announced = Announced::new(block_size, hashes, self.size, self.readable, &self.stage, cas)?;
        self.content = Content::Blocks(Box::new(announced));
        Ok(())
    }

    /// Looks the next announced block up; returns the answer when all were.
    pub(crate) fn look_up(&mut self, cas: &Cas) -> Result<Option<Vec<u8>>, Failure> {
        let Content::Blocks(blocks) = &mut self.content else { return Ok(Some(Vec::new())) };
        let done = blocks.look_up(cas, &mut self.stage)?;
        Ok(done.then(|| blocks.missing().to_vec()))
    }

    /// Checks a frame of content before it is taken: announced blocks come whole.
    pub(crate) fn expect(&mut self, len: usize) -> Result<(), Failure> {
        match &mut self.content {
            Content::Blocks(blocks) => blocks.expect(len),
            Content::Stream(_) | Content::Kept(..) => Ok(()),
        }
    }

    /// Bytes of the file that are here.
    fn here(&self) -> u64 {
        match &self.content {
            Content::Blocks(blocks) => blocks.here(),
            Content::Stream(_) | Content::Kept(..) => self.stage.len(),
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

    /// Takes content. A block that is whole by this is returned, to be stored.
    pub(crate) fn receive(&mut self, bytes: &[u8]) -> Result<Option<Stored>, Failure> {
        if bytes.len() as u64 > self.size - self.here() {
            return Err(Failure::PastSize(self.size));
        }
        if self.here() >= self.look_at {
            self.look_at = self.here() + LOOK_EVERY;
            self.check_free(0)?;
        }
        match &mut self.content {
            Content::Blocks(blocks) => {
                let received = blocks.receive(bytes, &mut self.stage)?;
                return Ok(received.map(|(hash, source)| Stored {
                    hash,
                    source,
                    upload: Arc::clone(blocks.upload()),
                }));
            }
            Content::Stream(hasher) => {
                hasher.update(bytes);
            }
            Content::Kept(..) => {}
        }
        self.stage.write(bytes)?;
        Ok(None)
    }

    /// Publishes the file; returns its hash, where all of it was received.
    pub(crate) fn finish(
        mut self,
        publisher: &mut Publisher,
        quota: Option<(&mut Quota, &Tree)>,
    ) -> Result<Option<blake3::Hash>, Failure> {
        let received = self.here();
        if received != self.size {
            return Err(Failure::Short { declared: self.size, received });
        }
        let hash = match &self.content {
            Content::Stream(hasher) => Some(hasher.finalize()),
            Content::Kept(..) => None,
            Content::Blocks(blocks) => Some(blocks.whole(&mut self.stage)?),
        };
        let published = match quota {
            None => publisher.publish(self.stage),
            Some((quota, tree)) => {
                let stat = fstat(self.stage.as_fd()).map_err(Failure::os("looking at the stage"))?;
                quota.publish(&self.path, stat.st_ino, self.size, tree, || {
                    let published = publisher.publish(self.stage);
                    let stands = matches!(published, Ok(()) | Err(PublishError::NotDurable(_)));
                    (published, stands)
                })?
            }
        };
        if let Ok(()) | Err(PublishError::NotDurable(_)) = published {
            let durable = if self.sync { self.parents.sync() } else { Ok(()) };
            self.parents.keep();
            published.and(durable)?;
        } else {
            published?;
        }
        Ok(hash)
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
