//! What the file system of a root can do for publishing, tried in the root itself. Nothing stays there.

use std::os::fd::{AsFd, BorrowedFd, OwnedFd};

use bcmr_publish::name;
use rustix::fs::{
    AtFlags, Mode, OFlags, RenameFlags, fstatfs, ioctl_ficlone, openat, renameat_with, unlinkat,
};
use rustix::io::{Errno, write};

use super::findings::{Findings, Grade};

/// Tries the steps of publication.
pub(super) fn look(findings: &mut Findings, about: &str, root: BorrowedFd<'_>) {
    let kind = fstatfs(root).map_or_else(|e| e.to_string(), |fs| kind(fs.f_type.cast_unsigned()));
    let (stage, unnamed) = match unnamed(root) {
        Ok(stage) => (Ok(stage), "yes".to_owned()),
        Err(errno) => (
            named(root).map(|(stage, _)| stage),
            format!("no ({errno}): stages have names until they are published"),
        ),
    };
    let stage = match stage {
        Ok(stage) => stage,
        Err(errno) => {
            findings.add(about, Grade::Degraded, format!("{kind}; nothing can be written in it: {errno}"));
            return;
        }
    };
    let told = |can: Result<(), Errno>, otherwise: &str| match can {
        Ok(()) => "yes".to_owned(),
        Err(errno) => format!("no ({errno}): {otherwise}"),
    };
    let rename = told(renames_without_replacing(root), "links take its place");
    let reflink = told(reflinks(root, &stage), "kept parts of files are copied");
    findings.add(
        about,
        Grade::Full,
        format!("{kind}; O_TMPFILE {unnamed}; renameat2 {rename}; reflink {reflink}"),
    );
}

fn unnamed(root: BorrowedFd<'_>) -> Result<OwnedFd, Errno> {
    openat(root, ".", OFlags::TMPFILE | OFlags::RDWR | OFlags::CLOEXEC, Mode::RUSR | Mode::WUSR)
}

/// A file under a reserved name, which is gone again; a kill in between leaves what a sweep clears.
fn named(root: BorrowedFd<'_>) -> Result<(OwnedFd, String), Errno> {
    let name = name::random()?;
    let flags = OFlags::CREATE | OFlags::EXCL | OFlags::RDWR | OFlags::CLOEXEC;
    let file = openat(root, &name, flags, Mode::RUSR | Mode::WUSR)?;
    unlinkat(root, &name, AtFlags::empty())?;
    Ok((file, name))
}

fn renames_without_replacing(root: BorrowedFd<'_>) -> Result<(), Errno> {
    let (from, to) = (name::random()?, name::random()?);
    let flags = OFlags::CREATE | OFlags::EXCL | OFlags::WRONLY | OFlags::CLOEXEC;
    openat(root, &from, flags, Mode::RUSR | Mode::WUSR)?;
    let renamed = renameat_with(root, &from, root, &to, RenameFlags::NOREPLACE);
    unlinkat(root, if renamed.is_ok() { &to } else { &from }, AtFlags::empty())?;
    renamed
}

fn reflinks(root: BorrowedFd<'_>, from: &OwnedFd) -> Result<(), Errno> {
    let to = unnamed(root).or_else(|_| named(root).map(|(file, _)| file))?;
    write(from, &[1; 4096])?;
    ioctl_ficlone(to.as_fd(), from.as_fd())
}

/// The name of a file system (statfs(2)).
fn kind(magic: u64) -> String {
    match magic {
        0xef53 => "ext4",
        0x5846_5342 => "xfs",
        0x9123_683e => "btrfs",
        0x0102_1994 => "tmpfs",
        0x794c_7630 => "overlayfs",
        0x6573_5546 => "FUSE",
        0x6969 => "NFS",
        0x2fc1_2fc1 => "ZFS",
        other => return format!("file system {other:#x}"),
    }
    .to_owned()
}
