//! What may stand for a source or a destination. The forms themselves are tested beside their parser.

use std::fs;
use std::os::unix::fs::PermissionsExt;

use bcmr_tests::{Client, Site};

/// Runs a copy whose ssh is a program that leaves a trace, and never a connection.
#[track_caller]
fn asked(args: &[&str]) -> (i32, String, Option<String>) {
    let site = Site::new();
    let ssh = site.file("ssh", "#!/bin/sh\nprintf '%s\\n' \"$@\" > \"$TRACE\"\nexit 255\n");
    fs::set_permissions(&ssh, fs::Permissions::from_mode(0o755)).unwrap();
    fs::write(site.outside().join("f"), "f").unwrap();
    let trace = site.base().join("trace");
    let path = format!("{}:/usr/bin:/bin", site.root().display());
    let before = bcmr_tests::disk::snapshot(&site.outside());
    let client = Client::ours().within(&site.outside()).env("PATH", path).env("TRACE", &trace);
    let ran = client.copy(args);
    assert_eq!(before, bcmr_tests::disk::snapshot(&site.outside()), "{args:?} made something");
    (ran.code, ran.said(), fs::read_to_string(trace).ok())
}

/// desync#351: a host or user that ssh would take for an option.
#[test]
fn desync_351_a_host_that_begins_with_a_dash_is_a_usage_error_and_ssh_is_not_started() {
    for target in [
        "[-oProxyCommand=touch p]:/x",
        "-oProxyCommand=touch p:/x",
        "-oProxyCommand=touch${IFS}p@h:/x",
        "u@-oProxyCommand=touch p:/x",
        "scp://-oProxyCommand=touch p/x",
        "scp://%2doProxyCommand=x@h/x",
    ] {
        for args in [["--", "f", target], ["--", target, "."]] {
            let (code, said, ssh) = asked(&args);
            assert_eq!((code, ssh), (2, None), "{target}: {said}");
        }
    }
    // The control: another host does get as far as ssh, after the end of the options.
    let (code, said, ssh) = asked(&["f", "u@h-oProxyCommand=touch p:/x"]);
    assert_eq!(code, 74, "{said}");
    assert!(ssh.unwrap().contains("-l\nu\n") && said.contains("h-oProxyCommand"), "{said}");
}

#[test]
fn ssh_is_given_the_host_after_its_options_and_one_remote_command() {
    let with_root = "bcmr-serve --root /";
    for (target, end) in [
        ("h:p", "--\nh\nbcmr-serve\n".to_owned()),
        ("h:", "--\nh\nbcmr-serve\n".to_owned()),
        ("h:~/p", "--\nh\nbcmr-serve\n".to_owned()),
        ("[2001:db8::1]:/p", format!("--\n2001:db8::1\n{with_root}\n")),
        ("C:/p", format!("--\nC\n{with_root}\n")),
        ("scp://h//p", format!("--\nh\n{with_root}\n")),
    ] {
        let ssh = asked(&["f", target]).2.unwrap();
        assert!(ssh.ends_with(&end), "{target}: {ssh}");
        for option in ["-T", "-x", "-a", "BatchMode=yes", "ClearAllForwardings=yes", "RemoteCommand=none"] {
            assert!(ssh.lines().any(|line| line == option), "{option} is missing: {ssh}");
        }
    }
    let ssh =
        asked(&["--ssh-port", "2222", "--ssh-identity", "a", "--ssh-identity", "b", "f", "h:p"]).2.unwrap();
    assert!(ssh.contains("-p\n2222\n") && ssh.contains("-i\na\n-i\nb\n"), "{ssh}");
    let ssh = asked(&["--ssh-port", "2222", "--ssh-jump", "j", "f", "scp://u@h:2200/p"]).2.unwrap();
    assert!(ssh.contains("-p\n2200\n") && ssh.contains("-J\nj\n") && !ssh.contains("2222"), "{ssh}");
}

/// openssh-portable#49, teleport#59982, fish#12938.
#[test]
fn openssh_portable_49_what_has_a_slash_before_its_colon_is_local() {
    for local in ["./h:p", "dir/a:b", "/h:p", ":p"] {
        let (code, said, ssh) = asked(&["f", local]);
        assert_eq!((code, ssh), (2, None), "{local}: {said}");
        assert!(said.contains("use cp"), "{said}");
    }
}

/// bcmr#69: never a silent nothing.
#[test]
fn bcmr_69_from_one_server_to_another_is_refused_clearly() {
    let (code, said, ssh) = asked(&["host1:a", "host2:b/"]);
    assert_eq!((code, ssh), (2, None), "{said}");
    assert!(said.contains("from one server to another"), "{said}");
    let (code, said, ssh) = asked(&["f", "host:a", "."]);
    assert_eq!((code, ssh), (2, None), "{said}");
}

#[test]
fn a_command_line_that_is_wrong_ends_with_2() {
    for args in [&["f"][..], &[], &["--no-such-option", "f", "h:p"], &["--compress", "gzip", "f", "h:p"]] {
        let (code, said, ssh) = asked(args);
        assert_eq!((code, ssh), (2, None), "{args:?}: {said}");
        assert!(!said.is_empty());
    }
}

#[test]
fn names_from_the_command_line_cannot_move_the_cursor() {
    let (_, said, _) = asked(&["no\x1b[31msuch\nbcmr: all is well", "h:p"]);
    assert!(!said.contains('\x1b') && !said.contains("\nbcmr: all"), "{said:?}");
    let (code, said, _) = asked(&["f", "h\x1b[31m:p"]);
    assert_eq!(code, 2);
    assert!(!said.contains('\x1b'), "{said:?}");
}
