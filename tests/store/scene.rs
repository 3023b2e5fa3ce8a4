//! A root, a state directory beside it, and what a client of its own says to fill and to ask the store.

use std::fs;
use std::io::ErrorKind;
use std::os::unix::fs::MetadataExt;
use std::path::{Path, PathBuf};

use bcmr_tests::content::hex;
use bcmr_tests::{Launch, Reply, Server, Site};
use bcmr_wire::limits::MAX_BLOCK;
use bcmr_wire::{Caps, Hash, Message};

pub(crate) const MIB: usize = 1 << 20;

/// A site with state in personal mode.
#[derive(Debug)]
pub(crate) struct Scene {
    pub(crate) site: Site,
    cap: Option<u64>,
}

impl Scene {
    /// A store with a cap of so many MiB.
    pub(crate) fn new(cap: u64) -> Self {
        Self { site: Site::new(), cap: Some(cap) }
    }

    /// The same place, with another cap from here on.
    pub(crate) fn capped(self, cap: u64) -> Self {
        Self { cap: Some(cap), ..self }
    }

    /// The state directory.
    pub(crate) fn state(&self) -> PathBuf {
        self.site.base().join("state")
    }

    /// A server about to be started.
    pub(crate) fn launch(&self) -> Launch {
        self.launch_at(&self.site.root())
    }

    /// The same of another root, with the same state directory.
    pub(crate) fn launch_at(&self, root: &Path) -> Launch {
        let launch = Launch::new(root).env("BCMR_CAS_DIR", self.state());
        match self.cap {
            Some(cap) => launch.env("BCMR_CAS_CAP_MB", cap.to_string()),
            None => launch,
        }
    }

    /// A session in which blocks may be announced.
    #[track_caller]
    pub(crate) fn server(&self) -> Server {
        greeted(self.launch())
    }

    /// Uploads a file in a session of its own; returns the indices of the blocks that had to come.
    #[track_caller]
    pub(crate) fn upload(&self, path: &str, content: &[u8]) -> Vec<usize> {
        let mut server = self.server();
        let sent = upload(&mut server, path, content);
        server.finish();
        sent
    }

    /// What belongs to the root in the state directory.
    pub(crate) fn part(&self) -> PathBuf {
        part(&self.state(), &self.site.root())
    }

    /// Where the blocks are.
    pub(crate) fn blocks(&self) -> PathBuf {
        self.part().join("cas")
    }

    /// The path of the block with this content.
    pub(crate) fn block(&self, content: &[u8]) -> PathBuf {
        self.blocks().join(hex(content))
    }

    /// Bytes that the files of the store take, by the file system's word.
    pub(crate) fn taken(&self) -> u64 {
        taken(&self.blocks())
    }

    /// The number of blocks that are there.
    pub(crate) fn count(&self) -> usize {
        fs::read_dir(self.blocks()).map_or(0, Iterator::count)
    }

    /// Checks that every block is what its name says.
    #[track_caller]
    pub(crate) fn every_block_is_whole(&self) {
        for block in fs::read_dir(self.blocks()).unwrap() {
            let block = block.unwrap().path();
            assert_eq!(hex(&fs::read(&block).unwrap()), block.file_name().unwrap().to_str().unwrap());
        }
    }

    /// What the server counts: bytes, and bytes that are reserved.
    pub(crate) fn counted(&self) -> [u64; 2] {
        let bytes = fs::read(self.part().join("usage")).unwrap();
        [0, 8].map(|at| u64::from_le_bytes(bytes[at..at + 8].try_into().unwrap()))
    }

    /// Checks that the server counts what is there, and has nothing reserved. Each file counts for a page more than
    /// it takes.
    #[track_caller]
    pub(crate) fn counts_what_is_there(&self) {
        let there = self.taken() + 4096 * self.count() as u64;
        assert_eq!(self.counted(), [there, 0], "{} blocks", self.count());
    }
}

/// A session in which blocks may be announced.
#[track_caller]
pub(crate) fn greeted(launch: Launch) -> Server {
    let mut server = launch.start();
    let agreed = server.greet(Caps(0xff).without(Caps::SYNC));
    assert!(agreed.has(Caps::DEDUP), "dedup is not offered: {}", server.stderr());
    server
}

/// What belongs to a root in a state directory: docs/policy.md, "State".
pub(crate) fn part(state: &Path, root: &Path) -> PathBuf {
    let root = root.metadata().unwrap();
    state.join(format!("{:x}-{:x}", root.dev(), root.ino()))
}

/// Bytes that all files right in a directory take. They come and go meanwhile.
pub(crate) fn taken(dir: &Path) -> u64 {
    let Ok(entries) = fs::read_dir(dir) else { return 0 };
    entries
        .filter_map(|entry| entry.ok()?.path().symlink_metadata().ok())
        .filter(fs::Metadata::is_file)
        .map(|metadata| metadata.blocks() * 512)
        .sum()
}

/// Takes a directory away, with whatever a session puts into it meanwhile.
pub(crate) fn remove(dir: &Path) {
    while let Err(error) = fs::remove_dir_all(dir) {
        assert_eq!(error.kind(), ErrorKind::DirectoryNotEmpty, "{}: {error}", dir.display());
    }
}

/// The blocks of a content.
pub(crate) fn blocks(content: &[u8]) -> Vec<&[u8]> {
    content.chunks(MAX_BLOCK).collect()
}

/// Their hashes.
pub(crate) fn hashes(content: &[u8]) -> Vec<Hash> {
    blocks(content).iter().map(|block| *blake3::hash(block).as_bytes()).collect()
}

/// Begins a Put and announces its blocks; returns the answer.
#[track_caller]
pub(crate) fn announce(server: &mut Server, path: &str, content: &[u8]) -> Reply {
    server.send(&Message::Put { path, size: content.len() as u64, offset: 0, overwrite: true });
    server.ask(&Message::HaveBlocks { block_size: MAX_BLOCK as u32, hashes: &hashes(content) })
}

/// The indices of the bits that are set in the answer to an announcement of `count` blocks.
#[track_caller]
pub(crate) fn missing(reply: &Reply, count: usize) -> Vec<usize> {
    let Reply::MissingBlocks { bits } = reply else {
        panic!("MissingBlocks were due, but this came: {reply:?}")
    };
    assert_eq!(bits.len(), count.div_ceil(8), "one bit for each block");
    let set: Vec<_> = (0..bits.len() * 8).filter(|i| bits[i / 8] >> (i % 8) & 1 == 1).collect();
    assert!(set.iter().all(|index| *index < count), "a bit beyond the last block");
    set
}

/// Sends the blocks of these indices.
#[track_caller]
pub(crate) fn send(server: &mut Server, content: &[u8], indices: &[usize]) {
    let blocks = blocks(content);
    indices.iter().for_each(|index| server.send(&Message::Data { payload: blocks[*index] }));
}

/// Uploads a file as a client does that announces its blocks; returns the indices of those that had to come.
#[track_caller]
pub(crate) fn upload(server: &mut Server, path: &str, content: &[u8]) -> Vec<usize> {
    let answer = announce(server, path, content);
    let indices = missing(&answer, blocks(content).len());
    send(server, content, &indices);
    let reply = server.ask(&Message::Done);
    assert_eq!(reply.ok(), Some(&*hex(content)), "{path}");
    indices
}
