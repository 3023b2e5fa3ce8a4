//! The transaction: begin, publish, and what is remembered from one to the next.

use std::collections::{BTreeMap, BTreeSet};
use std::ffi::OsStr;
use std::os::fd::{AsFd, BorrowedFd, OwnedFd};
use std::sync::{Arc, Weak};

use rustix::fs::{
    AtFlags, FileType, FlockOperation, Mode, OFlags, RenameFlags, Stat, fdatasync, flock, fstat, fstatfs,
    fsync, linkat, openat, renameat, renameat_with, statat, unlinkat,
};
use rustix::io::{Errno, retry_on_intr};

use crate::error::{Kind, PublishError};
use crate::ladder::{
    Linking, NoClobber, Rungs, Staging, lacks_links, lacks_noreplace, lacks_tmpfile, link_unnamed,
};
use crate::metadata;
use crate::name;
use crate::stage::{Stage, Target};
use crate::sweep::sweep_dir;

/// `f_type` of btrfs, where a link is durable only after another flush of the file (statfs(2)).
const BTRFS_SUPER_MAGIC: u64 = 0x9123_683e;

/// `f_type` of file systems that store here and have no error left to tell when a file is closed: ext2 to ext4,
/// XFS, btrfs, tmpfs.
const LOCAL: [u64; 4] = [0xef53, 0x5846_5342, BTRFS_SUPER_MAGIC, 0x0102_1994];

/// Directories that a session remembers having swept; beyond that it starts to forget, and sweeps again.
const REMEMBERED: usize = 65_536;

/// How a stage is published.
#[derive(Clone, Copy, Debug, Default)]
pub struct How {
    /// Whether a regular file that stands under the name may be replaced.
    pub overwrite: bool,
    /// Whether file and directory are flushed to disk.
    pub sync: bool,
    /// Whether the stage can be read as well.
    pub readable: bool,
    /// The permission bits of a new file, where umask and inheritance do not decide. A replaced file's stay.
    pub mode: Option<u32>,
}

/// Stages and publishes files for one session, and remembers what each file system can do.
#[derive(Debug, Default)]
pub struct Publisher {
    // No hash maps: the standard library's need random bytes, for which a sandbox may let nobody ask.
    rungs: BTreeMap<u64, Rungs>,
    swept: BTreeSet<(u64, u64)>,
    /// The directory of the last stage, and its file system: where one file comes after another into the same
    /// directory, nothing has to be found out again.
    last: Option<(Weak<OwnedFd>, u64)>,
}

impl Publisher {
    /// Opens a stage for a file that is to become `name` in `dir`, whose handle may be one with O_PATH. The
    /// first time in a directory, the dead stages in it are swept.
    ///
    /// # Errors
    /// [`PublishError::Io`].
    pub fn begin(
        &mut self,
        dir: impl Into<Arc<OwnedFd>>,
        name: &OsStr,
        how: How,
    ) -> Result<Stage, PublishError> {
        let dir = dir.into();
        let device = match &self.last {
            Some((last, device)) if std::ptr::eq(last.as_ptr(), Arc::as_ptr(&dir)) => *device,
            _ => self.arrive(&dir)?,
        };
        let mut rungs = match self.rungs.get(&device) {
            Some(known) => *known,
            None => probe(dir.as_fd())?,
        };
        let known = rungs;
        let unnamed = match rungs.staging {
            Staging::Named => None,
            Staging::Unnamed(_) => match Stage::open_unnamed(dir.as_fd(), how.readable) {
                // File systems made of others, such as overlays, may bear it in one directory and not in the next.
                Err(errno) if lacks_tmpfile(errno) => None,
                file => Some(file.map_err(PublishError::io("creating a stage"))?),
            },
        };
        let closed_as = if unnamed.is_some() { None } else { mode_to_come(dir.as_fd(), name, how)? };
        let (file, reserved) = match unnamed {
            Some(file) => (file, None),
            None => {
                rungs.staging = Staging::Named;
                let (file, reserved) = Stage::open_named(dir.as_fd(), closed_as.is_some(), how.readable)?;
                (file, Some(reserved))
            }
        };
        // Only now: in a directory that is being removed O_TMPFILE fails as if it were not known.
        self.rungs.insert(device, known);
        let target = Target { dir, device, name: name.to_owned(), how, closed_as };
        Ok(Stage::new(target, file, rungs, reserved))
    }

