//! From text to drafts of profiles, with the place of each value.

use std::ops::Range;
use std::path::{Path, PathBuf};

use toml::Spanned;
use toml::de::{DeTable, DeValue};

use super::keys::{CAS_KEYS, DIRECT_KEYS, FILE_KEYS, PERSONAL_KEYS, PROFILE_KEYS, unknown};
use super::{PolicyError, PolicyFile};
use crate::rules::{Draft, set, set_cas, set_direct};

/// The file's version that this reader knows, and every one before it.
const VERSION: u64 = 1;

type Value<'t> = Spanned<DeValue<'t>>;

/// Turns byte offsets into places.
struct Source<'t> {
    text: &'t str,
    path: &'t Path,
}

impl Source<'_> {
    fn line(&self, at: usize) -> usize {
        self.text.as_bytes()[..at.min(self.text.len())].iter().filter(|b| **b == b'\n').count() + 1
    }

    fn error(&self, at: &Range<usize>, what: impl Into<String>) -> PolicyError {
        let start = at.start.min(self.text.len());
        let line_start = self.text[..start].rfind('\n').map_or(0, |newline| newline + 1);
        let column = self.text[line_start..start].chars().count() + 1;
        PolicyError { path: self.path.to_owned(), line: self.line(start), column, what: what.into() }
    }
}

pub(super) fn file(text: &str, path: &Path) -> Result<PolicyFile, PolicyError> {
    let source = Source { text, path };
    let parsed = DeTable::parse(text).map_err(|e| {
        let what = e.message().replace('\n', ", ");
        source.error(&e.span().unwrap_or(0..0), what)
    })?;
    let table = parsed.get_ref();
    check_keys(&source, table, &FILE_KEYS)?;
    version(&source, table)?;
    let mut file = PolicyFile { path: PathBuf::from(path), personal: true, profiles: Vec::new() };
    if let Some(personal) = table.get("personal") {
        let personal = as_table(&source, personal, "personal")?;
        check_keys(&source, personal, &PERSONAL_KEYS)?;
        if let Some(allow) = personal.get("allow") {
            let wrong = || source.error(&allow.span(), "'allow' is true or false");
            file.personal = allow.get_ref().as_bool().ok_or_else(wrong)?;
        }
    }
    if let Some(profiles) = table.get("profile") {
        for (name, value) in as_table(&source, profiles, "profile")? {
            file.profiles.push(profile(&source, name, value)?);
        }
        // The parser sorts; people count from the top.
        file.profiles.sort_by_key(|draft| draft.line);
    }
    Ok(file)
}

fn version(source: &Source<'_>, table: &DeTable<'_>) -> Result<(), PolicyError> {
    let Some(version) = table.get("version") else {
        return Err(source.error(&(0..0), format!("'version' is missing; write version = {VERSION}")));
    };
    let number = version.get_ref().as_integer().and_then(|n| n.as_str().parse::<u64>().ok());
    match number {
        Some(1..=VERSION) => Ok(()),
        Some(newer) if newer > VERSION => {
            let what = format!(
                "version {newer} is newer than this server knows ({VERSION}); install a newer server"
            );
            Err(source.error(&version.span(), what))
        }
        _ => Err(source.error(&version.span(), format!("'version' is a number from 1 to {VERSION}"))),
    }
}

fn profile<'t>(
    source: &Source<'t>,
    name: &Spanned<std::borrow::Cow<'t, str>>,
    value: &Value<'t>,
) -> Result<Draft, PolicyError> {
    if !is_profile_name(name.get_ref()) {
        let what = "a profile's name has letters, digits, '.', '_' and '-', at most 64, and begins with a letter or digit";
        return Err(source.error(&name.span(), what));
    }
    let table = as_table(source, value, name.get_ref())?;
    check_keys(source, table, &PROFILE_KEYS)?;
    let mut draft = Draft::new(name.get_ref().to_string(), source.path, source.line(name.span().start));
    for (key, value) in table {
        let nested: Option<(&[&str], Setter)> = match key.get_ref().as_ref() {
            "cas" => Some((&CAS_KEYS, set_cas)),
            "direct" => Some((&DIRECT_KEYS, set_direct)),
            _ => None,
        };
        let Some((known, set_nested)) = nested else {
            put(source, set, &mut draft, key, value)?;
            continue;
        };
        let nested = as_table(source, value, key.get_ref())?;
        check_keys(source, nested, known)?;
        for (key, value) in nested {
            put(source, set_nested, &mut draft, key, value)?;
        }
    }
    if let Some((key, _)) = table.iter().find(|(key, _)| key.get_ref() == "direct")
        && !draft.has("direct.ports")
    {
        return Err(source.error(&key.span(), "'direct' lacks 'ports'"));
    }
    for required in ["accounts", "root", "verbs"] {
        if !draft.has(required) {
            let what = format!("profile '{}' lacks '{required}'", name.get_ref());
            return Err(source.error(&name.span(), what));
        }
    }
    Ok(draft)
}

type Setter = fn(&mut Draft, &str, &DeValue<'_>, usize) -> Result<(), String>;

fn put(
    source: &Source<'_>,
    set: Setter,
    draft: &mut Draft,
    key: &Spanned<std::borrow::Cow<'_, str>>,
    value: &Value<'_>,
) -> Result<(), PolicyError> {
    set(draft, key.get_ref(), value.get_ref(), source.line(key.span().start))
        .map_err(|what| source.error(&value.span(), format!("{}: {what}", key.get_ref())))
}

/// Whether a text may be a profile's name: it also stands on forced command lines.
pub(crate) fn is_profile_name(name: &str) -> bool {
    let legal = |b: u8| b.is_ascii_alphanumeric() || matches!(b, b'.' | b'_' | b'-');
    (1..=64).contains(&name.len())
        && name.bytes().all(legal)
        && name.bytes().next().is_some_and(|first| first.is_ascii_alphanumeric())
}

fn as_table<'v, 't>(
    source: &Source<'t>,
    value: &'v Value<'t>,
    name: &str,
) -> Result<&'v DeTable<'t>, PolicyError> {
    value.get_ref().as_table().ok_or_else(|| source.error(&value.span(), format!("'{name}' is a table")))
}

fn check_keys(source: &Source<'_>, table: &DeTable<'_>, known: &[&str]) -> Result<(), PolicyError> {
    let strange = table.keys().filter(|key| !known.contains(&key.get_ref().as_ref()));
    match strange.min_by_key(|key| key.span().start) {
        None => Ok(()),
        Some(key) => Err(source.error(&key.span(), unknown(key.get_ref(), known))),
    }
}
