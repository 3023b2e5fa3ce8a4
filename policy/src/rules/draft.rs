//! A profile as the file has it: every key with its default, and where it was set.

use std::collections::BTreeMap;
use std::path::{Path, PathBuf};

use toml::de::DeValue;

use super::{Compression, Direct, Rules, Symlinks, View};
use crate::account::{Account, Denied, Who};
use crate::file::values;
use crate::sandbox::Level;
use crate::verb::Verb;

/// A profile before it is known for which account.
#[derive(Clone, Debug)]
pub(crate) struct Draft {
    pub(crate) name: String,
    pub(crate) file: PathBuf,
    pub(crate) line: usize,
    /// The line of each key that was set; others have their defaults.
    pub(super) set: BTreeMap<String, usize>,
    accounts: Vec<Who>,
    root: String,
    state: String,
    /// Everything that is the same for every account.
    rules: Rules,
}

impl Draft {
    pub(crate) fn new(name: String, file: &Path, line: usize) -> Self {
        Self {
            rules: Rules { profile: name.clone(), ..Rules::defaults() },
            name,
            file: file.to_owned(),
            line,
            set: BTreeMap::new(),
            accounts: Vec::new(),
            root: String::new(),
            state: "/var/lib/bcmr/%u".to_owned(),
        }
    }

    pub(crate) fn has(&self, key: &str) -> bool {
        self.set.contains_key(key)
    }

    /// The rules for one account.
    pub(crate) fn resolve(&self, account: &Account) -> Result<Rules, Denied> {
        let named = |who: &Who| match who {
            Who::Anyone => true,
            Who::Uid(uid) => *uid == account.uid,
            Who::Name(name) => account.passwd_name() == Some(name),
        };
        if !self.accounts.iter().any(named) {
            return Err(Denied::NotListed(self.name.clone()));
        }
        if account.uid == 0 && !self.rules.allow_root {
            return Err(Denied::Root(self.name.clone()));
        }
        let root = account.expand(&self.root)?;
        let state = account.expand(&self.state)?;
        let root_owner = (root.from_environment || state.from_environment).then_some(account.uid);
        Ok(Rules { root: root.path, state: state.path, root_owner, ..self.rules.clone() })
    }
}

/// Sets a key of `[profile.NAME]`.
pub(crate) fn set(draft: &mut Draft, key: &str, value: &DeValue<'_>, line: usize) -> Result<(), String> {
    let rules = &mut draft.rules;
    match key {
        "accounts" => draft.accounts = accounts(value)?,
        "root" => draft.root = template(value)?,
        "state" => draft.state = template(value)?,
        "verbs" => {
            rules.verbs = words(value, &Verb::ALL.map(|verb| (verb.name(), verb)))?.into_iter().collect();
        }
        "view" => rules.view = word(value, &[("host", View::Host), ("jail", View::Jail)])?,
        "overwrite" => rules.overwrite = boolean(value)?,
        "symlinks" => {
            rules.symlinks = word(value, &[("inside", Symlinks::Inside), ("never", Symlinks::Never)])?;
        }
        "umask" => rules.umask = Some(values::mode(text(value)?)?),
        "file_mode" => rules.file_mode = Some(values::mode(text(value)?)?),
        "dir_mode" => rules.dir_mode = Some(values::mode(text(value)?)?),
        "max_file" => rules.max_file = Some(positive(values::size(text(value)?)?)?),
        "max_transfer" => rules.max_transfer = Some(positive(values::size(text(value)?)?)?),
        "max_entries" => rules.max_entries = Some(number(value)?),
        "account_quota" => rules.account_quota = Some(positive(values::size(text(value)?)?)?),
        "min_free" => rules.min_free = values::free(text(value)?)?,
        "max_sessions" => rules.max_sessions = Some(number(value)?),
        "rate" => rules.rate = Some(values::rate(text(value)?)?),
        "idle" => rules.idle = values::time(text(value)?)?,
        "sandbox" => rules.sandbox = word(value, &Level::ALL.map(|level| (level.name(), level)))?,
        "compression" => {
            let codecs = words(value, &[("zstd", "zstd"), ("lz4", "lz4")])?;
            rules.compression = Compression { zstd: codecs.contains(&"zstd"), lz4: codecs.contains(&"lz4") };
        }
        "allow_root" => rules.allow_root = boolean(value)?,
        _ => return Err("unknown key".to_owned()),
    }
    draft.set.insert(key.to_owned(), line);
    Ok(())
}

