//! Making the state directories that an account's profiles name. Root does that, once, since the account cannot.

use std::ffi::OsStr;
use std::io::Write as _;
use std::os::fd::OwnedFd;
use std::path::{Component, Path};

use nix::unistd::{Gid, Uid, fchown};
use rustix::fs::{CWD, Mode, OFlags, fchmod, fstat, mkdirat, openat};
use rustix::io::Errno;

use crate::boot::account::{self, Named};
use crate::boot::args::ProvisionArgs;
use crate::boot::policy;
use crate::exit::{Exit, say};

/// Makes every state directory that is missing, closed to all but the account.
pub(crate) fn provision(args: &ProvisionArgs) -> Exit {
    if !Uid::current().is_root() {
        say("only root can make state directories for others");
        return Exit::NotPermitted;
    }
    let Some(named) = account::named(&args.account) else {
        say(&format!("passwd has no account '{}'", args.account));
        return Exit::Usage;
    };
    let policy = match policy::of_the_host() {
        Ok(Some(policy)) => policy,
        Ok(None) => {
            say("there is no policy, so that no profile names a state directory");
            return Exit::Refused;
        }
        Err(why) => {
            say(&why);
            return Exit::Refused;
        }
    };
    let served: Vec<_> = policy.names().filter_map(|name| policy.rules(name, &named.account).ok()).collect();
    if served.is_empty() {
        say(&format!("no profile lists '{}'", args.account));
        return Exit::Refused;
    }
    for rules in served {
        let path = rules.state.display();
        let told = match make(&rules.state, &named) {
            Ok(true) => format!("{}: made {path}\n", rules.profile),
            Ok(false) => format!("{}: {path} is there\n", rules.profile),
            Err(why) => {
                say(&format!("{}: {path}: {why}", rules.profile));
                return Exit::Io;
            }
        };
        // What was made is made, whether or not anyone reads of it.
        let _ = std::io::stdout().write_all(told.as_bytes());
    }
    Exit::Done
}

/// Makes one; returns whether it was missing. Every directory on the way must be root's own, and none is followed
/// through a symbolic link: else the account would choose what is given to it.
fn make(path: &Path, named: &Named) -> Result<bool, String> {
    let flags = OFlags::RDONLY | OFlags::DIRECTORY | OFlags::NOFOLLOW | OFlags::CLOEXEC;
    let open = |dir: &OwnedFd, name: &OsStr| openat(dir, name, flags, Mode::empty());
    let mut names: Vec<&OsStr> = Vec::new();
    for component in path.components() {
        match component {
            Component::RootDir => {}
            Component::Normal(name) => names.push(name),
            _ => return Err("it is no plain absolute path".to_owned()),
        }
    }
    let own = names.pop().ok_or("it is the root directory")?;
    let mut dir = openat(CWD, "/", flags, Mode::empty()).map_err(|e| e.to_string())?;
    for name in names {
        is_roots_own(&dir)?;
        dir = match open(&dir, name) {
            Err(Errno::NOENT) => {
                let mode = Mode::from_raw_mode(0o755);
                mkdirat(&dir, name, mode).map_err(|e| e.to_string())?;
                let made = open(&dir, name).map_err(|e| e.to_string())?;
                fchmod(&made, mode).map_err(|e| e.to_string())?;
                made
            }
            opened => opened.map_err(|e| format!("{}: {e}", name.display()))?,
        };
    }
    match open(&dir, own) {
        Err(Errno::NOENT) => {
            is_roots_own(&dir)?;
            mkdirat(&dir, own, Mode::RWXU).map_err(|e| e.to_string())?;
            let state = open(&dir, own).map_err(|e| e.to_string())?;
            let (uid, gid) = (Uid::from_raw(named.account.uid), Gid::from_raw(named.gid));
            fchown(&state, Some(uid), Some(gid)).map_err(|e| e.to_string())?;
            Ok(true)
        }
        state => match fstat(&state.map_err(|e| e.to_string())?).map_err(|e| e.to_string())?.st_uid {
            uid if uid == named.account.uid => Ok(false),
            uid => Err(format!("it belongs to uid {uid}, not to the account")),
        },
    }
}

fn is_roots_own(dir: &OwnedFd) -> Result<(), String> {
    let stat = fstat(dir).map_err(|e| e.to_string())?;
    if stat.st_uid == 0 && stat.st_mode & 0o022 == 0 {
        Ok(())
    } else {
        Err("a directory above it can be changed by others than root; make it as the account".to_owned())
    }
}
