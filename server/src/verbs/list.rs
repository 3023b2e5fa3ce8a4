//! List: a whole subtree in one frame.
//!
//! Depth-first without a descriptor per level: each directory is opened by its path when its turn comes, so
//! that neither depth nor number of directories meets a limit of the process.

use std::os::unix::ffi::OsStrExt;

use bcmr_policy::{Fence, Permit, RootedPath, request};
use bcmr_publish::name::is_reserved;
use bcmr_wire::RemotePath;
use bcmr_wire::limits::{MAX_COUNT, MAX_PAYLOAD};
use bcmr_wire::list::{Entry, ListBuilder, ListTooLong};
use cap_std::fs::Dir;
use rustix::fs::{AtFlags, FileType, Stat, fstat, statat};
use rustix::io::{Errno, retry_on_intr};

use crate::failure::Failure;
use crate::tree::{self, Tree, identity};

/// Lists what `permit` allows to; returns the whole ListResponse frame.
pub(crate) fn list(tree: &Tree, fence: &Fence, permit: Permit<request::List>) -> Result<Vec<u8>, Failure> {
    let mut listing = Listing { tree, fence, frame: ListBuilder::new(), pending: 0, levels: Vec::new() };
    let (path, entry) = tree.traced(permit.path())?;
    if entry.is_dir() {
        let dir = entry.open_dir().map_err(Failure::os("opening the directory"))?;
        listing.enter(&dir, path.as_str().to_owned(), String::new())?;
        listing.run()?;
    }
    Ok(listing.frame.finish())
}

struct Listing<'a> {
    tree: &'a Tree,
    fence: &'a Fence,
    frame: ListBuilder,
    /// Bytes of names that were read and are not in the frame yet.
    pending: usize,
    levels: Vec<Level>,
}

/// A directory whose entries are being written out. Names stand one after another in `names`, because a
/// listing may have three quarters of a million of them and the memory of a session is bounded.
struct Level {
    identity: (u64, u64),
    /// From the root, without a symbolic link on the way: a tree in which every step is a link would otherwise
    /// be walked from its top for each of its entries.
    path: String,
    /// From the listed directory, as the client sees it.
    shown: String,
    names: Vec<u8>,
    /// In reverse order: the next one is the last.
    children: Vec<Child>,
}

struct Child {
    name_at: u32,
    name_len: u32,
    size: u64,
    mtime: i64,
    is_dir: bool,
}

impl Listing<'_> {
    fn run(&mut self) -> Result<(), Failure> {
        while let Some(level) = self.levels.last_mut() {
            let Some(child) = level.children.pop() else {
                self.levels.pop();
                continue;
            };
            let name = &level.names[child.name_at as usize..][..child.name_len as usize];
            self.pending -= name.len();
            let (shown, is_utf8) = shown(name);
            let path = join(&level.shown, &shown);
            self.frame.push(&Entry {
                path: &path,
                size: child.size,
                mtime: child.mtime,
                is_dir: child.is_dir,
            })?;
            if child.is_dir && is_utf8 {
                let from_root = join(&level.path, &shown);
                self.descend(&from_root, path)?;
            }
        }
        Ok(())
    }

    /// Opens a directory by its path. One that is gone, changed, unreadable, or on the way already is listed
    /// without contents: the client asks again for each directory that came back empty.
    fn descend(&mut self, from_root: &str, shown: String) -> Result<(), Failure> {
        let Some(path) = admit(self.fence, from_root) else { return Ok(()) };
        let Ok((path, entry)) = self.tree.traced(&path) else { return Ok(()) };
        let Ok(dir) = entry.open_dir() else { return Ok(()) };
        let pending = self.pending;
        match self.enter(&dir, path.as_str().to_owned(), shown) {
            Err(Failure::List(too_long)) => Err(too_long.into()),
            Err(_) => {
                self.pending = pending;
                Ok(())
            }
            Ok(()) => Ok(()),
        }
    }

    /// Reads the entries of a directory, sorted, and makes it the one to be written out next.
    fn enter(&mut self, dir: &Dir, path: String, shown: String) -> Result<(), Failure> {
        let reading = Failure::os("reading the directory");
        let identity = identity(&fstat(dir).map_err(&reading)?);
        if self.levels.iter().any(|level| level.identity == identity) {
            return Ok(());
        }
        let mut level = Level { identity, path, shown, names: Vec::new(), children: Vec::new() };
        let entries = dir.entries().map_err(|e| reading(Errno::from_io_error(&e).unwrap_or(Errno::IO)))?;
        for entry in entries {
            let entry = entry.map_err(|e| reading(Errno::from_io_error(&e).unwrap_or(Errno::IO)))?;
            let name = entry.file_name();
            if let Some(stat) = self.visible(dir, name.as_bytes(), &level) {
                self.pending += name.len();
                if self.pending > MAX_PAYLOAD || level.children.len() >= MAX_COUNT {
                    return Err(ListTooLong.into());
                }
                level.add(name.as_bytes(), &stat);
            }
        }
        level.sort();
        self.levels.push(level);
        Ok(())
    }

    /// What an entry is listed as, or None where it is left out. What is there and cannot be asked for, because
    /// its name or its link's target is not UTF-8 or its path is too long, must not be passed over in silence.
    fn visible(&self, dir: &Dir, name: &[u8], level: &Level) -> Option<Stat> {
        // By name, too: what is closed may have been made, or made a link, since the session began.
        if is_reserved(name)
            || std::str::from_utf8(name).is_ok_and(|name| self.fence.closes(&level.path, name))
        {
            return None;
        }
        let stat = retry_on_intr(|| statat(dir, name, AtFlags::SYMLINK_NOFOLLOW)).ok()?;
        match FileType::from_raw_mode(stat.st_mode) {
            _ if self.tree.is_closed(&stat) => None,
            FileType::RegularFile | FileType::Directory => Some(stat),
            FileType::Symlink if !self.tree.follows_links() => None,
            FileType::Symlink => {
                let name = std::str::from_utf8(name).ok();
                match name.and_then(|name| admit(self.fence, &join(&level.path, name))) {
                    Some(path) => self.link_target(&path, &stat, level.identity),
                    None => Some(stat),
                }
            }
            _ => None,
        }
    }

    /// What a link inside the root leads to, where that is inside, and no directory that is on the way.
    fn link_target(&self, path: &RootedPath, link: &Stat, here: (u64, u64)) -> Option<Stat> {
        let entry = match self.tree.entry(path) {
            Ok(entry) => entry,
            Err(Failure::NotUtf8) => return Some(*link),
            Err(_) => return None,
        };
        let target = identity(&entry.stat);
        let on_the_way = || target == here || self.levels.iter().any(|level| level.identity == target);
        match entry.kind() {
            FileType::RegularFile => Some(entry.stat),
            FileType::Directory if !on_the_way() => Some(entry.stat),
            _ => None,
        }
    }
}