/// Sets a key of `[profile.NAME.cas]`.
pub(crate) fn set_cas(draft: &mut Draft, key: &str, value: &DeValue<'_>, line: usize) -> Result<(), String> {
    let rules = &mut draft.rules;
    match key {
        "cap" => rules.cas.cap = if is_zero(value) { 0 } else { values::size(text(value)?)? },
        "min_free" => rules.cas.min_free = values::free(text(value)?)?,
        _ => return Err("unknown key".to_owned()),
    }
    draft.set.insert(format!("cas.{key}"), line);
    Ok(())
}

/// Sets a key of `[profile.NAME.direct]`.
pub(crate) fn set_direct(
    draft: &mut Draft,
    key: &str,
    value: &DeValue<'_>,
    line: usize,
) -> Result<(), String> {
    let rules = &mut draft.rules;
    let direct = rules.direct.get_or_insert(Direct { ports: (0, 0), address: None, advertise: None });
    let address = |text: &str| text.parse().map_err(|_| format!("'{text}' is no IP address"));
    match key {
        "ports" => direct.ports = values::ports(text(value)?)?,
        "address" => {
            direct.address = match text(value)? {
                "ssh" => None,
                text => Some(address(text).map_err(|e| format!("{e}, nor is it \"ssh\""))?),
            }
        }
        "advertise" => direct.advertise = Some(address(text(value)?)?),
        _ => return Err("unknown key".to_owned()),
    }
    draft.set.insert(format!("direct.{key}"), line);
    Ok(())
}

fn text<'v>(value: &'v DeValue<'_>) -> Result<&'v str, String> {
    value.as_str().ok_or_else(|| format!("must be a text in quotes, not {}", value.type_str()))
}

fn boolean(value: &DeValue<'_>) -> Result<bool, String> {
    value.as_bool().ok_or_else(|| format!("must be true or false, not {}", value.type_str()))
}

fn number(value: &DeValue<'_>) -> Result<u64, String> {
    let number = value.as_integer().and_then(|n| u64::from_str_radix(n.as_str(), n.radix()).ok());
    number.filter(|n| *n > 0).ok_or_else(|| "must be a whole number above 0, without quotes".to_owned())
}

fn is_zero(value: &DeValue<'_>) -> bool {
    value.as_integer().is_some_and(|n| n.as_str() == "0")
}

fn positive(size: u64) -> Result<u64, String> {
    if size == 0 { Err("0 would allow nothing; leave the verb away instead".to_owned()) } else { Ok(size) }
}

fn word<T: Copy>(value: &DeValue<'_>, known: &[(&str, T)]) -> Result<T, String> {
    let word = text(value)?;
    let found = known.iter().find(|(name, _)| *name == word);
    found.map(|(_, meaning)| *meaning).ok_or_else(|| {
        let names: Vec<_> = known.iter().map(|(name, _)| format!("\"{name}\"")).collect();
        format!("\"{word}\" is none of {}", names.join(", "))
    })
}

fn words<T: Copy>(value: &DeValue<'_>, known: &[(&str, T)]) -> Result<Vec<T>, String> {
    let list = value.as_array().ok_or_else(|| format!("must be a list, not {}", value.type_str()))?;
    list.iter().map(|value| word(value.get_ref(), known)).collect()
}

fn accounts(value: &DeValue<'_>) -> Result<Vec<Who>, String> {
    let list = value.as_array().ok_or_else(|| format!("must be a list, not {}", value.type_str()))?;
    let who = |value: &DeValue<'_>| match (value.as_str(), value.as_integer()) {
        (Some("*"), _) => Ok(Who::Anyone),
        (Some(name), _) if !name.is_empty() => Ok(Who::Name(name.to_owned())),
        (_, Some(uid)) => match u32::from_str_radix(uid.as_str(), uid.radix()) {
            Ok(uid) => Ok(Who::Uid(uid)),
            Err(_) => Err(format!("{} is no uid", uid.as_str())),
        },
        _ => Err("an account is a name, a uid, or \"*\"".to_owned()),
    };
    list.iter().map(|value| who(value.get_ref())).collect()
}

/// A path with `%u`, `%U`, `%h` and `%%`.
fn template(value: &DeValue<'_>) -> Result<String, String> {
    let text = text(value)?;
    if !text.starts_with('/') && !text.starts_with("%h") {
        return Err(format!("\"{text}\" is not absolute"));
    }
    if text.split('/').any(|name| name == "..") || text.contains('\0') {
        return Err(format!("\"{text}\" has a '..' or a NUL in it"));
    }
    let mut rest = text.chars();
    while let Some(c) = rest.next() {
        if c == '%' && !matches!(rest.next(), Some('u' | 'U' | 'h' | '%')) {
            return Err(format!("\"{text}\" has a '%' that stands for nothing; known are %u, %U, %h and %%"));
        }
    }
    Ok(text.to_owned())
}
