//! Whether a host can serve, and how well: everything that a session finds out before it serves, found out on
//! purpose and told to the operator.

mod filesystem;
mod findings;
mod host;
mod profile;
mod trial;

use std::io::Write;

use super::{identity, served};
use crate::boot::args::DoctorArgs;
use crate::boot::environment::Environment;
use crate::exit::Exit;
use findings::{Findings, Grade};

/// Looks at everything, as the account, and prints it. Exit code 0 where all is as it should be, 1 where
/// something is served with less, 2 where something is not served.
pub(crate) fn doctor(args: &DoctorArgs, environment: &Environment) -> Exit {
    let account = match identity::assume(args.account.as_deref(), environment) {
        Ok(account) => account,
        Err(exit) => return exit,
    };
    let mut findings = Findings::default();
    host::look(&mut findings);
    let (policy, personal) = host::policy(&mut findings);
    let mut served = false;
    for (policy, name) in policy.iter().flat_map(|policy| policy.names().map(move |name| (policy, name))) {
        match policy.rules(name, &account) {
            Ok(rules) => {
                served = true;
                profile::look(&mut findings, &rules, &account);
            }
            Err(denied) => {
                findings.add(format!("{name}: account"), Grade::Full, format!("not served: {denied}"));
            }
        }
    }
    if personal {
        served = true;
        match served::personal(&account, args.account.is_some(), environment) {
            Ok(rules) => profile::look(&mut findings, &rules, &account),
            Err(denial) => findings.add("personal", Grade::Refuses, denial.why),
        }
    }
    if !served {
        let text = format!("uid {} is served by nothing; --account NAME asks for another", account.uid);
        findings.add("account", Grade::Refuses, text);
    }
    let text = if args.json { findings.json() } else { findings.text() };
    match std::io::stdout().write_all(text.as_bytes()) {
        Ok(()) => findings.verdict().exit(),
        Err(_) => Exit::Io,
    }
}
