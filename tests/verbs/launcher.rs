//! `without`, by which other tests take system calls away: it takes those, and nothing else.

use std::process::{Command, Output};

use bcmr_tests::{Site, binaries};

fn without(rules: &[&str], command: &[&str]) -> Output {
    Command::new(binaries::tool("without")).args(rules).arg("--").args(command).output().unwrap()
}

#[test]
fn a_call_that_is_taken_away_fails_as_it_was_told_to() {
    let site = Site::new();
    let file = site.file("f", "").to_str().unwrap().to_owned();
    let output = without(&["unlinkat=EROFS"], &["rm", "-f", &file]);
    let said = String::from_utf8_lossy(&output.stderr).into_owned();
    assert!(!output.status.success() && said.contains("Read-only file system"), "{said}");
    assert!(site.path("f").exists());
    // The later rule holds, and a call with another argument is another call.
    let output = without(&["unlinkat=EROFS", "unlinkat=EXDEV", "rmdir=EIO"], &["rm", "-f", &file]);
    assert!(String::from_utf8_lossy(&output.stderr).contains("cross-device"));
    let output = without(&["rmdir=EROFS", "openat2=ENOSYS"], &["rm", "-f", &file]);
    assert!(output.status.success() && !site.path("f").exists());
}

#[test]
fn the_forms_of_linkat_are_told_apart() {
    let site = Site::new();
    let (from, to) = (site.file("from", ""), site.path("to"));
    let ln = ["ln", "-P", from.to_str().unwrap(), to.to_str().unwrap()];
    assert!(!without(&["linkat-names=EPERM"], &ln).status.success() && !to.exists());
    assert!(without(&["linkat-empty=EPERM", "linkat-follow=EPERM"], &ln).status.success() && to.exists());
}

#[test]
fn what_is_no_rule_or_no_command_runs_nothing() {
    let site = Site::new();
    let file = site.file("f", "").to_str().unwrap().to_owned();
    for rules in [&["no-such-call=EPERM"][..], &["unlinkat=ENOSUCH"], &["unlinkat"], &["unlinkat:2=EIO"]] {
        let output = without(rules, &["rm", "-f", &file]);
        assert_eq!(output.status.code(), Some(126), "{rules:?}");
        assert!(!output.stderr.is_empty());
    }
    assert_eq!(without(&[], &["/no/such/command"]).status.code(), Some(126));
    assert!(site.path("f").exists());
}
