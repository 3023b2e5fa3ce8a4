//! A policy file that anyone but root may have written is none: the session gets one Error and exit code 78, and
//! not one byte of it is read.

use std::fs::{self, Permissions};
use std::io::Write;
use std::os::fd::{AsFd, OwnedFd};
use std::os::unix::ffi::OsStrExt;
use std::os::unix::fs::{PermissionsExt, chown, symlink};
use std::path::{Path, PathBuf};
use std::process::{Command, Stdio};

use bcmr_tests::launch::NOBODY;
use bcmr_tests::policy::{NAME, Profile};
use bcmr_tests::{Launch, Policy, Site};
use bcmr_wire::frame::FrameReader;
use bcmr_wire::{Caps, Message};
use rustix::fs::{CWD, FileType, Mode, OFlags, fcntl_setfl, mknodat};
use rustix::pipe::{PipeFlags, pipe_with};

/// What a server did that was given bytes to read.
#[derive(Debug)]
struct Ended {
    code: Option<i32>,
    /// The messages of the Errors that it sent.
    errors: Vec<String>,
    stderr: String,
    /// Bytes that it left in its input.
    unread: usize,
}

/// Runs a server on an input that holds `sent` already, and stays open for as long as the server runs.
#[track_caller]
fn run(mut command: Command, sent: &[u8]) -> Ended {
    let (ours, theirs) = pipe_with(PipeFlags::CLOEXEC).unwrap();
    rustix::pipe::fcntl_setpipe_size(&theirs, 1 << 20).unwrap();
    let mut theirs = fs::File::from(theirs);
    theirs.write_all(sent).unwrap();
    command.stdin(ours.try_clone().unwrap()).stdout(Stdio::piped()).stderr(Stdio::piped());
    let output = command.spawn().unwrap().wait_with_output().unwrap();
    drop((theirs, command));
    let mut errors = Vec::new();
    let mut frames = FrameReader::new(&output.stdout[..]);
    while let Some(header) = frames.header().unwrap() {
        match frames.message(header).unwrap() {
            Message::Error { message } => errors.push(message.to_owned()),
            other => errors.push(format!("{other:?}")),
        }
    }
    let stderr = String::from_utf8(output.stderr).unwrap();
    Ended { code: output.status.code(), errors, stderr, unread: left_in(&ours) }
}

fn left_in(pipe: &OwnedFd) -> usize {
    fcntl_setfl(pipe.as_fd(), OFlags::NONBLOCK).unwrap();
    let mut buffer = vec![0; 2 << 20];
    let mut left = 0;
    while let Ok(read @ 1..) = rustix::io::read(pipe, &mut buffer) {
        left += read;
    }
    left
}

/// A Hello, and a request that fills the pipe.
fn much() -> Vec<u8> {
    let mut bytes = Vec::new();
    Message::Hello { version: 2, caps: Caps::NONE }.encode(&mut bytes).unwrap();
    bytes.resize(1 << 20, 0);
    bytes
}

#[track_caller]
fn refused(command: Command, what: &str) {
    let mut again = Command::new(command.get_program());
    again.args(command.get_args());
    if let Some(dir) = command.get_current_dir() {
        again.current_dir(dir);
    }
    for (command, sent) in [(command, much()), (again, Vec::new())] {
        let ended = run(command, &sent);
        assert_eq!(ended.code, Some(78), "{what}: {ended:?}");
        assert_eq!(ended.unread, sent.len(), "{what}: something was read");
        let [error] = &ended.errors[..] else { panic!("{what}: {ended:?}") };
        let text = error.rsplit_once(" (session ").map(|(text, _)| text);
        assert_eq!(text, Some("policy refused; ask the administrator"), "{what}");
        assert_eq!(ended.stderr, "", "{what}: the client sees it");
    }
}

/// The file is believed: a session begins.
#[track_caller]
fn believed(policy: &Path, what: &str) {
    let mut hello = Vec::new();
    Message::Hello { version: 2, caps: Caps::NONE }.encode(&mut hello).unwrap();
    let mut command = launch(policy).command();
    let mut child = command.stdin(Stdio::piped()).stdout(Stdio::piped()).spawn().unwrap();
    child.stdin.take().unwrap().write_all(&hello).unwrap();
    let output = child.wait_with_output().unwrap();
    assert_eq!(output.status.code(), Some(0), "{what}");
    let welcome = FrameReader::new(&output.stdout[..]).header().unwrap().unwrap();
    assert_eq!(welcome.kind, bcmr_wire::Type::Welcome, "{what}");
}

