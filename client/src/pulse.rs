//! Whether a connection still moves: a link that swallows everything is told apart from one that is slow.

use std::io::{self, IoSlice, Read, Write};
use std::sync::atomic::{AtomicU64, Ordering};
use std::sync::{Arc, Weak};
use std::time::{Duration, Instant};

use crate::transport::Ender;

/// How often a connection is looked at.
const LOOK: Duration = Duration::from_millis(500);

/// Beats whenever something moves.
#[derive(Debug, Default)]
pub(crate) struct Pulse {
    beats: AtomicU64,
    /// Seconds without a beat after which the connection was given up; 0 where it was not.
    stalled: AtomicU64,
}

impl Pulse {
    pub(crate) fn beat(&self) {
        self.beats.fetch_add(1, Ordering::Relaxed);
    }

    /// After how many seconds without a beat the connection was given up, if it was.
    pub(crate) fn stalled(&self) -> Option<u64> {
        Some(self.stalled.load(Ordering::Relaxed)).filter(|seconds| *seconds > 0)
    }
}

/// Ends the child where nothing has moved for `stall`. The thread ends with the connection.
pub(crate) fn watch(pulse: &Arc<Pulse>, stall: Duration, child: Ender) -> io::Result<()> {
    let pulse = Arc::downgrade(pulse);
    std::thread::Builder::new().name("pulse".to_owned()).stack_size(64 * 1024).spawn(move || {
        let (mut beats, mut since) = (0, Instant::now());
        while let Some(pulse) = look(&pulse) {
            let now = pulse.beats.load(Ordering::Relaxed);
            if now != beats {
                (beats, since) = (now, Instant::now());
            } else if since.elapsed() >= stall {
                pulse.stalled.store(stall.as_secs().max(1), Ordering::Relaxed);
                // It is waited for only when the streams have ended, which they do by this.
                child.end();
                return;
            }
        }
    })?;
    Ok(())
}

fn look(pulse: &Weak<Pulse>) -> Option<Arc<Pulse>> {
    std::thread::sleep(LOOK);
    // While the connection lives, others hold it, too.
    pulse.upgrade().filter(|pulse| Arc::strong_count(pulse) > 1)
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
        self.pulse.beat();
        read
    }
}

impl<S: Write> Write for Felt<S> {
    fn write(&mut self, bytes: &[u8]) -> io::Result<usize> {
        let written = self.stream.write(bytes);
        self.pulse.beat();
        written
    }

    fn write_vectored(&mut self, parts: &[IoSlice<'_>]) -> io::Result<usize> {
        let written = self.stream.write_vectored(parts);
        self.pulse.beat();
        written
    }

    fn flush(&mut self) -> io::Result<()> {
        self.stream.flush()
    }
}
