//! The sessions that live on this host, from /proc: what each was started with, by whom, and what it has moved.

#![allow(clippy::disallowed_methods, reason = "/proc is what the command is about")]

use std::ffi::OsString;
use std::fmt::Write as _;
use std::fs;
use std::io::Write as _;
use std::os::unix::ffi::OsStringExt;
use std::path::{Path, PathBuf};
use std::time::{SystemTime, UNIX_EPOCH};

use serde_json::{Value, json};

use crate::boot::args::{self, Command, ServeArgs, SessionsArgs};
use crate::boot::shell;
use crate::exit::{Exit, say};

/// A live session. What only root may know of others' processes is None for everyone else.
struct Live {
    pid: u32,
    uid: u32,
    profile: Option<String>,
    label: Option<String>,
    seconds: u64,
    peer: Option<String>,
    /// Bytes that it has read and written, files and streams together.
    moved: Option<(u64, u64)>,
}

/// Prints the live sessions, the oldest first.
pub(crate) fn sessions(args: &SessionsArgs) -> Exit {
    let own = std::process::id();
    let Ok(processes) = fs::read_dir("/proc") else {
        say("/proc cannot be read");
        return Exit::Io;
    };
    let pids = processes.flatten().filter_map(|entry| entry.file_name().to_str()?.parse().ok());
    let mut live: Vec<Live> = pids.filter(|pid| *pid != own).filter_map(look).collect();
    live.sort_by_key(|session| (std::cmp::Reverse(session.seconds), session.pid));
    let text = if args.json { json(&live) } else { table(&live) };
    match std::io::stdout().write_all(text.as_bytes()) {
        Ok(()) => Exit::Done,
        Err(_) => Exit::Io,
    }
}

/// What a process is; None where it is no session, or gone.
fn look(pid: u32) -> Option<Live> {
    let dir = PathBuf::from(format!("/proc/{pid}"));
    let words: Vec<OsString> = fs::read(dir.join("cmdline"))
        .ok()?
        .split(|byte| *byte == 0)
        .map(|word| OsString::from_vec(word.to_vec()))
        .collect();
    // Each word ends in NUL, so that the last one is none.
    let serve = served(words.split_last()?.1)?;
    let status = fs::read_to_string(dir.join("status")).ok()?;
    let uid = field(&status, "Uid:")?.parse().ok()?;
    let seconds = seconds(&dir)?;
    let environment = fs::read(dir.join("environ")).unwrap_or_default();
    let io = fs::read_to_string(dir.join("io")).ok();
    let bytes = |name: &str| field(io.as_deref()?, name)?.parse().ok();
    Some(Live {
        pid,
        uid,
        profile: serve.profile,
        label: serve.label,
        seconds,
        peer: peer(&environment),
        moved: bytes("rchar:").zip(bytes("wchar:")),
    })
}

/// How a process serves, where its command line is one that does.
fn served(words: &[OsString]) -> Option<ServeArgs> {
    let program = Path::new(words.first()?).file_name()?.to_str()?;
    if program.trim_start_matches('-') != "bcmr-serve" {
        return None;
    }
    // As a login shell: the text begins with the program's own path, whatever that is.
    if let [_, dash_c, text] = words
        && dash_c == "-c"
    {
        let own = text.to_str()?.split(' ').next()?;
        return shell::asked(words, Some(Path::new(own)))?.ok();
    }
    match args::parse(words.to_vec(), "") {
        Ok(Command::Serve(serve)) => Some(serve),
        _ => None,
    }
}

/// The first word after a name in one of /proc's files.
fn field<'t>(text: &'t str, name: &str) -> Option<&'t str> {
    text.lines().find_map(|line| line.strip_prefix(name))?.split_whitespace().next()
}

/// For how long a process has lived: its directory in /proc is as old as it.
fn seconds(dir: &Path) -> Option<u64> {
    let stat = fs::read_to_string(dir.join("stat")).ok()?;
    // The name in parentheses may hold anything; the 22nd field is the start, in ticks since boot (proc(5)).
    let ticks: u64 = stat.rsplit_once(") ")?.1.split(' ').nth(19)?.parse().ok()?;
    let boot: u64 = field(&fs::read_to_string("/proc/stat").ok()?, "btime")?.parse().ok()?;
    let now = SystemTime::now().duration_since(UNIX_EPOCH).ok()?.as_secs();
    Some(now.saturating_sub(boot + ticks / rustix::param::clock_ticks_per_second()))
}

fn peer(environment: &[u8]) -> Option<String> {
    let value =
        environment.split(|byte| *byte == 0).find_map(|entry| entry.strip_prefix(b"SSH_CONNECTION="))?;
    let peer = std::str::from_utf8(value).ok()?.split(' ').next()?;
    Some(peer.escape_default().to_string())
}

fn table(live: &[Live]) -> String {
    let known = |text: &Option<String>| text.clone().unwrap_or_else(|| "-".to_owned());
    let mut out = format!(
        "{:>8} {:>8} {:16} {:16} {:>9} {:>14} {:>14}  {}\n",
        "PID", "UID", "PROFILE", "LABEL", "SECONDS", "READ", "WRITTEN", "PEER"
    );
    for session in live {
        let (read, written) = match session.moved {
            Some((read, written)) => (read.to_string(), written.to_string()),
            None => ("-".to_owned(), "-".to_owned()),
        };
        // Writing to a String cannot fail.
        let _ = writeln!(
            out,
            "{:>8} {:>8} {:16} {:16} {:>9} {read:>14} {written:>14}  {}",
            session.pid,
            session.uid,
            session.profile.as_deref().unwrap_or("personal"),
            known(&session.label),
            session.seconds,
            known(&session.peer),
        );
    }
    out
}

fn json(live: &[Live]) -> String {
    let sessions: Vec<Value> = live
        .iter()
        .map(|session| {
            json!({
                "pid": session.pid, "uid": session.uid, "profile": session.profile, "label": session.label,
                "seconds": session.seconds, "peer": session.peer,
                "read": session.moved.map(|moved| moved.0), "written": session.moved.map(|moved| moved.1),
            })
        })
        .collect();
    format!("{:#}\n", Value::from(sessions))
}
