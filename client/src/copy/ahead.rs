//! The blocks of the first file are hashed while the connection is made: that costs the time of nobody.

use std::fs::Metadata;
use std::path::{Path, PathBuf};
use std::sync::atomic::{AtomicBool, Ordering};
use std::sync::mpsc::{Receiver, RecvTimeoutError, sync_channel};
use std::sync::{Arc, Mutex, PoisonError};
use std::thread;
use std::time::Duration;

use bcmr_wire::blocks::dedup::Digest;

use super::Settings;
use super::announce::{digests, is_worth};
use super::opened::{Age, Opened};
use crate::pulse::Pulse;

/// How often somebody who waits shows that he does.
const BEAT: Duration = Duration::from_secs(1);

/// A file whose blocks are being hashed, or have been.
#[derive(Debug)]
pub(super) struct Ahead {
    path: PathBuf,
    digests: Mutex<Receiver<(Age, Vec<Digest>)>>,
    /// Set when nobody wants them any more.
    over: Arc<AtomicBool>,
}

impl Ahead {
    /// Begins with the first source, where that is sure to be sent.
    pub(super) fn before(sources: &[PathBuf], settings: &Settings) -> Option<Self> {
        let first = sources.first().filter(|_| !settings.dry_run && !settings.resume)?;
        Self::start(first)
    }

    /// Begins, where the file is one whose blocks may be announced. What cannot be read is named when it is sent.
    fn start(path: &Path) -> Option<Self> {
        // What is no file may keep whoever opens it waiting.
        std::fs::metadata(path).ok().filter(Metadata::is_file)?;
        let file = Opened::open(path).ok().filter(|file| is_worth(file.size()))?;
        let (sender, receiver) = sync_channel(1);
        let over = Arc::new(AtomicBool::new(false));
        let ended = Arc::clone(&over);
        let hash = move || {
            // On one thread: ssh has work to do meanwhile.
            let (refused, pulse) = (|| ended.load(Ordering::Relaxed), Pulse::default());
            if let Ok(digests) = digests(&file, file.size(), &refused, &pulse, 1) {
                let _ = sender.send((file.age(), digests));
            }
        };
        thread::Builder::new().name("ahead".to_owned()).spawn(hash).ok()?;
        Some(Self { path: path.to_owned(), digests: Mutex::new(receiver), over })
    }

    /// The hashes, if they are those of this file.
    pub(super) fn take(&self, path: &Path, file: &Opened, pulse: &Pulse) -> Option<Vec<Digest>> {
        if path != self.path {
            return None;
        }
        let digests = self.digests.lock().unwrap_or_else(PoisonError::into_inner);
        loop {
            match digests.recv_timeout(BEAT) {
                Ok((age, digests)) => return Some(digests).filter(|_| age == file.age()),
                Err(RecvTimeoutError::Timeout) => pulse.beat(),
                Err(RecvTimeoutError::Disconnected) => return None,
            }
        }
    }
}

impl Drop for Ahead {
    fn drop(&mut self) {
        self.over.store(true, Ordering::Relaxed);
    }
}
