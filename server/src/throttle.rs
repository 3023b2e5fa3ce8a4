//! A session's rate: both directions together, so many bytes per second.

use std::sync::{Mutex, PoisonError};
use std::time::{Duration, Instant};

/// What an idle session may move before it feels the rate.
const BURST: Duration = Duration::from_millis(100);

/// Parts of a second's bytes that are moved at a time, so that a slow rate is slow and not halting.
const SHARE: u64 = 8;

/// Bytes that are moved at a time at least.
const LEAST: u64 = 4096;

/// Holds whoever moves bytes to a rate.
#[derive(Debug)]
pub(crate) struct Throttle {
    rate: u64,
    /// When all that was moved so far may have been moved.
    due: Mutex<Instant>,
}

impl Throttle {
    /// A throttle at `rate` bytes per second, above 0.
    pub(crate) fn new(rate: u64) -> Self {
        Self { rate, due: Mutex::new(Instant::now()) }
    }

    /// Bytes that may be moved at a time.
    pub(crate) fn share(&self) -> usize {
        usize::try_from((self.rate / SHARE).max(LEAST)).unwrap_or(usize::MAX)
    }

    /// Counts bytes that were moved, and sleeps until they may have been.
    pub(crate) fn moved(&self, bytes: usize) {
        #[allow(clippy::cast_precision_loss, reason = "a share of a second's bytes")]
        let cost = Duration::from_secs_f64(bytes as f64 / self.rate as f64);
        let now = Instant::now();
        let due = {
            let mut due = self.due.lock().unwrap_or_else(PoisonError::into_inner);
            let earliest = now.checked_sub(BURST).unwrap_or(now);
            *due = (*due).max(earliest) + cost;
            *due
        };
        std::thread::sleep(due.saturating_duration_since(now));
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn bytes_take_the_time_that_the_rate_gives_them() {
        let throttle = Throttle::new(1_000_000);
        let start = Instant::now();
        for _ in 0..10 {
            throttle.moved(40_000);
        }
        // 400 ms less the burst.
        let took = start.elapsed();
        assert!(took >= Duration::from_millis(290) && took < Duration::from_millis(2000), "{took:?}");
        assert_eq!(throttle.share(), 125_000);
    }
}
