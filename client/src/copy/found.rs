//! What remote sources are: looked at and listed, nothing changed on either side.

use std::collections::HashSet;
use std::fmt::Display;
use std::path::{Path, PathBuf};
use std::sync::mpsc::Receiver;

use bcmr_wire::Message;
use bcmr_wire::shown::shown;

use super::names::{self, Into};
use super::{Failure, Settings};
use crate::exchange::{Dead, Exchange, Listed, Reply};
use crate::plan::join;

/// Something that a remote source is, or holds, and where its copy goes.
#[derive(Clone, PartialEq, Eq, Debug)]
pub(super) struct Found {
    pub(super) remote: String,
    pub(super) local: PathBuf,
    pub(super) size: u64,
    pub(super) mtime: i64,
    pub(super) is_dir: bool,
    /// Whether it is a source itself: then the directories above its copy may be made, and else must have been listed.
    pub(super) is_source: bool,
}

/// Everything that was found, and what was not.
#[derive(Debug, Default)]
pub(super) struct Findings {
    pub(super) found: Vec<Found>,
    pub(super) failures: Vec<Failure>,
}

impl Findings {
    fn fail(&mut self, name: impl Display, why: impl Display) {
        self.failures.push(Failure::new(name, why));
    }
}

/// Finds everything; directories come before what they hold.
pub(super) fn find(
    link: &mut Exchange,
    sources: &[String],
    into: &Into<&Path>,
    settings: &Settings,
) -> Result<Findings, Dead> {
    let mut stats = Vec::new();
    for source in sources {
        stats.push(link.ask(&Message::Stat { path: source })?);
    }
    let mut all = Findings::default();
    for (path, stat) in sources.iter().zip(stats) {
        let local = match into {
            Into::Name(name) => (*name).to_owned(),
            Into::Directory(dir) => {
                names::own_remote_name(path).map_or_else(|| (*dir).to_owned(), |name| dir.join(name))
            }
        };
        match link.wait(&stat)? {
            Reply::Stat(stat) if !stat.is_dir => {
                let name = names::own_remote_name(path).unwrap_or(path);
                if settings.filter.admits(name) {
                    let remote = path.clone();
                    let (size, mtime) = (stat.size, stat.mtime);
                    all.found.push(Found { remote, local, size, mtime, is_dir: false, is_source: true });
                }
            }
            Reply::Stat(stat) if settings.recursive => {
                let remote = path.clone();
                let dir = Found { remote, local, size: 0, mtime: stat.mtime, is_dir: true, is_source: true };
                find_tree(link, dir, &mut all, settings)?;
            }
            Reply::Stat(_) => all.fail(path, "is a directory (copy it with -r)"),
            Reply::Error(error) => all.fail(path, error.without(path)),
            _ => return Err(Dead),
        }
    }
    Ok(all)
}

fn find_tree(link: &mut Exchange, dir: Found, all: &mut Findings, settings: &Settings) -> Result<(), Dead> {
    let list = match link.call(&Message::List { path: &dir.remote })? {
        Reply::List(list) => list,
        Reply::Error(error) => {
            all.fail(&dir.remote, error.without(&dir.remote));
            return Ok(());
        }
        _ => return Err(Dead),
    };
    let (path, local) = (dir.remote.clone(), dir.local.clone());
    let first = all.found.len();
    all.found.push(dir);
    let mut doubts = Vec::new();
    for (at, entry) in list.iter().enumerate() {
        if !names::is_safe(&entry.path) {
            all.fail(shown(&entry.path), "the server listed a name that is not safe");
            continue;
        }
        if !settings.filter.admits_listed(&entry.path, entry.is_dir) {
            continue;
        }
        let Listed { size, mtime, is_dir, .. } = *entry;
        let (remote, local) = (join(&path, &entry.path), local.join(&entry.path));
        if is_dir && came_back_empty(&list, at) {
            // Empty, or not to be read: only its own listing tells.
            let listed = link.ask(&Message::List { path: &remote })?;
            doubts.push((remote.clone(), listed));
        }
        all.found.push(Found { remote, local, size, mtime, is_dir, is_source: false });
    }
    if settings.filter.is_choosy() {
        leave_out_empty(&mut all.found, first);
    }
    report_unreadable(link, doubts, all)
}

/// Leaves out the directories, from `first` on, that hold no file.
fn leave_out_empty(all: &mut Vec<Found>, first: usize) {
    let mut holding = HashSet::new();
    for file in all[first..].iter().filter(|found| !found.is_dir) {
        holding.extend(file.local.ancestors().map(Path::to_owned));
    }
    let mut at = 0;
    all.retain(|found| {
        at += 1;
        at <= first || !found.is_dir || holding.contains(&found.local)
    });
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
    all: &mut Findings,
) -> Result<(), Dead> {
    for (path, doubt) in doubts {
        if let Reply::Error(error) = link.wait(&doubt)? {
            all.fail(&path, error.without(&path));
        }
    }
    Ok(())
}
