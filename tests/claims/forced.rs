//! The server as sshd's forced command, and as the login shell through which sshd starts that: what it takes for a
//! request, and that it answers the public client's questions without a shell.

use std::ffi::OsString;
use std::fs;
use std::os::unix::process::CommandExt;
use std::process::{Command, Output, Stdio};

use bcmr_tests::policy::{NAME, Policy, Profile};
use bcmr_tests::{Launch, Site, binaries};
use bcmr_wire::{Caps, Message};

const ONLY_BCMR: &str = "bcmr-serve: this account serves bcmr transfers only\n";

/// A server under a profile that is asked for a command.
fn ask(policy: &Policy, command: &str) -> Output {
    let mut server = policy.launch().env("SSH_ORIGINAL_COMMAND", command).command();
    server.stdin(Stdio::null()).output().unwrap()
}

#[track_caller]
fn said(output: &Output, code: i32, stdout: &str) {
    assert_eq!(output.status.code(), Some(code), "{output:?}");
    assert_eq!(String::from_utf8_lossy(&output.stdout), stdout, "{output:?}");
    assert_eq!(String::from_utf8_lossy(&output.stderr), "", "{output:?}");
}

#[test]
#[ignore = "needs root to write a policy: run by tests/run"]
fn whatever_is_no_transfer_is_refused_in_one_line_and_nothing_runs() {
    let site = Site::new();
    let policy = Policy::of(&Profile::new(&site));
    let before = site.everything();
    for command in [
        "id",
        "",
        "sh",
        "scp -t .",
        "scp -f f",
        "/usr/lib/openssh/sftp-server",
        "internal-sftp",
        "rsync --server . .",
        "touch owned",
        "$(touch owned)",
        "bcmr serves",
        "/usr/bin/bcmr-serve",
        "serve --root /",
        "--profile full --root /",
        "test -d './x'; touch owned",
        "echo ok ",
        "printf BCMR_EXEC_AVAILABLE;id",
        "bcmr-serve\ntouch owned",
    ] {
        let output = ask(&policy, command);
        assert_eq!(output.status.code(), Some(126), "{command}");
        assert_eq!(output.stdout, b"", "{command}");
        assert_eq!(String::from_utf8_lossy(&output.stderr), ONLY_BCMR, "{command}");
    }
    assert_eq!(site.everything(), before);
    // The allowed twins.
    for command in ["bcmr serve --root /", "bcmr-serve", "bcmr-serve --root /; touch owned"] {
        let launch = policy.launch().env("SSH_ORIGINAL_COMMAND", command);
        launch.start().hello(Caps::NONE).finish();
    }
    assert_eq!(site.everything(), before);
}

