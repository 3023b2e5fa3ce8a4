//! What is not supported: refused with what to do instead, and before anything is started.

use std::fs;
use std::os::unix::fs::PermissionsExt;

use bcmr_tests::client::Ran;
use bcmr_tests::{Client, Site};

/// Runs a client that would leave a trace if it started ssh, or the command given with --via; what it said, and whether
/// there is one.
fn asked(args: &[&str]) -> (Ran, bool) {
    let site = Site::new();
    let trace = site.base().join("trace");
    let ssh = site.file("ssh", "#!/bin/sh\necho started >> \"$TRACE\"\nexit 255\n");
    fs::set_permissions(&ssh, fs::Permissions::from_mode(0o755)).unwrap();
    for name in ["f", "-", "g"] {
        site.outside_file(name, name);
    }
    let path = format!("{}:/usr/bin:/bin", site.root().display());
    let before = [site.tree(), bcmr_tests::disk::snapshot(&site.outside())];
    let client = Client::ours().within(&site.outside()).env("PATH", path).env("TRACE", &trace);
    let ran = client.args(args).run();
    assert_eq!(
        before,
        [site.tree(), bcmr_tests::disk::snapshot(&site.outside())],
        "{args:?} changed something"
    );
    (ran, trace.exists())
}

/// One line that says what to do, and nothing started.
#[track_caller]
fn refused(args: &[&str], says: &[&str]) {
    let (ran, started) = asked(args);
    ran.ends_with(2);
    assert!(!started, "{args:?} started something: {}", ran.said());
    let said = ran.said();
    assert!(
        ran.out.is_empty() && said.starts_with("bcmr: ") && said.lines().count() == 1,
        "{args:?}: {said}"
    );
    for text in says {
        ran.says(text);
    }
}

/// The control: this does get as far as starting something.
#[track_caller]
fn started(args: &[&str]) {
    let (ran, started) = asked(args);
    ran.ends_with(74);
    assert!(started, "{args:?}: {}", ran.said());
}

#[test]
fn renaming_and_deleting_say_what_to_do_instead() {
    for command in ["move", "mv", "rename"] {
        for rest in [&["h:a", "h:b"][..], &[], &["-f", "--no-such", "h:a"], &["--", "h:a"]] {
            let args: Vec<_> = [command].iter().chain(rest).copied().collect();
            refused(&args, &["cannot rename", "copy it under the new name"]);
        }
    }
    for command in ["remove", "rm", "delete"] {
        for rest in [&["h:a"][..], &[], &["-r", "-f", "h:a"]] {
            let args: Vec<_> = [command].iter().chain(rest).copied().collect();
            refused(&args, &["cannot delete", "ask an operator"]);
        }
    }
    refused(&["--ssh-port", "1", "rm", "h:a"], &["cannot delete"]);
    started(&["stat", "h:a"]);
}

#[test]
fn stdin_is_no_source_and_a_file_of_that_name_is() {
    refused(&["copy", "-", "h:x"], &["'-' is no source", "to a file first", "'./-'"]);
    refused(&["copy", "f", "-", "h:x/"], &["'-' is no source"]);
    refused(&["check", "-", "h:x"], &["'-' is no source"]);
    started(&["copy", "./-", "h:x"]);
    started(&["copy", "h:-", "x"]);
    // Nor does anything go to stdout.
    refused(&["copy", "h:x", "-"], &["'-' is no destination", "'./-'"]);
    started(&["copy", "h:x", "./-"]);
}

#[test]
fn from_one_server_to_another_goes_by_way_of_this_machine() {
    for sources in [&["h:a"][..], &["h:a", "h:b"], &["f", "h:a"]] {
        let args: Vec<_> = ["copy"].iter().chain(sources).chain(&["i:b/"]).copied().collect();
        refused(&args, &["copy to this machine first"]);
    }
    refused(&["copy", "h:a", "h:b"], &["copy to this machine first"]);
    refused(&["copy", "scp://h/a", "[h]:b"], &["copy to this machine first"]);
    refused(&["--via", "echo started >> \"$TRACE\"", "copy", ":a", ":b"], &["copy to this machine first"]);
    started(&["copy", "h:a", "b"]);
    started(&["--via", "echo started >> \"$TRACE\"; exit 1", "copy", ":a", "b"]);
}

#[test]
fn from_here_to_here_is_cps_business() {
    for args in [&["copy", "f", "g"][..], &["copy", "f", "./h:p"], &["copy", "-r", ".", "f", "g/"]] {
        refused(args, &["neither side is a server", "cp"]);
    }
    started(&["copy", "f", "h:p"]);
}

#[test]
fn sources_of_both_sides_want_two_commands() {
    refused(&["copy", "f", "h:a", "g/"], &["in two commands"]);
    refused(&["copy", "h:a", "f", "."], &["in two commands"]);
    started(&["copy", "h:a", "h:b", "."]);
}

#[test]
fn leaving_out_links_is_for_uploads() {
    refused(&["copy", "--no-deref", "h:a", "."], &["--no-deref is for uploads"]);
    started(&["copy", "--no-deref", "f", "h:a"]);
}

#[test]
fn commands_that_ask_a_server_take_no_local_path() {
    for command in ["ls", "stat", "du", "hash", "mkdir"] {
        refused(&[command, "f"], &["f: is local"]);
        started(&[command, "h:f"]);
    }
    refused(&["doctor", "./f:x"], &["is no host"]);
    started(&["doctor", "h"]);
}
