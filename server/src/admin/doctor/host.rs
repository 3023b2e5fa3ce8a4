//! What is the same for every profile.

use std::path::{Path, PathBuf};

use bcmr_policy::file::DEFAULT;
use bcmr_policy::{PolicyFile, Rules};
use rustix::fs::{CWD, Mode, OFlags, ResolveFlags, openat, openat2};
use rustix::system::uname;

use super::findings::{Findings, Grade};
use super::trial;
use crate::audit::Log;
use crate::boot;

/// Looks at kernel, log and drain.
pub(super) fn look(findings: &mut Findings) {
    let system = uname();
    let text = |part: &std::ffi::CStr| part.to_string_lossy().into_owned();
    let kernel = format!("{} {} {}", text(system.sysname()), text(system.release()), text(system.machine()));
    findings.add("kernel", Grade::Full, kernel);
    sandbox(findings);
    let beneath = openat2(CWD, "/", OFlags::PATH | OFlags::CLOEXEC, Mode::empty(), ResolveFlags::NO_SYMLINKS);
    let openat2 = match beneath {
        Ok(_) => "yes".to_owned(),
        Err(errno) => format!("no ({errno}): the walk opens each directory by itself"),
    };
    findings.add("openat2", Grade::Full, openat2);
    match boot::log::connect() {
        Log::Journal(_) => findings.add("log", Grade::Full, "journald"),
        Log::Syslog(_) => findings.add("log", Grade::Full, "syslog at /dev/log"),
        Log::Nowhere => findings.add("log", Grade::Degraded, "nowhere: nothing is recorded"),
    }
    if boot::drain::draining() {
        let text = format!("{} is there: no session begins", boot::drain::DRAIN);
        findings.add("drain", Grade::Refuses, text);
    }
}

/// What a sandbox without any special wish comes to.
fn sandbox(findings: &mut Findings) {
    let flags = OFlags::PATH | OFlags::DIRECTORY | OFlags::CLOEXEC;
    let report = openat(CWD, "/", flags, Mode::empty())
        .map_err(|e| e.to_string())
        .and_then(|root| trial::enter(&Rules::personal(PathBuf::from("/"), PathBuf::new()), &root, None));
    match report {
        Ok(report) => {
            let whole = if report.landlock.is_whole() { Grade::Full } else { Grade::Degraded };
            findings.add("landlock", whole, report.landlock.to_string());
            match report.seccomp {
                Ok(()) => findings.add("seccomp", Grade::Full, "on"),
                Err(why) => findings.add("seccomp", Grade::Degraded, format!("off ({why})")),
            }
        }
        Err(why) => findings.add("sandbox", Grade::Degraded, why),
    }
}

/// The policy of the host, where there is one that can be read; whether personal mode is allowed.
pub(super) fn policy(findings: &mut Findings) -> (Option<PolicyFile>, bool) {
    let path = Path::new(DEFAULT);
    match boot::policy::of_the_host() {
        Ok(None) => {
            findings.add("policy", Grade::Full, format!("there is no {DEFAULT}: personal mode alone"));
            (None, true)
        }
        Ok(Some(policy)) => {
            let personal = if policy.personal { "allowed" } else { "off" };
            let profiles = policy.names().count();
            let text = format!("{}: {profiles} profiles, personal mode {personal}", path.display());
            findings.add("policy", Grade::Full, text);
            let allowed = policy.personal;
            (Some(policy), allowed)
        }
        Err(why) => {
            findings.add("policy", Grade::Refuses, why);
            (None, false)
        }
    }
}