fn launch(policy: impl AsRef<Path>) -> Launch {
    Launch::with_args([Path::new("--profile"), Path::new(NAME), Path::new("--policy"), policy.as_ref()])
}

fn mode(path: &Path, mode: u32) {
    fs::set_permissions(path, Permissions::from_mode(mode)).unwrap();
}

/// A policy some directories down, so that there is something above it to be wrong.
fn deep(site: &Site) -> (Policy, PathBuf) {
    let policy = Policy::of(&Profile::new(site));
    let deep = policy.dir().join("a/b");
    fs::create_dir_all(&deep).unwrap();
    let file = deep.join("policy.toml");
    fs::copy(policy.path(), &file).unwrap();
    for path in [policy.dir().join("a"), deep] {
        mode(&path, 0o755);
    }
    (policy, file)
}

#[test]
#[ignore = "needs root to write a policy: run by tests/run"]
fn a_policy_that_others_may_have_written_is_refused_unread_up_to_the_top() {
    let site = Site::new();
    let (policy, file) = deep(&site);
    let steps = [file.clone(), policy.dir().join("a/b"), policy.dir().join("a"), policy.dir().to_owned()];
    for step in &steps {
        let whole = step.metadata().unwrap().permissions().mode() & 0o7777;
        believed(&file, "before");
        for wrong in [whole | 0o020, whole | 0o002, whole | 0o1022, whole | 0o3020] {
            mode(step, wrong);
            refused(launch(&file).command(), &format!("{} with mode {wrong:o}", step.display()));
            mode(step, whole);
        }
        chown(step, Some(NOBODY), None).unwrap();
        refused(launch(&file).command(), &format!("{} of another owner", step.display()));
        chown(step, Some(0), None).unwrap();
        // Of another group, which may not write it, it is as good.
        chown(step, Some(0), Some(NOBODY)).unwrap();
        believed(&file, "of another group");
    }
    // What is not writable at all is believed, too.
    mode(&file, 0o444);
    mode(&policy.dir().join("a"), 0o555);
    believed(&file, "read-only");
    // In the directory where everyone may make files.
    let copy = std::env::temp_dir().join(format!("bcmr-policy-{}.toml", std::process::id()));
    fs::copy(&file, &copy).unwrap();
    refused(launch(&copy).command(), "in /tmp");
    fs::remove_file(&copy).unwrap();
}

#[test]
#[ignore = "needs root to write a policy: run by tests/run"]
fn a_policy_by_way_of_a_link_or_of_no_plain_path_is_refused() {
    let site = Site::new();
    let (policy, file) = deep(&site);
    let dir = policy.dir();
    symlink(&file, dir.join("link.toml")).unwrap();
    symlink(dir.join("a"), dir.join("linked")).unwrap();
    believed(&file, "the plain path");
    for path in
        ["link.toml", "linked/b/policy.toml", "a/../a/b/policy.toml", "a/b", "absent.toml", "absent/x"]
    {
        refused(launch(dir.join(path)).command(), path);
    }
    let mut relative = launch("policy.toml").command();
    relative.current_dir(file.parent().unwrap());
    refused(relative, "a relative path");
    // Dots and slashes that mean nothing are no way around, and none is needed.
    believed(&dir.join("a/./b//policy.toml"), "spelled at length");
}

#[test]
#[ignore = "needs root to write a policy: run by tests/run"]
fn a_policy_that_is_no_text_file_or_wrong_is_refused() {
    let site = Site::new();
    let (policy, file) = deep(&site);
    let text = fs::read(&file).unwrap();
    believed(&file, "before");
    let long = [&text[..], &vec![b'\n'; 1 << 20]].concat();
    let fits = [&text[..], &vec![b'\n'; (1 << 20) - text.len()]].concat();
    fs::write(&file, &fits).unwrap();
    believed(&file, "the longest");
    let wrong: [(&str, &[u8]); 6] = [
        ("too long", &long),
        ("not UTF-8", b"version = 1\n# \xff\n"),
        ("empty", b""),
        ("no TOML", b"version = "),
        (
            "another version",
            &String::from_utf8(text.clone()).unwrap().replace("version = 1", "version = 2").into_bytes(),
        ),
        ("an unknown key", &[&text[..], b"rooot = \"/\"\n"].concat()),
    ];
    for (what, content) in wrong {
        fs::write(&file, content).unwrap();
        refused(launch(&file).command(), what);
    }
    fs::write(&file, &text).unwrap();
    refused(policy.launch_with("absent", &[]).command(), "an unknown profile");
    // A FIFO that nobody writes to keeps nobody waiting.
    let fifo = policy.dir().join("fifo");
    mknodat(CWD, &fifo, FileType::Fifo, Mode::from_raw_mode(0o600), 0).unwrap();
    refused(launch(&fifo).command(), "a FIFO");
    refused(launch("/dev/null").command(), "a device");
}

