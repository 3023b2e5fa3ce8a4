//! What a profile comes to on this host.

use std::os::fd::AsFd;

use bcmr_policy::{Account, PERSONAL, Rules, Verb};
use rustix::fs::fstat;

use super::findings::{Findings, Grade};
use super::{filesystem, trial};
use crate::boot::root::{self, Home, Root};
use crate::quota;

/// Does for some rules what a session does before it serves, and says how that went.
pub(super) fn look(findings: &mut Findings, rules: &Rules, account: &Account) {
    let name = &rules.profile;
    let about = |what: &str| format!("{name}: {what}");
    let root = match root::open(rules, &Home::of(account, false)) {
        Ok(root) => root,
        Err(denial) => {
            findings.add(about("root"), Grade::Refuses, denial.why);
            return;
        }
    };
    if rules.verbs.has(Verb::Put) {
        filesystem::look(findings, &about(&format!("root {}", rules.root.display())), root.dir.as_fd());
    } else {
        findings.add(about("root"), Grade::Full, rules.root.display().to_string());
    }
    state(findings, &about("state"), rules, account, &root);
    let level = rules.sandbox.name();
    match trial::enter(rules, &root.dir, root.state.as_ref()) {
        Ok(report) => {
            let whole = report.landlock.is_whole() && report.seccomp.is_ok();
            let grade = if whole { Grade::Full } else { Grade::Degraded };
            findings.add(about("sandbox"), grade, format!("{level}: {report}"));
        }
        Err(why) => findings.add(about("sandbox"), Grade::Refuses, why),
    }
}

fn state(findings: &mut Findings, about: &str, rules: &Rules, account: &Account, root: &Root) {
    let path = rules.state.display();
    let Some(state) = &root.state else {
        let grade = match () {
            // It makes its own when it serves.
            () if rules.profile == PERSONAL => Grade::Full,
            () if quota::needs_state(rules) => Grade::Refuses,
            () => Grade::Degraded,
        };
        let lacks = "is not there, or not for this account: no dedup, and no quotas (bcmr-serve provision)";
        findings.add(about, grade, format!("{path} {lacks}"));
        return;
    };
    match fstat(state) {
        Ok(stat) if stat.st_uid != account.uid => {
            findings.add(about, Grade::Degraded, format!("{path} belongs to uid {}", stat.st_uid));
        }
        Ok(stat) if stat.st_mode & 0o077 != 0 => {
            findings.add(
                about,
                Grade::Degraded,
                format!("{path} is open to others: it should have mode 0700"),
            );
        }
        Ok(_) => findings.add(about, Grade::Full, path.to_string()),
        Err(errno) => findings.add(about, Grade::Degraded, format!("{path}: {errno}")),
    }
}
