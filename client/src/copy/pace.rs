use std::sync::{Mutex, PoisonError};
use std::time::{Duration, Instant};

/// Holds all connections together below a rate.
#[derive(Debug)]
pub(crate) struct Pace {
    /// Bytes per second; None for any.
    rate: Option<u64>,
    /// When what was moved so far may have been moved.
    due: Mutex<Instant>,
}

impl Pace {
    pub(crate) fn new(rate: Option<u64>) -> Self {
        Self { rate, due: Mutex::new(Instant::now()) }
    }

    /// Takes note of bytes that were moved, and waits until they may have been.
    pub(crate) fn moved(&self, bytes: u64) {
        let Some(rate) = self.rate else { return };
        let now = Instant::now();
        let due = {
            let mut due = self.due.lock().unwrap_or_else(PoisonError::into_inner);
            // Time in which nothing was moved is not saved up.
            *due = (*due).max(now) + Duration::from_secs_f64(bytes as f64 / rate as f64);
            *due
        };
        std::thread::sleep(due.saturating_duration_since(now));
    }
}