    /// Makes a stage visible under its name, whole, at once.
    ///
    /// # Errors
    /// [`PublishError`]; after all but [`PublishError::NotDurable`] the name holds what it held before.
    pub fn publish(&mut self, mut stage: Stage) -> Result<(), PublishError> {
        let how = stage.target.how;
        stage.settle_length()?;
        if !how.sync && stage.rungs.late_errors {
            stage.ask_for_late_errors()?;
        }
        // Two rounds: a name that was free may be taken when it comes to the link, and may then be replaced.
        let mut published = Err(PublishError::Taken);
        for _ in 0..2 {
            let Target { dir, name, .. } = &stage.target;
            // Where nothing is to be replaced the call that publishes finds out by itself whether the name is free.
            let standing = if how.overwrite { look(dir.as_fd(), name, true)? } else { None };
            metadata::settle(&stage, standing.as_ref())?;
            if how.sync {
                flush(stage.file.as_fd()).map_err(PublishError::io("flushing to disk"))?;
            }
            stage.check_reserved()?;
            published = match standing {
                Some(_) => replace(&mut stage),
                None => self.publish_new(&mut stage),
            };
            // Whoever may overwrite can do without a call that never does.
            if how.overwrite && published == Err(PublishError::NoAtomicPublish) {
                published = replace(&mut stage);
            }
            if !(how.overwrite && published == Err(PublishError::Taken)) {
                break;
            }
        }
        if !how.overwrite && published == Err(PublishError::Taken) {
            // By what, is worth saying.
            look(stage.target.dir.as_fd(), &stage.target.name, false)?;
        }
        published?;
        if how.sync { make_durable(&stage).map_err(PublishError::NotDurable) } else { Ok(()) }
    }

    /// Sweeps a directory that is staged in for the first time; returns its file system.
    fn arrive(&mut self, dir: &Arc<OwnedFd>) -> Result<u64, PublishError> {
        let stat = fstat(dir).map_err(PublishError::io("looking at the directory"))?;
        self.sweep_once(dir.as_fd(), &stat);
        self.last = Some((Arc::downgrade(dir), stat.st_dev));
        Ok(stat.st_dev)
    }

    fn sweep_once(&mut self, dir: BorrowedFd<'_>, stat: &Stat) {
        if self.swept.len() >= REMEMBERED {
            self.swept.clear();
        }
        if self.swept.insert((stat.st_dev, stat.st_ino)) {
            sweep_dir(dir);
        }
    }

    fn publish_new(&mut self, stage: &mut Stage) -> Result<(), PublishError> {
        if let (Staging::Unnamed(linking), None) = (stage.rungs.staging, &stage.reserved) {
            let Target { dir, name, .. } = &stage.target;
            return link_unnamed(linking, stage.file.as_fd(), dir.as_fd(), name).map_err(naming);
        }
        let Some(reserved) = stage.reserved.take() else { return Err(naming(Errno::NOENT)) };
        let published = self.rename_new(stage, &reserved);
        if published.is_err() {
            stage.reserved = Some(reserved);
        }
        published
    }

    /// Moves a named stage to its name, where nothing may stand.
    fn rename_new(&mut self, stage: &mut Stage, reserved: &str) -> Result<(), PublishError> {
        let Target { dir, device, name, .. } = &stage.target;
        if stage.rungs.no_clobber == NoClobber::Rename {
            let renamed =
                retry_on_intr(|| renameat_with(dir, reserved, dir, &**name, RenameFlags::NOREPLACE));
            match renamed {
                Err(errno) if lacks_noreplace(errno) => {
                    stage.rungs.no_clobber = NoClobber::Link;
                    if let Some(known) = self.rungs.get_mut(device) {
                        known.no_clobber = NoClobber::Link;
                    }
                }
                renamed => return renamed.map_err(naming),
            }
        }
        match retry_on_intr(|| linkat(dir, reserved, dir, &**name, AtFlags::empty())) {
            Err(errno) if lacks_links(errno) => Err(PublishError::NoAtomicPublish),
            linked => {
                linked.map_err(naming)?;
                // From here on the name holds the file. Where the other name cannot be taken away the next
                // sweep finds it, with two links, and only unlinks it.
                let _ = retry_on_intr(|| unlinkat(dir, reserved, AtFlags::empty()));
                Ok(())
            }
        }
    }
}

/// What stands under `name` and may be replaced; None where nothing does.
///
/// # Errors
/// [`PublishError::NotAFile`] for anything but a regular file, [`PublishError::Taken`] for a regular file that
/// may not be replaced, [`PublishError::Io`].
pub fn look(dir: BorrowedFd<'_>, name: &OsStr, overwrite: bool) -> Result<Option<Stat>, PublishError> {
    let stat = match retry_on_intr(|| statat(dir, name, AtFlags::SYMLINK_NOFOLLOW)) {
        Err(Errno::NOENT) => return Ok(None),
        stat => stat.map_err(PublishError::io("looking at the name"))?,
    };
    match FileType::from_raw_mode(stat.st_mode) {
        FileType::RegularFile if overwrite => Ok(Some(stat)),
        FileType::RegularFile => Err(PublishError::Taken),
        other => Err(PublishError::NotAFile(Kind(other))),
    }
}

