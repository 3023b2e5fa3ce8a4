//! What to upload: the files and directories below the sources, found while they are sent.

use std::collections::VecDeque;
use std::path::{Path, PathBuf};

use walkdir::{DirEntry, WalkDir};

use crate::copy::Filter;
use crate::copy::order::Turn;

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
}

/// What cannot be sent, and why, as a text that names it.
#[derive(Clone, PartialEq, Eq, Debug)]
pub(crate) struct NotSent {
    pub(crate) text: String,
    pub(crate) turn: Turn,
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
    walk: Option<(Source, walkdir::IntoIter)>,
    turn: Turn,
}

impl Plan {
    pub(crate) fn new(sources: impl IntoIterator<Item = Source>, recursive: bool, filter: Filter) -> Self {
        Self { sources: sources.into_iter().collect(), recursive, filter, walk: None, turn: Turn::default() }
    }

    fn start(&mut self, source: Source) -> Option<Result<Item, String>> {
        let named = |why: &str| Some(Err(format!("{}: {why}", source.local.display())));
        let metadata = match std::fs::metadata(&source.local) {
            Ok(metadata) => metadata,
            Err(e) => return named(&e.to_string()),
        };
        if metadata.is_file() {
            let name = source.local.file_name().map(|name| name.to_string_lossy());
            if !self.filter.admits(name.as_deref().unwrap_or_default()) {
                return None;
            }
            let (local, remote) = (source.local, source.remote);
            return Some(Ok(Item::File(FileItem { local, remote, turn: self.turn })));
        }
        if !metadata.is_dir() {
            return named("not a regular file or directory");
        }
        if !self.recursive {
            return named("is a directory (copy it with -r)");
        }
        // Links are followed, as scp does; walkdir refuses those that lead round in a circle.
        let walk = WalkDir::new(&source.local).follow_links(true).sort_by_file_name();
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
        Some(found.map_err(|text| NotSent { text, turn }))
    }
}

impl Plan {
    fn find(&mut self) -> Option<Result<Item, String>> {
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
                        return Some(item(source, &entry, self.turn));
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

fn item(source: &Source, entry: &DirEntry, turn: Turn) -> Result<Item, String> {
    let named = |why: &str| format!("{}: {why}", entry.path().display());
    let below = entry.path().strip_prefix(&source.local).unwrap_or(Path::new(""));
    let below = below.to_str().ok_or_else(|| {
        let name = entry.path().as_os_str().as_encoded_bytes().escape_ascii();
        format!("{name}: the name is not UTF-8, so the protocol cannot carry it")
    })?;
    let remote = join(&source.remote, below);
    let kind = entry.file_type();
    if kind.is_dir() {
        Ok(Item::Dir { remote, turn })
    } else if kind.is_file() {
        Ok(Item::File(FileItem { local: entry.path().to_owned(), remote, turn }))
    } else {
        Err(named("not a regular file or directory"))
    }
}

fn walk_error(error: &walkdir::Error) -> String {
    let path = error.path().map(|path| path.display().to_string()).unwrap_or_default();
    match (error.loop_ancestor(), error.io_error()) {
        (Some(_), _) => format!("{path}: a symbolic link that leads back to a directory above it"),
        (None, Some(e)) => format!("{path}: {e}"),
        (None, None) => format!("{path}: {error}"),
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
