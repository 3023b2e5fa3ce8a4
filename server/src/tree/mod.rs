//! The confined root: every path operation of the server, relative to a handle.
//!
//! A path becomes a [`Place`]: the handle of a directory and one name in it. [`walk`] does that without ever
//! following a symbolic link; a link is read as text, judged by the fence like any other path, and the walk
//! begins again from the root. So whatever others exchange in between, no step leaves the root.

mod links;
mod walk;

use std::cell::Cell;
use std::os::fd::OwnedFd;

use bcmr_policy::{Fence, Profile, Refusal, RootedPath, Symlinks};
use bcmr_publish::{Kind, NewDirs};
use bcmr_wire::RemotePath;
use cap_std::fs::{Dir, File};
use rustix::fs::{AtFlags, FileType, Mode, OFlags, Stat, fstat, openat, statat};
use rustix::io::{Errno, retry_on_intr};

use crate::failure::Failure;
use links::Links;
use walk::{Step, Walk};

/// Where a path leads.
#[derive(Debug)]
pub(crate) enum Place {
    /// Something stands there.
    Entry(Entry),
    /// Nothing stands there, but the directory that would hold it does.
    Absent { dir: Dir, name: String },
    /// Some of the directories on the way are missing: the first `missing` would be made in `base`.
    NoParent { base: Dir, missing: Vec<String>, name: String },
}

impl Place {
    /// How many components at the path's end do not exist.
    fn missing(&self) -> usize {
        match self {
            Self::Entry(_) => 0,
            Self::Absent { .. } => 1,
            Self::NoParent { missing, .. } => missing.len() + 1,
        }
    }
}

/// Something in a directory. Never a symbolic link.
#[derive(Debug)]
pub(crate) struct Entry {
    pub(crate) dir: Dir,
    /// One component, or `.` for the root itself.
    pub(crate) name: String,
    pub(crate) stat: Stat,
}

impl Entry {
    pub(crate) fn kind(&self) -> FileType {
        FileType::from_raw_mode(self.stat.st_mode)
    }

    pub(crate) fn is_dir(&self) -> bool {
        self.kind() == FileType::Directory
    }

    /// Opens a regular file for reading, anything else not at all: opening a FIFO waits, opening a device may
    /// do things.
    pub(crate) fn open_file(&self) -> Result<(File, Stat), Failure> {
        let regular = |kind| match kind {
            FileType::RegularFile => Ok(()),
            other => Err(Failure::NotAFile(Kind(other))),
        };
        regular(self.kind())?;
        // NONBLOCK and a second look, because the name may lead elsewhere by now.
        let flags = OFlags::RDONLY | OFlags::NOFOLLOW | OFlags::NONBLOCK | OFlags::NOCTTY | OFlags::CLOEXEC;
        let io = Failure::os("opening");
        let file = retry_on_intr(|| openat(&self.dir, &*self.name, flags, Mode::empty())).map_err(&io)?;
        let stat = fstat(&file).map_err(&io)?;
        regular(FileType::from_raw_mode(stat.st_mode))?;
        Ok((File::from_std(file.into()), stat))
    }

    /// Opens a directory for reading its entries.
    pub(crate) fn open_dir(&self) -> Result<Dir, Errno> {
        let flags = OFlags::RDONLY | OFlags::DIRECTORY | OFlags::NOFOLLOW | OFlags::CLOEXEC;
        Ok(dir(retry_on_intr(|| openat(&self.dir, &*self.name, flags, Mode::empty()))?))
    }
}

/// The served root.
#[derive(Debug)]
pub(crate) struct Tree {
    root: Dir,
    fence: Fence,
    symlinks: Symlinks,
    /// What is closed though it lies inside, by device and inode: a spelling that the fence does not know, or a
    /// mount, may lead there all the same.
    closed: Option<(u64, u64)>,
    /// Permission bits of directories that are made.
    dir_mode: Option<u32>,
    /// Whether openat2 is still worth a try.
    openat2: Cell<bool>,
}

impl Tree {
    /// The tree under `root`, a directory's handle that may be one with O_PATH, without the directory `closed`.
    pub(crate) fn new(root: OwnedFd, closed: Option<&OwnedFd>, profile: &Profile) -> Result<Self, Errno> {
        Ok(Self {
            root: dir(root),
            fence: profile.fence.clone(),
            symlinks: profile.rules.symlinks,
            closed: closed.map(|closed| fstat(closed).map(|stat| identity(&stat))).transpose()?,
            dir_mode: profile.rules.dir_mode,
            openat2: Cell::new(true),
        })
    }