#[test]
#[ignore = "needs root to write a policy: run by tests/run"]
fn an_account_without_rights_cannot_be_served_by_a_file_that_it_cannot_read() {
    let site = Site::new();
    let policy = Policy::of(&Profile::new(&site));
    mode(&policy.path(), 0o600);
    believed(&policy.path(), "by root");
    let mut server = policy.launch().unprivileged(&site).start();
    assert_eq!(server.reply().error(), "policy refused; ask the administrator");
    assert_eq!(server.exit_code(), 78);
}

// ---- personal mode

/// A server in personal mode on a host whose /etc/bcmr/policy.toml is this.
fn personal(site: &Site, policy: Option<&str>, more: &str) -> Launch {
    let passwd = site.base().join("passwd");
    fs::copy("/etc/passwd", &passwd).unwrap();
    let mut line = format!("mount -t tmpfs -o mode=755 none /etc && cp {} /etc/passwd", passwd.display());
    if let Some(policy) = policy {
        let file = site.base().join("host-policy.toml");
        fs::write(&file, policy).unwrap();
        line += &format!(" && mkdir /etc/bcmr && cp {} /etc/bcmr/policy.toml && {more}", file.display());
    }
    Launch::new(site.root()).under(["unshare", "-m", "--propagation", "private"]).after_shell(&line)
}

#[test]
#[ignore = "needs root to write a policy: run by tests/run"]
fn personal_mode_is_off_where_the_host_says_so_or_its_policy_cannot_be_believed() {
    let site = Site::new();
    for (policy, more, served) in [
        (None, ":", true),
        (Some("version = 1\n"), ":", true),
        (Some("version = 1\n[personal]\nallow = true\n"), ":", true),
        (Some("version = 1\n[personal]\nallow = false\n"), ":", false),
        (Some("version = 1\n[personal]\nalow = true\n"), ":", false),
        (Some("version = 1\n"), "chmod g+w /etc/bcmr/policy.toml", false),
        (Some("version = 1\n"), "chmod o+w /etc/bcmr", false),
        (Some("version = 1\n"), "chown 65534 /etc/bcmr", false),
        (Some("version = 1\n"), "mv /etc/bcmr/policy.toml /etc/p && ln -s ../p /etc/bcmr/policy.toml", false),
    ] {
        let mut server = personal(&site, policy, more).start();
        if served {
            server.greet(Caps::NONE);
            server.finish();
            continue;
        }
        assert_eq!(server.reply().error(), "policy refused; ask the administrator", "{policy:?} {more}");
        assert_eq!(server.from.next_reply(), None);
        assert_eq!(server.exit_code(), 78, "{policy:?} {more}");
        // Who serves their own files is the operator, and is told.
        assert!(server.stderr().contains("/etc/bcmr"), "{}", server.stderr());
    }
}

#[test]
#[ignore = "needs root to write a policy: run by tests/run"]
fn check_says_what_is_wrong_with_a_file_that_would_be_refused() {
    let site = Site::new();
    let (policy, file) = deep(&site);
    let check = |path: &Path| {
        let command = Launch::with_args([Path::new("check"), Path::new("--policy"), path]).command().output();
        let output = command.unwrap();
        (
            output.status.code(),
            String::from_utf8(output.stdout).unwrap(),
            String::from_utf8(output.stderr).unwrap(),
        )
    };
    let (code, shown, _) = check(&file);
    assert_eq!(code, Some(0));
    assert!(shown.contains("[profile.p]") && shown.contains(site.root().to_str().unwrap()), "{shown}");
    mode(&file, 0o664);
    let (code, shown, said) = check(&file);
    assert_eq!((code, &*shown), (Some(78), ""));
    assert!(said.contains("chmod go-w it"), "{said}");
    let broken = policy.dir().join(std::ffi::OsStr::from_bytes(b"broken"));
    fs::write(&broken, "version = 1\n[profile.x]\nroot = 5\n").unwrap();
    let (code, _, said) = check(&broken);
    assert!(code == Some(78) && said.contains("broken:3:8: root: "), "{said}");
}
