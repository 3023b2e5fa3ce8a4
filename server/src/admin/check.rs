use std::io::Write;
use std::path::{Path, PathBuf};

use bcmr_policy::file::DEFAULT;

use crate::boot::args::CheckArgs;
use crate::boot::environment::Environment;
use crate::boot::{account, policy};
use crate::exit::{Exit, say};

/// Checks the policy file, and prints every profile as it is for the account.
pub(crate) fn check(args: CheckArgs, environment: &Environment) -> Exit {
    let account = match args.account {
        None => account::own(environment),
        Some(name) => match account::named(&name) {
            Some(named) => named.account,
            None => {
                say(&format!("passwd has no account '{name}'"));
                return Exit::Usage;
            }
        },
    };
    let path = args.policy.unwrap_or_else(|| PathBuf::from(DEFAULT));
    let path = std::path::absolute(&path).unwrap_or(path);
    match policy::load(Path::new(&path)) {
        Ok(policy) => match std::io::stdout().write_all(policy.show(&account).as_bytes()) {
            Ok(()) => Exit::Done,
            Err(_) => Exit::Io,
        },
        Err(why) => {
            say(&why);
            Exit::Refused
        }
    }
}
