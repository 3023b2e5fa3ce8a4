//! What is said to stand is tried.

use std::os::fd::BorrowedFd;

use rustix::fs::{AtFlags, CWD, Mode, OFlags, fstat, openat, statat};
use rustix::io::{Errno, retry_on_intr};
use rustix::thread::{SecureComputingMode, no_new_privs, secure_computing_mode};

use super::Report;

/// Checks the process against the report. An Err says what does not hold.
pub(super) fn check(report: &Report, root: BorrowedFd<'_>) -> Result<(), String> {
    let seccomp = report.seccomp.is_ok();
    if (seccomp || report.landlock.is_on()) && no_new_privs() != Ok(true) {
        return Err("self-check: no_new_privs is not set".to_owned());
    }
    if seccomp && secure_computing_mode() != Ok(SecureComputingMode::Filter) {
        return Err("self-check: there is no seccomp filter".to_owned());
    }
    if report.landlock.is_on() && !serves_the_whole_host(root) {
        let flags = OFlags::RDONLY | OFlags::CLOEXEC;
        match retry_on_intr(|| openat(CWD, "/", flags, Mode::empty())) {
            Err(Errno::ACCESS) => {}
            opened => {
                return Err(format!(
                    "self-check: opening / was not refused by Landlock ({:?})",
                    opened.err()
                ));
            }
        }
    }
    Ok(())
}

/// Whether the root is `/`, which may be read then; the ruleset's own report is the evidence.
fn serves_the_whole_host(root: BorrowedFd<'_>) -> bool {
    match (fstat(root), statat(CWD, "/", AtFlags::empty())) {
        (Ok(root), Ok(top)) => (root.st_dev, root.st_ino) == (top.st_dev, top.st_ino),
        _ => false,
    }
}
