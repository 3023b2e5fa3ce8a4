//! Files that are outside, and what no verb needs of those inside.

use std::fs::File;
use std::os::fd::IntoRawFd;

use rustix::fs::{CWD, Mode, OFlags, openat};

use super::{Attempt, HERE, Place, Ready, arg, attempt, bytes, of, text, words};

const EXCHANGE: usize = 2;

fn open(path: usize, flags: i32) -> Ready {
    of(libc::SYS_openat, [HERE, path, arg(flags), 0o600])
}

/// A descriptor that is there before the sandbox is.
fn handle(path: &str, flags: OFlags) -> usize {
    openat(CWD, path, flags, Mode::empty()).map_or(usize::MAX, |fd| arg(fd.into_raw_fd()))
}

fn reopened(place: &Place) -> Ready {
    let handle = handle(&format!("{}/secret", place.outside), OFlags::PATH);
    open(text(&format!("/proc/self/fd/{handle}")), libc::O_RDONLY)
}

fn from_a_handle_outside(place: &Place) -> Ready {
    let dir = handle(&place.outside, OFlags::RDONLY | OFlags::DIRECTORY);
    of(libc::SYS_openat, [dir, text("secret"), 0])
}

fn watched(place: &Place) -> Ready {
    of(libc::SYS_inotify_add_watch, [inotify(), place.secret(), 2])
}

fn inotify() -> usize {
    crate::sys::call(libc::SYS_inotify_init1, [0; 6]).unwrap_or(usize::MAX)
}

/// `struct file_handle` with room for the largest.
fn handle_of(place: &Place) -> [usize; 5] {
    let mut room = [0; 17];
    room[0] = 128;
    [HERE, place.secret(), words(room), bytes([0; 8]), 0]
}

fn by_file_handle(place: &Place) -> Ready {
    let named = handle_of(place);
    let mut args = [0; 6];
    args[..5].copy_from_slice(&named);
    let _ = crate::sys::call(libc::SYS_name_to_handle_at, args);
    let mount = File::open(&place.outside).map_or(usize::MAX, |dir| arg(dir.into_raw_fd()));
    of(libc::SYS_open_by_handle_at, [mount, named[2], 0])
}

