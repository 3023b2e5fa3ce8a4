use std::time::{Duration, Instant};

/// Records of refusals and failures that are written within one [`WINDOW`]; the rest are folded into a number.
const WRITTEN: u32 = 20;

const WINDOW: Duration = Duration::from_secs(1);

/// Keeps a client from flooding the log: a million refused requests are a few records and a number.
#[derive(Debug)]
pub(super) struct Flood {
    since: Instant,
    written: u32,
    folded: u64,
}

impl Flood {
    pub(super) fn new(now: Instant) -> Self {
        Self { since: now, written: 0, folded: 0 }
    }

    /// Whether one more may be written; it is counted otherwise.
    pub(super) fn admits(&mut self, now: Instant) -> bool {
        if now.duration_since(self.since) >= WINDOW {
            (self.since, self.written) = (now, 0);
        }
        let admits = self.written < WRITTEN;
        if admits {
            self.written += 1;
        } else {
            self.folded += 1;
        }
        admits
    }

    /// How many were folded since this was told last.
    pub(super) const fn folded(&self) -> u64 {
        self.folded
    }

    pub(super) const fn told(&mut self) {
        self.folded = 0;
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_flood_is_a_few_records_and_a_number_and_then_there_is_room_again() {
        let start = Instant::now();
        let mut flood = Flood::new(start);
        let written = (0..1_000_000).filter(|_| flood.admits(start)).count();
        assert_eq!((written, flood.folded()), (20, 999_980));
        flood.told();
        assert!(flood.admits(start + WINDOW));
        assert_eq!(flood.folded(), 0);
    }
}
