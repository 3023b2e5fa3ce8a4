//! The system calls of a session, each with its reason. What is not here ends the process.
//!
//! Nothing here takes a path's metadata by name for changing it (fchmodat, fchownat, setxattr, truncate): Landlock
//! does not hold those to the root. Nothing executes, forks, connects, traces, mounts or changes identity.

use libc::c_long;

/// A call that may be made.
#[derive(Debug)]
pub(super) struct Call {
    pub(super) number: c_long,
    /// Alternatives, in each of which every condition must hold; none at all means any arguments.
    pub(super) when: &'static [&'static [Is]],
}

/// An argument's bits under `mask` are `value`.
#[derive(Clone, Copy, Debug)]
pub(super) struct Is {
    pub(super) arg: u8,
    pub(super) mask: u64,
    pub(super) value: u64,
}

const fn is(arg: u8, value: u64) -> Is {
    Is { arg, mask: u64::MAX, value }
}

/// For arguments of 32 bits, whose upper half the kernel does not look at.
const fn is32(arg: u8, value: u64) -> Is {
    Is { arg, mask: 0xffff_ffff, value }
}

const fn without(arg: u8, mask: u64) -> Is {
    Is { arg, mask, value: 0 }
}

/// `CLONE_THREAD` set; no new namespace.
const THREAD: Is = Is { arg: 0, mask: 0x7e02_0000 | 0x1_0000, value: 0x1_0000 };

const PROT_EXEC: u64 = 4;
const FICLONE: u64 = 0x4004_9409;

macro_rules! calls {
    ($($(#[$only:meta])* $name:ident $(when [$([$($is:expr),+]),+])?, $why:literal;)*) => {
        &[$($(#[$only])* Call { number: libc::$name, when: &[$($(&[$($is),+]),+)?] }),*]
    };
}

/// What passes. The reason stands beside each.
pub(super) const ALLOWED: &[Call] = calls! {
    SYS_read, "frames, files, signals";
    SYS_write, "frames, audit records, the one line on stderr";
    SYS_readv, "frames";
    SYS_writev, "a block and its header at once";
    SYS_pread64, "the kept part of a file";
    SYS_pwrite64, "a stage's content";
    SYS_lseek, "offsets; finding holes";
    SYS_close, "every handle";
    SYS_ppoll, "the watch; descriptors that were left non-blocking";
    #[cfg(target_arch = "x86_64")]
    SYS_poll, "the same, as older kernels have it";
    SYS_splice, "file to pipe without a copy";

    SYS_openat, "one component, following nothing; stages; Landlock holds it to the root";
    SYS_openat2, "the walk in one call";
    SYS_fstat, "what is open";
    SYS_newfstatat, "what stands under a name";
    SYS_statx, "the same, as the standard library asks";
    SYS_readlinkat, "a link as text";
    SYS_getdents64, "listings, sweeps";
    SYS_fstatfs, "free space; which file system it is";
    SYS_fadvise64, "reading ahead";
    SYS_copy_file_range, "the kept part of a file";
    SYS_ioctl when [[is32(1, FICLONE)]], "the same, by sharing extents";

    SYS_mkdirat, "Mkdir; missing parents";
    SYS_linkat when [[is32(4, 0)], [is32(4, 0x400)], [is32(4, 0x1000)]], "publishing";
    #[cfg(target_arch = "x86_64")]
    SYS_renameat, "publishing over a file";
    #[cfg(target_arch = "aarch64")]
    SYS_renameat, "publishing over a file";
    SYS_renameat2, "publishing a named stage; the form without flags, too";
    SYS_unlinkat when [[is32(2, 0)], [is32(2, 0x200)]], "stages and parents of a Put that failed; dead stages";
    SYS_ftruncate, "a stage's length";
    SYS_fallocate, "a stage's space";
    SYS_flock, "a stage is alive";
    SYS_fchmod, "a stage's mode, by handle only";
    SYS_fchown, "a stage's group, by handle only";
    SYS_fgetxattr, "a replaced file's attributes, by handle only";
    SYS_flistxattr, "the same";
    SYS_fsetxattr, "the same";
    SYS_fremovexattr, "an inherited ACL that the replaced file had not";
    SYS_utimensat when [[is(1, 0)]], "a stored block was used, by handle only";
    SYS_fsync, "SYNC";
    SYS_fdatasync, "SYNC";

    SYS_getrandom, "reserved names, session keys";
    SYS_geteuid, "whose a dead stage is";
    SYS_clock_gettime, "time, where the vDSO is absent";
    SYS_clock_nanosleep, "rate limits, the watch's grace";
    SYS_nanosleep, "the same, as older libcs ask";
    SYS_restart_syscall, "what SIGCONT goes on with";
    SYS_fcntl when [[is32(1, 1030)], [is32(1, 3)], [is32(1, 1)], [is32(1, 2)]], "duplicating a handle; its flags";

    SYS_mmap when [[without(2, PROT_EXEC)]], "memory, never executable";
    SYS_mprotect when [[without(2, PROT_EXEC)]], "a thread's guard page";
    SYS_munmap, "memory";
    SYS_mremap, "memory that grows";
    SYS_madvise, "memory that is given back";
    SYS_brk, "memory";
    SYS_futex, "locks, joining threads";
    SYS_sched_yield, "locks";

    SYS_clone when [[THREAD]], "threads, never processes";
    SYS_rt_sigprocmask, "a new thread's signals";
    SYS_rt_sigaction, "abort";
    SYS_rt_sigreturn, "the end of a handler";
    SYS_sigaltstack, "a thread's stack for overflows";
    SYS_gettid, "a thread's name for itself";
    SYS_getpid, "abort";
    SYS_tkill when [[is32(1, 6)]], "abort (musl)";
    SYS_tgkill when [[is32(2, 6)]], "abort (gnu)";
    SYS_prctl when [[is32(0, 15)], [is32(0, 21)], [is32(0, 39)]], "a thread's name; the self-check";
    SYS_exit, "the end of a thread";
    SYS_exit_group, "the end";

    #[cfg(target_env = "gnu")]
    SYS_set_robust_list, "a new thread (gnu)";
    #[cfg(target_env = "gnu")]
    SYS_rseq, "a new thread (gnu aborts without)";
    #[cfg(target_env = "gnu")]
    SYS_sched_getaffinity, "a thread's stack (gnu)";
    #[cfg(target_env = "gnu")]
    SYS_prlimit64 when [[is(2, 0)]], "a thread's stack, asked and not set (gnu)";
};

/// What a libc tries and can do without: answered as by a kernel that has not got it.
pub(super) const PROBED: &[Call] = calls! {
    SYS_clone3, "threads; clone is the same, with flags that a filter can see";
    SYS_membarrier, "a hint";
    #[cfg(not(target_env = "gnu"))]
    SYS_rseq, "a hint";
    SYS_faccessat2, "never needed: rights are found out by use";
    SYS_close_range, "descriptors are closed one by one";
};
