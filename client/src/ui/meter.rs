use std::sync::atomic::{AtomicU64, Ordering};

/// What was done so far, counted by whoever does it.
#[derive(Debug, Default)]
pub(crate) struct Meter {
    files: AtomicU64,
    already: AtomicU64,
    moved: AtomicU64,
    copied: AtomicU64,
    present: AtomicU64,
    wire: AtomicU64,
    expected: AtomicU64,
}

impl Meter {
    /// Content that is to be copied.
    pub(crate) fn expect(&self, bytes: u64) {
        self.expected.fetch_add(bytes, Ordering::Relaxed);
    }

    /// Content that was read here and sent, or received and written here, whatever becomes of it.
    pub(crate) fn add_moved(&self, bytes: u64) {
        self.moved.fetch_add(bytes, Ordering::Relaxed);
    }

    /// A file of `bytes` that is whole on the other side, or here.
    pub(crate) fn add_file(&self, bytes: u64) {
        self.files.fetch_add(1, Ordering::Relaxed);
        self.copied.fetch_add(bytes, Ordering::Relaxed);
    }

    /// A file that was there before, with the same content.
    pub(crate) fn add_already(&self) {
        self.files.fetch_add(1, Ordering::Relaxed);
        self.already.fetch_add(1, Ordering::Relaxed);
    }

    /// Content that the server had already, and that was not sent.
    pub(crate) fn add_present(&self, bytes: u64) {
        self.present.fetch_add(bytes, Ordering::Relaxed);
    }

    /// Bytes of the protocol, both ways.
    pub(crate) fn add_wire(&self, bytes: u64) {
        self.wire.fetch_add(bytes, Ordering::Relaxed);
    }

    /// What there is to copy in all, where that is known beforehand.
    pub(crate) fn expected(&self) -> Option<u64> {
        Some(self.expected.load(Ordering::Relaxed)).filter(|bytes| *bytes > 0)
    }

    pub(crate) fn files(&self) -> u64 {
        self.files.load(Ordering::Relaxed)
    }

    pub(crate) fn already(&self) -> u64 {
        self.already.load(Ordering::Relaxed)
    }

    pub(crate) fn moved(&self) -> u64 {
        self.moved.load(Ordering::Relaxed)
    }

    pub(crate) fn copied(&self) -> u64 {
        self.copied.load(Ordering::Relaxed)
    }

    pub(crate) fn present(&self) -> u64 {
        self.present.load(Ordering::Relaxed)
    }

    pub(crate) fn wire(&self) -> u64 {
        self.wire.load(Ordering::Relaxed)
    }
}
