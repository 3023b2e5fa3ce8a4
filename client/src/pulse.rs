//! Whether a connection still moves: a link that swallows everything is told apart from one that is slow, and from one
//! whose command is to end.

use std::io::{self, IoSlice, Read, Write};
use std::sync::atomic::{AtomicBool, AtomicU64, Ordering};
use std::sync::{Arc, OnceLock, Weak};
use std::time::{Duration, Instant};

use crate::cli::ConnectionArgs;
use crate::interrupt;
use crate::pending::Pending;
use crate::transport::Ender;

/// How often a connection is looked at.
const LOOK: Duration = Duration::from_millis(500);

/// How long signing in may take where the connection itself may stand still for less: sshd gives people two minutes
/// for their passwords (LoginGraceTime, sshd_config(5)).
const SIGN_IN: Duration = Duration::from_secs(120);

/// Over how long a rate is taken: a link that pauses for a moment is not a slow one.
const RATED: Duration = Duration::from_secs(30);

/// Bytes per second that a server goes through at least while it says nothing: it hashes them, from a disk that is slow.
const READ_RATE: u64 = 16 << 20;

/// Bytes on their way from which on content is what a connection is busy with.
const BUSY: u64 = 256 * 1024;

/// With how little a connection may get along.
#[derive(Clone, Copy, PartialEq, Eq, Debug)]
pub(crate) struct Patience {
    /// How long it may stand still; None for ever.
    pub(crate) stall: Option<Duration>,
    /// Bytes per second that it must move while it moves content.
    pub(crate) min_rate: Option<u64>,
}

impl Patience {
    pub(crate) fn of(connection: &ConnectionArgs) -> Self {
        let stall = Some(Duration::from_secs(connection.stall)).filter(|stall| !stall.is_zero());
        Self { stall, min_rate: connection.min_rate }
    }
}

/// Why a connection was given up.
#[derive(Clone, Copy, PartialEq, Eq, Debug)]
pub(crate) enum GivenUp {
    /// For so many seconds nothing moved.
    Stalled(u64),
    /// It moved so many bytes per second.
    Slow(u64),
    /// Somebody wants the command to end.
    Interrupted,
}

/// Beats whenever something moves.
#[derive(Debug, Default)]
pub(crate) struct Pulse {
    /// Of any kind: bytes, or work that goes on without any.
    beats: AtomicU64,
    bytes: AtomicU64,
    /// Bytes that the server goes through before it says anything.
    silent: AtomicU64,
    /// Whether the server has said that it serves.
    welcome: AtomicBool,
    given_up: OnceLock<GivenUp>,
}

impl Pulse {
    /// Something goes on that moves no byte.
    pub(crate) fn beat(&self) {
        self.beats.fetch_add(1, Ordering::Relaxed);
    }

    /// The server is to go through so many bytes before it answers.
    pub(crate) fn silent(&self, bytes: u64) {
        self.silent.fetch_add(bytes, Ordering::Relaxed);
    }

    /// It has answered.
    pub(crate) fn spoke(&self, bytes: u64) {
        self.silent.fetch_sub(bytes, Ordering::Relaxed);
    }

    fn moved(&self, bytes: &io::Result<usize>) {
        self.beat();
        self.bytes.fetch_add(*bytes.as_ref().unwrap_or(&0) as u64, Ordering::Relaxed);
    }

    /// The server serves.
    pub(crate) fn welcome(&self) {
        self.welcome.store(true, Ordering::Relaxed);
        self.beat();
    }

    /// Why the connection was given up, if it was.
    pub(crate) fn given_up(&self) -> Option<GivenUp> {
        self.given_up.get().copied()
    }
}

/// Ends the child where the connection is to be given up. The thread ends with the connection.
pub(crate) fn watch(
    pulse: &Arc<Pulse>,
    pending: &Arc<Pending>,
    patience: Patience,
    child: Ender,
) -> io::Result<()> {
    let (pulse, pending) = (Arc::downgrade(pulse), Arc::clone(pending));
    std::thread::Builder::new().name("pulse".to_owned()).stack_size(64 * 1024).spawn(move || {
        let (mut still, mut rate) = (Still::new(), Rate::new());
        while let Some(pulse) = look(&pulse) {
            let why = if interrupt::came().is_some() {
                Some(GivenUp::Interrupted)
            } else {
                let slow = rate.look(&pulse, &pending);
                still
                    .look(&pulse, patience.stall)
                    .or_else(|| slow.filter(|rate| is_below(*rate, patience)).map(GivenUp::Slow))
            };
            if let Some(why) = why {
                let _ = pulse.given_up.set(why);
                // It is waited for only when the streams have ended, which they do by this.
                child.end();
                return;
            }
        }
    })?;
    Ok(())
}

