//! Which rung of the ladder a file system bears: found out once per file system, remembered for the session.

use std::os::fd::{AsFd, BorrowedFd};

use rustix::fs::{AtFlags, CWD, linkat};
use rustix::io::{Errno, retry_on_intr};

/// Where a stage lives until it is published.
#[derive(Clone, Copy, PartialEq, Eq, Debug)]
pub enum Staging {
    /// In no directory (O_TMPFILE): a kill leaves nothing.
    Unnamed(Linking),
    /// Under a reserved name beside the target.
    Named,
}

/// How an unnamed file is given a name.
#[derive(Clone, Copy, PartialEq, Eq, Debug)]
pub enum Linking {
    /// `linkat` of the descriptor itself. Without CAP_DAC_READ_SEARCH only newer kernels allow it.
    Descriptor,
    /// `linkat` through the descriptor's entry in /proc.
    Proc,
}

/// How a named stage is published where nothing may be overwritten.
#[derive(Clone, Copy, PartialEq, Eq, Debug)]
pub enum NoClobber {
    /// `renameat2` with RENAME_NOREPLACE.
    Rename,
    /// `linkat` from name to name, then `unlinkat` of the reserved one (NFS, FUSE and old kernels refuse the flag).
    Link,
}

/// What is known of one file system.
#[derive(Clone, Copy, Debug)]
pub(crate) struct Rungs {
    pub(crate) staging: Staging,
    pub(crate) no_clobber: NoClobber,
    /// Whether a file must be flushed again after it was linked, for the link to be durable.
    pub(crate) flush_after_link: bool,
    /// Whether errors of writing may come to light only when the file is closed.
    pub(crate) late_errors: bool,
}

/// Whether O_TMPFILE was refused because it is not supported. Kernels and file systems that do not know the
/// flag open the directory instead (EISDIR), or fail to (ENOENT, EINVAL).
pub(crate) const fn lacks_tmpfile(errno: Errno) -> bool {
    matches!(errno, Errno::OPNOTSUPP | Errno::ISDIR | Errno::INVAL | Errno::NOENT | Errno::NOSYS)
}

/// Whether a link was refused because the file system, the kernel or a security module has none to give, as
/// opposed to this link having failed.
pub(crate) const fn lacks_links(errno: Errno) -> bool {
    matches!(
        errno,
        Errno::PERM
            | Errno::OPNOTSUPP
            | Errno::NOSYS
            | Errno::INVAL
            | Errno::NOENT
            | Errno::MLINK
            | Errno::XDEV
            | Errno::ACCESS
    )
}

/// Whether RENAME_NOREPLACE was refused because it is not supported. EPERM is what seccomp filters of
/// container engines answer to system calls that they do not know.
pub(crate) const fn lacks_noreplace(errno: Errno) -> bool {
    matches!(errno, Errno::INVAL | Errno::NOSYS | Errno::OPNOTSUPP | Errno::PERM)
}

/// Gives the unnamed `file` a name.
pub(crate) fn link_unnamed(
    how: Linking,
    file: BorrowedFd<'_>,
    dir: BorrowedFd<'_>,
    name: &std::ffi::OsStr,
) -> Result<(), Errno> {
    use std::os::fd::AsRawFd;
    retry_on_intr(|| match how {
        Linking::Descriptor => linkat(file, "", dir, name, AtFlags::EMPTY_PATH),
        Linking::Proc => {
            let entry = format!("/proc/self/fd/{}", file.as_raw_fd());
            linkat(CWD.as_fd(), entry, dir, name, AtFlags::SYMLINK_FOLLOW)
        }
    })
}
