//! What to upload: the files and directories below the sources, found while they are sent.

use std::collections::VecDeque;
use std::path::{Path, PathBuf};

use walkdir::{DirEntry, WalkDir};

use crate::copy::opened::Age;
use crate::copy::order::Turn;
use crate::copy::{Failure, Filter, Settings};

/// Something to send.
#[derive(Clone, PartialEq, Eq, Debug)]
pub(crate) enum Item {
    Dir { remote: String, turn: Turn },
    File(FileItem),
}

/// A file to send, and where it goes.
#[derive(Clone, PartialEq, Eq, Debug)]
pub(crate) struct FileItem {
    pub(crate) local: PathBuf,
    pub(crate) remote: String,
    pub(crate) turn: Turn,
    /// Bytes at its beginning that the server was shown to have, and that are not sent, if it is still as it was then.
    pub(crate) kept: Option<Box<(u64, Age)>>,
    /// Whether it was sent before, and had changed meanwhile.
    pub(crate) again: bool,
}

impl FileItem {
    pub(crate) const fn new(local: PathBuf, remote: String, turn: Turn) -> Self {
        Self { local, remote, turn, kept: None, again: false }
    }
}

/// What is not sent, and why.
#[derive(Clone, PartialEq, Eq, Debug)]
pub(crate) struct NotSent {
    pub(crate) failure: Failure,
    pub(crate) turn: Turn,
    /// Whether that is as it was asked for.
    pub(crate) wanted: bool,
}

/// What to do about symbolic links.
#[derive(Clone, Copy, PartialEq, Eq, Debug)]
pub(crate) enum Links {
    Follow,
    /// The protocol cannot carry them.
    LeaveOut,
}

/// A source and the remote path that its copy gets.
#[derive(Clone, PartialEq, Eq, Debug)]
pub(crate) struct Source {
    pub(crate) local: PathBuf,
    pub(crate) remote: String,
}

/// Walks the sources one after another.
pub(crate) struct Plan {
    sources: VecDeque<Source>,
    recursive: bool,
    filter: Filter,
    links: Links,
    walk: Option<(Source, walkdir::IntoIter)>,
    turn: Turn,
}

/// Why something is not sent.
enum Not {
    Fails(Failure),
    IsLeftOut(Failure),
}

impl Not {
    fn file(name: &Path, why: impl std::fmt::Display) -> Self {
        Self::Fails(Failure::new(name.display(), why))
    }

    fn link(name: &Path) -> Self {
        Self::IsLeftOut(Failure::new(
            name.display(),
            "left out: a symbolic link, which protocol 2 cannot carry",
        ))
    }
}

impl Plan {
    pub(crate) fn new(sources: impl IntoIterator<Item = Source>, settings: &Settings) -> Self {
        Self {
            sources: sources.into_iter().collect(),
            recursive: settings.recursive,
            filter: settings.filter.clone(),
            links: settings.links,
            walk: None,
            turn: Turn::default(),
        }
    }

    fn start(&mut self, source: Source) -> Option<Result<Item, Not>> {
        let not = |why: &str| Some(Err(Not::file(&source.local, why)));
        let metadata = match self.links {
            Links::Follow => std::fs::metadata(&source.local),
            Links::LeaveOut => std::fs::symlink_metadata(&source.local),
        };
        let metadata = match metadata {
            Ok(metadata) => metadata,
            Err(e) => return not(&e.to_string()),
        };
        if metadata.is_symlink() {
            return Some(Err(Not::link(&source.local)));
        }
        if metadata.is_file() {
            let name = source.local.file_name().map(|name| name.to_string_lossy());
            if !self.filter.admits(name.as_deref().unwrap_or_default()) {
                return None;
            }
            let (local, remote) = (source.local, source.remote);
            return Some(Ok(Item::File(FileItem::new(local, remote, self.turn))));
        }
        if !metadata.is_dir() {
            return not("not a regular file or directory");
        }
        if !self.recursive {
            return not("is a directory (copy it with -r)");
        }
        // Links are followed, as scp does; walkdir refuses those that lead round in a circle.
        let follow = self.links == Links::Follow;
        let walk = WalkDir::new(&source.local).follow_links(follow).sort_by_file_name();
        self.walk = Some((source, walk.into_iter()));
        None
    }
}