impl Level {
    fn add(&mut self, name: &[u8], stat: &Stat) {
        // Both fit: pending names are held below MAX_PAYLOAD.
        #[allow(clippy::cast_possible_truncation, reason = "pending names are held below 16 MiB")]
        let (name_at, name_len) = (self.names.len() as u32, name.len() as u32);
        self.names.extend_from_slice(name);
        self.children.push(Child {
            name_at,
            name_len,
            size: tree::size(stat),
            mtime: stat.st_mtime,
            is_dir: FileType::from_raw_mode(stat.st_mode) == FileType::Directory,
        });
    }

    fn sort(&mut self) {
        let name = |child: &Child| &self.names[child.name_at as usize..][..child.name_len as usize];
        self.children.sort_unstable_by(|a, b| name(b).cmp(name(a)));
    }
}

fn admit(fence: &Fence, from_root: &str) -> Option<RootedPath> {
    fence.admit(&RemotePath::parse(from_root).ok()?).ok()
}

fn join(dir: &str, name: &str) -> String {
    if dir.is_empty() { name.to_owned() } else { format!("{dir}/{name}") }
}

/// A name as a listing shows it, and whether it is the name itself: bytes that are not UTF-8 are escaped.
fn shown(name: &[u8]) -> (String, bool) {
    if let Ok(name) = std::str::from_utf8(name) {
        return (name.to_owned(), true);
    }
    let mut shown = String::with_capacity(name.len() * 2);
    for chunk in name.utf8_chunks() {
        shown.push_str(chunk.valid());
        for byte in chunk.invalid() {
            shown.push_str(&format!("\\x{byte:02x}"));
        }
    }
    (shown, false)
}

/// The bytes that a listing shows as `shown`, where those are not UTF-8.
pub(crate) fn unescape(shown: &str) -> Option<Vec<u8>> {
    let mut bytes = Vec::with_capacity(shown.len());
    let mut rest = shown.as_bytes();
    while let [first, after @ ..] = rest {
        let escaped = after.strip_prefix(b"x").and_then(|hex| hex.get(..2)).filter(|_| *first == b'\\');
        let byte = escaped.and_then(|hex| u8::from_str_radix(std::str::from_utf8(hex).ok()?, 16).ok());
        match byte {
            Some(byte) => {
                bytes.push(byte);
                rest = &after[3..];
            }
            None => {
                bytes.push(*first);
                rest = after;
            }
        }
    }
    std::str::from_utf8(&bytes).is_err().then_some(bytes)
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn only_names_that_are_not_utf8_are_escaped_and_come_back() {
        assert_eq!(shown("süß".as_bytes()), ("süß".to_owned(), true));
        assert_eq!(shown(b"caf\xe9"), ("caf\\xe9".to_owned(), false));
        assert_eq!(unescape("caf\\xe9"), Some(b"caf\xe9".to_vec()));
        assert_eq!(unescape("caf\\x41"), None);
        assert_eq!(unescape("plain"), None);
        assert_eq!(unescape("\\xff\\x"), Some(b"\xff\\x".to_vec()));
    }
}
