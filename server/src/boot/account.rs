//! Who the process runs as. Only passwd is asked: the static binary has no other source of names, and sshd has
//! looked the account up already.

use bcmr_policy::{Account, Passwd};
use nix::unistd::{Uid, User};

use super::environment::Environment;

/// The account of the real uid.
pub(crate) fn own(environment: &Environment) -> Account {
    let uid = Uid::current();
    let passwd = User::from_uid(uid).ok().flatten().map(passwd);
    Account { uid: uid.as_raw(), passwd, logname: environment.logname.clone() }
}

/// An account that was asked for by name, with its group.
pub(crate) struct Named {
    pub(crate) account: Account,
    pub(crate) gid: u32,
}

/// The account of a name; None where passwd has none.
pub(crate) fn named(name: &str) -> Option<Named> {
    let user = User::from_name(name).ok().flatten()?;
    let (uid, gid) = (user.uid.as_raw(), user.gid.as_raw());
    Some(Named { account: Account { uid, passwd: Some(passwd(user)), logname: None }, gid })
}

fn passwd(user: User) -> Passwd {
    Passwd { name: user.name, home: user.dir }
}
