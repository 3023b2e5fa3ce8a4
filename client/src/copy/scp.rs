//! What is done where the other side has no server that speaks the protocol: one warning, then scp, for what scp can
//! do. Nothing has been changed before; and what would be replaced without having been asked for is looked for first,
//! because scp replaces whatever there is.

use std::borrow::Cow;
use std::ffi::OsStr;
use std::process::{Command, Stdio};
use std::sync::Arc;

use super::{Ended, Way, names};
use crate::cli::{ConnectionArgs, CopyArgs};
use crate::exit::{Exit, Fatal};
use crate::target::{Host, Remote};
use crate::transport::Route;
use crate::ui::Ui;

/// What the remote shell says of a destination that is to be a directory and is none.
const NO_DIRECTORY: &str = "no directory";

/// What the remote shell says when it has looked at everything.
const LOOKED: &str = "looked";

/// Copies with scp, where that does what was asked for.
pub(super) fn copy(
    why: &Fatal,
    way: &Way,
    args: &CopyArgs,
    connection: &ConnectionArgs,
    ui: &Arc<Ui>,
) -> Ended {
    let refuse = |what: String| {
        let message = format!("{}; {what}", why.message);
        Ended { result: Err(Fatal::new(why.exit, message)), failed: 0, by_scp: false }
    };
    if let Some(option) = beyond(args) {
        return refuse(format!("scp could copy instead, but does not know {option}"));
    }
    if !args.force {
        match standing(way, connection) {
            Ok(None) => {}
            Ok(Some(name)) => {
                return refuse(format!("scp could copy instead, but {name} exists (replace it with -f -y)"));
            }
            Err(e) => {
                return refuse(format!(
                    "scp could copy instead, but replaces what exists, and what does cannot be found out ({e}); -f -y \
                     allows that"
                ));
            }
        }
    }
    ui.note(&format!(
        "{}; copying with scp instead, which compares no hashes and leaves partial files where it is interrupted",
        why.message
    ));
    ui.hand_over();
    let (exit, failed) = match scp(way, args, connection).status() {
        Ok(status) if status.success() => (Exit::Done, 0),
        Ok(_) => (Exit::SomeFailed, 1),
        Err(e) => return refuse(format!("scp cannot be started: {e}")),
    };
    Ended { result: Ok(exit), failed, by_scp: true }
}

/// The first option that was given and that scp has nothing for.
fn beyond(args: &CopyArgs) -> Option<&'static str> {
    [
        (!args.exclude.is_empty(), "--exclude"),
        (!args.include.is_empty(), "--include"),
        (args.dry_run, "--dry-run"),
        (args.verify, "--verify"),
        (args.resume, "--resume"),
        (args.no_deref, "--no-deref"),
        (args.sync, "--sync"),
    ]
    .into_iter()
    .find_map(|(given, option)| given.then_some(option))
}

fn scp(way: &Way, args: &CopyArgs, connection: &ConnectionArgs) -> Command {
    let mut command = Command::new("scp");
    if let Some(config) = &connection.ssh_config {
        command.arg("-F").arg(config);
    }
    if let Some(port) = connection.ssh_port {
        command.args(["-P", &port.to_string()]);
    }
    for identity in &connection.ssh_identity {
        command.arg("-i").arg(identity);
    }
    if let Some(jump) = &connection.ssh_jump {
        command.args(["-J", jump]);
    }
    for (given, option) in [(args.recursive, "-r"), (args.preserve, "-p"), (args.quiet || args.json, "-q")] {
        if given {
            command.arg(option);
        }
    }
    if let Some(rate) = args.bandwidth_limit {
        // In Kbit/s.
        command.args(["-l", &(rate.saturating_mul(8) / 1000).max(1).to_string()]);
    }
    command.arg("--");
    // A local path stands as it was written: scp takes it for local by the same rules.
    match way {
        Way::Up { sources, to } => command.args(sources).arg(to.to_string()),
        Way::Down { sources, to } => command.args(sources.iter().map(ToString::to_string)).arg(to),
    };
    // stdout is for programs.
    command.stdout(Stdio::from(std::io::stderr()));
    command
}

/// What would be replaced.
fn standing(way: &Way, connection: &ConnectionArgs) -> Result<Option<String>, String> {
    match way {
        Way::Up { sources, to } => {
            let own: Option<Vec<_>> = sources.iter().map(|source| names::own_name(source)).collect();
            let own = own.ok_or("a source has no name of its own")?;
            there(&own, to, connection)
        }
        Way::Down { sources, to } => {
            // scp makes no directory.
            if to.as_os_str().as_encoded_bytes().ends_with(b"/") {
                std::fs::create_dir_all(to).map_err(|e| format!("{}: {e}", to.display()))?;
            }
            for source in sources {
                let own = names::own_remote_name(source.path.as_str()).filter(|name| !name.contains('*'));
                let own = own.ok_or("a source has no name of its own")?;
                let copy = if to.is_dir() { to.join(own) } else { to.clone() };
                if copy.symlink_metadata().is_ok() {
                    return Ok(Some(copy.display().to_string()));
                }
            }
            Ok(None)
        }
    }
}

/// Has the remote shell look, which is there, since it said that the server is not.
fn there(own: &[&OsStr], to: &Remote, connection: &ConnectionArgs) -> Result<Option<String>, String> {
    let Host::Ssh { .. } = to.host else { return Err("no shell is there".to_owned()) };
    let quote = |text: &str| shlex::try_quote(text).map(Cow::into_owned).map_err(|e| e.to_string());
    let path = match to.path.as_str() {
        "" => ".".to_owned(),
        // As an argument of test it is no option.
        path if path.starts_with('/') => path.to_owned(),
        path => format!("./{path}"),
    };
    let names: Result<Vec<_>, _> =
        own.iter().map(|name| quote(name.to_str().ok_or("a name is not UTF-8")?)).collect();
    let script = format!(
        "d={}; if test -d \"$d\"; then for n in {}; do if test -e \"$d/$n\"; then echo \"$d/$n\"; fi; done; \
         elif test -e \"$d\"; then echo \"$d\"; else case \"$d\" in */) echo {NO_DIRECTORY};; esac; fi; echo {LOOKED}",
        quote(&path)?,
        names?.join(" ")
    );
    let output = Route::new(&to.host, false, connection).shell(&script).map_err(|e| e.to_string())?;
    let text = String::from_utf8_lossy(&output.stdout).into_owned();
    let lines: Vec<_> = text.lines().collect();
    match lines.as_slice() {
        [NO_DIRECTORY, LOOKED] => Err(format!("{} is no directory, and scp makes none", to.path.as_str())),
        [LOOKED] => Ok(None),
        [name, .., LOOKED] => Ok(Some((*name).to_owned())),
        _ => Err("its shell cannot be asked".to_owned()),
    }
}
