//! Whether encoding pays: on a slow link nearly always, on a fast one only where the codec is faster still.
//!
//! While blocks are encoded, and writing them takes a share of the time, the link is what holds things up, and
//! fewer bytes are less time. Where writing takes next to none, the codec holds things up: then blocks go raw for
//! a while, and whichever way moved more content per second goes on. A try that turned out slower makes the next
//! one wait twice as long.

use std::time::Duration;

/// Content in a window of encoded blocks.
const CODED_WINDOW: u64 = 4 << 20;

/// Content that raw blocks carry before their speed counts: what pipes and sockets swallow at once.
const SWALLOWED: u64 = 8 << 20;

/// Content over which the speed of raw blocks is taken.
const RAW_WINDOW: u64 = 4 << 20;

/// The share of the time, in percent, that writing takes at least where the link holds things up.
const HELD_UP: u32 = 10;

/// How much slower than encoded blocks raw ones must be, in percent, to be given up.
const SLOWER: u64 = 90;

/// Windows that a try of raw blocks waits at most.
const MOST_PATIENCE: u32 = 128;

/// What was measured of some content.
#[derive(Clone, Copy, Default, Debug)]
struct Window {
    bytes: u64,
    time: Duration,
    writing: Duration,
}

impl Window {
    fn add(&mut self, bytes: u64, time: Duration, writing: Duration) {
        self.bytes += bytes;
        self.time += time;
        self.writing += writing;
    }

    /// Bytes per second.
    fn speed(&self) -> u64 {
        let nanos = self.time.as_nanos().max(1);
        u64::try_from(u128::from(self.bytes) * 1_000_000_000 / nanos).unwrap_or(u64::MAX)
    }

    fn is_held_up(&self) -> bool {
        self.writing * 100 >= self.time * HELD_UP
    }
}

/// The choice for one connection.
#[derive(Clone, Debug)]
pub(super) struct Choice {
    coded: bool,
    window: Window,
    /// Content since blocks went raw.
    raw: u64,
    /// Bytes of content per second, when blocks were last encoded.
    coded_speed: u64,
    /// Windows to wait before raw blocks are tried, and how many that will be after the next try.
    wait: u32,
    patience: u32,
}

impl Choice {
    pub(super) fn new() -> Self {
        Self { coded: true, window: Window::default(), raw: 0, coded_speed: 0, wait: 0, patience: 1 }
    }

    /// Whether the next block is to be encoded.
    pub(super) const fn codes(&self) -> bool {
        self.coded
    }

    /// Takes note of a block of `bytes` that took `time` in all, `writing` of it to be written.
    pub(super) fn sent(&mut self, bytes: u64, time: Duration, writing: Duration) {
        self.window.add(bytes, time, writing);
        if self.coded { self.after_coded() } else { self.after_raw(bytes) }
    }

    fn after_coded(&mut self) {
        if self.window.bytes < CODED_WINDOW {
            return;
        }
        let window = std::mem::take(&mut self.window);
        self.coded_speed = window.speed();
        if window.is_held_up() {
            self.patience = 1;
            self.wait = 0;
        } else if self.wait > 0 {
            self.wait -= 1;
        } else {
            self.coded = false;
            self.raw = 0;
        }
    }

    fn after_raw(&mut self, bytes: u64) {
        self.raw += bytes;
        if self.raw < SWALLOWED {
            self.window = Window::default();
        } else if self.window.bytes >= RAW_WINDOW {
            let speed = std::mem::take(&mut self.window).speed();
            if u128::from(speed) * 100 < u128::from(self.coded_speed) * u128::from(SLOWER) {
                self.coded = true;
                self.wait = self.patience;
                self.patience = (self.patience * 2).min(MOST_PATIENCE);
            }
        }
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    const MIB: u64 = 1 << 20;

    /// A link of `link` and a codec of `codec` bytes per second that leaves `percent` of the content: sends
    /// `content` MiB by the choice's word, and returns the MiB that were encoded.
    fn carry(choice: &mut Choice, content: u64, codec: u64, percent: u64, link: u64) -> u64 {
        let per = |bytes: u64, speed: u64| Duration::from_secs_f64(bytes as f64 / speed as f64);
        let memory = 4_000_000_000;
        // What the link has still to do when a block is written; a buffer of 4 MiB hides that much of it.
        let mut backlog = Duration::ZERO;
        let mut coded = 0;
        for _ in 0..content {
            let (encoding, wire) = if choice.codes() {
                coded += 1;
                (per(MIB, codec), MIB * percent / 100)
            } else {
                (per(MIB, memory), MIB)
            };
            backlog = backlog.saturating_sub(encoding) + per(wire, link);
            let writing = backlog.saturating_sub(per(4 * MIB, link)) + per(wire, memory);
            backlog = backlog.saturating_sub(writing);
            choice.sent(MIB, encoding + writing, writing);
        }
        coded
    }

    #[test]
    fn on_a_slow_link_nearly_everything_is_encoded() {
        // 100 MB/s of codec, 40 % left, 10 MB/s of link.
        let coded = carry(&mut Choice::new(), 500, 100_000_000, 40, 10_000_000);
        assert!(coded > 480, "{coded} of 500");
    }

    #[test]
    fn on_a_fast_link_a_slow_codec_is_left_alone() {
        let coded = carry(&mut Choice::new(), 500, 100_000_000, 40, 1_000_000_000);
        assert!(coded <= 8, "{coded} of 500");
    }

    #[test]
    fn a_codec_that_is_faster_than_the_link_goes_on_after_a_try_of_raw_blocks() {
        // The codec is what holds things up, and still beats the link: 400 MB/s against 300.
        let coded = carry(&mut Choice::new(), 4000, 400_000_000, 40, 300_000_000);
        assert!(coded > 3800, "{coded} of 4000");
    }

    #[test]
    fn a_link_that_turns_slow_is_noticed() {
        let mut choice = Choice::new();
        carry(&mut choice, 200, 100_000_000, 40, 1_000_000_000);
        assert!(!choice.codes());
        let coded = carry(&mut choice, 200, 100_000_000, 40, 10_000_000);
        assert!(coded > 180, "{coded} of 200");
    }

    #[test]
    fn a_link_that_turns_fast_is_noticed() {
        let mut choice = Choice::new();
        carry(&mut choice, 200, 100_000_000, 40, 10_000_000);
        assert!(choice.codes());
        let coded = carry(&mut choice, 1000, 100_000_000, 40, 1_000_000_000);
        assert!(coded < 50, "{coded} of 1000");
    }
}