impl Iterator for Plan {
    type Item = Result<Item, NotSent>;

    fn next(&mut self) -> Option<Self::Item> {
        let found = self.find()?;
        let turn = self.turn;
        self.turn.0 += 1;
        Some(found.map_err(|not| match not {
            Not::Fails(failure) => NotSent { failure, turn, wanted: false },
            Not::IsLeftOut(failure) => NotSent { failure, turn, wanted: true },
        }))
    }
}

impl Plan {
    fn find(&mut self) -> Option<Result<Item, Not>> {
        loop {
            if let Some((source, walk)) = &mut self.walk {
                match walk.next() {
                    Some(Ok(entry)) => {
                        let below = entry.path().strip_prefix(&source.local).unwrap_or(Path::new(""));
                        let (below, is_dir) = (below.to_string_lossy(), entry.file_type().is_dir());
                        let top = below.is_empty();
                        if is_dir && !top && self.filter.excludes(&below) {
                            walk.skip_current_dir();
                            continue;
                        }
                        // A directory is made for what is copied into it.
                        if (is_dir && !top && self.filter.is_choosy())
                            || (!is_dir && !self.filter.admits(&below))
                        {
                            continue;
                        }
                        let item = item(source, &entry, self.turn);
                        if is_dir && item.is_err() {
                            // With all that is in it, which has no name either.
                            walk.skip_current_dir();
                        }
                        return Some(item);
                    }
                    Some(Err(e)) => return Some(Err(walk_error(&e))),
                    None => self.walk = None,
                }
            }
            let source = self.sources.pop_front()?;
            if let Some(item) = self.start(source) {
                return Some(item);
            }
        }
    }
}

fn item(source: &Source, entry: &DirEntry, turn: Turn) -> Result<Item, Not> {
    let below = entry.path().strip_prefix(&source.local).unwrap_or(Path::new(""));
    let below = below.to_str().ok_or_else(|| {
        let name = entry.path().as_os_str().as_encoded_bytes().escape_ascii();
        Not::Fails(Failure::new(name, "the name is not UTF-8, so the protocol cannot carry it"))
    })?;
    let remote = join(&source.remote, below);
    let kind = entry.file_type();
    if kind.is_dir() {
        Ok(Item::Dir { remote, turn })
    } else if kind.is_file() {
        Ok(Item::File(FileItem::new(entry.path().to_owned(), remote, turn)))
    } else if kind.is_symlink() {
        Err(Not::link(entry.path()))
    } else {
        Err(Not::file(entry.path(), "not a regular file or directory"))
    }
}

fn walk_error(error: &walkdir::Error) -> Not {
    let path = error.path().unwrap_or(Path::new(""));
    match (error.loop_ancestor(), error.io_error()) {
        (Some(_), _) => Not::file(path, "a symbolic link that leads back to a directory above it"),
        (None, Some(e)) => Not::file(path, e),
        (None, None) => Not::file(path, error),
    }
}

/// Joins a remote directory and what is below it. The empty directory is where the server starts.
pub(crate) fn join(dir: &str, below: &str) -> String {
    if below.is_empty() {
        dir.to_owned()
    } else if dir.is_empty() || dir.ends_with('/') {
        format!("{dir}{below}")
    } else {
        format!("{dir}/{below}")
    }
}

#[cfg(test)]
mod tests {
    use super::join;

    #[test]
    fn joining_keeps_absolute_and_relative_apart() {
        assert_eq!(join("", "a/b"), "a/b");
        assert_eq!(join("/", "a"), "/a");
        assert_eq!(join("d/", "a"), "d/a");
        assert_eq!(join("d", "a"), "d/a");
        assert_eq!(join("d", ""), "d");
    }
}
