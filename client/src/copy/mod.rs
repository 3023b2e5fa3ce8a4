//! The copy command: which way, to where, and what is made of what comes out.

mod ahead;
mod announce;
pub(crate) mod check;
mod crew;
pub(crate) mod dial;
pub(crate) mod download;
mod filter;
mod found;
pub(crate) mod landing;
mod names;
pub(crate) mod opened;
pub(crate) mod order;
mod outcomes;
mod pace;
mod place;
mod prove;
mod rehearse;
mod resume;
mod scp;
mod settle;
mod stars;
pub(crate) mod upload;

use std::ffi::OsString;
use std::io::{BufRead, IsTerminal, Write};
use std::path::PathBuf;
use std::sync::Arc;

use bcmr_wire::Caps;

use crate::cli::{Compress, ConnectionArgs, CopyArgs, Progress};
use crate::exit::{Exit, Fatal};
use crate::interrupt;
use crate::plan::Links;
use crate::pulse::Patience;
use crate::rerun;
use crate::target::{Host, Remote, Target};
use crate::ui::Ui;

pub(crate) use filter::Filter;
pub(crate) use outcomes::{Copied, Failure, Outcomes};
use pace::Pace;

/// How files are copied.
#[derive(Clone, Debug)]
pub(crate) struct Settings {
    pub(crate) recursive: bool,
    /// Whether downloads get the times of their sources.
    pub(crate) preserve: bool,
    /// Whether nothing is to be changed.
    pub(crate) dry_run: bool,
    /// Whether what is there already is to be found out first.
    pub(crate) resume: bool,
    /// Whether what was copied in part only is hashed as a whole afterwards.
    pub(crate) strict: bool,
    /// Whether every file is read again on both sides.
    pub(crate) verify: bool,
    pub(crate) links: Links,
    pub(crate) filter: Filter,
    pub(crate) pace: Arc<Pace>,
    pub(crate) overwrite: bool,
    pub(crate) sync: bool,
    /// What to ask the server for.
    pub(crate) caps: Caps,
    pub(crate) patience: Patience,
    /// Connections at once; None where that depends on what is copied.
    pub(crate) parallel: Option<usize>,
}

/// Files and bytes from which on more than one connection is worth its start, where nobody says.
const MANY_FILES: usize = 256;
const MUCH: u64 = 512 << 20;

impl Settings {
    /// For asking a server, and copying nothing.
    pub(crate) fn asking(connection: &ConnectionArgs, recursive: bool) -> Self {
        Self {
            recursive,
            preserve: false,
            dry_run: true,
            resume: false,
            strict: false,
            verify: false,
            links: Links::Follow,
            filter: Filter::default(),
            pace: Arc::new(Pace::new(None)),
            overwrite: false,
            sync: false,
            caps: Caps::NONE,
            patience: Patience::of(connection),
            parallel: Some(1),
        }
    }

    /// Connections for so many files with so many bytes.
    fn parallel_for(&self, files: usize, bytes: u64) -> usize {
        match self.parallel {
            Some(parallel) => parallel,
            None if files >= MANY_FILES && bytes >= MUCH => 2,
            None => 1,
        }
    }
}

/// Copies, says what went wrong, and returns the exit code.
pub(crate) fn run(args: &CopyArgs, connection: &ConnectionArgs) -> Exit {
    let ui = Arc::new(Ui::new(args.quiet, args.verbose, args.progress, args.json));
    let ended = match prepare(args, connection) {
        Ok((way, settings)) => {
            // Not before: whoever is asked something can say no.
            interrupt::watch();
            rerun::copies();
            ui.begin(&way);
            copy(&way, settings, args, connection, &ui)
        }
        Err(fatal) => Ended::of(Err(fatal), 0),
    };
    ui.end(&ended);
    ended.exit()
}

/// Ends a command that cannot begin.
pub(crate) fn refuse(fatal: Fatal, json: bool) -> Exit {
    let ended = Ended::of(Err(fatal), 0);
    Ui::new(false, false, Progress::Off, json).end(&ended);
    ended.exit()
}

/// How it ended.
pub(crate) struct Ended {
    pub(crate) result: Result<Exit, Fatal>,
    /// Files that failed.
    pub(crate) failed: u64,
    /// Whether scp did it, which tells nobody what it did.
    pub(crate) by_scp: bool,
}

impl Ended {
    fn of(result: Result<(), Fatal>, failed: u64) -> Self {
        let exit = if failed > 0 { Exit::SomeFailed } else { Exit::Done };
        Self { result: result.map(|()| exit), failed, by_scp: false }
    }

    fn exit(&self) -> Exit {
        match &self.result {
            Ok(exit) => *exit,
            Err(fatal) => fatal.exit,
        }
    }
}

