//! Defaults from a file: what a person would otherwise type for a host again and again.
//!
//! Each setting stands for an option of the command line, and is put in front of what was typed, so that it is read
//! and checked by the same code, and what was typed comes after it and decides. What all commands have goes before
//! the command, since of an option that stands before and after it the latter decides.

use std::ffi::OsString;
use std::fs;
use std::io::ErrorKind;
use std::path::{Path, PathBuf};

use glob::Pattern;
use toml::de::{DeTable, DeValue};

use crate::cli::{self, Cli, Command};
use crate::exit::Fatal;
use crate::target::{Host, Target};
use crate::version;

/// What may stand in the file, by the option that it stands for, and whether only `copy` has that.
const SETTINGS: [(&str, bool); 20] = [
    ("ssh-config", false),
    ("ssh-port", false),
    ("ssh-identity", false),
    ("ssh-jump", false),
    ("ssh-cipher", false),
    ("retries", false),
    ("no-retry", false),
    ("stall", false),
    ("min-rate", false),
    ("remote-command", false),
    ("preserve", true),
    ("verify", true),
    ("sync", true),
    ("fast", true),
    ("no-fallback", true),
    ("compress", true),
    ("parallel", true),
    ("progress", true),
    ("bandwidth-limit", true),
    ("exclude", true),
];

/// Reads the file, and the command line again with its defaults.
///
/// # Errors
/// Where the file cannot be read, or has in it what is no setting.
pub(crate) fn apply(cli: Cli, args: &[OsString]) -> Result<Cli, Fatal> {
    let Some(host) = host(&cli) else { return Ok(cli) };
    let Some((path, text)) = read(cli.connection.config.as_deref())? else { return Ok(cli) };
    let wrong = |why: String| Fatal::usage(format!("{}: {why}", path.display()));
    let parsed = DeTable::parse(&text).map_err(|e| wrong(in_line(&text, &e)))?;
    let options = options(parsed.get_ref(), &host, matches!(cli.command, Command::Copy(_))).map_err(wrong)?;
    if options.is_empty() {
        return Ok(cli);
    }
    let (own, common): (Vec<_>, Vec<_>) = options.into_iter().partition(is_copys_own);
    let mut all = args.to_vec();
    let command = command_at(&all) + 1;
    all.splice(command..command, own);
    all.splice(1..1, common);
    cli::parse(version::text(), &all).map_err(|e| {
        let text = e.render().to_string();
        wrong(text.lines().next().unwrap_or_default().trim_start_matches("error: ").to_owned())
    })
}

/// Where the command stands: after the options before it, and their values.
fn command_at(args: &[OsString]) -> usize {
    let known = cli::command(version::text());
    let takes_value = |arg: &str| {
        let mut options = known.get_arguments();
        options.any(|o| o.get_long() == arg.strip_prefix("--") && o.get_action().takes_values())
    };
    let mut at = 1;
    while let Some(arg) = args.get(at).and_then(|arg| arg.to_str()).filter(|arg| arg.starts_with('-')) {
        at += if takes_value(arg) { 2 } else { 1 };
    }
    at.min(args.len().saturating_sub(1))
}

/// Whether no other command has an option.
fn is_copys_own(option: &OsString) -> bool {
    let name = option.to_str().and_then(|option| option.strip_prefix("--")).unwrap_or_default();
    let name = name.split('=').next().unwrap_or_default();
    SETTINGS.iter().any(|(known, only_copy)| *known == name && *only_copy)
}

/// What is wrong with the file's text, in one line.
fn in_line(text: &str, error: &toml::de::Error) -> String {
    let line =
        error.span().and_then(|span| text.get(..span.start)).map(|before| before.matches('\n').count() + 1);
    let line = line.map(|line| format!("line {line}: ")).unwrap_or_default();
    format!("{line}{}", error.message().lines().collect::<Vec<_>>().join(", "))
}

/// The host that a command is about: the first that is named.
fn host(cli: &Cli) -> Option<String> {
    let via = cli.connection.via.is_some();
    let paths = match &cli.command {
        Command::Copy(args) => args.paths.as_slice(),
        Command::Check(args) => &args.paths,
        Command::Ls(args) => &args.remote.paths,
        Command::Stat(args) | Command::Du(args) | Command::Hash(args) | Command::Mkdir(args) => &args.paths,
        Command::Doctor(args) => &[args.target().into()],
        _ => return None,
    };
    paths.iter().find_map(|path| match Target::parse(path, via) {
        Ok(Target::Remote(remote)) => match remote.host {
            Host::Ssh { name, .. } => Some(name),
            Host::Via => Some(String::new()),
        },
        _ => None,
    })
}

