//! Who is told what, where nobody is served.

use std::os::fd::OwnedFd;

use super::args::ServeArgs;
use super::denial::{Denial, REFUSED};
use super::environment::Environment;
use super::original::Original;
use crate::exit::{self, Exit};
use crate::id::SessionId;
use crate::reply;

/// For whom the process was started.
pub(crate) struct Audience {
    /// None in personal mode.
    pub(crate) profile: Option<String>,
    pub(crate) label: Option<String>,
    /// What the client wanted sshd to run.
    pub(crate) original: Original,
}

impl Audience {
    pub(crate) fn of(args: &Result<ServeArgs, Denial>, environment: &Environment) -> Self {
        match args {
            // People serve their own files; what else sshd might have run is their own affair.
            Ok(args) if args.profile.is_none() => {
                Self { profile: None, label: None, original: Original::Serve }
            }
            Ok(args) => Self {
                profile: args.profile.clone(),
                label: args.label.clone(),
                original: Original::parse(environment.original_command.as_deref()),
            },
            Err(_) => Self { profile: Some("-".to_owned()), label: None, original: Original::Other },
        }
    }

    /// Tells the client: by an Error frame where it speaks the protocol, else by one line of text.
    pub(crate) fn tell(&self, denial: &Denial, output: OwnedFd, id: SessionId) {
        let told =
            if self.profile.is_some() && denial.exit == Exit::Refused { REFUSED } else { &*denial.told };
        match self.original {
            Original::Other => exit::say(told),
            Original::Probe(_) => exit::say(&reply::with_session(told, id)),
            Original::Serve => {
                if self.profile.is_none() {
                    // Who serves their own files is the operator.
                    exit::say(&denial.why);
                }
                reply::refuse(output, id, told);
            }
        }
    }
}