fn prepare(args: &CopyArgs, connection: &ConnectionArgs) -> Result<(Way, Settings), Fatal> {
    let way = Way::of(&args.paths, connection.via.is_some())?;
    if args.no_deref && matches!(way, Way::Down { .. }) {
        return Err(Fatal::usage(
            "--no-deref is for uploads: protocol 2 does not tell which names on a server are links, and the server \
             follows those that stay below its root",
        ));
    }
    let settings = Settings {
        recursive: args.recursive,
        preserve: args.preserve,
        dry_run: args.dry_run,
        resume: args.resume,
        strict: args.strict,
        verify: args.verify,
        links: if args.no_deref { Links::LeaveOut } else { Links::Follow },
        filter: Filter { exclude: args.exclude.clone(), include: args.include.clone() },
        pace: Arc::new(Pace::new(args.bandwidth_limit)),
        overwrite: may_overwrite(args)?,
        sync: args.sync,
        caps: caps(args),
        patience: Patience::of(connection),
        parallel: args.parallel.map(usize::from),
    };
    Ok((way, settings))
}

fn copy(way: &Way, settings: Settings, args: &CopyArgs, connection: &ConnectionArgs, ui: &Arc<Ui>) -> Ended {
    if args.preserve {
        match way {
            Way::Up { .. } => {
                ui.note("-p: protocol 2 carries neither times nor modes in uploads; they are left out");
            }
            Way::Down { .. } => {
                ui.note("-p: protocol 2 carries times of modification in downloads, and no modes");
            }
        }
    }
    let outcomes = Arc::new(Outcomes::new(Arc::clone(ui), settings));
    let copied = match way {
        Way::Up { sources, to } => upload::upload(sources, to, connection, &outcomes),
        Way::Down { sources, to } => download::download(sources, to, connection, &outcomes),
    };
    match copied {
        Err(fatal) if fatal.serverless && !args.no_fallback => scp::copy(&fatal, way, args, connection, ui),
        copied => Ended::of(copied, outcomes.failed()),
    }
}

/// Which way the sources go.
pub(crate) enum Way {
    Up { sources: Vec<PathBuf>, to: Remote },
    Down { sources: Vec<Remote>, to: PathBuf },
}

impl Way {
    /// Sources, then the destination.
    pub(crate) fn of(paths: &[OsString], via: bool) -> Result<Self, Fatal> {
        let mut targets = Vec::with_capacity(paths.len());
        for (at, path) in paths.iter().enumerate() {
            if path == "-" && at + 1 == paths.len() {
                return Err(Fatal::usage(
                    "'-' is no destination: a file is checked as a whole before anybody sees it; copy to a file (one of \
                     that name is './-')",
                ));
            }
            if path == "-" {
                return Err(Fatal::usage(
                    "'-' is no source: protocol 2 wants a file's size before its content; write what comes from a \
                     pipe to a file first (a file of that name is './-')",
                ));
            }
            targets.push(Target::parse(path, via).map_err(|e| Fatal::usage(e.to_string()))?);
        }
        let over_ssh =
            |target: &Target| matches!(target, Target::Remote(Remote { host: Host::Ssh { .. }, .. }));
        if via && targets.iter().any(over_ssh) {
            return Err(Fatal::usage("with --via the server's paths are written ':path', without a host"));
        }
        let to = targets.pop().ok_or_else(|| Fatal::usage("no destination"))?;
        let (mut local, mut remote) = (Vec::new(), Vec::new());
        for source in targets {
            match source {
                Target::Local(path) => local.push(path),
                Target::Remote(source) => remote.push(source),
            }
        }
        match (to, local.is_empty(), remote.is_empty()) {
            (Target::Remote(to), false, true) => Ok(Self::Up { sources: local, to }),
            (Target::Local(to), true, false) => Ok(Self::Down { sources: remote, to }),
            (Target::Remote(_), _, false) => Err(Fatal::usage(
                "copying from one server to another is not supported; copy to this machine first",
            )),
            (Target::Local(_), false, true) => {
                Err(Fatal::usage("neither side is a server; use cp for local copies"))
            }
            _ => Err(Fatal::usage(
                "the sources are on this machine and on a server; copy them in two commands",
            )),
        }
    }
}

/// Whether files that exist may be replaced; asks where -f was given without -y.
fn may_overwrite(args: &CopyArgs) -> Result<bool, Fatal> {
    if !args.force || args.yes || args.dry_run {
        return Ok(args.force);
    }
    // A program that reads JSON reads no question.
    if args.json || !std::io::stdin().is_terminal() {
        return Err(Fatal::usage("-f asks before it replaces files, and no one is here to answer; add -y"));
    }
    let _ = write!(std::io::stderr(), "Replace files that exist? [y/N] ");
    let mut answer = String::new();
    let _ = std::io::stdin().lock().read_line(&mut answer);
    match answer.trim() {
        "y" | "Y" | "yes" => Ok(true),
        _ => Err(Fatal::usage("not confirmed; nothing was copied")),
    }
}

fn caps(args: &CopyArgs) -> Caps {
    let codecs = match args.compress {
        Compress::Auto => Caps::LZ4 | Caps::ZSTD,
        Compress::Zstd => Caps::ZSTD,
        Compress::Lz4 => Caps::LZ4,
        Compress::None => Caps::NONE,
    };
    let fast = if args.fast { Caps::FAST } else { Caps::NONE };
    let sync = if args.sync { Caps::SYNC } else { Caps::NONE };
    let offset = if args.resume { Caps::PUT_OFFSET } else { Caps::NONE };
    codecs | fast | sync | offset | Caps::DEDUP
}
