//! S3 and S4: what the kernel refuses from inside the sandbox, to every thread, and when the sandbox stands.
//!
//! The probe calls the server's own function; that the server installs the very same rules and programs is shown
//! by strace. Each attempt is a process of its own, and works where there is no sandbox.

use std::collections::BTreeMap;
use std::fs;
use std::os::fd::{AsFd, AsRawFd};
use std::os::unix::process::ExitStatusExt;
use std::process::{Command, Stdio};

use bcmr_tests::policy::{EVERY_VERB, NAME, Profile};
use bcmr_tests::{Launch, Policy, Server, Site, binaries};
use bcmr_wire::Caps;
use rustix::process::geteuid;

use crate::trace::{Trace, name};

/// What came of an attempt.
#[derive(Clone, Copy, PartialEq, Eq, Debug)]
enum Came {
    /// It worked.
    Done,
    /// It was answered with an error.
    Error(i32),
    /// The process died of a signal.
    Signal(i32),
}

const KILLED: Came = Came::Signal(libc::SIGSYS);
const REFUSED: Came = Came::Error(libc::EACCES);

/// A root and an outside for one attempt, and the policy for it.
fn site(verbs: &str) -> Site {
    let site = Site::new();
    site.file("f", "inside");
    site.outside_file("secret", "outside");
    fs::create_dir(site.outside().join("dir")).unwrap();
    fs::create_dir(site.base().join("state")).unwrap();
    site.link("link-out", site.outside().join("secret"));
    let profile = Profile::new(&site).key("verbs", verbs).key("overwrite", true);
    fs::write(site.base().join("policy.toml"), profile.text()).unwrap();
    site
}

fn probe(site: &Site, whence: &str, attempt: &[&str]) -> Command {
    let mut command = Command::new(if geteuid().is_root() { "unshare" } else { "env" });
    if geteuid().is_root() {
        // What is mounted by an attempt is seen by no one else.
        command.args(["-m", "--propagation", "private", "--"]);
    }
    command.arg(binaries::probe()).arg(site.base().join("policy.toml")).arg(NAME).arg(site.outside());
    command.arg(whence).args(attempt).stdin(Stdio::null());
    command
}

#[track_caller]
fn run(site: &Site, whence: &str, attempt: &[&str]) -> Came {
    let output = probe(site, whence, attempt).output().unwrap();
    let said = String::from_utf8_lossy(&output.stdout).into_owned();
    let errors = String::from_utf8_lossy(&output.stderr);
    match (output.status.signal(), said.trim_end().split_once(' ')) {
        (Some(signal), None) => Came::Signal(signal),
        (None, Some(("done", _))) => Came::Done,
        (None, Some(("errno", number))) => Came::Error(number.parse().unwrap()),
        other => panic!("{attempt:?}: {other:?}, it said: {errors}"),
    }
}

/// Attempts that Landlock refuses; the rest is killed, but for those in [`UNUSUAL`].
const LANDLOCK: &str = "open-read open-write open-truncate open-create open-unnamed open-dir open-by-proc-root \
    open-by-link open-by-dots open-own-memory open-environ open-passwd open-top open-null-device openat2-read \
    reopen-a-handle open-from-a-handle mkdir unlink rmdir link-out rename-in rename-out exchange";

/// Attempts that end otherwise, and how: free, and inside.
const UNUSUAL: [(&str, Came, Came); 6] = [
    // Linking into a directory with other rights than the one before: EXDEV is how Landlock refuses that.
    ("link-in", Came::Done, Came::Error(libc::EXDEV)),
    // libc is to believe that the kernel has it not, and to use clone, whose flags a filter can see.
    ("clone3", Came::Done, Came::Error(libc::ENOSYS)),
    // The filter cannot tell whose thread a number is; Landlock can (ABI 6).
    ("abort-another", Came::Done, Came::Error(libc::EPERM)),
    ("abort", Came::Signal(libc::SIGABRT), Came::Signal(libc::SIGABRT)),
    // Landlock has no say over metadata, and the server needs these calls: SECURITY.md says so.
    ("stat", Came::Done, Came::Done),
    ("create-inside", Came::Done, Came::Done),
];

