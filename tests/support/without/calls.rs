//! The names of calls, of calls with a certain argument, and of errors.

/// System calls that can be taken away.
const CALLS: &[(&str, i64)] = {
    macro_rules! calls {
        ($($name:ident $number:ident;)*) => { &[$((stringify!($name), libc::$number)),*] };
    }
    calls! {
        clone3 SYS_clone3;
        close_range SYS_close_range;
        copy_file_range SYS_copy_file_range;
        faccessat SYS_faccessat;
        faccessat2 SYS_faccessat2;
        fadvise64 SYS_fadvise64;
        fallocate SYS_fallocate;
        fchmod SYS_fchmod;
        fchown SYS_fchown;
        fcntl SYS_fcntl;
        fdatasync SYS_fdatasync;
        fgetxattr SYS_fgetxattr;
        flistxattr SYS_flistxattr;
        flock SYS_flock;
        fremovexattr SYS_fremovexattr;
        fsetxattr SYS_fsetxattr;
        fstat SYS_fstat;
        fstatfs SYS_fstatfs;
        fsync SYS_fsync;
        ftruncate SYS_ftruncate;
        getdents64 SYS_getdents64;
        getrandom SYS_getrandom;
        ioctl SYS_ioctl;
        landlock_add_rule SYS_landlock_add_rule;
        landlock_create_ruleset SYS_landlock_create_ruleset;
        landlock_restrict_self SYS_landlock_restrict_self;
        linkat SYS_linkat;
        lseek SYS_lseek;
        memfd_create SYS_memfd_create;
        mkdirat SYS_mkdirat;
        newfstatat SYS_newfstatat;
        openat SYS_openat;
        openat2 SYS_openat2;
        prctl SYS_prctl;
        pread64 SYS_pread64;
        preadv2 SYS_preadv2;
        prlimit64 SYS_prlimit64;
        pwrite64 SYS_pwrite64;
        readlinkat SYS_readlinkat;
        renameat SYS_renameat;
        renameat2 SYS_renameat2;
        rseq SYS_rseq;
        seccomp SYS_seccomp;
        sendfile SYS_sendfile;
        signalfd4 SYS_signalfd4;
        socket SYS_socket;
        splice SYS_splice;
        statfs SYS_statfs;
        statx SYS_statx;
        syncfs SYS_syncfs;
        tee SYS_tee;
        unlinkat SYS_unlinkat;
        utimensat SYS_utimensat;
        vmsplice SYS_vmsplice;
    }
};

/// Short forms for calls with a certain argument.
const SHORT: &[(&str, &str)] = &[
    // __O_TMPFILE without O_DIRECTORY, whose bit is another one on each architecture.
    ("tmpfile", "openat:2&0o20000000"),
    // Opening a directory to read, flush or chmod it, as opposed to O_PATH handles and O_TMPFILE.
    ("opendir", OPENDIR),
    // linkat with AT_EMPTY_PATH, with AT_SYMLINK_FOLLOW, with neither.
    ("linkat-empty", "linkat:4&0x1000"),
    ("linkat-follow", "linkat:4&0x400"),
    ("linkat-names", "linkat:4&0x1400==0"),
    ("rmdir", "unlinkat:2&0x200"),
    ("ficlone", "ioctl:1&0xffffffff==0x40049409"),
    ("setpipe", "fcntl:1&0xffffffff==1031"),
];

#[cfg(target_arch = "x86_64")]
const OPENDIR: &str = "openat:2&0o30200000==0o200000";
#[cfg(not(target_arch = "x86_64"))]
const OPENDIR: &str = "openat:2&0o30040000==0o40000";

const ERRORS: &[(&str, i32)] = {
    macro_rules! errors {
        ($($name:ident)*) => { &[$((stringify!($name), libc::$name)),*] };
    }
    errors! {
        EACCES EAGAIN EBADF EBUSY EDQUOT EEXIST EFBIG EINTR EINVAL EIO EISDIR ELOOP EMFILE EMLINK
        E2BIG ENAMETOOLONG ENFILE ENODATA ENODEV ENOENT ENOMEM ENOSPC ENOSYS ENOTDIR ENOTSUP EOPNOTSUPP EPERM
        EROFS ESTALE ETXTBSY EXDEV
    }
};

/// The rule that a short form stands for, or the text as it is.
pub(crate) fn written_out(call: &str) -> &str {
    SHORT.iter().find(|(name, _)| *name == call).map_or(call, |(_, rule)| rule)
}

/// The number of a call.
pub(crate) fn number(call: &str) -> Option<i64> {
    CALLS.iter().find(|(name, _)| *name == call).map(|(_, number)| *number)
}

/// The number of an error.
pub(crate) fn error(name: &str) -> Option<i32> {
    ERRORS.iter().find(|(known, _)| *known == name).map(|(_, number)| *number)
}

/// Everything that can be named, for people.
pub(crate) fn list() -> String {
    let names = |names: &mut dyn Iterator<Item = &str>| names.collect::<Vec<_>>().join(" ");
    let mut list = format!("calls: {}\n", names(&mut CALLS.iter().map(|(name, _)| *name)));
    for (name, rule) in SHORT {
        list += &format!("{name}: {rule}\n");
    }
    list + &format!("errors: {}", names(&mut ERRORS.iter().map(|(name, _)| *name)))
}
