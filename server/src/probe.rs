//! Answers to the public client's questions, which it believes to ask of a shell: from inside the sandbox, and no
//! more than the profile allows.

use std::io::Write;
use std::os::fd::OwnedFd;

use bcmr_policy::request::Stat;
use bcmr_policy::sandbox::Sandboxed;
use bcmr_policy::{Profile, Usage, View, judge};

use crate::audit::{Audit, Event};
use crate::boot::original::Probe;
use crate::exit::Exit;
use crate::tree::Tree;

/// Answers a question on `output`. That the process is in its sandbox is proved by `_sandboxed`.
pub(crate) fn answer(
    probe: &Probe,
    profile: &Profile,
    tree: &Tree,
    _sandboxed: &Sandboxed,
    output: OwnedFd,
    audit: &Audit,
) -> Exit {
    let text = match probe {
        Probe::Exec => "BCMR_EXEC_AVAILABLE".to_owned(),
        Probe::Echo => "ok\n".to_owned(),
        Probe::Home => seen_root(profile),
        Probe::Directory(path) => {
            return if is_directory(path, profile, tree, audit) { Exit::Done } else { Exit::No };
        }
    };
    match std::fs::File::from(output).write_all(text.as_bytes()) {
        Ok(()) => Exit::Done,
        Err(_) => Exit::Io,
    }
}

/// The served root, as paths of the client spell it.
fn seen_root(profile: &Profile) -> String {
    match profile.rules.view {
        View::Host => format!("/{}", profile.fence.root()),
        View::Jail => "/".to_owned(),
    }
}

fn is_directory(path: &str, profile: &Profile, tree: &Tree, audit: &Audit) -> bool {
    match judge(profile, Usage::default(), path, Stat) {
        Ok(permit) => tree.entry(permit.path()).is_ok_and(|entry| entry.is_dir()),
        Err(refusal) => {
            audit.denied(Event::Refused, "stat", path, &refusal.to_string());
            false
        }
    }
}