/// This kernel has no such entry; the filter does not let it come to that.
const ABSENT_HERE: [&str; 1] = ["x32-getpid"];

/// Attempts that work for root alone, or not on every kernel.
const FOR_ROOT: &str = "open-by-file-handle setgroups mount umount fsopen open-tree chroot setns bpf \
    unshare-user io-uring perf userfaultfd";

fn attempts() -> Vec<String> {
    let output = Command::new(binaries::probe()).arg("--list").output().unwrap();
    String::from_utf8(output.stdout).unwrap().lines().map(str::to_owned).collect()
}

fn listed(list: &str, name: &str) -> bool {
    list.split_whitespace().any(|listed| listed == name)
}

/// What is to come of an attempt, free and inside.
fn expected(attempt: &str) -> (Came, Came) {
    let unusual = UNUSUAL.iter().find(|(name, ..)| *name == attempt);
    match unusual {
        Some((_, free, inside)) => (*free, *inside),
        None if ABSENT_HERE.contains(&attempt) => (Came::Error(libc::ENOSYS), KILLED),
        None if listed(LANDLOCK, attempt) => (Came::Done, REFUSED),
        None => (Came::Done, KILLED),
    }
}

#[track_caller]
fn out_of_reach(attempt: &str) {
    let (free, inside) = expected(attempt);
    assert_eq!(run(&site(EVERY_VERB), "free", &[attempt]), free, "{attempt}, without a sandbox");
    for whence in ["main", "thread"] {
        let site = site(EVERY_VERB);
        let before = site.everything();
        assert_eq!(run(&site, whence, &[attempt]), inside, "{attempt}, from the {whence}");
        let harmless = !matches!(attempt, "create-inside" | "connect" | "accept");
        assert!(
            !harmless || site.everything() == before,
            "{attempt} left something: {:?}",
            site.everything()
        );
    }
}

#[test]
fn rust_landlock_37_nothing_gets_out_of_the_sandbox_from_any_thread() {
    let attempts = attempts();
    assert!(attempts.len() > 90, "{attempts:?}");
    let known = [LANDLOCK, FOR_ROOT].into_iter().flat_map(str::split_whitespace);
    known.for_each(|name| assert!(attempts.iter().any(|attempt| attempt == name), "no attempt {name}"));
    attempts.iter().filter(|name| !listed(FOR_ROOT, name)).for_each(|name| out_of_reach(name));
}

#[test]
#[ignore = "needs root, to whom these are allowed without a sandbox: run by tests/run"]
fn nothing_that_root_may_do_gets_out_of_the_sandbox_from_any_thread() {
    FOR_ROOT.split_whitespace().for_each(out_of_reach);
}

#[test]
fn a_mirror_cannot_make_change_or_remove_a_file_in_its_own_root() {
    let mirror = r#"["stat", "list", "hash", "get"]"#;
    let dropbox = r#"["put", "mkdir"]"#;
    assert_eq!(run(&site(dropbox), "main", &["create-inside"]), Came::Done);
    for verbs in [mirror, r#"["stat"]"#, r#"["list"]"#, r#"["resume"]"#] {
        let site = site(verbs);
        let before = site.everything();
        assert_eq!(run(&site, "main", &["create-inside"]), REFUSED, "{verbs}");
        assert_eq!(site.everything(), before);
    }
}

// ---- every call there is

