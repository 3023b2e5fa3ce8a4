//! How much was asked for over one connection and is not answered yet.

use std::sync::atomic::{AtomicU64, Ordering};
use std::sync::{Condvar, Mutex, PoisonError};

/// Bytes that a request counts for at least: answers cost something, too.
const LEAST: u64 = 8 * 1024;

/// The bytes that are on their way.
#[derive(Debug, Default)]
pub(crate) struct Pending {
    bytes: AtomicU64,
    /// What someone waits for, in bytes and one; 0 where nobody waits.
    awaited: AtomicU64,
    closed: Mutex<bool>,
    changed: Condvar,
}

impl Pending {
    /// A request that moves `bytes` of content goes out.
    pub(crate) fn sent(&self, bytes: u64) {
        self.bytes.fetch_add(bytes.max(LEAST), Ordering::SeqCst);
    }

    /// It was answered.
    pub(crate) fn answered(&self, bytes: u64) {
        let bytes = bytes.max(LEAST);
        let left = self.bytes.fetch_sub(bytes, Ordering::SeqCst) - bytes;
        if left < self.awaited.load(Ordering::SeqCst) {
            // Whoever waits holds the lock from its look at the bytes until it sleeps.
            drop(self.closed.lock().unwrap_or_else(PoisonError::into_inner));
            self.changed.notify_one();
        }
    }

    /// Nothing will be answered any more.
    pub(crate) fn close(&self) {
        *self.closed.lock().unwrap_or_else(PoisonError::into_inner) = true;
        self.changed.notify_one();
    }

    /// Whether at most `most` bytes are on their way.
    pub(crate) fn is_at_most(&self, most: u64) -> bool {
        self.bytes.load(Ordering::SeqCst) <= most
    }

    /// Waits until at most `most` bytes are on their way; false where that will not be.
    pub(crate) fn wait(&self, most: u64) -> bool {
        let closed = self.closed.lock().unwrap_or_else(PoisonError::into_inner);
        self.awaited.store(most + 1, Ordering::SeqCst);
        let more = |closed: &mut bool| !*closed && !self.is_at_most(most);
        let closed = self.changed.wait_while(closed, more).unwrap_or_else(PoisonError::into_inner);
        self.awaited.store(0, Ordering::SeqCst);
        !*closed
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn who_waits_goes_on_when_little_is_left_or_nothing_will_come() {
        let pending = Pending::default();
        (0..3).for_each(|_| pending.sent(1 << 20));
        assert!(pending.is_at_most(3 << 20) && !pending.is_at_most(2 << 20));
        std::thread::scope(|scope| {
            let waiting = scope.spawn(|| pending.wait(1 << 20));
            pending.answered(1 << 20);
            pending.answered(1 << 20);
            assert!(waiting.join().unwrap());
            let waiting = scope.spawn(|| pending.wait(0));
            pending.close();
            assert!(!waiting.join().unwrap());
        });
    }
}