pub(super) const ALL: [Attempt; if cfg!(target_arch = "x86_64") { 47 } else { 42 }] = [
    // ---- outside, by every way in
    attempt("open-read", |p| open(p.secret(), libc::O_RDONLY)),
    attempt("open-write", |p| open(p.secret(), libc::O_WRONLY)),
    attempt("open-truncate", |p| open(p.secret(), libc::O_WRONLY | libc::O_TRUNC)),
    attempt("open-create", |p| open(p.beside_secret("new"), libc::O_WRONLY | libc::O_CREAT)),
    attempt("open-unnamed", |p| open(text(&p.outside), libc::O_WRONLY | libc::O_TMPFILE)),
    attempt("open-dir", |p| open(text(&p.outside), libc::O_RDONLY | libc::O_DIRECTORY)),
    attempt("open-by-proc-root", |p| {
        open(text(&format!("/proc/self/root{}/secret", p.outside)), libc::O_RDONLY)
    }),
    attempt("open-by-link", |p| open(p.inside("link-out"), libc::O_RDONLY)),
    attempt("open-by-dots", |p| open(p.inside("../outside/secret"), libc::O_RDONLY)),
    attempt("open-own-memory", |_| open(text("/proc/self/mem"), libc::O_RDWR)),
    attempt("open-environ", |_| open(text("/proc/self/environ"), libc::O_RDONLY)),
    attempt("open-passwd", |_| open(text("/etc/passwd"), libc::O_RDONLY)),
    attempt("open-top", |_| open(text("/"), libc::O_RDONLY)),
    attempt("open-null-device", |_| open(text("/dev/null"), libc::O_RDWR)),
    attempt("openat2-read", |p| of(libc::SYS_openat2, [HERE, p.secret(), words([0; 3]), 24])),
    attempt("reopen-a-handle", reopened),
    attempt("open-from-a-handle", from_a_handle_outside),
    attempt("open-by-file-handle", by_file_handle),
    attempt("file-handle", |p| of(libc::SYS_name_to_handle_at, handle_of(p))),
    attempt("mkdir", |p| of(libc::SYS_mkdirat, [HERE, p.beside_secret("new"), 0o700])),
    attempt("unlink", |p| of(libc::SYS_unlinkat, [HERE, p.secret(), 0])),
    attempt("rmdir", |p| of(libc::SYS_unlinkat, [HERE, p.beside_secret("dir"), 0x200])),
    attempt("link-in", |p| of(libc::SYS_linkat, [HERE, p.secret(), HERE, p.inside("new"), 0])),
    attempt("link-out", |p| of(libc::SYS_linkat, [HERE, p.inside("f"), HERE, p.beside_secret("new"), 0])),
    attempt("rename-in", |p| of(libc::SYS_renameat2, [HERE, p.secret(), HERE, p.inside("new"), 0])),
    attempt("rename-out", |p| {
        of(libc::SYS_renameat2, [HERE, p.inside("f"), HERE, p.beside_secret("new"), 0])
    }),
    attempt("exchange", |p| of(libc::SYS_renameat2, [HERE, p.inside("f"), HERE, p.secret(), EXCHANGE])),
    attempt("watch", watched),
    // ---- metadata, which Landlock leaves open: by path nothing may be changed, outside or in
    attempt("chmod", |p| of(libc::SYS_fchmodat, [HERE, p.secret(), 0o777])),
    attempt("chmod-inside", |p| of(libc::SYS_fchmodat, [HERE, p.inside("f"), 0o777])),
    attempt("chown", |p| of(libc::SYS_fchownat, [HERE, p.secret(), usize::MAX, usize::MAX, 0])),
    attempt("setxattr", |p| of(libc::SYS_setxattr, [p.secret(), text("user.x"), text("1"), 1, 0])),
    attempt("setxattr-inside", |p| of(libc::SYS_setxattr, [p.inside("f"), text("user.x"), text("1"), 1, 0])),
    attempt("lsetxattr", |p| of(libc::SYS_lsetxattr, [p.secret(), text("user.x"), text("1"), 1, 0])),
    attempt("truncate", |p| of(libc::SYS_truncate, [p.secret(), 1])),
    attempt("truncate-inside", |p| of(libc::SYS_truncate, [p.inside("f"), 1])),
    attempt("utimens", |p| of(libc::SYS_utimensat, [HERE, p.secret(), 0, 0])),
    // ---- what no verb makes
    attempt("symlink", |p| of(libc::SYS_symlinkat, [text("f"), HERE, p.inside("new")])),
    attempt("mkfifo", |p| of(libc::SYS_mknodat, [HERE, p.inside("new"), 0o010_600, 0])),
    attempt("chdir", |p| of(libc::SYS_chdir, [text(&p.outside)])),
    // ---- what stays possible, and SECURITY.md says so
    attempt("stat", |p| of(libc::SYS_newfstatat, [HERE, p.secret(), bytes([0; 256]), 0])),
    attempt("create-inside", |p| open(p.inside("new"), libc::O_WRONLY | libc::O_CREAT)),
    // ---- the same by older calls
    #[cfg(target_arch = "x86_64")]
    attempt("old-open", |p| of(libc::SYS_open, [p.secret(), 0])),
    #[cfg(target_arch = "x86_64")]
    attempt("old-creat", |p| of(libc::SYS_creat, [p.beside_secret("new"), 0o600])),
    #[cfg(target_arch = "x86_64")]
    attempt("old-chmod", |p| of(libc::SYS_chmod, [p.secret(), 0o777])),
    #[cfg(target_arch = "x86_64")]
    attempt("old-chown", |p| of(libc::SYS_chown, [p.secret(), usize::MAX, usize::MAX])),
    #[cfg(target_arch = "x86_64")]
    attempt("old-rename", |p| of(libc::SYS_rename, [p.secret(), p.beside_secret("new")])),
];
