//! The account that the process runs as, and what a profile's paths become for it.

use std::path::PathBuf;

use thiserror::Error;

/// An entry of a profile's `accounts`.
#[derive(Clone, PartialEq, Eq, Debug)]
pub(crate) enum Who {
    Anyone,
    Name(String),
    Uid(u32),
}

/// The real user of the process.
#[derive(Clone, PartialEq, Eq, Debug)]
pub struct Account {
    /// The real uid.
    pub uid: u32,
    /// Name and home directory of the passwd entry, if there is one.
    pub passwd: Option<Passwd>,
    /// LOGNAME: all that is known of accounts that come from LDAP and the like, and easily forged.
    pub logname: Option<String>,
}

/// What passwd says of an account.
#[derive(Clone, PartialEq, Eq, Debug)]
pub struct Passwd {
    /// The login name.
    pub name: String,
    /// The home directory.
    pub home: PathBuf,
}

/// Why an account may not use a profile.
#[derive(Clone, PartialEq, Eq, Debug, Error)]
#[non_exhaustive]
pub enum Denied {
    /// There is no such profile.
    #[error("there is no profile '{0}'")]
    NoProfile(String),
    /// The profile does not list the account.
    #[error("profile '{0}' does not list this account in 'accounts'")]
    NotListed(String),
    /// uid 0, without `allow_root`.
    #[error("profile '{0}' is not for uid 0 (allow_root = false)")]
    Root(String),
    /// A path needs a name, and there is none that can be used.
    #[error("'%u' has no meaning here: uid {0} has no passwd entry, and LOGNAME is unset or no plain name")]
    NoName(u32),
    /// A path needs the home directory of an account without a passwd entry.
    #[error("'%h' has no meaning here: uid {0} has no passwd entry, or no absolute home directory")]
    NoHome(u32),
}

/// A path for one account.
pub(crate) struct Expanded {
    pub(crate) path: PathBuf,
    /// Whether the environment had its say in it.
    pub(crate) from_environment: bool,
}

impl Account {
    /// The name that passwd gives.
    pub(crate) fn passwd_name(&self) -> Option<&str> {
        self.passwd.as_ref().map(|passwd| passwd.name.as_str())
    }

    /// Replaces `%u`, `%U`, `%h` and `%%`.
    pub(crate) fn expand(&self, template: &str) -> Result<Expanded, Denied> {
        let mut path = String::new();
        let mut from_environment = false;
        let mut rest = template.chars();
        while let Some(c) = rest.next() {
            match (c, c == '%') {
                (c, false) => path.push(c),
                (_, true) => match rest.next() {
                    Some('u') => {
                        from_environment |= self.passwd.is_none();
                        path.push_str(self.plain_name()?);
                    }
                    Some('U') => path.push_str(&self.uid.to_string()),
                    Some('h') => path.push_str(self.home()?),
                    other => path.extend(other),
                },
            }
        }
        Ok(Expanded { path: path.into(), from_environment })
    }

    /// The login name, where it is one that can stand in a path.
    fn plain_name(&self) -> Result<&str, Denied> {
        let name = self.passwd_name().or(self.logname.as_deref());
        name.filter(|name| is_plain_name(name)).ok_or(Denied::NoName(self.uid))
    }

    fn home(&self) -> Result<&str, Denied> {
        let home = self.passwd.as_ref().filter(|passwd| passwd.home.is_absolute());
        home.and_then(|passwd| passwd.home.to_str()).ok_or(Denied::NoHome(self.uid))
    }
}

/// `[a-z_][a-z0-9_.-]{0,63}`: no slash, no dot in front.
fn is_plain_name(name: &str) -> bool {
    let legal = |b: u8| b.is_ascii_lowercase() || b.is_ascii_digit() || matches!(b, b'_' | b'.' | b'-');
    name.len() <= 64
        && name.bytes().all(legal)
        && name.bytes().next().is_some_and(|first| first.is_ascii_lowercase() || first == b'_')
}

#[cfg(test)]
mod tests {
    use super::*;

    fn account(name: Option<&str>, logname: Option<&str>) -> Account {
        let passwd = name.map(|name| Passwd { name: name.to_owned(), home: format!("/home/{name}").into() });
        Account { uid: 2001, passwd, logname: logname.map(str::to_owned) }
    }

    #[test]
    fn paths_are_expanded_from_passwd_and_never_from_the_environment_beside_it() {
        let expanded = account(Some("deploy"), Some("root")).expand("/srv/%u/%U/100%%").unwrap();
        assert_eq!(expanded.path, PathBuf::from("/srv/deploy/2001/100%"));
        assert!(!expanded.from_environment);
        assert_eq!(
            account(Some("deploy"), None).expand("%h/x").unwrap().path,
            PathBuf::from("/home/deploy/x")
        );
    }

    #[test]
    fn a_name_from_the_environment_is_marked_and_must_be_plain() {
        let expanded = account(None, Some("ldap.user")).expand("/srv/%u").unwrap();
        assert!(expanded.from_environment);
        let long = "a".repeat(65);
        for name in ["../x", "a/b", "", ".x", "-x", "Root", "a b", "ü", long.as_str()] {
            assert_eq!(
                account(None, Some(name)).expand("/srv/%u").err(),
                Some(Denied::NoName(2001)),
                "{name}"
            );
        }
        assert_eq!(account(None, None).expand("%h").err(), Some(Denied::NoHome(2001)));
        assert!(account(None, None).expand("/srv/%U").is_ok());
    }
}