/// The calls that pass the filter whatever their arguments are. What is not here, and every number that has no
/// call yet, kills. (Calls that pass with certain arguments only are not here: the sweep makes all arguments -1.)
#[cfg(target_arch = "x86_64")]
const PASS: &[i64] = &[
    libc::SYS_read,
    libc::SYS_write,
    libc::SYS_readv,
    libc::SYS_writev,
    libc::SYS_pread64,
    libc::SYS_pwrite64,
    libc::SYS_lseek,
    libc::SYS_close,
    libc::SYS_ppoll,
    libc::SYS_poll,
    libc::SYS_splice,
    libc::SYS_openat,
    libc::SYS_openat2,
    libc::SYS_fstat,
    libc::SYS_newfstatat,
    libc::SYS_statx,
    libc::SYS_readlinkat,
    libc::SYS_getdents64,
    libc::SYS_fstatfs,
    libc::SYS_fadvise64,
    libc::SYS_copy_file_range,
    libc::SYS_mkdirat,
    libc::SYS_renameat,
    libc::SYS_renameat2,
    libc::SYS_ftruncate,
    libc::SYS_fallocate,
    libc::SYS_flock,
    libc::SYS_fchmod,
    libc::SYS_fchown,
    libc::SYS_fgetxattr,
    libc::SYS_flistxattr,
    libc::SYS_fsetxattr,
    libc::SYS_fremovexattr,
    libc::SYS_fsync,
    libc::SYS_fdatasync,
    libc::SYS_getrandom,
    libc::SYS_geteuid,
    libc::SYS_clock_gettime,
    libc::SYS_clock_nanosleep,
    libc::SYS_nanosleep,
    libc::SYS_restart_syscall,
    libc::SYS_munmap,
    libc::SYS_mremap,
    libc::SYS_madvise,
    libc::SYS_brk,
    libc::SYS_futex,
    libc::SYS_sched_yield,
    libc::SYS_rt_sigprocmask,
    libc::SYS_rt_sigaction,
    libc::SYS_rt_sigreturn,
    libc::SYS_sigaltstack,
    libc::SYS_gettid,
    libc::SYS_getpid,
    libc::SYS_exit,
    libc::SYS_exit_group,
    // Answered as by a kernel that has them not.
    libc::SYS_clone3,
    libc::SYS_membarrier,
    libc::SYS_faccessat2,
    libc::SYS_close_range,
    libc::SYS_rseq,
];

/// What a developer's build needs besides.
#[cfg(target_arch = "x86_64")]
const PASS_ON_GNU: &[i64] = &[libc::SYS_set_robust_list, libc::SYS_sched_getaffinity];

/// uretprobe and uprobe, which newer kernels let past every filter: the kernel itself puts them into the code of a
/// process that it traces. From anywhere else they are an illegal instruction, or ENXIO.
#[cfg(target_arch = "x86_64")]
const PAST_ANY_FILTER: [i64; 2] = [335, 336];

#[test]
#[cfg(target_arch = "x86_64")]
fn every_call_that_is_not_listed_kills() {
    let site = site(EVERY_VERB);
    // The end of the table, some of what is to come, and the numbers of the other ABI that this kernel may know.
    let numbers =
        (0..=480).chain([511, 512, 547, 600, 1023, 1 << 30, (1 << 30) + 39, (1 << 30) + 520, 1 << 31]);
    let (mut passed, mut killed) = (Vec::new(), 0);
    for number in numbers {
        let output = probe(&site, "main", &["raw", &number.to_string()]).output().unwrap();
        match output.status.signal() {
            Some(libc::SIGSYS) => killed += 1,
            _ if PAST_ANY_FILTER.contains(&number) => {
                assert!(!output.stdout.starts_with(b"done"), "call {number} did something");
            }
            _ => passed.push(number),
        }
    }
    let mut expected: Vec<i64> = PASS.to_vec();
    if !binaries::is_static(&binaries::probe()) {
        expected.extend(PASS_ON_GNU);
    }
    expected.sort_unstable();
    assert_eq!(passed, expected, "calls that pass the filter");
    println!("{} calls pass, {killed} numbers kill", passed.len());
    assert!(killed > 400);
}

// ---- the server's own

/// The calls that make up a sandbox, without what differs from process to process.
fn sandbox_calls(trace: &Trace) -> Vec<String> {
    let ours = ["landlock_create_ruleset", "landlock_add_rule", "landlock_restrict_self", "seccomp"];
    let plain = |call: &String| {
        let digits_before = |text: &str| {
            let mut parts = text.split('<');
            let mut plain = parts.next().unwrap_or_default().trim_end_matches(|c: char| c.is_ascii_digit());
            let mut all = plain.to_owned();
            for part in parts {
                plain = part.trim_end_matches(|c: char| c.is_ascii_digit());
                all = format!("{all}<{plain}");
            }
            all
        };
        digits_before(call)
    };
    trace.calls().iter().filter(|call| ours.contains(&name(call))).map(plain).collect()
}