#[test]
#[ignore = "needs root to write a policy: run by tests/run"]
fn the_public_clients_questions_are_answered_as_the_profile_allows() {
    let site = Site::new();
    site.dir("d/it's here");
    site.file("f", "x");
    site.link("out", site.outside());
    site.link("in", "d");
    let host_root = fs::canonicalize(site.root()).unwrap();
    let policy = Policy::of(&Profile::new(&site));
    said(&ask(&policy, "printf BCMR_EXEC_AVAILABLE"), 0, "BCMR_EXEC_AVAILABLE");
    said(&ask(&policy, "echo ok"), 0, "ok\n");
    said(&ask(&policy, r#"printf '%s' "$HOME""#), 0, host_root.to_str().unwrap());
    let is_directory = |policy: &Policy, path: &str| {
        let output = ask(policy, &format!("test -d '{path}'"));
        let code = output.status.code().unwrap();
        said(&output, code, "");
        assert!(code < 2, "{output:?}");
        code == 0
    };
    let inside = site.host("d");
    for path in ["./d", "d/", ".", "in", r"./d/it'\''s here", &inside] {
        assert!(is_directory(&policy, path), "{path}");
    }
    for path in
        ["./f", "absent", "..", "/", "/etc", "out", "../outside", "$HOME", "`id`", &format!("{inside}/../d")]
    {
        assert!(!is_directory(&policy, path), "{path}");
    }
    let jail = Policy::of(&Profile::new(&site).key("view", r#""jail""#));
    said(&ask(&jail, r#"printf '%s' "$HOME""#), 0, "/");
    assert!(is_directory(&jail, "/d") && !is_directory(&jail, "/etc"));
    // Where the profile has no stat, no directory is there for the client.
    let blind = Policy::of(&Profile::new(&site).key("verbs", r#"["put", "mkdir"]"#));
    assert!(!is_directory(&blind, "./d"));
    // Who is not let in gets no answer, and no frame either.
    let nobody = Policy::of(&Profile::new(&site).key("accounts", r#"["no-such-account"]"#));
    for command in ["echo ok", "test -d './d'"] {
        let output = ask(&nobody, command);
        assert_eq!((output.status.code(), &*output.stdout), (Some(78), &b""[..]));
        let line = String::from_utf8(output.stderr).unwrap();
        assert!(line.starts_with("bcmr-serve: policy refused; ask the administrator (session "), "{line}");
        assert_eq!(line.lines().count(), 1);
    }
}

/// A server called as a shell: its own path as the first word where none is given.
fn shell(arg0: Option<&str>, args: &[OsString]) -> Command {
    let mut command = Command::new(fs::canonicalize(binaries::server()).unwrap());
    if let Some(arg0) = arg0 {
        command.arg0(arg0);
    }
    command.args(args).stdin(Stdio::null()).stdout(Stdio::piped()).stderr(Stdio::piped());
    command
}

/// The forced command of a profile, as sshd hands it to the login shell, and then some.
fn forced(more: &str) -> [OsString; 2] {
    let own = fs::canonicalize(binaries::server()).unwrap();
    ["-c".into(), format!("{}{more}", own.display()).into()]
}

/// Has the server see a policy where it looks for one.
fn at_its_place(policy: &Policy, launch: Launch) -> Launch {
    let line = format!(
        "mount -t tmpfs -o mode=755 none /etc && mkdir /etc/bcmr && cp {} /etc/bcmr/policy.toml && \
         echo root:x:0:0::/root: > /etc/passwd",
        policy.path().display()
    );
    launch.under(["unshare", "-m", "--propagation", "private"]).after_shell(&line)
}

#[test]
#[ignore = "needs root for a policy at its place: run by tests/run"]
fn as_a_login_shell_it_takes_the_forced_command_of_a_profile_and_nothing_else() {
    let site = Site::new();
    site.file("f", "inside");
    let policy = Policy::of(&Profile::new(&site));
    for more in [format!(" --profile {NAME}"), format!(" --profile {NAME} --label ci-runner_1.a")] {
        let launch = at_its_place(&policy, Launch::with_args(forced(&more)));
        let mut server = launch.start().hello(Caps::NONE);
        assert_eq!(server.get("f", 0).content, b"inside", "{more}");
        server.finish();
    }
    let refused = |arg0: Option<&str>, args: &[OsString]| {
        let output = shell(arg0, args).output().unwrap();
        assert_eq!(output.status.code(), Some(126), "{args:?}: {output:?}");
        assert_eq!(
            (&*output.stdout, &*String::from_utf8_lossy(&output.stderr)),
            (&b""[..], ONLY_BCMR),
            "{args:?}"
        );
    };
    refused(Some("-bcmr-serve"), &[]);
    refused(Some("-bcmr-serve"), &["--profile".into(), NAME.into()]);
    for more in [
        "",
        " serve",
        " --root /",
        " --profile p --policy /tmp/p.toml",
        " --profile p --root /",
        " --profile p; id",
    ] {
        refused(None, &forced(more));
    }
    for text in [
        "id",
        "/bin/sh .ssh/rc",
        "bcmr-serve --profile p",
        "/usr/lib/openssh/sftp-server",
        "bcmr serve --root /",
    ] {
        refused(None, &["-c".into(), text.into()]);
        refused(Some("-bcmr-serve"), &["-c".into(), text.into()]);
    }
    refused(None, &["-c".into()]);
}

#[test]
#[ignore = "needs root for a policy at its place: run by tests/run"]
fn another_profile_by_the_clients_own_words_must_name_the_account() {
    let site = Site::new();
    let other = Profile::new(&site).key("accounts", r#"["someone-else"]"#);
    let policy = Policy::of(&other);
    let mut server = at_its_place(&policy, Launch::with_args(forced(&format!(" --profile {NAME}")))).start();
    assert_eq!(server.reply().error(), "policy refused; ask the administrator");
    assert_eq!(server.exit_code(), 78);
}

#[test]
#[ignore = "needs root to write a policy: run by tests/run"]
fn a_label_is_a_plain_word_and_grants_nothing() {
    let site = Site::new();
    let policy = Policy::of(&Profile::new(&site).key("verbs", r#"["stat"]"#));
    let mut server = policy.launch_with(NAME, &["--label", "ci"]).start().hello(Caps::NONE);
    assert!(server.put("f", b"x", false).error().contains("may not put"));
    server.finish();
    for label in ["", "a b", "a/b", "ü", "a\n", &"a".repeat(65)] {
        let mut server = policy.launch_with(NAME, &[&format!("--label={label}")]).start();
        assert_eq!(server.exit_code(), 64, "{label:?}");
    }
    // Without a profile there is no one to tell apart.
    assert_eq!(Launch::with_args(["--label", "ci"]).start().exit_code(), 64);
}

/// A profile whose root is, or contains, the home of the account without rights.
fn at_home(site: &Site, policy: &Policy, home: &str) -> Launch {
    let line = format!(
        "mount -t tmpfs -o mode=755 none /etc && echo nobody:x:65534:65534::{}: > /etc/passwd && cp {} /etc/p.toml",
        site.host(home),
        policy.path().display()
    );
    let words = ["--profile", NAME, "--policy", "/etc/p.toml"];
    let launch = Launch::with_args(words).unprivileged(site);
    launch.under(["unshare", "-m", "--propagation", "private"]).after_shell(&line).drops_rights()
}

#[test]
#[ignore = "needs root for another passwd: run by tests/run"]
fn what_a_login_shell_or_ssh_reads_at_its_start_is_not_written() {
    let site = Site::new();
    let policy = Policy::of(&Profile::new(&site).key("overwrite", true));
    for home in ["", "u"] {
        site.dir("u/.ssh");
        site.dir("u/plain");
        site.file("u/.bashrc", "own");
        let below = |path: &str| format!("{home}{}{path}", if home.is_empty() { "" } else { "/" });
        site.file(&below(".profile"), "own");
        site.link(&below("to-ssh"), ".ssh");
        site.link(&below("to-profile"), ".profile");
        fs::create_dir_all(site.path(&below(".ssh"))).unwrap();
        let mut server = at_home(&site, &policy, home).start().hello(Caps::NONE);
        let before = site.everything();
        for path in [
            ".ssh/authorized_keys",
            ".ssh/rc",
            ".bashrc",
            ".profile",
            ".config/fish/config.fish",
            ".x",
            "to-ssh/rc",
            "to-profile",
        ] {
            let refused = server.put(&below(path), b"x", true);
            assert!(refused.error().contains("begin with a dot"), "{home}: {path}: {refused:?}");
        }
        for path in [".config", "to-ssh/d"] {
            let refused = server.ask(&Message::Mkdir { path: &below(path) });
            assert!(refused.error().contains("begin with a dot"), "{home}: {path}: {refused:?}");
        }
        // The top of the root is guarded as well, where a home lies below it.
        assert!(server.put(".bashrc", b"x", true).error().contains("begin with a dot"));
        assert_eq!(site.everything(), before, "{home}");
        // The allowed twins: elsewhere, and to read.
        assert!(server.put(&below("plain/.bashrc"), b"x", true).ok().is_some(), "{home}");
        assert!(server.put(&below("bashrc"), b"x", true).ok().is_some(), "{home}");
        assert_eq!(server.get(&below(".profile"), 0).content, b"own");
        server.finish();
        for name in ["to-ssh", "to-profile"] {
            fs::remove_file(site.path(&below(name))).unwrap();
        }
    }
    // A root beside the home has no such names.
    site.dir("u");
    let policy = Policy::of(&Profile::new(&site));
    let mut server = policy.launch().start().hello(Caps::NONE);
    assert!(server.put(".bashrc", b"x", false).ok().is_some());
    server.finish();
}

#[test]
#[ignore = "needs root to drain: run by tests/run"]
fn a_drained_host_begins_no_session_and_says_so() {
    let site = Site::new();
    site.file("f", "inside");
    let policy = Policy::of(&Profile::new(&site));
    let host = |launch: Launch, line: &str| {
        let line = format!("mount -t tmpfs -o mode=755 none /etc && mkdir /etc/bcmr && {line}");
        launch.under(["unshare", "-m", "--propagation", "private"]).after_shell(&line)
    };
    for launch in [policy.launch(), Launch::new(site.root())] {
        let mut server = host(launch, "touch /etc/bcmr/drain").start();
        assert_eq!(server.reply().error(), "the server is draining, try again later");
        assert_eq!(server.exit_code(), 75);
    }
    // Only root drains, and only by a file.
    for line in
        ["true", "touch /etc/bcmr/drain && chown 65534 /etc/bcmr/drain", "ln -s /dev/null /etc/bcmr/drain"]
    {
        let mut server = host(policy.launch(), line).start().hello(Caps::NONE);
        assert_eq!(server.get("f", 0).content, b"inside", "{line}");
        server.finish();
    }
}
