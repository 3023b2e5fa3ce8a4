//! What a machine boots into: a cpio archive (Linux, Documentation/driver-api/early-userspace/buffer-format.rst).

use std::fs;
use std::path::Path;

/// A directory, an executable or plain file, by its mode.
const DIRECTORY: u32 = 0o40_755;
const EXECUTABLE: u32 = 0o100_755;
const PLAIN: u32 = 0o100_644;

/// An archive in the making, in the format "newc".
#[derive(Debug, Default)]
pub(crate) struct Initramfs {
    bytes: Vec<u8>,
    inode: u32,
}

impl Initramfs {
    pub(crate) fn directory(mut self, name: &str) -> Self {
        self.entry(name, DIRECTORY, &[]);
        self
    }

    /// Adds a program of this machine, which must be static.
    pub(crate) fn program(mut self, name: &str, path: &Path) -> Self {
        self.entry(name, EXECUTABLE, &fs::read(path).unwrap_or_else(|e| panic!("{}: {e}", path.display())));
        self
    }

    pub(crate) fn script(mut self, name: &str, text: &str) -> Self {
        self.entry(name, EXECUTABLE, text.as_bytes());
        self
    }

    pub(crate) fn file(mut self, name: &str, content: &[u8]) -> Self {
        self.entry(name, PLAIN, content);
        self
    }

    pub(crate) fn finish(mut self) -> Vec<u8> {
        self.entry("TRAILER!!!", 0, &[]);
        self.bytes
    }

    fn entry(&mut self, name: &str, mode: u32, content: &[u8]) {
        self.inode += 1;
        let sizes = (u32::try_from(content.len()).unwrap(), u32::try_from(name.len() + 1).unwrap());
        // Magic, inode, mode, uid, gid, links, mtime, size, four device numbers, length of the name, checksum.
        let fields = [self.inode, mode, 0, 0, 1, 0, sizes.0, 0, 0, 0, 0, sizes.1, 0];
        self.bytes.extend_from_slice(b"070701");
        for field in fields {
            self.bytes.extend_from_slice(format!("{field:08X}").as_bytes());
        }
        self.bytes.extend_from_slice(name.as_bytes());
        self.bytes.push(0);
        self.align();
        self.bytes.extend_from_slice(content);
        self.align();
    }

    fn align(&mut self) {
        self.bytes.resize(self.bytes.len().next_multiple_of(4), 0);
    }
}
