//! Acting as the account that a command is about: what root does in an account's tree, the account itself
//! could otherwise turn against root.

use std::ffi::CString;

use nix::unistd::{Gid, Uid, initgroups, setgid, setuid};

use bcmr_policy::Account;

use crate::boot::account;
use crate::boot::environment::Environment;
use crate::exit::{Exit, say};

/// The account of `name`, whose identity the process has from here on; without a name, the one it has.
///
/// # Errors
/// How the command ends; it has been said why.
pub(crate) fn assume(name: Option<&str>, environment: &Environment) -> Result<Account, Exit> {
    let own = account::own(environment);
    let Some(name) = name else { return Ok(own) };
    let refused = |why: String, exit: Exit| {
        say(&why);
        exit
    };
    let named = account::named(name)
        .ok_or_else(|| refused(format!("passwd has no account '{name}'"), Exit::Usage))?;
    if named.account.uid == own.uid {
        return Ok(named.account);
    }
    if own.uid != 0 {
        return Err(refused(format!("only root may act as '{name}'"), Exit::NotPermitted));
    }
    let failed = |e: nix::Error| refused(format!("cannot become '{name}': {e}"), Exit::NotPermitted);
    let gid = Gid::from_raw(named.gid);
    let user = CString::new(name).map_err(|_| refused(format!("'{name}' is no name"), Exit::Usage))?;
    initgroups(&user, gid).and_then(|()| setgid(gid)).map_err(failed)?;
    setuid(Uid::from_raw(named.account.uid)).map_err(failed)?;
    Ok(named.account)
}
