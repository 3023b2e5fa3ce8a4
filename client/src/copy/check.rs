//! The check command: whether copies are what their sources are.

use std::fs;
use std::os::unix::fs::MetadataExt;
use std::path::{Path, PathBuf};
use std::sync::Arc;
use std::sync::mpsc::Receiver;

use bcmr_wire::Message;
use bcmr_wire::shown::shown;

use super::dial::Dialer;
use super::found::{Findings, Found, find};
use super::names::{self, Standing};
use super::opened::whole_hash;
use super::{Failure, Outcomes, Settings, Way, place, stars};
use crate::cli::{CheckArgs, ConnectionArgs};
use crate::exchange::{Dead, Exchange, Reply, Stat};
use crate::exit::{Exit, Fatal};
use crate::output;
use crate::plan::{Item, Plan};
use crate::target::Remote;
use crate::ui::Ui;

/// Files that are asked about at a time.
const BATCH: usize = 500;

/// Compares, prints what differs, and returns 1 where anything does.
pub(crate) fn run(args: &CheckArgs, connection: &ConnectionArgs) -> Exit {
    let ui = Arc::new(Ui::asking());
    let outcomes = Arc::new(Outcomes::new(Arc::clone(&ui), Settings::asking(connection, args.recursive)));
    let checked = Way::of(&args.paths, connection.via.is_some()).and_then(|way| match way {
        Way::Up { sources, to } => up(&sources, &to, args.strict, connection, &outcomes),
        Way::Down { sources, to } => down(&sources, &to, args.strict, connection, &outcomes),
    });
    match checked {
        Ok(Tally { same, different }) => {
            ui.note(&format!("{same} as their sources are, {different} not"));
            if different > 0 || outcomes.failed() > 0 { Exit::SomeFailed } else { Exit::Done }
        }
        Err(fatal) => {
            ui.error(&fatal.message);
            fatal.exit
        }
    }
}

#[derive(Debug, Default)]
struct Tally {
    same: u64,
    different: u64,
}

impl Tally {
    fn count(&mut self, name: &str, difference: Option<&str>) {
        match difference {
            None => self.same += 1,
            Some(why) => {
                self.different += 1;
                output::line(&shown(&format!("{name}: {why}")));
            }
        }
    }
}

/// A source and its copy, one of which is local.
struct Pair {
    local: PathBuf,
    remote: String,
}

fn up(
    sources: &[PathBuf],
    to: &Remote,
    strict: bool,
    connection: &ConnectionArgs,
    outcomes: &Arc<Outcomes>,
) -> Result<Tally, Fatal> {
    let mut dialer = Dialer::new(&to.host, to.path.is_absolute(), connection, outcomes);
    let link = dialer.dial()?;
    let (standing, mut link) = dialer.ask(link, |link| place::look(to.path.as_str(), link))?;
    let placed = place::place(sources, to.path.as_str(), standing, outcomes)?;
    let plan = Plan::new(placed, &outcomes.settings);
    let files = plan.filter_map(|item| match item {
        Ok(Item::File(file)) => Some(Pair { local: file.local, remote: file.remote }),
        Ok(Item::Dir { .. }) => None,
        Err(not) => {
            outcomes.fail(not.failure.name, not.failure.why);
            None
        }
    });
    let pairs: Vec<_> = files.collect();
    let mut tally = Tally::default();
    match compare(&mut link, &pairs, strict, true, &mut tally) {
        Ok(()) => {
            link.close();
            Ok(tally)
        }
        Err(Dead) => Err(link.lost()),
    }
}

