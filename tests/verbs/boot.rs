//! What a server is started with, and what it has done before it says Welcome.

use std::ffi::OsStr;
use std::fs;
use std::io::Read;
use std::os::unix::ffi::OsStrExt;
use std::os::unix::fs::{MetadataExt, symlink};
use std::process::Stdio;

use bcmr_tests::stream::Patient;
use bcmr_tests::{Launch, Server, Site};
use bcmr_wire::{Caps, Message};
use rustix::fs::{CWD, Mode, OFlags, openat};

#[test]
fn a_root_that_cannot_be_opened_is_told_to_both_audiences_and_nothing_is_read() {
    let site = Site::new();
    site.file("f", "");
    for root in [site.path("absent"), site.path("f")] {
        let mut server = Server::start(&root);
        let reply = server.reply();
        assert!(!reply.error().contains("absent"), "a client need not know the host's paths: {reply:?}");
        assert_eq!(server.from.next_reply(), None);
        assert_eq!(server.exit_code(), 78);
        assert!(server.stderr().contains(root.to_str().unwrap()), "{}", server.stderr());
    }
}

#[test]
fn a_root_is_served_by_any_of_its_spellings() {
    let site = Site::new();
    site.file("f", "content");
    site.link("../link", site.root());
    let base = site.base().to_owned();
    let spelled = |text: &str| format!("{}/{text}", base.display());
    for root in [spelled("root/"), spelled("./root"), spelled("outside/../root"), spelled("link")] {
        let mut server = Server::plain(&root);
        let names = ["f".to_owned(), site.host("f"), format!("{root}/f")];
        for path in names.iter().filter(|path| !path.contains("..")) {
            assert_eq!(server.get(path, 0).content, b"content", "{root}: {path}");
        }
        server.finish();
    }
    // Relative to where the server is started.
    let mut command = Launch::new("root").command();
    let status = command.current_dir(&base).stdin(Stdio::null()).stdout(Stdio::null()).status().unwrap();
    assert_eq!(status.code(), Some(0));
}

#[test]
fn a_root_whose_own_path_is_not_utf8_is_served_by_relative_paths() {
    let site = Site::new();
    let root = site.root().join(OsStr::from_bytes(b"caf\xe9"));
    fs::create_dir(&root).unwrap();
    fs::write(root.join("f"), "content").unwrap();
    symlink("../../outside", root.join("out")).unwrap();
    let mut server = Server::plain(&root);
    assert_eq!(server.get("f", 0).content, b"content");
    assert!(server.put("d/g", b"x", false).ok().is_some());
    for path in ["out", "/", "/etc/passwd", &site.host("caf\u{fffd}/f")] {
        assert!(server.ask(&Message::Stat { path }).error().contains("escapes server root"), "{path}");
    }
    server.finish();
}

#[test]
fn the_home_directory_is_the_root_where_none_is_named() {
    let site = Site::new();
    site.file("f", "content");
    let none: [&str; 0] = [];
    let mut server = Launch::with_args(none).env("HOME", site.root()).start().hello(Caps::NONE);
    assert_eq!(server.get("f", 0).content, b"content");
    server.finish();
    let mut server = Launch::with_args(["serve"]).env("HOME", site.root()).start().hello(Caps::NONE);
    assert_eq!(server.get("f", 0).content, b"content");
    server.finish();
}

#[test]
fn the_whole_host_is_served_where_no_home_says_where_state_would_be() {
    let site = Site::new();
    site.file("f", "content");
    let launch = Launch::new("/").under(["env", "-u", "HOME", "-u", "XDG_STATE_HOME"]);
    let mut server = launch.start().hello(Caps::NONE);
    assert_eq!(server.get(&site.host("f"), 0).content, b"content");
    server.finish();
}

#[test]
fn a_wrong_command_line_is_refused_and_help_is_none() {
    let output = |args: &[&str]| Launch::with_args(args).command().stdin(Stdio::null()).output().unwrap();
    for args in [&["--no-such"][..], &["--root"], &["surplus"]] {
        let output = output(args);
        assert_eq!((output.status.code(), output.stdout.len()), (Some(64), 0), "{args:?}");
        assert!(!output.stderr.is_empty());
    }
    for args in [["--help"], ["--version"]] {
        let output = output(&args);
        assert_eq!(output.status.code(), Some(0));
        assert!(output.stdout.starts_with(if args == ["--version"] {
            b"bcmr-serve "
        } else {
            b"A hardened "
        }));
    }
}

#[test]
fn nothing_but_frames_comes_out_and_nothing_is_said_on_stderr() {
    let site = Site::new();
    let mut server = Launch::new(site.root()).env("RUST_LOG", "trace").env("RUST_BACKTRACE", "full").start();
    server.greet(Caps(0xff));
    assert!(server.ask(&Message::Stat { path: "no" }).is_error());
    assert!(server.ask(&Message::Get { path: "..", offset: 0 }).is_error());
    assert_eq!(server.stderr(), "");
    server.finish();
}

// ---- hygiene

/// A file of the server's in /proc.
fn proc(server: &Server, name: &str) -> String {
    fs::read_to_string(format!("/proc/{}/{name}", server.pid().as_raw_nonzero())).unwrap()
}

/// Soft and hard limit of what a line of /proc/PID/limits is about.
fn limits<'a>(text: &'a str, what: &str) -> Vec<&'a str> {
    let line = text.lines().find_map(|line| line.strip_prefix(what)).unwrap();
    line.split_whitespace().take(2).collect()
}

#[test]
fn a_session_leaves_no_core_and_holds_few_descriptors() {
    let site = Site::new();
    let server = Launch::new(site.root()).after_shell("ulimit -c unlimited || :").start().hello(Caps::NONE);
    let text = proc(&server, "limits");
    assert_eq!(limits(&text, "Max core file size"), ["0", "0"]);
    assert_eq!(limits(&text, "Max open files"), ["256", "256"]);
    server.finish();
    // A lower limit stays.
    let server = Launch::new(site.root()).after_shell("ulimit -n 64").start().hello(Caps::NONE);
    assert_eq!(limits(&proc(&server, "limits"), "Max open files"), ["64", "64"]);
    server.finish();
}

#[test]
fn other_processes_of_the_account_cannot_look_into_a_session() {
    // The kernel gives what it will not show to root.
    let site = Site::new();
    let mut server = Launch::new(site.root()).unprivileged(&site).start();
    let owner = |server: &Server| {
        fs::metadata(format!("/proc/{}/environ", server.pid().as_raw_nonzero())).unwrap().uid()
    };
    server.greet(Caps::NONE);
    assert_eq!(owner(&server), 0);
    server.finish();
}

#[test]
fn descriptors_that_nobody_meant_to_pass_are_closed() {
    for rules in [&[][..], &["opendir=EACCES"]] {
        let site = Site::new();
        let fifo = site.fifo("fifo");
        let flags = OFlags::RDONLY | OFlags::NONBLOCK | OFlags::CLOEXEC;
        let mut ours = Patient::new(openat(CWD, &fifo, flags, Mode::empty()).unwrap());
        let line = format!("exec 9>{}; echo passed >&9", fifo.display());
        let server = Launch::new(site.root()).after_shell(&line).without(rules).start().hello(Caps::NONE);
        // The end comes when the last who holds the other end has closed it, while the server lives.
        let mut seen = String::new();
        ours.read_to_string(&mut seen).unwrap();
        assert_eq!(seen, "passed\n", "{rules:?}");
        server.finish();
    }
}
