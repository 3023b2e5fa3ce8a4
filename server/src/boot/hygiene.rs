//! What a process that strangers talk to does first.

use std::ffi::CStr;

use bcmr_policy::Rules;
use rustix::fs::{CWD, Dir, Mode, OFlags, openat};
use rustix::io::Errno;
use rustix::process::{
    DumpableBehavior, Resource, Rlimit, getrlimit, set_dumpable_behavior, setrlimit, umask,
};

/// Descriptors that a session may hold at once.
const DESCRIPTORS: u64 = 256;

/// Descriptors looked at one by one where /proc cannot tell which are open.
const GUESS: i32 = 1024;

/// Leaves no core, lets no process of the account trace this one, closes descriptors that nobody meant to
/// pass, limits how many there can be, and makes a panic end the process with a code of its own.
pub(crate) fn apply() -> Result<(), Errno> {
    end_on_panic();
    set_dumpable_behavior(DumpableBehavior::NotDumpable)?;
    setrlimit(Resource::Core, Rlimit { current: Some(0), maximum: Some(0) })?;
    let allowed = getrlimit(Resource::Nofile).maximum.map_or(DESCRIPTORS, |max| max.min(DESCRIPTORS));
    setrlimit(Resource::Nofile, Rlimit { current: Some(allowed), maximum: Some(allowed) })?;
    close_strays();
    Ok(())
}

/// Sets the umask, where the rules name one; else the account's own stays.
pub(crate) fn set_umask(rules: &Rules) {
    if let Some(mask) = rules.umask {
        umask(Mode::from_raw_mode(mask));
    }
}

/// The default hook reads the environment, opens files and prints a backtrace to the client.
fn end_on_panic() {
    std::panic::set_hook(Box::new(|info| {
        let place = info.location().map(|at| format!("{}:{}", at.file(), at.line())).unwrap_or_default();
        crate::exit::say(&format!("internal error at {place}; nothing was published by it"));
        std::process::exit(crate::exit::Exit::Internal as i32);
    }));
}

fn close_strays() {
    let strays: Vec<i32> = match open_descriptors() {
        Ok(open) => open,
        Err(_) => (3..GUESS).collect(),
    };
    for fd in strays.into_iter().filter(|fd| *fd > 2) {
        // Most guesses are not open, and the directory that was read is closed already.
        let _ = nix::unistd::close(fd);
    }
}

fn open_descriptors() -> Result<Vec<i32>, Errno> {
    let flags = OFlags::RDONLY | OFlags::DIRECTORY | OFlags::CLOEXEC;
    let dir = Dir::new(openat(CWD, "/proc/self/fd", flags, Mode::empty())?)?;
    let number = |name: &CStr| name.to_str().ok()?.parse().ok();
    dir.map(|entry| entry.map(|entry| number(entry.file_name()))).filter_map(Result::transpose).collect()
}