fn down(
    sources: &[Remote],
    to: &Path,
    strict: bool,
    connection: &ConnectionArgs,
    outcomes: &Arc<Outcomes>,
) -> Result<Tally, Fatal> {
    let standing = match fs::metadata(to) {
        Ok(there) if there.is_dir() => Standing::Directory,
        Ok(_) => Standing::File,
        Err(_) => Standing::Absent,
    };
    let into = names::decide(to, &to.to_string_lossy(), standing, sources.len())?;
    let mut tally = Tally::default();
    for source in sources {
        let mut dialer = Dialer::new(&source.host, source.path.is_absolute(), connection, outcomes);
        let link = dialer.dial()?;
        let (found, mut link) = dialer.ask(link, |link| {
            let mut missing = Vec::new();
            let paths = stars::expand(link, &[source], &mut missing)?;
            let mut findings = find(link, &paths, &into, &outcomes.settings)?;
            findings.failures.extend(missing);
            Ok(findings)
        })?;
        let Findings { found, failures } = found;
        failures.into_iter().for_each(|Failure { name, why }| outcomes.fail(name, why));
        let pair = |Found { remote, local, .. }: Found| Pair { local, remote };
        let pairs: Vec<_> = found.into_iter().filter(|found| !found.is_dir).map(pair).collect();
        if compare(&mut link, &pairs, strict, false, &mut tally).is_err() {
            return Err(link.lost());
        }
        link.close();
    }
    Ok(tally)
}

/// Compares pairs; `up` where the local file is the source.
fn compare(
    link: &mut Exchange,
    pairs: &[Pair],
    strict: bool,
    up: bool,
    tally: &mut Tally,
) -> Result<(), Dead> {
    for batch in pairs.chunks(BATCH) {
        let mut stats = Vec::new();
        for pair in batch {
            stats.push(link.ask(&Message::Stat { path: &pair.remote })?);
        }
        let mut hashes: Vec<(&Pair, Receiver<Reply>)> = Vec::new();
        for (pair, stat) in batch.iter().zip(stats) {
            let stat = match link.wait(&stat)? {
                Reply::Stat(stat) => Ok(stat),
                Reply::Error(error) => Err(error.text),
                _ => return Err(Dead),
            };
            match looks(pair, stat, strict, up) {
                Ok(size) if strict => {
                    let hash = Message::Hash { path: &pair.remote, offset: 0, limit: None };
                    hashes.push((pair, link.ask_through(&hash, size)?));
                }
                looks => tally.count(&name(pair, up), looks.err().as_deref()),
            }
        }
        for (pair, hash) in hashes {
            link.flush()?;
            let own = whole_hash(&pair.local, &link.pulse);
            let same = match link.wait(&hash)? {
                Reply::Hash(hash) => match own {
                    Ok(own) if own.to_hex().as_str() == hash => Ok(()),
                    Ok(_) => Err("the content differs".to_owned()),
                    Err(e) => Err(format!("cannot be read here: {e}")),
                },
                Reply::Error(error) => Err(error.text),
                _ => return Err(Dead),
            };
            tally.count(&name(pair, up), same.err().as_deref());
        }
    }
    Ok(())
}

/// The copy's name: it is the copy that has to be made good.
fn name(pair: &Pair, up: bool) -> String {
    if up { pair.remote.clone() } else { pair.local.display().to_string() }
}

/// Compares what can be seen without reading: sizes, and that no copy is older than its source. Their size, where
/// they are the same.
fn looks(pair: &Pair, stat: Result<Stat, String>, strict: bool, up: bool) -> Result<u64, String> {
    let there = stat.map_err(|why| format!("not to be had from the server: {why}"))?;
    let here = fs::metadata(&pair.local).map_err(|e| format!("{}: {e}", pair.local.display()))?;
    if there.is_dir || here.is_dir() {
        return Err("a directory and a file".to_owned());
    }
    if there.size != here.len() {
        return Err(format!("{} bytes here, {} there", here.len(), there.size));
    }
    let (source, copy) = if up { (here.mtime(), there.mtime) } else { (there.mtime, here.mtime()) };
    if !strict && copy < source { Err("older than its source".to_owned()) } else { Ok(there.size) }
}
