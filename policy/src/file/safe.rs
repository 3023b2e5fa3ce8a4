//! Reading a file that only root can have written.

use std::fs::File;
use std::io::Read;
use std::os::fd::OwnedFd;
use std::path::{Component, Path, PathBuf};

use rustix::fs::{CWD, FileType, Mode, OFlags, Stat, fstat, openat};
use rustix::io::{Errno, retry_on_intr};
use thiserror::Error;

use super::MAX_FILE;

/// Why a file is not believed.
#[derive(Clone, PartialEq, Eq, Debug, Error)]
#[non_exhaustive]
pub enum Unsafe {
    /// The path is relative, or has `..`.
    #[error("{0}: the policy must be named by an absolute path without '..'")]
    Path(PathBuf),
    /// A call failed.
    #[error("{0}: {1}")]
    Io(PathBuf, Errno),
    /// A symbolic link on the way: whoever owns its directory could turn it.
    #[error("{0}: is a symbolic link; name the real path")]
    Link(PathBuf),
    /// A directory or the file belongs to someone else than root.
    #[error("{0}: belongs to uid {1}, not to root; chown it")]
    Owner(PathBuf, u32),
    /// Others than root may write to a directory or the file.
    #[error("{0}: may be written by group or others (mode {1:04o}); chmod go-w it")]
    Writable(PathBuf, u32),
    /// The file is a directory, a device, a FIFO.
    #[error("{0}: is not a regular file")]
    Kind(PathBuf),
    /// The file is too long to be a policy, or not text.
    #[error("{0}: is not a text of at most {MAX_FILE} bytes")]
    Content(PathBuf),
}

/// Reads a regular file that is owned by root, as is every directory above it, and that neither group nor
/// others may write, nor any directory above it. Opened step by step, so that what was checked is what is read.
///
/// # Errors
/// [`Unsafe`], which names the step.
pub fn read_root_owned(path: &Path) -> Result<String, Unsafe> {
    let mut names = Vec::new();
    for component in path.components() {
        match component {
            Component::RootDir if names.is_empty() => {}
            Component::Normal(name) => names.push(name),
            _ => return Err(Unsafe::Path(path.to_owned())),
        }
    }
    if !path.is_absolute() || names.is_empty() {
        return Err(Unsafe::Path(path.to_owned()));
    }
    let mut walked = PathBuf::from("/");
    let mut here = open(None, &walked)?;
    for name in names {
        check(&walked, &stat(&here, &walked)?)?;
        walked.push(name);
        here = open(Some(&here), &walked)?;
    }
    let last = stat(&here, &walked)?;
    check(&walked, &last)?;
    if FileType::from_raw_mode(last.st_mode) != FileType::RegularFile {
        return Err(Unsafe::Kind(walked));
    }
    let mut text = String::new();
    let mut file = File::from(here).take(MAX_FILE + 1);
    match file.read_to_string(&mut text) {
        Ok(_) if text.len() as u64 <= MAX_FILE => Ok(text),
        _ => Err(Unsafe::Content(walked)),
    }
}

fn open(from: Option<&OwnedFd>, path: &Path) -> Result<OwnedFd, Unsafe> {
    // NONBLOCK: a FIFO would keep us waiting.
    let flags = OFlags::RDONLY | OFlags::NOFOLLOW | OFlags::NONBLOCK | OFlags::NOCTTY | OFlags::CLOEXEC;
    let opened = retry_on_intr(|| match (from, path.file_name()) {
        (Some(dir), Some(name)) => openat(dir, name, flags, Mode::empty()),
        _ => openat(CWD, "/", flags, Mode::empty()),
    });
    opened.map_err(|errno| match errno {
        Errno::LOOP => Unsafe::Link(path.to_owned()),
        errno => Unsafe::Io(path.to_owned(), errno),
    })
}

fn stat(file: &OwnedFd, path: &Path) -> Result<Stat, Unsafe> {
    fstat(file).map_err(|errno| Unsafe::Io(path.to_owned(), errno))
}

fn check(path: &Path, stat: &Stat) -> Result<(), Unsafe> {
    if stat.st_uid != 0 {
        return Err(Unsafe::Owner(path.to_owned(), stat.st_uid));
    }
    if stat.st_mode & 0o022 != 0 {
        return Err(Unsafe::Writable(path.to_owned(), stat.st_mode & 0o7777));
    }
    Ok(())
}
