//! Acting as the account that a command is about: what root does in an account's tree, the account itself
//! could otherwise turn against root.

use std::ffi::CString;

use nix::unistd::{Gid, Uid, initgroups, setgid, setuid};

use bcmr_policy::Account;

use crate::boot::account;
use crate::boot::environment::Environment;

/// The account of `name`, whose identity the process has from here on; without a name, the one it has.
///
/// # Errors
/// Text for the operator.
pub(crate) fn assume(name: Option<&str>, environment: &Environment) -> Result<Account, String> {
    let own = account::own(environment);
    let Some(name) = name else { return Ok(own) };
    let named = account::named(name).ok_or_else(|| format!("passwd has no account '{name}'"))?;
    if named.account.uid == own.uid {
        return Ok(named.account);
    }
    if own.uid != 0 {
        return Err(format!("only root may act as '{name}'"));
    }
    let failed = |e: nix::Error| format!("cannot become '{name}': {e}");
    let gid = Gid::from_raw(named.gid);
    let user = CString::new(name).map_err(|_| format!("'{name}' is no name"))?;
    initgroups(&user, gid).and_then(|()| setgid(gid)).map_err(failed)?;
    setuid(Uid::from_raw(named.account.uid)).map_err(failed)?;
    Ok(named.account)
}
