//! Who is waiting for whom, and since when.

use std::sync::atomic::{AtomicU64, Ordering};
use std::time::Instant;

/// Since when the session has been waiting for the client, in either direction.
#[derive(Debug)]
pub(crate) struct Clock {
    start: Instant,
    /// Milliseconds after `start`, plus one; 0 while the session works.
    waiting_since: AtomicU64,
}

impl Clock {
    pub(crate) fn new() -> Self {
        Self { start: Instant::now(), waiting_since: AtomicU64::new(0) }
    }

    /// Milliseconds since the process began to serve.
    pub(crate) fn since_start(&self) -> u64 {
        u64::try_from(self.start.elapsed().as_millis()).unwrap_or(u64::MAX)
    }

    /// Milliseconds that the session has been waiting for the client; 0 while it works.
    pub(crate) fn waiting(&self) -> u64 {
        match self.waiting_since.load(Ordering::Relaxed) {
            0 => 0,
            since => self.since_start().saturating_sub(since - 1),
        }
    }

    /// Runs a call that may wait for the client.
    pub(crate) fn while_waiting<T>(&self, call: impl FnOnce() -> T) -> T {
        self.waiting_since.store(self.since_start() + 1, Ordering::Relaxed);
        let result = call();
        self.waiting_since.store(0, Ordering::Relaxed);
        result
    }
}
