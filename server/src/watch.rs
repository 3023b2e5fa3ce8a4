//! The second thread: ends the process when it is told to, when the client is gone, or when it keeps the
//! session waiting for too long, whatever the session is doing then; and writes what the audit trail holds.
//!
//! It sleeps in one poll(2). An asynchronous runtime would wait for the same things with a dozen system
//! calls at start and twenty crates more to audit.

use std::os::fd::{AsFd, OwnedFd};
use std::sync::Arc;
use std::sync::atomic::{AtomicBool, Ordering};
use std::time::Duration;

use nix::sys::signal::{SigSet, Signal};
use nix::sys::signalfd::{SfdFlags, SignalFd};
use rustix::event::{PollFd, PollFlags, Timespec, poll};

use crate::audit::Audit;
use crate::clock::Clock;
use crate::exit::Exit;
use crate::live::LiveSlot;

/// From the start to a complete Hello.
const HELLO: Duration = Duration::from_secs(10);

/// What a session that sees the end itself, at its next read or write, gets to finish.
const GRACE: Duration = Duration::from_millis(500);

/// Signals, blocked in every thread and read by the watch.
pub(crate) struct Signals(SignalFd);

impl Signals {
    /// Blocks the signals that end a session. To be called before any thread is started. SIGXFSZ stays
    /// blocked unread, so that a write past RLIMIT_FSIZE fails with EFBIG and nothing more.
    pub(crate) fn block() -> nix::Result<Self> {
        let mut ending = SigSet::empty();
        for signal in [Signal::SIGTERM, Signal::SIGINT, Signal::SIGHUP] {
            ending.add(signal);
        }
        ending.thread_block()?;
        SigSet::from(Signal::SIGXFSZ).thread_block()?;
        let fd = SignalFd::with_flags(&ending, SfdFlags::SFD_CLOEXEC | SfdFlags::SFD_NONBLOCK)?;
        Ok(Self(fd))
    }
}

/// What the watch looks at.
pub(crate) struct Watch {
    pub(crate) signals: Signals,
    /// The client's end of the output.
    pub(crate) output: OwnedFd,
    pub(crate) clock: Arc<Clock>,
    /// Set once the handshake is through.
    pub(crate) greeted: Arc<AtomicBool>,
    pub(crate) live: Arc<LiveSlot>,
    pub(crate) audit: Arc<Audit>,
    /// How long the session may wait for the client.
    pub(crate) idle: Duration,
}

impl Watch {
    /// Starts the thread.
    pub(crate) fn start(self) -> std::io::Result<()> {
        std::thread::Builder::new()
            .name("watch".to_owned())
            .stack_size(64 * 1024)
            .spawn(move || self.run())?;
        Ok(())
    }

    fn run(self) {
        loop {
            let until = self.until_overdue();
            if until.is_zero() {
                let greeted = self.greeted.load(Ordering::Relaxed);
                self.end(Duration::ZERO, if greeted { "idle for too long" } else { "no Hello in time" });
            }
            // Nobody wakes the watch when the handshake is through: from then on `idle` counts, which may be less.
            let timeout =
                Timespec::try_from(until.min(self.idle)).unwrap_or(Timespec { tv_sec: 3600, tv_nsec: 0 });
            let mut fds = vec![
                PollFd::new(&self.signals.0, PollFlags::IN),
                // Hang-up and error are reported unasked.
                PollFd::from_borrowed_fd(self.output.as_fd(), PollFlags::empty()),
            ];
            fds.extend(self.audit.due());
            // EINTR comes from SIGSTOP and SIGCONT: look again.
            if poll(&mut fds, Some(&timeout)).unwrap_or(0) == 0 {
                continue;
            }
            if !fds[0].revents().is_empty() {
                self.end(Duration::ZERO, "told to end");
            }
            if !fds[1].revents().is_empty() {
                self.end(GRACE, "the client is gone");
            }
            if fds.get(2).is_some_and(|due| !due.revents().is_empty()) {
                self.audit.write_held();
            }
        }
    }

    /// How long the client still has; zero when its time is up.
    fn until_overdue(&self) -> Duration {
        let (limit, waited) = if self.greeted.load(Ordering::Relaxed) {
            (self.idle, self.clock.waiting())
        } else {
            (HELLO, self.clock.since_start())
        };
        limit.saturating_sub(Duration::from_millis(waited))
    }

    /// Ends the process, after a moment in which the session may do so itself.
    fn end(&self, grace: Duration, why: &str) -> ! {
        std::thread::sleep(grace);
        self.live.abort_for_good(GRACE);
        self.audit.end(why);
        std::process::exit(Exit::Io as i32)
    }
}