/// The file's path and text; None where there is none and none was asked for.
fn read(given: Option<&Path>) -> Result<Option<(PathBuf, String)>, Fatal> {
    let path = match given {
        Some(path) => path.to_owned(),
        None => {
            let own = |name: &str| std::env::var_os(name).map(PathBuf::from).filter(|dir| dir.is_absolute());
            match own("XDG_CONFIG_HOME").or_else(|| own("HOME").map(|home| home.join(".config"))) {
                Some(dir) => dir.join("bcmr/config.toml"),
                None => return Ok(None),
            }
        }
    };
    match fs::read_to_string(&path) {
        Ok(text) => Ok(Some((path, text))),
        Err(e) if given.is_none() && matches!(e.kind(), ErrorKind::NotFound | ErrorKind::NotADirectory) => {
            Ok(None)
        }
        // Somebody else's home directory, as sudo may leave it in HOME; one's own file that cannot be read is an error.
        Err(e) if given.is_none() && e.kind() == ErrorKind::PermissionDenied && is_out_of_reach(&path) => {
            Ok(None)
        }
        Err(e) => Err(Fatal::usage(format!("{}: {e}", path.display()))),
    }
}

/// Whether not even what stands under a name can be learnt.
fn is_out_of_reach(path: &Path) -> bool {
    fs::metadata(path).is_err_and(|e| e.kind() == ErrorKind::PermissionDenied)
}

/// The options for a host: those of all hosts, then those whose pattern fits, in the order of the patterns. The last
/// one decides.
fn options(table: &DeTable<'_>, host: &str, copies: bool) -> Result<Vec<OsString>, String> {
    let mut options = Vec::new();
    for (name, value) in table {
        match (&**name.get_ref(), value.get_ref().as_table()) {
            ("defaults", Some(settings)) => options = typed("[defaults]", settings, copies)?,
            ("host", Some(_)) => {}
            ("defaults" | "host", None) => return Err(format!("{} is no table", name.get_ref())),
            (name, _) => return Err(format!("\"{name}\" is neither [defaults] nor [host.\"NAME\"]")),
        }
    }
    let hosts = table.get("host").and_then(|hosts| hosts.get_ref().as_table());
    for (pattern, settings) in hosts.into_iter().flatten() {
        let place = format!("[host.\"{}\"]", pattern.get_ref());
        let pattern = Pattern::new(pattern.get_ref()).map_err(|e| format!("{place}: {e}"))?;
        let settings = settings.get_ref().as_table().ok_or_else(|| format!("{place} is no table"))?;
        // What is wrong is said whatever the host.
        let typed = typed(&place, settings, copies)?;
        if pattern.matches(host) {
            options.extend(typed);
        }
    }
    Ok(options)
}

/// The settings of one table as they would be typed.
fn typed(place: &str, settings: &DeTable<'_>, copies: bool) -> Result<Vec<OsString>, String> {
    let mut options = Vec::new();
    for (name, value) in settings {
        let name = &**name.get_ref();
        let known = SETTINGS.iter().find(|(known, _)| *known == name);
        let (_, only_copy) = known.ok_or_else(|| format!("{place}: \"{name}\" is no setting"))?;
        let option = option(name, value.get_ref());
        let option = option.ok_or_else(|| format!("{place}: {name}: not a value of an option"))?;
        if copies || !only_copy {
            options.extend(option);
        }
    }
    Ok(options)
}

/// A setting as it would be typed; nothing where it is false.
fn option(name: &str, value: &DeValue<'_>) -> Option<Vec<OsString>> {
    let given = |value: &str| OsString::from(format!("--{name}={value}"));
    Some(match value {
        // Then --retries, typed or of a host, decides as it would over any other number.
        DeValue::Boolean(true) if name == "no-retry" => vec!["--retries=0".into()],
        DeValue::Boolean(true) => vec![format!("--{name}").into()],
        DeValue::Boolean(false) => Vec::new(),
        DeValue::String(text) => vec![given(text)],
        DeValue::Integer(number) => vec![given(number.as_str())],
        DeValue::Array(all) => {
            all.iter().map(|one| one.get_ref().as_str().map(given)).collect::<Option<_>>()?
        }
        _ => return None,
    })
}

#[cfg(test)]
mod tests {
    use super::*;

    fn typed(text: &str, host: &str) -> Result<Vec<String>, String> {
        let options = options(DeTable::parse(text).unwrap().get_ref(), host, true)?;
        Ok(options.into_iter().map(|option| option.into_string().unwrap()).collect())
    }

    #[test]
    fn what_is_said_of_a_host_comes_after_what_is_said_of_all() {
        let text = "[defaults]\nparallel = 2\nsync = false\n[host.\"*.example.org\"]\nparallel = 4\nsync = true\n\
                    ssh-identity = [\"a\", \"b\"]";
        assert_eq!(typed(text, "other").unwrap(), ["--parallel=2"]);
        assert_eq!(
            typed(text, "x.example.org").unwrap(),
            ["--parallel=2", "--parallel=4", "--ssh-identity=a", "--ssh-identity=b", "--sync"]
        );
    }

    #[test]
    fn what_is_no_setting_is_named_whatever_the_host() {
        for (text, says) in [
            ("[default]\n", "\"default\" is neither"),
            ("[defaults]\nspeed = 1", "\"speed\" is no setting"),
            ("[host.a]\nforce = true", "\"force\" is no setting"),
            ("[defaults]\nsync = 1.5", "not a value"),
            ("[host]\na = 1", "is no table"),
        ] {
            let why = typed(text, "b").unwrap_err();
            assert!(why.contains(says), "{text:?}: {why}");
        }
    }
}
