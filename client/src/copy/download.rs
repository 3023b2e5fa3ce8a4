//! Downloads: the sources are looked at and listed, then everything is asked for without waiting.

use std::collections::{BTreeMap, HashSet};
use std::path::{Path, PathBuf};
use std::sync::Arc;
use std::sync::mpsc::Receiver;

use bcmr_wire::Message;
use bcmr_wire::shown::shown;

use super::Outcomes;
use super::crew::{Errand, carry};
use super::dial::Dialer;
use super::names::{self, Into, Standing};
use super::order::Turn;
use crate::cli::ConnectionArgs;
use crate::exchange::{Dead, Exchange, Job, Listed, Reply};
use crate::exit::Fatal;
use crate::plan::join;
use crate::target::Remote;

/// A file to ask for, and where it goes.
#[derive(Clone, PartialEq, Eq, Debug)]
pub(crate) struct GetItem {
    pub(super) remote: String,
    pub(super) local: PathBuf,
    /// Bytes, as the server said beforehand.
    pub(crate) size: u64,
    pub(super) turn: Turn,
    /// Whether its directory was made for it, so that nothing stands there.
    fresh: bool,
}

/// Copies remote sources to this machine.
pub(super) fn download(
    sources: &[Remote],
    to: &Path,
    connection: &ConnectionArgs,
    outcomes: &Arc<Outcomes>,
) -> Result<(), Fatal> {
    // Without a slash at the end, with which a file is not found.
    let standing = match std::fs::metadata(to.components().as_path()) {
        Ok(there) if there.is_dir() => Standing::Directory,
        Ok(_) => Standing::File,
        Err(_) => Standing::Absent,
    };
    let into = names::decide(to, &to.to_string_lossy(), standing, sources.len())?;
    let mut servers: BTreeMap<String, Vec<&Remote>> = BTreeMap::new();
    for source in sources {
        // One connection per machine and kind of path.
        let key = format!("{:?} {}", source.host, source.path.is_absolute());
        servers.entry(key).or_default().push(source);
    }
    for sources in servers.into_values() {
        let Some(first) = sources.first() else { continue };
        let mut dialer = Dialer::new(&first.host, first.path.is_absolute(), connection, outcomes);
        let mut link = dialer.dial()?;
        let items = match find_all(&mut link, &sources, &into, outcomes) {
            Ok(items) => items,
            Err(Stop::Fatal(fatal)) => return Err(fatal),
            Err(Stop::Dead) => return Err(link.lost()),
        };
        let parallel = outcomes.settings.parallel_for(items.len(), items.iter().map(|item| item.size).sum());
        if parallel > 1 {
            outcomes.in_turn();
        }
        let carried = carry(&Download { outcomes }, items.into_iter(), &mut dialer, link, parallel);
        outcomes.name_all();
        carried?;
    }
    Ok(())
}

/// Asking for files.
struct Download<'a> {
    outcomes: &'a Arc<Outcomes>,
}

impl Errand for Download<'_> {
    type Item = GetItem;

    fn weight(&self, item: &GetItem) -> u64 {
        item.size
    }

    fn send(&self, link: &mut Exchange, item: GetItem) -> Result<(), Dead> {
        // Looked at early, to spare the transfer; what counts is the look when it is published.
        let there = if item.fresh { None } else { std::fs::symlink_metadata(&item.local).ok() };
        match there {
            Some(there) if there.is_dir() => {
                let text = format!("{}: a directory stands under the name", item.local.display());
                self.outcomes.fail_at(item.turn, text);
                return Ok(());
            }
            Some(_) if !self.outcomes.settings.overwrite => {
                let text = format!("{}: exists (replace it with -f -y)", item.local.display());
                self.outcomes.fail_at(item.turn, text);
                return Ok(());
            }
            _ => {}
        }
        let path = item.remote.clone();
        link.send(&Message::Get { path: &path, offset: 0 }, Job::Get(item))
    }

    /// What was not answered was not published either.
    fn settle(&self, _link: &mut Exchange, doubtful: Vec<GetItem>) -> Result<Vec<GetItem>, Dead> {
        Ok(doubtful)
    }

    fn item(&self, job: Job) -> Option<GetItem> {
        match job {
            Job::Get(item) => Some(item),
            Job::Call(_) | Job::Barrier(_) | Job::Put(_) | Job::Mkdir(_) => None,
        }
    }
}

enum Stop {
    Dead,
    Fatal(Fatal),
}

impl From<Dead> for Stop {
    fn from(_: Dead) -> Self {
        Self::Dead
    }
}