/// The permission bits that a file will get whatever its directory gives; None where it gets those.
fn mode_to_come(dir: BorrowedFd<'_>, name: &OsStr, how: How) -> Result<Option<u32>, PublishError> {
    let standing = if how.overwrite { look(dir, name, true)? } else { None };
    Ok(standing.map(|standing| standing.st_mode).or(how.mode))
}

/// Puts the stage in the place of the file under its name.
fn replace(stage: &mut Stage) -> Result<(), PublishError> {
    let Target { dir, name, .. } = &stage.target;
    if let (Staging::Unnamed(linking), None) = (stage.rungs.staging, &stage.reserved) {
        // Locked first, so that no sweep takes the name between the two calls for a dead stage's.
        let _ = retry_on_intr(|| flock(&stage.file, FlockOperation::NonBlockingLockExclusive));
        let reserved = name::random().map_err(naming)?;
        link_unnamed(linking, stage.file.as_fd(), dir.as_fd(), OsStr::new(&reserved)).map_err(naming)?;
        stage.reserved = Some(reserved);
    }
    let Some(reserved) = stage.reserved.as_deref() else { return Err(naming(Errno::NOENT)) };
    retry_on_intr(|| renameat(dir, reserved, dir, &**name)).map_err(naming)?;
    stage.reserved = None;
    Ok(())
}

/// Finds out on which rung files in `dir` are staged and published.
fn probe(dir: BorrowedFd<'_>) -> Result<Rungs, PublishError> {
    let kind = fstatfs(dir).ok().and_then(|fs| u64::try_from(fs.f_type).ok());
    let flush_after_link = kind == Some(BTRFS_SUPER_MAGIC);
    let late_errors = kind.is_none_or(|kind| !LOCAL.contains(&kind));
    let staging = match Stage::open_unnamed(dir, false) {
        Ok(file) => match trial_link(dir, file.as_fd())? {
            Some(linking) => Staging::Unnamed(linking),
            None => Staging::Named,
        },
        Err(errno) if lacks_tmpfile(errno) => Staging::Named,
        Err(errno) => return Err(PublishError::io("creating a stage")(errno)),
    };
    Ok(Rungs { staging, no_clobber: NoClobber::Rename, flush_after_link, late_errors })
}

/// How the unnamed `file` can be linked, tried out under a reserved name; None where not at all. The file
/// cannot be linked again after that (the kernel allows it once).
fn trial_link(dir: BorrowedFd<'_>, file: BorrowedFd<'_>) -> Result<Option<Linking>, PublishError> {
    let io = PublishError::io("linking a stage");
    let _ = retry_on_intr(|| flock(file, FlockOperation::NonBlockingLockExclusive));
    let name = name::random().map_err(&io)?;
    for linking in [Linking::Descriptor, Linking::Proc] {
        match link_unnamed(linking, file, dir, OsStr::new(&name)) {
            Ok(()) => {
                let _ = retry_on_intr(|| unlinkat(dir, &*name, AtFlags::empty()));
                return Ok(Some(linking));
            }
            Err(errno) if lacks_links(errno) => {}
            Err(errno) => return Err(io(errno)),
        }
    }
    Ok(None)
}

/// Flushes what publishing changed.
fn make_durable(stage: &Stage) -> Result<(), Errno> {
    if stage.rungs.flush_after_link {
        flush(stage.file.as_fd())?;
    }
    sync_dir(stage.target.dir.as_fd())
}

/// Flushes a file or directory to disk, by the call that file system, kernel and filters let through.
fn flush(file: BorrowedFd<'_>) -> Result<(), Errno> {
    match retry_on_intr(|| fsync(file)) {
        Err(Errno::INVAL | Errno::OPNOTSUPP | Errno::NOSYS | Errno::PERM) => {
            retry_on_intr(|| fdatasync(file))
        }
        flushed => flushed,
    }
}

/// Flushes a directory, whose handle may be one with O_PATH, which cannot be flushed itself.
pub(crate) fn sync_dir(dir: BorrowedFd<'_>) -> Result<(), Errno> {
    let flags = OFlags::RDONLY | OFlags::DIRECTORY | OFlags::CLOEXEC;
    let readable = retry_on_intr(|| openat(dir, ".", flags, Mode::empty()))?;
    flush(readable.as_fd())
}

fn naming(errno: Errno) -> PublishError {
    match errno {
        Errno::EXIST => PublishError::Taken,
        Errno::ISDIR => PublishError::NotAFile(Kind(FileType::Directory)),
        errno => PublishError::io("publishing")(errno),
    }
}
