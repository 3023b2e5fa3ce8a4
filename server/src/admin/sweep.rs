//! Clearing a whole tree of what killed sessions left in it.

use std::ffi::OsString;
use std::io::Write;
use std::os::fd::{AsFd, BorrowedFd, OwnedFd};
use std::os::unix::ffi::OsStrExt;
use std::path::PathBuf;
use std::rc::Rc;

use bcmr_publish::{Swept, sweep_dir};
use rustix::fs::{CWD, Dir, FileType, Mode, OFlags, openat};
use rustix::io::{Errno, retry_on_intr};

use super::identity;
use crate::boot::args::SweepArgs;
use crate::boot::environment::Environment;
use crate::exit::{Exit, say};

/// A directory to be looked at, not opened yet: only the way down to it is held open.
struct Pending {
    parent: Option<Rc<OwnedFd>>,
    name: OsString,
    path: PathBuf,
}

/// Sweeps every directory below one, following no symbolic link; prints what it did where it did anything.
pub(crate) fn sweep(args: SweepArgs, environment: &Environment) -> Exit {
    let account = match identity::assume(args.account.as_deref(), environment) {
        Ok(account) => account,
        Err(exit) => return exit,
    };
    let Some(top) = args.dir.or_else(|| account.passwd.map(|passwd| passwd.home)) else {
        say("no directory: name one, or an account that has a home");
        return Exit::Usage;
    };
    let mut total = Swept::default();
    let mut unreadable = 0;
    let mut pending = vec![Pending { parent: None, name: top.clone().into(), path: top }];
    let mut out = std::io::stdout().lock();
    while let Some(next) = pending.pop() {
        let dir = match open(next.parent.as_deref(), &next.name) {
            Ok(dir) => Rc::new(dir),
            // Gone, or a link by now, or not for this account: none of ours can be in it.
            Err(Errno::NOENT | Errno::LOOP | Errno::NOTDIR | Errno::ACCESS) if next.parent.is_some() => {
                continue;
            }
            Err(errno) => {
                say(&format!("{}: {errno}", next.path.display()));
                unreadable += 1;
                continue;
            }
        };
        let swept = sweep_dir(dir.as_fd());
        if swept != Swept::default() {
            // The command has done its work whether or not anyone reads of it.
            let _ = writeln!(out, "{}: {}", next.path.display(), told(&swept));
            total.removed += swept.removed;
            total.emptied += swept.emptied;
            total.left += swept.left;
        }
        pending.extend(children(dir.as_fd()).into_iter().map(|name| Pending {
            path: next.path.join(&name),
            parent: Some(Rc::clone(&dir)),
            name,
        }));
    }
    let _ = writeln!(out, "total: {}", told(&total));
    if unreadable > 0 { Exit::Io } else { Exit::Done }
}

fn told(swept: &Swept) -> String {
    format!("{} removed, {} emptied, {} left alone", swept.removed, swept.emptied, swept.left)
}

fn open(parent: Option<&OwnedFd>, name: &OsString) -> Result<OwnedFd, Errno> {
    let flags = OFlags::RDONLY | OFlags::DIRECTORY | OFlags::CLOEXEC;
    retry_on_intr(|| match parent {
        Some(parent) => openat(parent, name, flags | OFlags::NOFOLLOW, Mode::empty()),
        None => openat(CWD, name, flags, Mode::empty()),
    })
}

fn children(dir: BorrowedFd<'_>) -> Vec<OsString> {
    let Ok(entries) = Dir::read_from(dir) else { return Vec::new() };
    let named = entries.filter_map(Result::ok).filter(|entry| {
        let dots = matches!(entry.file_name().to_bytes(), b"." | b"..");
        // Some file systems do not say what an entry is; opening it does.
        !dots && matches!(entry.file_type(), FileType::Directory | FileType::Unknown)
    });
    named.map(|entry| std::ffi::OsStr::from_bytes(entry.file_name().to_bytes()).to_owned()).collect()
}