/// Finds out what the sources are, makes the local directories, and returns the files.
fn find_all(
    link: &mut Exchange,
    sources: &[&Remote],
    into: &Into<&Path>,
    outcomes: &Outcomes,
) -> Result<Vec<GetItem>, Stop> {
    let mut stats = Vec::new();
    for source in sources {
        stats.push(link.ask(&Message::Stat { path: source.path.as_str() })?);
    }
    let mut items = Vec::new();
    for (source, stat) in sources.iter().zip(stats) {
        let path = source.path.as_str();
        let local = match into {
            Into::Name(name) => (*name).to_owned(),
            Into::Directory(dir) => {
                names::own_remote_name(path).map_or_else(|| (*dir).to_owned(), |name| dir.join(name))
            }
        };
        match link.wait(&stat)? {
            Reply::Stat(stat) if !stat.is_dir => {
                if let Some(parent) = local.parent() {
                    make_dir(parent, outcomes).map_err(Stop::Fatal)?;
                }
                push(&mut items, path.to_owned(), local, stat.size, false);
            }
            Reply::Stat(_) if outcomes.settings.recursive => {
                find_tree(link, path, &local, &mut items, outcomes)?;
            }
            Reply::Stat(_) => outcomes.fail(&format!("{path}: is a directory (copy it with -r)")),
            Reply::Error(error) => outcomes.fail(&error.about(path)),
            _ => return Err(Stop::Dead),
        }
    }
    Ok(items)
}

fn find_tree(
    link: &mut Exchange,
    path: &str,
    local: &Path,
    items: &mut Vec<GetItem>,
    outcomes: &Outcomes,
) -> Result<(), Stop> {
    let list = match link.call(&Message::List { path })? {
        Reply::List(list) => list,
        Reply::Error(error) => {
            outcomes.fail(&error.about(path));
            return Ok(());
        }
        _ => return Err(Stop::Dead),
    };
    let mut made = HashSet::new();
    if make_dir(local, outcomes).map_err(Stop::Fatal)? {
        made.insert(local.to_owned());
    }
    let mut doubts = Vec::new();
    for (at, entry) in list.iter().enumerate() {
        if !names::is_safe(&entry.path) {
            outcomes.fail(&format!("\"{}\": the server listed a name that is not safe", shown(&entry.path)));
            continue;
        }
        let (remote, local) = (join(path, &entry.path), local.join(&entry.path));
        if !entry.is_dir {
            let fresh = local.parent().is_some_and(|parent| made.contains(parent));
            push(items, remote, local, entry.size, fresh);
            continue;
        }
        match make_dir(&local, outcomes) {
            Ok(false) => {}
            Ok(true) => drop(made.insert(local)),
            Err(fatal) => outcomes.fail(&fatal.message),
        }
        if came_back_empty(&list, at) {
            // Empty, or not to be read: only its own listing tells.
            let listed = link.ask(&Message::List { path: &remote })?;
            doubts.push((remote, listed));
        }
    }
    report_unreadable(link, doubts, outcomes)
}

fn push(items: &mut Vec<GetItem>, remote: String, local: PathBuf, size: u64, fresh: bool) {
    let turn = Turn(items.len() as u64);
    items.push(GetItem { remote, local, size, turn, fresh });
}

/// Whether the directory at `at` has nothing listed below it; listings are depth-first.
fn came_back_empty(list: &[Listed], at: usize) -> bool {
    let below =
        |next: &Listed| next.path.strip_prefix(&list[at].path).is_some_and(|rest| rest.starts_with('/'));
    !list.get(at + 1).is_some_and(below)
}

fn report_unreadable(
    link: &mut Exchange,
    doubts: Vec<(String, Receiver<Reply>)>,
    outcomes: &Outcomes,
) -> Result<(), Stop> {
    for (path, doubt) in doubts {
        if let Reply::Error(error) = link.wait(&doubt)? {
            outcomes.fail(&error.about(&path));
        }
    }
    Ok(())
}

/// Makes a directory with its parents where it is missing; returns whether it was. With --sync the way to it is
/// durable, too: a file is no safer than the directories above it.
fn make_dir(dir: &Path, outcomes: &Outcomes) -> Result<bool, Fatal> {
    if dir.as_os_str().is_empty() || dir.is_dir() {
        return Ok(false);
    }
    let failed = |e: std::io::Error| Fatal::here(format!("{}: {e}", dir.display()));
    let missing: Vec<_> = dir.ancestors().take_while(|above| !above.exists()).collect();
    std::fs::create_dir_all(dir).map_err(failed)?;
    if outcomes.settings.sync {
        for made in missing {
            let above = made.parent().filter(|above| !above.as_os_str().is_empty());
            let above = std::fs::File::open(above.unwrap_or(Path::new("."))).map_err(failed)?;
            above.sync_all().map_err(failed)?;
        }
    }
    Ok(true)
}