    /// The permission bits of directories that are made, where umask and inheritance do not decide.
    pub(crate) const fn dir_mode(&self) -> Option<u32> {
        self.dir_mode
    }

    /// Whether links are followed at all.
    pub(crate) fn follows_links(&self) -> bool {
        self.symlinks == Symlinks::Inside
    }

    /// Whether a directory is closed.
    pub(crate) fn is_closed(&self, stat: &Stat) -> bool {
        self.closed == Some(identity(stat))
    }

    /// Where an admitted path leads, symbolic links followed as long as they stay inside.
    pub(crate) fn place(&self, path: &RootedPath) -> Result<Place, Failure> {
        Ok(self.resolve(path.clone(), &mut Links::default())?.1)
    }

    /// The same for something that is going to be written: a link may lead to where its own path did not.
    /// Returns the path that leads there without a link on the way, too.
    pub(crate) fn place_to_write(&self, path: &RootedPath) -> Result<(RootedPath, Place), Failure> {
        let (plain, place) = self.resolve(path.clone(), &mut Links::default())?;
        if self.fence.guards(&plain) { Err(Refusal::DotFile.into()) } else { Ok((plain, place)) }
    }

    /// The inode that stands at a path, relative to the root, that was used before.
    pub(crate) fn inode(&self, path: &str) -> Option<u64> {
        let path = self.fence.admit(&RemotePath::parse(path).ok()?).ok()?;
        self.entry(&path).ok().map(|entry| entry.stat.st_ino)
    }

    /// The same, and the path that leads there without a symbolic link on the way.
    fn resolve(&self, mut path: RootedPath, links: &mut Links) -> Result<(RootedPath, Place), Failure> {
        loop {
            let walk = Walk {
                root: &self.root,
                openat2: &self.openat2,
                closed: self.closed,
                look_at_each: self.fence.may_alias_closed(path.as_str()),
            };
            match walk.step(path.as_str())? {
                Step::Arrived(place) if place.missing() > links.may_miss => return Err(Failure::Dangling),
                Step::Arrived(place) => return Ok((path, place)),
                Step::Link(_) if !self.follows_links() => return Err(Refusal::Symlink.into()),
                Step::Link(link) => {
                    links.count(&link)?;
                    path = self.follow(&link, links)?;
                }
            }
        }
    }

    /// What stands at an admitted path.
    pub(crate) fn entry(&self, path: &RootedPath) -> Result<Entry, Failure> {
        self.traced(path).map(|(_, entry)| entry)
    }

    /// The same, and the path that leads there without a symbolic link on the way.
    pub(crate) fn traced(&self, path: &RootedPath) -> Result<(RootedPath, Entry), Failure> {
        match self.resolve(path.clone(), &mut Links::default())? {
            (plain, Place::Entry(entry)) => Ok((plain, entry)),
            (_, Place::Absent { dir, name }) => Err(absent(&dir, &name)),
            (_, Place::NoParent { base, missing, name }) => {
                Err(absent(&base, missing.first().unwrap_or(&name)))
            }
        }
    }

    /// The directory that holds `path`'s last component, made with its parents where it is missing; what was
    /// made is taken back unless it is kept.
    pub(crate) fn parent(&self, place: Place) -> Result<(OwnedFd, String, NewDirs), Failure> {
        match place {
            Place::Entry(Entry { dir, name, .. }) | Place::Absent { dir, name } => {
                Ok((owned(dir), name, NewDirs::default()))
            }
            Place::NoParent { base, missing, name } => {
                let (dir, made) =
                    NewDirs::make(owned(base), missing.iter().map(AsRef::as_ref), self.dir_mode)?;
                Ok((dir, name, made))
            }
        }
    }
}

/// Why nothing stands under a name: it may be the escaped form of a name that is not UTF-8, as a listing
/// shows it, and that is worth saying.
fn absent(dir: &Dir, name: &str) -> Failure {
    match crate::verbs::list::unescape(name) {
        Some(raw) if statat(dir, &raw[..], AtFlags::SYMLINK_NOFOLLOW).is_ok() => Failure::NotUtf8,
        _ => Failure::os("looking up")(Errno::NOENT),
    }
}

fn dir(fd: OwnedFd) -> Dir {
    Dir::from_std_file(fd.into())
}

fn owned(dir: Dir) -> OwnedFd {
    dir.into_std_file().into()
}

/// Whether two looks saw the same file.
pub(crate) fn identity(stat: &Stat) -> (u64, u64) {
    (stat.st_dev, stat.st_ino)
}

/// The size that the protocol gives a file.
pub(crate) fn size(stat: &Stat) -> u64 {
    u64::try_from(stat.st_size).unwrap_or(0)
}
