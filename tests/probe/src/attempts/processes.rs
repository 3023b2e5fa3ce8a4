//! Other programs, processes, identities, networks, and parts of the kernel that a file server has no use for.

use std::os::fd::{IntoRawFd, RawFd};
use std::os::unix::net::{UnixListener, UnixStream};

use super::{Attempt, HERE, Place, Ready, arg, attempt, bytes, of, text, words};
use crate::sys::call;

const ONESELF: usize = 0;

fn exec(number: i64, before: &[usize]) -> Ready {
    let argv = words([text("echo") as u64, text("done 0") as u64, 0]);
    let mut args = [0; 6];
    args[..before.len()].copy_from_slice(before);
    args[before.len()..before.len() + 3].copy_from_slice(&[text("/bin/echo"), argv, words([0])]);
    Box::new(move || call(number, args))
}

/// A call that returns twice; the second time it has no more to say.
fn forking(number: i64, args: [usize; 6]) -> Ready {
    Box::new(move || match call(number, args) {
        Ok(0) => std::process::exit(0),
        answer => answer,
    })
}

fn clone3() -> Ready {
    // struct clone_args: flags, pidfd, child_tid, parent_tid, exit_signal, stack, stack_size, tls.
    forking(libc::SYS_clone3, [words([0, 0, 0, 0, libc::SIGCHLD as u64, 0, 0, 0]), 64, 0, 0, 0, 0])
}

/// The process that started this one, which waits for it.
fn parent() -> usize {
    arg(std::os::unix::process::parent_id().cast_signed())
}

fn this() -> usize {
    arg(std::process::id().cast_signed())
}

fn leaked(fd: impl IntoRawFd) -> RawFd {
    fd.into_raw_fd()
}

/// `struct sockaddr_un` of a path, and its length.
fn address(path: &str) -> (usize, usize) {
    let mut address = [0; 110];
    address[..2].copy_from_slice(&1u16.to_ne_bytes());
    let path = &path.as_bytes()[..path.len().min(107)];
    address[2..2 + path.len()].copy_from_slice(path);
    (bytes(address), 110)
}

fn unconnected() -> usize {
    call(libc::SYS_socket, [1, 1, 0, 0, 0, 0]).unwrap_or(usize::MAX)
}

fn listener(place: &Place) -> Option<UnixListener> {
    UnixListener::bind(format!("{}/listener", place.outside)).ok()
}

fn connecting(place: &Place) -> Ready {
    leaked_or_nothing(listener(place));
    let (address, len) = address(&format!("{}/listener", place.outside));
    of(libc::SYS_connect, [unconnected(), address, len])
}

fn accepting(place: &Place) -> Ready {
    let listening = listener(place).map_or(-1, leaked);
    leaked_or_nothing(UnixStream::connect(format!("{}/listener", place.outside)).ok());
    of(libc::SYS_accept4, [arg(listening), 0, 0, 0])
}

fn leaked_or_nothing(fd: Option<impl IntoRawFd>) {
    let _ = fd.map(leaked);
}

fn binding(place: &Place) -> Ready {
    let (address, len) = address(&format!("{}/bound", place.outside));
    of(libc::SYS_bind, [unconnected(), address, len])
}

fn sending() -> Ready {
    let fd = UnixStream::pair().map_or(-1, |(one, other)| {
        leaked(other);
        leaked(one)
    });
    of(libc::SYS_sendto, [arg(fd), text("x"), 1, 0, 0, 0])
}

fn reading_memory(number: i64) -> Ready {
    let local = words([bytes([0; 8]) as u64, 8]);
    let remote = words([bytes([0; 8]) as u64, 8]);
    of(number, [this(), local, 1, remote, 1, 0])
}

/// The name in which to lie, and what shows it.
fn namespace() -> usize {
    std::fs::File::open("/proc/self/ns/uts").map_or(usize::MAX, |file| arg(file.into_raw_fd()))
}

fn mounted(place: &Place) -> Ready {
    let outside = text(&place.outside);
    let _ = call(libc::SYS_mount, [outside, outside, 0, libc::MS_BIND as usize, 0, 0]);
    of(libc::SYS_umount2, [outside, 0])
}

