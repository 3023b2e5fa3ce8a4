//! Downloads: the sources are looked at and listed, then everything is asked for without waiting.

use std::collections::{BTreeMap, HashSet};
use std::path::{Path, PathBuf};
use std::sync::Arc;

use bcmr_wire::Message;

use super::crew::{Errand, carry};
use super::dial::Dialer;
use super::found::{Findings, Found, find};
use super::names::{self, Into, Standing};
use super::order::Turn;
use super::outcomes::{Failure, Outcomes};
use super::stars;
use super::{prove, rehearse, resume};
use crate::cli::ConnectionArgs;
use crate::exchange::{Dead, Exchange, Job};
use crate::exit::Fatal;
use crate::rerun;
use crate::target::Remote;

/// A file to ask for, and where it goes.
#[derive(Clone, PartialEq, Debug)]
pub(crate) struct GetItem {
    pub(super) remote: String,
    pub(super) local: PathBuf,
    /// Bytes, as the server said beforehand.
    pub(crate) size: u64,
    pub(super) mtime: i64,
    pub(super) turn: Turn,
    /// Whether its directory was made for it, so that nothing stands there.
    pub(super) fresh: bool,
    /// Bytes at its beginning that are here already, and their hash.
    pub(super) kept: Option<Box<(u64, blake3::Hash)>>,
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
    let mut servers: BTreeMap<String, Vec<&Remote>> = BTreeMap::new();
    for source in sources {
        // One connection per machine and kind of path.
        let key = format!("{:?} {}", source.host, source.path.is_absolute());
        servers.entry(key).or_default().push(source);
    }
    let all = sources.len();
    for sources in servers.into_values() {
        let Some(first) = sources.first() else { continue };
        let mut dialer = Dialer::new(&first.host, first.path.is_absolute(), connection, outcomes);
        let link = dialer.dial()?;
        let mut missing = Vec::new();
        let (paths, link) = dialer.ask(link, |link| stars::expand(link, &sources, &mut missing))?;
        let into = names::decide(to, &to.to_string_lossy(), standing, all.max(paths.len()))?;
        let (findings, link) = dialer.ask(link, |link| find(link, &paths, &into, &outcomes.settings))?;
        let Findings { found, failures } = findings;
        if outcomes.settings.overwrite {
            names::check_distinct(paths.iter().filter_map(|path| names::own_remote_name(path)))?;
        }
        if let (Into::Name(_), Some(Found { is_dir: true, remote, .. })) = (&into, found.first()) {
            match standing {
                Standing::File => return Err(names::not_over_a_file(&to.to_string_lossy())),
                _ => rerun::is_renamed(&spelled(&sources, remote)),
            }
        }
        missing.into_iter().chain(failures).for_each(|Failure { name, why }| outcomes.fail(name, why));
        if outcomes.settings.dry_run {
            rehearse::downloads(&found, outcomes);
            link.close();
            continue;
        }
        let items = prepare(found, outcomes)?;
        let bytes = items.iter().map(|item| item.size).sum();
        outcomes.ui().expect(bytes);
        let parallel = outcomes.settings.parallel_for(items.len(), bytes);
        if parallel > 1 {
            outcomes.in_turn();
        }
        let carried = carry(&Download { outcomes }, items.into_iter(), &mut dialer, link, parallel);
        outcomes.name_all();
        carried?;
    }
    Ok(())
}

/// A source as it was typed.
fn spelled(sources: &[&Remote], path: &str) -> String {
    let typed = sources.iter().find(|source| source.path.as_str() == path);
    typed.map(ToString::to_string).unwrap_or_default()
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
                let failure = Failure::new(item.local.display(), "a directory stands under the name");
                self.outcomes.fail_at(item.turn, failure);
                return Ok(());
            }
            Some(_) if !self.outcomes.settings.overwrite => {
                let failure = Failure::new(item.local.display(), "exists (replace it with -f -y)");
                self.outcomes.fail_at(item.turn, failure);
                return Ok(());
            }
            _ => {}
        }
        let (path, offset) = (item.remote.clone(), item.kept.as_ref().map_or(0, |kept| kept.0));
        link.send(&Message::Get { path: &path, offset }, Job::Get(item))
    }

    /// What was not answered was not published either.
    fn settle(&self, link: &mut Exchange, doubtful: &[GetItem]) -> Result<Vec<GetItem>, Dead> {
        prove::prove(link, self.outcomes)?;
        Ok(doubtful.to_vec())
    }

    fn resume(&self, link: &mut Exchange, items: &[GetItem]) -> Result<Vec<GetItem>, Dead> {
        resume::downloads(link, items, self.outcomes)
    }

    fn resumes(&self) -> bool {
        self.outcomes.settings.resume
    }

    fn item(&self, job: Job) -> Option<GetItem> {
        match job {
            Job::Get(item) => Some(item),
            Job::Call(..) | Job::Barrier(_) | Job::Put(_) | Job::Mkdir(_) => None,
        }
    }
}

/// Makes the local directories, and returns the files to ask for.
fn prepare(found: Vec<Found>, outcomes: &Outcomes) -> Result<Vec<GetItem>, Fatal> {
    let mut made = HashSet::new();
    let mut items: Vec<GetItem> = Vec::new();
    for Found { remote, local, size, mtime, is_dir, is_source } in found {
        if is_dir {
            match make_dir(&local, outcomes) {
                Ok(false) => {}
                Ok(true) => drop(made.insert(local)),
                Err(failure) => outcomes.fail(failure.name, failure.why),
            }
            continue;
        }
        let parent = local.parent().map(Path::to_owned);
        let mut fresh = parent.as_ref().is_some_and(|parent| made.contains(parent));
        if let Some(parent) = parent.filter(|_| is_source && !fresh)
            && make_dir(&parent, outcomes).map_err(|failure| Fatal::here(failure.to_string()))?
        {
            made.insert(parent);
            fresh = true;
        }
        let turn = Turn(items.len() as u64);
        items.push(GetItem { remote, local, size, mtime, turn, fresh, kept: None });
    }
    Ok(items)
}

/// Makes a directory with its parents where it is missing; returns whether it was. With --sync the way to it is
/// durable, too: a file is no safer than the directories above it.
fn make_dir(dir: &Path, outcomes: &Outcomes) -> Result<bool, Failure> {
    if dir.as_os_str().is_empty() || dir.is_dir() {
        return Ok(false);
    }
    let failed = |e: std::io::Error| Failure::new(dir.display(), e);
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