fn is_below(rate: u64, patience: Patience) -> bool {
    patience.min_rate.is_some_and(|least| rate < least)
}

fn look(pulse: &Weak<Pulse>) -> Option<Arc<Pulse>> {
    std::thread::sleep(LOOK);
    // While the connection lives, others hold it, too.
    pulse.upgrade().filter(|pulse| Arc::strong_count(pulse) > 1)
}

/// Since when there was no beat.
struct Still {
    beats: u64,
    since: Instant,
}

impl Still {
    fn new() -> Self {
        Self { beats: 0, since: Instant::now() }
    }

    fn look(&mut self, pulse: &Pulse, stall: Option<Duration>) -> Option<GivenUp> {
        let beats = pulse.beats.load(Ordering::Relaxed);
        if beats != self.beats {
            *self = Self { beats, since: Instant::now() };
            return None;
        }
        let signing_in = !pulse.welcome.load(Ordering::Relaxed);
        let stall = stall.map(|stall| if signing_in { stall.max(SIGN_IN) } else { stall })?;
        let reading = Duration::from_secs(pulse.silent.load(Ordering::Relaxed) / READ_RATE);
        let stall = stall.saturating_add(reading);
        (self.since.elapsed() >= stall).then(|| GivenUp::Stalled(stall.as_secs().max(1)))
    }
}

/// What was moved since when.
struct Rate {
    bytes: u64,
    since: Instant,
}

impl Rate {
    fn new() -> Self {
        Self { bytes: 0, since: Instant::now() }
    }

    /// Bytes per second, at the end of each time over which they are taken.
    fn look(&mut self, pulse: &Pulse, pending: &Pending) -> Option<u64> {
        let bytes = pulse.bytes.load(Ordering::Relaxed);
        let elapsed = self.since.elapsed();
        let idle = pending.is_at_most(BUSY);
        if !idle && elapsed < RATED {
            return None;
        }
        let moved = bytes - self.bytes;
        *self = Self { bytes, since: Instant::now() };
        (!idle).then(|| moved / elapsed.as_secs().max(1))
    }
}

/// A stream whose every movement is a beat.
#[derive(Debug)]
pub(crate) struct Felt<S> {
    stream: S,
    pulse: Arc<Pulse>,
}

impl<S> Felt<S> {
    pub(crate) fn new(stream: S, pulse: &Arc<Pulse>) -> Self {
        Self { stream, pulse: Arc::clone(pulse) }
    }
}

impl<S: Read> Read for Felt<S> {
    fn read(&mut self, buffer: &mut [u8]) -> io::Result<usize> {
        let read = self.stream.read(buffer);
        self.pulse.moved(&read);
        read
    }
}

impl<S: Write> Write for Felt<S> {
    fn write(&mut self, bytes: &[u8]) -> io::Result<usize> {
        let written = self.stream.write(bytes);
        self.pulse.moved(&written);
        written
    }

    fn write_vectored(&mut self, parts: &[IoSlice<'_>]) -> io::Result<usize> {
        let written = self.stream.write_vectored(parts);
        self.pulse.moved(&written);
        written
    }

    fn flush(&mut self) -> io::Result<()> {
        self.stream.flush()
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    fn look(stall: Duration, silent: u64) -> Option<GivenUp> {
        let pulse = Pulse::default();
        pulse.welcome();
        pulse.silent(silent);
        let mut still = Still::new();
        // The first look finds the beat of the welcome.
        assert_eq!(still.look(&pulse, Some(stall)), None);
        still.look(&pulse, Some(stall))
    }

    #[test]
    fn a_server_that_reads_has_longer_however_long_that_comes_to() {
        assert_eq!(look(Duration::ZERO, 0), Some(GivenUp::Stalled(1)));
        assert_eq!(look(Duration::ZERO, READ_RATE), None);
        assert_eq!(look(Duration::MAX, u64::MAX), None);
    }
}