fn page(protection: i32) -> usize {
    let flags = arg(libc::MAP_PRIVATE | libc::MAP_ANONYMOUS);
    call(libc::SYS_mmap, [0, 4096, arg(protection), flags, usize::MAX, 0]).unwrap_or(usize::MAX)
}

fn pipe() -> usize {
    let ends = std::io::pipe().map(|(reader, writer)| {
        leaked(std::os::fd::OwnedFd::from(writer));
        std::os::fd::OwnedFd::from(reader).into_raw_fd()
    });
    ends.map_or(usize::MAX, arg)
}

/// Signals a process that has nothing to do with this one, the way abort does: SIGABRT, to one thread. The
/// process was started before the sandbox, and dies by itself soon.
fn aborting() -> Ready {
    let victim = std::process::Command::new("/bin/sleep").arg("5").spawn();
    let victim = victim.map_or(usize::MAX, |child| child.id() as usize);
    of(libc::SYS_tgkill, [victim, victim, arg(libc::SIGABRT)])
}

fn own_abort() -> Ready {
    Box::new(|| std::process::abort())
}

/// `union bpf_attr` for a small array.
fn map() -> usize {
    let mut attributes = [0; 16];
    attributes[..2].copy_from_slice(&[2 | 4 << 32, 4 | 1 << 32]);
    words(attributes)
}

/// `struct perf_event_attr` of a counter of this process in user space: software, of its own time.
fn counter() -> usize {
    let mut attributes = [0; 16];
    attributes[..2].copy_from_slice(&[1 | 128 << 32, 1]);
    attributes[5] = 1 << 5 | 1 << 6;
    words(attributes)
}

