//! What a program asks of the kernel, as strace writes it down; and strace as it has a call fail.

use std::collections::BTreeMap;
use std::fs;
use std::path::{Path, PathBuf};
use std::process::Command;

use tempfile::TempDir;

/// One system call.
#[derive(Clone, Debug)]
pub(crate) struct Call {
    pub(crate) thread: u32,
    pub(crate) name: String,
    /// As strace writes them, text in hexadecimal.
    pub(crate) args: String,
    /// What came of it: a number, or -1 and the error's name.
    pub(crate) result: String,
    /// Which one of its name in its thread, counted from 1, as strace counts.
    pub(crate) nth: usize,
}

impl Call {
    /// Whether it did what it was asked for.
    pub(crate) fn succeeded(&self) -> bool {
        !self.result.starts_with("-1 ") && self.result != "?"
    }

    /// Whether a text stands in its arguments, in hexadecimal there.
    pub(crate) fn names(&self, text: &str) -> bool {
        self.args.contains(&hex(text.as_bytes()))
    }

    /// Whether it is the call that makes a file visible as `name`.
    pub(crate) fn publishes(&self, name: &str) -> bool {
        matches!(&*self.name, "linkat" | "renameat" | "renameat2")
            && self.succeeded()
            && self.names_last(name)
    }

    /// Whether the last name in its arguments is `text`.
    pub(crate) fn names_last(&self, text: &str) -> bool {
        let mut quoted = self.args.split('"');
        quoted.nth_back(1).is_some_and(|last| last == hex(text.as_bytes()))
    }
}

/// Bytes as `strace -xx` writes them.
pub(crate) fn hex(bytes: &[u8]) -> String {
    bytes.iter().map(|b| format!("\\x{b:02x}")).collect()
}

/// Where strace writes.
pub(crate) struct Trace {
    dir: TempDir,
}

impl Trace {
    pub(crate) fn new() -> Self {
        let open = std::os::unix::fs::PermissionsExt::from_mode(0o777);
        let dir = tempfile::Builder::new().prefix("bcmr-trace-").permissions(open).tempdir().unwrap();
        // The process's umask has had its say.
        fs::set_permissions(dir.path(), std::os::unix::fs::PermissionsExt::from_mode(0o777)).unwrap();
        Self { dir }
    }

    pub(crate) fn path(&self) -> PathBuf {
        self.dir.path().join("trace")
    }

    /// The command that runs another one and writes down what all its threads ask for.
    pub(crate) fn command(&self) -> Vec<String> {
        strace(&["-f", "-xx", "-s", "96", "-o", self.path().to_str().unwrap()])
    }

    /// The calls so far, in the order in which they began.
    pub(crate) fn calls(&self) -> Vec<Call> {
        parse(&fs::read_to_string(self.path()).unwrap())
    }
}

/// strace with these arguments, as the beginning of a command.
pub(crate) fn strace(args: &[&str]) -> Vec<String> {
    let found = Command::new("strace").arg("--version").output();
    assert!(found.is_ok(), "strace is not installed; tests/run installs it");
    ["strace"].iter().chain(args).map(|word| (*word).to_owned()).collect()
}

/// The command that runs another one whose main thread meets something at its `nth` call of `name`.
pub(crate) fn injecting(name: &str, what: &str, nth: usize) -> Vec<String> {
    injecting_into(&["-o", "/dev/null"], name, what, nth)
}

/// The same, with more arguments: `-f` for every thread.
pub(crate) fn injecting_into(args: &[&str], name: &str, what: &str, nth: usize) -> Vec<String> {
    let trace = format!("trace={name}");
    let inject = format!("inject={name}:{what}:when={nth}");
    strace(&[args, &["-e", &trace, "-e", &inject]].concat())
}

/// Has a call fail with an error instead of doing anything. A filter would judge the number that strace puts in
/// its place otherwise, so it is one that every session may make.
pub(crate) fn error(errno: &str) -> String {
    format!("error={errno}:syscall=gettid")
}

/// Parses what `strace -f -o` has written.
fn parse(log: &str) -> Vec<Call> {
    let mut calls: Vec<Call> = Vec::new();
    let mut counts: BTreeMap<(u32, String), usize> = BTreeMap::new();
    let mut unfinished: BTreeMap<u32, usize> = BTreeMap::new();
    for line in log.lines() {
        let Some((thread, rest)) = line.split_once(' ') else { continue };
        let Ok(thread) = thread.parse() else { continue };
        let rest = rest.trim_start();
        if let Some(resumed) = rest.strip_prefix("<... ") {
            if let (Some(at), Some((_, tail))) = (unfinished.remove(&thread), resumed.split_once(" resumed>"))
            {
                let (args, result) = split(tail);
                calls[at].args.push_str(args);
                calls[at].result = result.to_owned();
            }
            continue;
        }
        let Some((name, tail)) = rest.split_once('(') else { continue };
        if !name.bytes().all(|b| b.is_ascii_alphanumeric() || b == b'_') {
            continue;
        }
        let count = counts.entry((thread, name.to_owned())).or_default();
        *count += 1;
        let (args, result) = match tail.split_once(" <unfinished ...>") {
            Some((args, _)) => {
                unfinished.insert(thread, calls.len());
                (args, "?")
            }
            None => split(tail),
        };
        let (name, args, result) = (name.to_owned(), args.to_owned(), result.to_owned());
        calls.push(Call { thread, name, args, result, nth: *count });
    }
    calls
}

/// Arguments and result.
fn split(tail: &str) -> (&str, &str) {
    let (args, result) = tail.rsplit_once(" = ").unwrap_or((tail, "?"));
    (args.trim_end().trim_end_matches(')'), result.trim())
}

/// The process that a strace has started.
pub(crate) fn child_of(strace: rustix::process::Pid) -> Option<rustix::process::Pid> {
    let pid = strace.as_raw_nonzero();
    let children = fs::read_to_string(Path::new(&format!("/proc/{pid}/task/{pid}/children"))).ok()?;
    rustix::process::Pid::from_raw(children.split_whitespace().next()?.parse().ok()?)
}

#[test]
fn calls_of_several_threads_are_told_apart_and_counted() {
    let log = "7 openat(3, \"\\x66\", O_RDONLY) = 4\n\
               8 ppoll([{fd=6, events=POLLIN}], 1 <unfinished ...>\n\
               7 openat(3, \"\\x67\", O_RDONLY <unfinished ...>\n\
               8 <... ppoll resumed>) = 1 ([{fd=6}])\n\
               7 <... openat resumed>) = -1 ENOENT (No such file or directory)\n\
               7 --- SIGCONT {si_signo=SIGCONT} ---\n\
               7 exit_group(0) = ?\n\
               7 +++ exited with 0 +++\n";
    let calls = parse(log);
    let names: Vec<_> = calls.iter().map(|c| (c.thread, &*c.name, c.nth, c.succeeded())).collect();
    let expected = [(7, "openat", 1, true), (8, "ppoll", 1, true), (7, "openat", 2, false)];
    assert_eq!(names[..3], expected);
    assert!(calls[2].names("g") && !calls[2].names("f"));
}
