//! A whole tree at one moment, so that "nothing changed, nothing left behind" is one comparison.

use std::collections::BTreeMap;
use std::fmt;
use std::fs::{self, File};
use std::os::unix::fs::MetadataExt;
use std::path::{Path, PathBuf};

/// Every entry below a directory, hidden ones included, and the directory itself as the empty path.
#[derive(Clone, PartialEq, Eq)]
pub struct Tree(BTreeMap<PathBuf, Node>);

/// One entry. Of directories neither size nor link count, which file systems keep as they like.
#[derive(Clone, PartialEq, Eq, Debug)]
pub struct Node {
    /// What it is.
    pub kind: Kind,
    /// Permission bits, set-id bits included.
    pub mode: u32,
    /// Bytes.
    pub size: u64,
    /// Hard links.
    pub links: u64,
    /// Seconds and nanoseconds of the last change to the content.
    pub mtime: (i64, i64),
    /// The file's number: another one under the same name is another file.
    pub inode: u64,
}

/// What an entry is.
#[derive(Clone, PartialEq, Eq, Debug)]
pub enum Kind {
    /// A regular file and the BLAKE3 of its content; None where that may not be read.
    File(Option<blake3::Hash>),
    /// A directory.
    Dir,
    /// A directory whose entries may not be read.
    ClosedDir,
    /// A symbolic link and its target.
    Link(PathBuf),
    /// A FIFO, socket or device.
    Special,
}

/// What stands below `dir` now.
#[must_use]
pub fn snapshot(dir: &Path) -> Tree {
    let mut nodes = BTreeMap::new();
    add(dir, Path::new(""), &mut nodes);
    Tree(nodes)
}

fn add(base: &Path, below: &Path, nodes: &mut BTreeMap<PathBuf, Node>) {
    let path = if below.as_os_str().is_empty() { base.to_owned() } else { base.join(below) };
    // An entry may go while the tree is walked, as a stage does.
    let Ok(metadata) = path.symlink_metadata() else { return };
    let kind = if metadata.is_file() {
        Kind::File(hash(&path))
    } else if metadata.is_symlink() {
        Kind::Link(fs::read_link(&path).unwrap())
    } else if metadata.is_dir() {
        match fs::read_dir(&path) {
            Err(_) => Kind::ClosedDir,
            Ok(entries) => {
                entries.for_each(|entry| add(base, &below.join(entry.unwrap().file_name()), nodes));
                Kind::Dir
            }
        }
    } else {
        Kind::Special
    };
    let is_dir = metadata.is_dir();
    let node = Node {
        kind,
        mode: metadata.mode() & 0o7777,
        size: if is_dir { 0 } else { metadata.size() },
        links: if is_dir { 0 } else { metadata.nlink() },
        mtime: if is_dir { (0, 0) } else { (metadata.mtime(), metadata.mtime_nsec()) },
        inode: metadata.ino(),
    };
    nodes.insert(below.to_owned(), node);
}

fn hash(path: &Path) -> Option<blake3::Hash> {
    let mut hasher = blake3::Hasher::new();
    hasher.update_reader(File::open(path).ok()?).ok()?;
    Some(hasher.finalize())
}

impl Tree {
    /// The paths of all entries, in order, the directory itself left out.
    #[must_use]
    pub fn paths(&self) -> Vec<&str> {
        self.0.keys().filter_map(|path| path.to_str()).filter(|path| !path.is_empty()).collect()
    }

    /// The paths of entries under reserved names: stages.
    #[must_use]
    pub fn stages(&self) -> Vec<PathBuf> {
        let reserved = |name: &str| {
            let digits = name.strip_prefix(".bcmr-").unwrap_or_default();
            digits.len() == 32 && digits.bytes().all(|b| matches!(b, b'0'..=b'9' | b'a'..=b'f'))
        };
        let is_stage = |path: &&PathBuf| path.file_name().and_then(|n| n.to_str()).is_some_and(reserved);
        self.0.keys().filter(is_stage).cloned().collect()
    }

    /// The entry at a path.
    #[must_use]
    pub fn get(&self, path: &str) -> Option<&Node> {
        self.0.get(Path::new(path))
    }
}

impl fmt::Debug for Tree {
    /// One line an entry, for people to compare.
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        writeln!(f, "tree")?;
        for (path, node) in &self.0 {
            let Node { kind, mode, size, links, mtime, inode } = node;
            let at = format!("{}.{:09}", mtime.0, mtime.1);
            writeln!(f, "  {path:?} {kind:?} {mode:04o} {size} B, links {links}, mtime {at}, inode {inode}")?;
        }
        Ok(())
    }
}