#[test]
#[ignore = "needs root to write a policy: run by tests/run"]
fn the_server_installs_the_very_rules_and_programs_that_the_probe_does() {
    let mirror = r#"["stat", "list", "hash", "get"]"#;
    let mut all = BTreeMap::new();
    for verbs in [EVERY_VERB, mirror, r#"["put", "mkdir"]"#] {
        let site = site(verbs);
        let policy = Policy::new(fs::read_to_string(site.base().join("policy.toml")).unwrap());
        let trace = Trace::new();
        policy.launch().under(trace.command(&[])).start().hello(Caps::NONE).finish();
        let server = sandbox_calls(&trace);
        let trace = Trace::new();
        let words = trace.command(&[]);
        let mut command = Command::new(&words[0]);
        command.args(&words[1..]).arg(binaries::probe()).arg(policy.path()).arg(NAME).arg(site.outside());
        assert!(command.args(["main", "stat"]).output().unwrap().status.success());
        let probe = sandbox_calls(&trace);
        let count = |name: &str| server.iter().filter(|call| call.starts_with(name)).count();
        // The version, the ruleset; a rule for the root and one for the state; two filters.
        let counts = ["landlock_create_ruleset", "landlock_add_rule", "landlock_restrict_self", "seccomp"];
        assert_eq!(counts.map(count), [2, 2, 1, 2], "{server:#?}");
        assert!(server.iter().any(|call| call.contains("BPF_STMT")), "strace shows no program");
        assert_eq!(server, probe);
        all.insert(verbs, server);
    }
    // Other verbs, other rules: the comparison is of something.
    assert_ne!(all[mirror], all[EVERY_VERB]);
}

/// What every task of a process has in a line of its status.
fn of_every_task(server: &Server, what: &str) -> Vec<String> {
    let tasks = format!("/proc/{}/task", server.pid().as_raw_nonzero());
    let status = |task: std::io::Result<fs::DirEntry>| {
        let text = fs::read_to_string(task.unwrap().path().join("status")).unwrap();
        let line = text.lines().find_map(|line| line.strip_prefix(what)).unwrap().to_owned();
        line.trim().to_owned()
    };
    fs::read_dir(tasks).unwrap().map(status).collect()
}

#[test]
fn every_task_of_a_session_says_that_it_is_filtered_and_gains_no_privileges() {
    let site = Site::new();
    let server = Launch::new(site.root()).start().hello(Caps::NONE);
    assert_eq!(of_every_task(&server, "NoNewPrivs:"), ["1", "1"]);
    assert_eq!(of_every_task(&server, "Seccomp:"), ["2", "2"]);
    assert_eq!(of_every_task(&server, "Seccomp_filters:"), ["2", "2"]);
    server.finish();
}

#[test]
fn not_one_byte_of_the_client_is_read_before_the_filter_stands() {
    let site = Site::new();
    let trace = Trace::new();
    let mut server = Launch::new(site.root()).under(trace.command(&[])).start();
    server.greet(Caps::NONE);
    // Our end of the pipe has the name that the server's has.
    let ours = server.to.stream().as_fd().as_raw_fd();
    let input = fs::read_link(format!("/proc/self/fd/{ours}")).unwrap().to_str().unwrap().to_owned();
    assert!(input.starts_with("pipe:["), "{input}");
    server.finish();
    let calls = trace.calls();
    let last_of = |name_of: &str| calls.iter().rposition(|call| name(call) == name_of).unwrap();
    let filter = last_of("seccomp");
    let checked = calls.iter().position(|call| call.starts_with("prctl(PR_GET_SECCOMP")).unwrap();
    // Whatever moves bytes out of a descriptor, and whichever number it has by then.
    let movers = [
        "read",
        "readv",
        "pread64",
        "preadv",
        "preadv2",
        "recvfrom",
        "recvmsg",
        "splice",
        "tee",
        "vmsplice",
        "sendfile",
        "copy_file_range",
    ];
    let reads: Vec<_> = (0..calls.len())
        .filter(|at| movers.contains(&name(&calls[*at])) && calls[*at].contains(&input))
        .collect();
    assert!(reads.len() >= 2, "the trace does not show the session's reads: {calls:#?}");
    let first = reads[0];
    assert!(
        last_of("landlock_restrict_self") < filter && filter < checked && checked < first,
        "{}",
        calls[first]
    );
}
