//! A local file that is being sent: what it was when it was opened, and whether it still is that.

use std::fs::{File, Metadata};
use std::io::{self, Read, Seek};
use std::os::unix::fs::{FileExt, MetadataExt};
use std::path::Path;

use rustix::fs::{CWD, Mode, OFlags, SeekFrom, openat, seek};
use rustix::io::Errno;

use crate::pulse::Pulse;

/// Bytes of a block of st_blocks (stat(3type)).
const SECTOR: u64 = 512;

/// Bytes that are hashed between two beats.
const HASHED: u64 = 16 << 20;

/// By what it is seen that a file is another one, or not as it was.
#[derive(Clone, Copy, PartialEq, Eq, Debug)]
pub(crate) struct Age {
    device: u64,
    inode: u64,
    size: u64,
    mtime: (i64, i64),
}

impl Age {
    fn of(file: &Metadata) -> Self {
        let mtime = (file.mtime(), file.mtime_nsec());
        Self { device: file.dev(), inode: file.ino(), size: file.len(), mtime }
    }
}

/// An open source, read from front to back, or anywhere.
#[derive(Debug)]
pub(crate) struct Opened {
    file: File,
    before: Metadata,
    position: u64,
}

impl Opened {
    /// Opens a source, and looks at it.
    pub(crate) fn open(path: &Path) -> io::Result<Self> {
        // Not File::open, which on musl takes a second call to do what O_CLOEXEC has done.
        let file = File::from(openat(CWD, path, OFlags::RDONLY | OFlags::CLOEXEC, Mode::empty())?);
        let before = file.metadata()?;
        // Files of /proc and the like have content, but no size that could be declared.
        if before.len() == 0 && (&file).read(&mut [0])? > 0 {
            return Err(io::Error::other("its size is not known before it is read"));
        }
        Ok(Self { file, before, position: 0 })
    }

    /// Bytes that it had when it was opened.
    pub(crate) fn size(&self) -> u64 {
        self.before.len()
    }

    /// What it was when it was opened.
    pub(crate) fn age(&self) -> Age {
        Age::of(&self.before)
    }

    /// Goes on there.
    pub(crate) fn start_at(&mut self, position: u64) -> io::Result<()> {
        if self.position != position {
            self.position = self.file.seek(io::SeekFrom::Start(position))?;
        }
        Ok(())
    }

    /// Whether what stands under the name is not what was opened, or not as it was; also where that cannot be learnt.
    pub(crate) fn changed(&self, path: &Path) -> bool {
        std::fs::metadata(path).map_or(true, |now| Age::of(&now) != self.age())
    }

    /// Reads from `offset`, as much as there is; holes are not read, but filled in.
    pub(crate) fn read_at(&self, bytes: &mut [u8], offset: u64) -> io::Result<usize> {
        let whole = bytes.len();
        let bytes = match self.data_from(offset)? {
            // Up to the end: what was declared is what is sent.
            None => &mut bytes[..at_most(self.size().saturating_sub(offset), whole)],
            Some(data) if data > offset => &mut bytes[..at_most(data - offset, whole)],
            Some(_) => return self.file.read_at(bytes, offset),
        };
        bytes.fill(0);
        Ok(bytes.len())
    }

    /// Reads exactly so much from `offset`.
    pub(crate) fn read_exact_at(&self, mut bytes: &mut [u8], mut offset: u64) -> io::Result<()> {
        while !bytes.is_empty() {
            match self.read_at(bytes, offset) {
                Ok(0) => return Err(io::Error::other("it became shorter while it was copied")),
                Ok(read) => {
                    bytes = &mut bytes[read..];
                    offset += read as u64;
                }
                Err(e) if e.kind() == io::ErrorKind::Interrupted => {}
                Err(e) => return Err(e),
            }
        }
        Ok(())
    }

    /// The hash of the first `len` bytes. The connection that stands still meanwhile has a pulse.
    pub(crate) fn hash(&mut self, len: u64, pulse: &Pulse) -> io::Result<blake3::Hash> {
        self.start_at(0)?;
        let mut hasher = blake3::Hasher::new();
        for start in (0..len).step_by(HASHED as usize) {
            hasher.update_reader(Read::by_ref(self).take(HASHED.min(len - start)))?;
            pulse.beat();
        }
        Ok(hasher.finalize())
    }

    /// Whether it has holes: asking where costs a call for each read.
    fn is_sparse(&self) -> bool {
        self.before.blocks() * SECTOR < self.size()
    }

    /// Where the next data begins; None where only a hole is left.
    fn data_from(&self, offset: u64) -> io::Result<Option<u64>> {
        if !self.is_sparse() {
            return Ok(Some(offset));
        }
        match seek(&self.file, SeekFrom::Data(offset)) {
            Ok(data) => Ok(Some(data)),
            Err(Errno::NXIO) => Ok(None),
            // A file system that knows nothing of holes.
            Err(Errno::INVAL) => Ok(Some(offset)),
            Err(e) => Err(e.into()),
        }
    }
}

impl Read for Opened {
    fn read(&mut self, bytes: &mut [u8]) -> io::Result<usize> {
        let read =
            if self.is_sparse() { self.read_at(bytes, self.position)? } else { self.file.read(bytes)? };
        self.position += read as u64;
        Ok(read)
    }
}

/// The hash of a whole local file.
pub(crate) fn whole_hash(path: &Path, pulse: &Pulse) -> io::Result<blake3::Hash> {
    let mut file = Opened::open(path)?;
    let size = file.size();
    file.hash(size, pulse)
}

fn at_most(bytes: u64, most: usize) -> usize {
    usize::try_from(bytes).map_or(most, |bytes| bytes.min(most))
}
