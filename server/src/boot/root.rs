//! The directories that are opened by a path of the host: the root, and where state is kept.

use std::os::fd::{AsRawFd, OwnedFd};
use std::path::{Path, PathBuf};

use bcmr_policy::{Account, Fence, Rules, View};
use rustix::fs::{AtFlags, CWD, Mode, OFlags, Stat, fstat, mkdirat, openat, readlinkat, statat};
use rustix::io::{Errno, retry_on_intr};

use super::denial::Denial;

/// An opened root, what is closed in it, and the fence around it.
pub(crate) struct Root {
    pub(crate) dir: OwnedFd,
    pub(crate) stat: Stat,
    /// The state directory, where there is one.
    pub(crate) state: Option<OwnedFd>,
    pub(crate) fence: Fence,
}

/// The home directory of the account, where what a login shell and ssh read at their start is guarded.
pub(crate) enum Home {
    /// Personal mode: whoever asks may write there by other ways.
    Unguarded,
    /// passwd does not know the account.
    Unknown,
    At(PathBuf),
}

impl Home {
    pub(crate) fn of(account: &Account, personal: bool) -> Self {
        match &account.passwd {
            _ if personal => Self::Unguarded,
            Some(passwd) => Self::At(passwd.home.clone()),
            None => Self::Unknown,
        }
    }
}

/// A directory that was opened by its path.
struct Opened {
    dir: OwnedFd,
    stat: Stat,
    given: PathBuf,
    /// As the kernel names the handle; asked of the handle, not of the path again, which may lead elsewhere by
    /// now.
    canonical: PathBuf,
}

/// Opens the directories of the rules.
///
/// # Errors
/// [`Denial`].
pub(crate) fn open(rules: &Rules, home: &Home) -> Result<Root, Denial> {
    let failed = |why: String| {
        let why = format!("the root {}: {why}", rules.root.display());
        Denial::new("the server's root cannot be opened", why)
    };
    let root = open_dir(&rules.root).map_err(|e| failed(e.to_string()))?;
    if rules.root_owner.is_some_and(|uid| uid != root.stat.st_uid) {
        return Err(failed("LOGNAME names it, and it does not belong to this account".to_owned()));
    }
    // Missing, or not for this account: then there is no state, and nothing to close but the name.
    let state = open_dir(&rules.state);
    // Paths of the protocol are UTF-8: a root that is not has no absolute spelling at all.
    let spellings = |opened: &Opened| -> Vec<String> {
        let both = [&opened.given, &opened.canonical].into_iter();
        both.filter_map(|path| path.to_str()).map(str::to_owned).collect()
    };
    let root_spellings = spellings(&root);
    let mut fence = match rules.view {
        View::Host => Fence::host_view(root_spellings.iter().map(String::as_str)),
        View::Jail => Fence::jail_view(),
    };
    let state_spellings = match &state {
        Ok(state) => spellings(state),
        // No directory can come to be there.
        Err(Errno::NOTDIR) => Vec::new(),
        Err(_) => absent_spellings(&rules.state),
    };
    for state in &state_spellings {
        for root in &root_spellings {
            fence = fence.closing(root, state);
        }
    }
    let home_spellings = match home {
        Home::Unguarded => Vec::new(),
        // It may be the root.
        Home::Unknown => root_spellings.clone(),
        Home::At(path) => match open_dir(path) {
            Ok(home) => spellings(&home),
            Err(_) => absent_spellings(path),
        },
    };
    for home in &home_spellings {
        for root in &root_spellings {
            fence = fence.guarding(root, home);
        }
    }
    Ok(Root { dir: root.dir, stat: root.stat, state: state.ok().map(|state| state.dir), fence })
}

/// Makes the state directory of personal mode, closed to others, with the directories above it. Where that fails
/// there is no state, and a session can do without.
pub(crate) fn make_state(path: &Path) {
    let missing: Vec<_> =
        path.ancestors().take_while(|path| statat(CWD, *path, AtFlags::empty()).is_err()).collect();
    for path in missing.into_iter().rev() {
        if mkdirat(CWD, path, Mode::RWXU).is_err() {
            return;
        }
    }
}

/// The paths under which a directory will be known that someone makes later, perhaps by way of the protocol: as
/// it is configured, and as the kernel will name it, links on the way followed. None where there is no state at
/// all (personal mode without a home).
fn absent_spellings(path: &Path) -> Vec<String> {
    if !path.is_absolute() {
        return Vec::new();
    }
    let there = path.ancestors().skip(1).find_map(|above| Some((above, open_dir(above).ok()?)));
    let canonical =
        there.and_then(|(above, opened)| Some(opened.canonical.join(path.strip_prefix(above).ok()?)));
    let both = [Some(path.to_owned()), canonical].into_iter().flatten();
    both.filter_map(|path| path.into_os_string().into_string().ok()).collect()
}

fn open_dir(path: &Path) -> Result<Opened, Errno> {
    let flags = OFlags::PATH | OFlags::DIRECTORY | OFlags::CLOEXEC;
    let dir = retry_on_intr(|| openat(CWD, path, flags, Mode::empty()))?;
    let stat = fstat(&dir)?;
    let given = std::path::absolute(path).unwrap_or_else(|_| path.to_owned());
    let proc = format!("/proc/self/fd/{}", dir.as_raw_fd());
    let canonical = readlinkat(CWD, proc, Vec::new()).ok().and_then(|link| link.into_string().ok());
    let canonical = canonical.map_or_else(|| given.clone(), PathBuf::from);
    Ok(Opened { dir, stat, given, canonical })
}