pub(super) const ALL: [Attempt; if cfg!(target_arch = "x86_64") { 58 } else { 55 }] = [
    // ---- programs and processes
    attempt("exec", |_| exec(libc::SYS_execve, &[])),
    attempt("execveat", |_| exec(libc::SYS_execveat, &[HERE])),
    attempt("fork", |_| forking(libc::SYS_clone, [arg(libc::SIGCHLD), 0, 0, 0, 0, 0])),
    attempt("clone3", |_| clone3()),
    attempt("memfd", |_| of(libc::SYS_memfd_create, [text("m"), 0])),
    attempt("map-executable", |_| {
        let flags = arg(libc::MAP_PRIVATE | libc::MAP_ANONYMOUS);
        of(libc::SYS_mmap, [0, 4096, arg(libc::PROT_READ | libc::PROT_EXEC), flags, usize::MAX, 0])
    }),
    attempt("protect-executable", |_| {
        of(libc::SYS_mprotect, [page(libc::PROT_READ), 4096, arg(libc::PROT_READ | libc::PROT_EXEC)])
    }),
    attempt("protect-executable-by-key", |_| {
        let args = [page(libc::PROT_READ), 4096, arg(libc::PROT_READ | libc::PROT_EXEC), usize::MAX];
        of(libc::SYS_pkey_mprotect, args)
    }),
    attempt("personality", |_| of(libc::SYS_personality, [0xffff_ffff])),
    attempt("ptrace", |_| of(libc::SYS_ptrace, [arg(libc::PTRACE_TRACEME as i32)])),
    attempt("read-memory", |_| reading_memory(libc::SYS_process_vm_readv)),
    attempt("write-memory", |_| reading_memory(libc::SYS_process_vm_writev)),
    attempt("kill", |_| of(libc::SYS_kill, [parent(), 0])),
    attempt("tkill", |_| of(libc::SYS_tkill, [parent(), 0])),
    attempt("abort-another", |_| aborting()),
    attempt("abort", |_| own_abort()),
    attempt("pidfd", |_| of(libc::SYS_pidfd_open, [parent(), 0])),
    attempt("sched", |_| of(libc::SYS_sched_setaffinity, [ONESELF, 8, words([u64::MAX])])),
    attempt("setpriority", |_| of(libc::SYS_setpriority, [0, 0, 10])),
    attempt("set-limit", |_| of(libc::SYS_prlimit64, [ONESELF, 7, words([64, 64]), 0])),
    // ---- identity
    attempt("setuid", |_| of(libc::SYS_setuid, [rustix::process::getuid().as_raw() as usize])),
    attempt("setgid", |_| of(libc::SYS_setgid, [rustix::process::getgid().as_raw() as usize])),
    attempt("setresuid", |_| of(libc::SYS_setresuid, [usize::MAX; 3])),
    attempt("setfsuid", |_| of(libc::SYS_setfsuid, [rustix::process::getuid().as_raw() as usize])),
    attempt("setgroups", |_| of(libc::SYS_setgroups, [0, 0])),
    attempt("setpgid", |_| of(libc::SYS_setpgid, [0, 0])),
    attempt("capget", |_| of(libc::SYS_capget, [words([0x2008_0522]), words([0; 3])])),
    attempt("undo-dumpable", |_| of(libc::SYS_prctl, [arg(libc::PR_SET_DUMPABLE), 1])),
    attempt("keep-capabilities", |_| of(libc::SYS_prctl, [arg(libc::PR_SET_KEEPCAPS), 1])),
    // ---- names and mounts
    attempt("mount", |p| {
        let outside = text(&p.outside);
        of(libc::SYS_mount, [outside, outside, 0, libc::MS_BIND as usize, 0])
    }),
    attempt("umount", mounted),
    attempt("fsopen", |_| of(libc::SYS_fsopen, [text("tmpfs"), 0])),
    attempt("open-tree", |p| of(libc::SYS_open_tree, [HERE, text(&p.outside), 1])),
    attempt("chroot", |p| of(libc::SYS_chroot, [text(&p.outside)])),
    attempt("unshare", |_| of(libc::SYS_unshare, [arg(libc::CLONE_FS)])),
    attempt("unshare-user", |_| of(libc::SYS_unshare, [arg(libc::CLONE_NEWUSER)])),
    attempt("setns", |_| of(libc::SYS_setns, [namespace(), arg(libc::CLONE_NEWUTS)])),
    // ---- networks
    attempt("socket-inet", |_| of(libc::SYS_socket, [2, 1, 0])),
    attempt("socket-unix", |_| of(libc::SYS_socket, [1, 2, 0])),
    attempt("socketpair", |_| of(libc::SYS_socketpair, [1, 1, 0, bytes([0; 8])])),
    attempt("connect", connecting),
    attempt("bind", binding),
    attempt("accept", accepting),
    attempt("send", |_| sending()),
    // ---- the kernel's more and more
    attempt("io-uring", |_| of(libc::SYS_io_uring_setup, [1, bytes([0; 120])])),
    attempt("add-key", |_| of(libc::SYS_add_key, [text("user"), text("bcmr"), text("x"), 1, usize::MAX - 1])),
    attempt("keyctl", |_| of(libc::SYS_keyctl, [0, usize::MAX - 1, 1])),
    attempt("bpf", |_| of(libc::SYS_bpf, [0, map(), 72])),
    attempt("perf", |_| of(libc::SYS_perf_event_open, [counter(), 0, usize::MAX, usize::MAX, 0])),
    attempt("userfaultfd", |_| of(libc::SYS_userfaultfd, [arg(libc::O_CLOEXEC | 1)])),
    attempt("seccomp", |_| of(libc::SYS_seccomp, [2, 0, bytes(0x8000_0000u32.to_ne_bytes())])),
    attempt("landlock", |_| of(libc::SYS_landlock_create_ruleset, [0, 0, 1])),
    attempt("ioctl-pipe", |_| of(libc::SYS_ioctl, [pipe(), 0x541b, bytes([0; 4])])),
    attempt("notify", |_| of(libc::SYS_inotify_init1, [0])),
    attempt("umask", |_| of(libc::SYS_umask, [0o22])),
    // ---- the same kernel by its other doors
    #[cfg(target_arch = "x86_64")]
    attempt("old-fork", |_| forking(libc::SYS_fork, [0; 6])),
    #[cfg(target_arch = "x86_64")]
    attempt("x32-getpid", |_| of(0x4000_0000 | libc::SYS_getpid, [])),
    #[cfg(target_arch = "x86_64")]
    attempt("int80-getpid", |_| Box::new(crate::sys::call_by_the_32_bit_entry)),
];
