//! Permissions and attributes of a published file.
//!
//! A new file has what any file created in its directory gets: the kernel applies umask, default ACL and the
//! setgid bit of the directory to a stage as well. A replaced file keeps its permission bits, ACL, user
//! attributes and, where the account may set it, its group. Set-id bits and privileged attributes
//! (`security.*`, `trusted.*`) are never carried over.

use std::ffi::CStr;
use std::os::fd::{AsFd, OwnedFd};

use rustix::buffer::spare_capacity;
use rustix::fs::{
    FileType, Gid, Mode, OFlags, Stat, XattrFlags, fchmod, fchown, fgetxattr, flistxattr, flistxattr_query,
    fremovexattr, fsetxattr, fstat, openat,
};
use rustix::io::{Errno, retry_on_intr};

use crate::error::{Kind, PublishError};
use crate::stage::Stage;

const ACL: &str = "system.posix_acl_access";
const USER: &[u8] = b"user.";

/// Bytes of the longest list of names and of the longest value (xattr(7)).
const XATTR_MAX: usize = 65_536;

/// Permission bits that may be carried over: not set-user-id, set-group-id, sticky.
const CARRIED: u32 = 0o777;

/// Gives the stage the attributes of a new file, or those of the file `standing` under its name, which it will
/// replace.
pub(crate) fn settle(stage: &Stage, standing: Option<&Stat>) -> Result<(), PublishError> {
    // A file that was there when the stage was begun, and is not any more, has left its permission bits.
    let mode = stage.target.how.mode.or(stage.target.closed_as);
    match (standing, mode) {
        (Some(_), _) => inherit(stage, &open_target(stage)?),
        (None, Some(mode)) => chmod(stage, mode).map_err(PublishError::io("setting the mode")),
        (None, None) => Ok(()),
    }
}

/// Opens the file under `name` so that its attributes can be read through a descriptor: the path forms would
/// have to be let through the sandbox, where Landlock does not hold them to the root.
fn open_target(stage: &Stage) -> Result<OwnedFd, PublishError> {
    let io = PublishError::io("opening the file to replace");
    let open = |access: OFlags| {
        let flags = access | OFlags::NOFOLLOW | OFlags::NONBLOCK | OFlags::NOCTTY | OFlags::CLOEXEC;
        retry_on_intr(|| openat(&stage.target.dir, &*stage.target.name, flags, Mode::empty()))
    };
    // A file that may be written but not read, or a profile that reads nothing, still has its attributes.
    let target = open(OFlags::RDONLY).or_else(|_| open(OFlags::WRONLY)).map_err(&io)?;
    match FileType::from_raw_mode(fstat(&target).map_err(&io)?.st_mode) {
        FileType::RegularFile => Ok(target),
        other => Err(PublishError::NotAFile(Kind(other))),
    }
}

fn inherit(stage: &Stage, target: &OwnedFd) -> Result<(), PublishError> {
    let io = PublishError::io("keeping the replaced file's attributes");
    let theirs = fstat(target).map_err(&io)?;
    let ours = fstat(&stage.file).map_err(&io)?;
    if ours.st_gid != theirs.st_gid {
        match retry_on_intr(|| fchown(&stage.file, None, Some(Gid::from_raw(theirs.st_gid)))) {
            // An account sets only groups that it is in.
            Ok(()) | Err(Errno::PERM) => {}
            Err(errno) => return Err(io(errno)),
        }
    }
    // A file system without lists says so here.
    let acl = match get(target, ACL) {
        Err(Errno::OPNOTSUPP | Errno::NOSYS) => None,
        acl => acl.map_err(&io)?,
    };
    match acl {
        Some(acl) => set(stage, ACL, &acl).map_err(&io)?,
        // The stage may have inherited one from the directory.
        None => match retry_on_intr(|| fremovexattr(&stage.file, ACL)) {
            Ok(()) | Err(Errno::NODATA | Errno::OPNOTSUPP | Errno::NOSYS) => {}
            Err(errno) => return Err(io(errno)),
        },
    }
    for name in user_names(target).map_err(&io)? {
        if let Some(value) = get(target, &name).map_err(&io)? {
            set(stage, &name, &value).map_err(&io)?;
        }
    }
    chmod(stage, theirs.st_mode).map_err(&io)
}

fn chmod(stage: &Stage, mode: u32) -> Result<(), Errno> {
    retry_on_intr(|| fchmod(stage.file.as_fd(), Mode::from_raw_mode(mode & CARRIED)))
}

fn user_names(file: &OwnedFd) -> Result<Vec<String>, Errno> {
    let mut list = Vec::new();
    match retry_on_intr(|| flistxattr_query(file)) {
        Ok(0) | Err(Errno::OPNOTSUPP | Errno::NOSYS) => return Ok(Vec::new()),
        Ok(_) => {}
        Err(errno) => return Err(errno),
    }
    list.reserve_exact(XATTR_MAX);
    retry_on_intr(|| flistxattr(file, spare_capacity(&mut list)))?;
    Ok(list
        .split_inclusive(|b| *b == 0)
        .filter_map(|name| CStr::from_bytes_with_nul(name).ok())
        .filter(|name| name.to_bytes().starts_with(USER))
        .filter_map(|name| name.to_str().ok().map(str::to_owned))
        .collect())
}

fn get(file: &OwnedFd, name: &str) -> Result<Option<Vec<u8>>, Errno> {
    let mut value = Vec::with_capacity(256);
    let mut read = retry_on_intr(|| fgetxattr(file, name, spare_capacity(&mut value)));
    if read == Err(Errno::RANGE) {
        value.reserve_exact(XATTR_MAX);
        read = retry_on_intr(|| fgetxattr(file, name, spare_capacity(&mut value)));
    }
    match read {
        Ok(_) => Ok(Some(value)),
        Err(Errno::NODATA) => Ok(None),
        Err(errno) => Err(errno),
    }
}

fn set(stage: &Stage, name: &str, value: &[u8]) -> Result<(), Errno> {
    retry_on_intr(|| fsetxattr(&stage.file, name, value, XattrFlags::empty()))
}
