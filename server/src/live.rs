//! The Put that is being received, where both the session and the watch can reach it: whoever ends the
//! process takes it out first, so that no stage is left and nothing is published behind the other's back.

use std::sync::atomic::{AtomicBool, Ordering};
use std::sync::{Mutex, MutexGuard, PoisonError, TryLockError};
use std::time::{Duration, Instant};

use bcmr_publish::Publisher;

use crate::failure::Failure;
use crate::quota::Quota;
use crate::tree::Tree;
use crate::verbs::put::LivePut;

/// Room for one live Put.
#[derive(Debug, Default)]
pub(crate) struct LiveSlot {
    slot: Mutex<Option<LivePut>>,
    /// Set when the watch wants the slot, which the session does not get again then.
    closing: AtomicBool,
}

impl LiveSlot {
    /// Begins a Put. The slot is locked from before its first directory is made; what is kept of a present
    /// file is copied step by step, so that the watch never waits for long.
    pub(crate) fn begin(&self, begin: impl FnOnce() -> Result<LivePut, Failure>) -> Result<(), Failure> {
        let mut slot = self.lock();
        *slot = Some(begin()?);
        drop(slot);
        while let Some(put) = self.lock().as_mut() {
            if put.keep_some()? {
                break;
            }
        }
        Ok(())
    }

    pub(crate) fn is_live(&self) -> bool {
        self.lock().is_some()
    }

    /// Does something with the live Put; None where there is none.
    pub(crate) fn with<T>(&self, act: impl FnOnce(&mut LivePut) -> T) -> Option<T> {
        self.lock().as_mut().map(act)
    }

    /// Publishes the live Put; None where there is none. The slot stays locked meanwhile, so that the process
    /// is not ended between the publication and its consequences.
    pub(crate) fn finish(
        &self,
        publisher: &mut Publisher,
        quota: Option<(&mut Quota, &Tree)>,
    ) -> Option<Result<Option<blake3::Hash>, Failure>> {
        let mut slot = self.lock();
        slot.take().map(|put| put.finish(publisher, quota))
    }

    /// Drops the live Put, which leaves the disk as it was before it.
    pub(crate) fn abort(&self) {
        self.lock().take();
    }

    /// The same for the watch, which must not wait for ever on a session that is stuck in the kernel. The slot
    /// stays locked until the process ends.
    pub(crate) fn abort_for_good(&self, patience: Duration) {
        let deadline = Instant::now() + patience;
        self.closing.store(true, Ordering::Relaxed);
        loop {
            match self.slot.try_lock() {
                Ok(mut slot) => {
                    slot.take();
                    std::mem::forget(slot);
                    return;
                }
                Err(TryLockError::Poisoned(_)) => return,
                Err(TryLockError::WouldBlock) if Instant::now() >= deadline => return,
                Err(TryLockError::WouldBlock) => std::thread::sleep(Duration::from_millis(5)),
            }
        }
    }

    /// For the session: the slot, unless the process is about to end, which it does then.
    fn lock(&self) -> MutexGuard<'_, Option<LivePut>> {
        while self.closing.load(Ordering::Relaxed) {
            std::thread::park();
        }
        // A panic ends the process, so that no one sees a poisoned slot.
        self.slot.lock().unwrap_or_else(PoisonError::into_inner)
    }
}
