//! The root: the one directory that is opened by a path of the host.

use std::os::fd::{AsRawFd, OwnedFd};
use std::path::{Path, PathBuf};

use bcmr_policy::Fence;
use rustix::fs::{CWD, Mode, OFlags, openat, readlinkat};
use rustix::io::retry_on_intr;

use super::environment::Environment;

/// An opened root, and the fence around it.
pub(crate) struct Root {
    pub(crate) dir: OwnedFd,
    pub(crate) fence: Fence,
}

/// The root's path in personal mode: the one given, else the home directory.
pub(crate) fn choose(given: Option<PathBuf>, environment: &Environment) -> Result<PathBuf, String> {
    let chosen = given.or_else(|| environment.home.clone());
    chosen.ok_or_else(|| "no root: give --root DIR, or set HOME".to_owned())
}

/// Opens the root. The fence knows it by the path given and by the one that the kernel gives the handle.
pub(crate) fn open(path: &Path) -> Result<Root, String> {
    let flags = OFlags::PATH | OFlags::DIRECTORY | OFlags::CLOEXEC;
    let dir = retry_on_intr(|| openat(CWD, path, flags, Mode::empty()));
    let dir = dir.map_err(|e| format!("cannot open the root {}: {e}", path.display()))?;
    let given = std::path::absolute(path).unwrap_or_else(|_| path.to_owned());
    // Asked of the handle, not of the path again, which may lead elsewhere by now.
    let proc = format!("/proc/self/fd/{}", dir.as_raw_fd());
    let canonical = readlinkat(CWD, proc, Vec::new()).ok().and_then(|link| link.into_string().ok());
    let canonical = canonical.map_or_else(|| given.clone(), PathBuf::from);
    let spellings = [given.to_str(), canonical.to_str()];
    Ok(Root { dir, fence: Fence::host_view(spellings.into_iter().flatten()) })
}
