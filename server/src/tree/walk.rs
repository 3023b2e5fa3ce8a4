//! One walk from the root towards a place, which ends there or at the first symbolic link.
//!
//! openat2 does it in one call where the kernel has it. cap-std's own resolver is not asked: it refuses links
//! with absolute targets inside the root, and links that leave the root textually and come back, and it cannot
//! be told to follow none.

use std::cell::Cell;

use bcmr_policy::Refusal;
use cap_std::fs::Dir;
use rustix::fs::{
    AtFlags, FileType, Mode, OFlags, ResolveFlags, Stat, fstat, openat, openat2, readlinkat, statat,
};
use rustix::io::{Errno, retry_on_intr};

use super::{Entry, Place, dir, identity};
use crate::failure::Failure;

/// How often openat2 is asked again when a rename elsewhere made it give up (EAGAIN, openat2(2)).
const RETRIES: usize = 64;

/// Where a walk ended.
pub(super) enum Step {
    Arrived(Place),
    Link(Link),
}

/// A symbolic link on the way.
pub(super) struct Link {
    /// The path of its directory, which has no link in it.
    pub(super) before: String,
    /// What it says.
    pub(super) target: String,
    /// What was still to be walked after it.
    pub(super) after: String,
}

/// What a walk needs of the tree.
pub(super) struct Walk<'a> {
    pub(super) root: &'a Dir,
    pub(super) openat2: &'a Cell<bool>,
    /// A directory that must not be entered, by device and inode.
    pub(super) closed: Option<(u64, u64)>,
    /// Whether each directory on the way has to be looked at, because its name alone does not tell.
    pub(super) look_at_each: bool,
}

impl Walk<'_> {
    /// Walks an admitted path: no `..`, no empty components; the root itself is the empty path.
    pub(super) fn step(&self, path: &str) -> Result<Step, Failure> {
        let Some((parent, name)) = split(path) else { return self.at_root() };
        match self.open_parent(parent) {
            Some(Ok(parent_dir)) => self.at_name(parent_dir, parent, name),
            // ELOOP: a link on the way. ENOENT: what is missing must be known one by one. EXDEV: a mount, perhaps of
            // what is closed.
            Some(Err(Errno::LOOP | Errno::NOENT | Errno::XDEV)) | None => self.one_by_one(path),
            Some(Err(errno)) => Err(Failure::os("opening the directory")(errno)),
        }
    }

    fn at_root(&self) -> Result<Step, Failure> {
        let io = Failure::os("opening the root");
        let stat = fstat(self.root).map_err(&io)?;
        self.check_open(&stat)?;
        let again = self.root.try_clone().map_err(|e| io(Errno::from_io_error(&e).unwrap_or(Errno::IO)))?;
        Ok(Step::Arrived(Place::Entry(Entry { dir: again, name: ".".to_owned(), stat })))
    }

    /// Opens a directory by one call that follows nothing; None where the kernel has no such call, or has one
    /// that is forbidden to us.
    fn open_parent(&self, parent: &str) -> Option<Result<Dir, Errno>> {
        if !self.openat2.get() || self.look_at_each {
            return None;
        }
        let path = if parent.is_empty() { "." } else { parent };
        let flags = OFlags::PATH | OFlags::DIRECTORY | OFlags::CLOEXEC;
        let mut resolve = ResolveFlags::BENEATH | ResolveFlags::NO_SYMLINKS | ResolveFlags::NO_MAGICLINKS;
        if self.closed.is_some() {
            resolve |= ResolveFlags::NO_XDEV;
        }
        for _ in 0..RETRIES {
            match retry_on_intr(|| openat2(self.root, path, flags, Mode::empty(), resolve)) {
                Err(Errno::AGAIN) => {}
                // ENOSYS: before Linux 5.6. EPERM: a filter around us that knows it not.
                Err(Errno::NOSYS | Errno::PERM) => {
                    self.openat2.set(false);
                    return None;
                }
                opened => return Some(opened.map(dir)),
            }
        }
        None
    }

    /// Opens each directory from the one before it, following nothing.
    fn one_by_one(&self, path: &str) -> Result<Step, Failure> {
        let io = Failure::os("opening the directory");
        let flags = OFlags::PATH | OFlags::NOFOLLOW | OFlags::CLOEXEC;
        let open = |from: &Dir, name: &str| retry_on_intr(|| openat(from, name, flags, Mode::empty()));
        let mut here = dir(open(self.root, ".").map_err(&io)?);
        let mut walked = 0;
        while let Some(slash) = path[walked..].find('/') {
            let (before, name) = (path[..walked].trim_end_matches('/'), &path[walked..walked + slash]);
            let after = &path[walked + slash + 1..];
            let child = match open(&here, name) {
                Err(Errno::NOENT) => return Ok(Step::Arrived(no_parent(here, name, after))),
                child => child.map_err(&io)?,
            };
            let stat = fstat(&child).map_err(&io)?;
            self.check_open(&stat)?;
            match FileType::from_raw_mode(stat.st_mode) {
                FileType::Directory => here = dir(child),
                // Read through the handle, so that it is this link that is followed.
                FileType::Symlink => return link(readlinkat(&child, "", Vec::new()), before, after),
                _ => return Err(io(Errno::NOTDIR)),
            }
            walked += slash + 1;
        }
        self.at_name(here, path[..walked].trim_end_matches('/'), &path[walked..])
    }

    /// The last step: what stands under `name` in `dir`, whose path is `parent`.
    fn at_name(&self, dir: Dir, parent: &str, name: &str) -> Result<Step, Failure> {
        let stat = match retry_on_intr(|| statat(&dir, name, AtFlags::SYMLINK_NOFOLLOW)) {
            Err(Errno::NOENT) => {
                return Ok(Step::Arrived(Place::Absent { dir, name: name.to_owned() }));
            }
            stat => stat.map_err(Failure::os("looking up"))?,
        };
        self.check_open(&stat)?;
        if FileType::from_raw_mode(stat.st_mode) == FileType::Symlink {
            return link(readlinkat(&dir, name, Vec::new()), parent, "");
        }
        Ok(Step::Arrived(Place::Entry(Entry { dir, name: name.to_owned(), stat })))
    }

    /// Refuses the closed directory, in the words for what lies outside.
    fn check_open(&self, stat: &Stat) -> Result<(), Failure> {
        if self.closed == Some(identity(stat)) { Err(Refusal::Outside.into()) } else { Ok(()) }
    }
}

fn link(target: Result<std::ffi::CString, Errno>, before: &str, after: &str) -> Result<Step, Failure> {
    let target = target.map_err(Failure::os("reading a symbolic link"))?;
    let target = target.into_string().map_err(|_| Failure::NotUtf8)?;
    Ok(Step::Link(Link { before: before.to_owned(), target, after: after.to_owned() }))
}

fn no_parent(base: Dir, first: &str, after: &str) -> Place {
    let mut missing = vec![first.to_owned()];
    missing.extend(after.split('/').map(str::to_owned));
    let name = missing.pop().unwrap_or_default();
    Place::NoParent { base, missing, name }
}

fn split(path: &str) -> Option<(&str, &str)> {
    if path.is_empty() { None } else { Some(path.rsplit_once('/').unwrap_or(("", path))) }
}
