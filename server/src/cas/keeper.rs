//! The thread that stores blocks while the upload goes on.

use std::os::fd::{AsFd, BorrowedFd, OwnedFd};
use std::sync::Arc;
use std::sync::atomic::Ordering;
use std::sync::mpsc::{Receiver, Sender, SyncSender, channel, sync_channel};
use std::thread::Builder;
use std::time::Duration;

use bcmr_publish::Publisher;
use bcmr_wire::Hash;
use rustix::fs::fdatasync;
use rustix::io::retry_on_intr;

use super::{Store, Upload};

/// Blocks in memory that may wait: each has 4 MiB. Those that are read from a stage wait in any number.
const WAITING: usize = 2;

/// Stages that may be open because blocks of them wait: a session has 256 descriptors at most.
const STAGES: usize = 64;

/// Blocks that are stored together at most where the stage and the store share extents, and how long a pause shows
/// that no more will come for now.
const TOGETHER: usize = 64;
const PAUSE: Duration = Duration::from_millis(200);

/// How long a session that is over waits for its last blocks.
const PATIENCE: Duration = Duration::from_secs(4);

/// Where a block's bytes are.
#[derive(Debug)]
pub(crate) enum Source {
    /// In a stage that can be read, or in the file that it became.
    Stage { file: Arc<Lent>, offset: u64, len: usize },
    /// In memory: a profile that may not read its root cannot read a stage in it.
    Memory(Vec<u8>),
}

/// A stage, or the file that it became, for as long as blocks of it may have to be read.
#[derive(Debug)]
pub(crate) struct Lent {
    file: OwnedFd,
    _one: Arc<()>,
}

/// Counts the stages that are lent.
#[derive(Debug, Default)]
pub(super) struct Lender(Arc<()>);

impl Lender {
    /// None where so many are lent already that a block is rather kept in memory.
    pub(super) fn lend(&self, stage: BorrowedFd<'_>) -> Option<Arc<Lent>> {
        if Arc::strong_count(&self.0) > STAGES {
            return None;
        }
        let file = stage.try_clone_to_owned().ok()?;
        Some(Arc::new(Lent { file, _one: Arc::clone(&self.0) }))
    }
}

impl Source {
    pub(super) fn len(&self) -> usize {
        match self {
            Self::Stage { len, .. } => *len,
            Self::Memory(bytes) => bytes.len(),
        }
    }
}

/// A block to be stored.
#[derive(Debug)]
pub(super) struct Job {
    pub(super) hash: Hash,
    pub(super) source: Source,
    pub(super) upload: Arc<Upload>,
}

/// The thread, started with the first block.
#[derive(Debug, Default)]
pub(super) struct Keeper(Option<Running>);

#[derive(Debug)]
struct Running {
    jobs: Sender<Job>,
    /// Room for blocks in memory: one token each.
    room: SyncSender<()>,
    /// Disconnected when the thread has ended.
    ended: Receiver<()>,
}

impl Keeper {
    /// Has a block stored. Where no thread can be started it is not.
    pub(super) fn give(&mut self, store: &Arc<Store>, job: Job) {
        if self.0.is_none() {
            self.0 = start(store).ok();
        }
        let Some(running) = &self.0 else { return };
        if matches!(job.source, Source::Memory(_)) && running.room.send(()).is_err() {
            return;
        }
        // The thread lives as long as it is given jobs.
        let _ = running.jobs.send(job);
    }

    /// Waits for the thread, but not for long: a client that is gone must not be outlived by much.
    pub(super) fn finish(self) {
        if let Some(Running { jobs, room, ended }) = self.0 {
            drop((jobs, room));
            let _ = ended.recv_timeout(PATIENCE);
        }
    }
}

fn start(store: &Arc<Store>) -> std::io::Result<Running> {
    let (jobs, queue) = channel::<Job>();
    let (room, taken) = sync_channel(WAITING);
    let (end, ended) = sync_channel(0);
    let store = Arc::clone(store);
    Builder::new().name("keeper".to_owned()).stack_size(256 * 1024).spawn(move || {
        let _end = end;
        let mut publisher = Publisher::default();
        while let Ok(first) = queue.recv() {
            let jobs = gather(&store, first, &queue);
            for job in jobs {
                keep(&store, &job, &mut publisher);
                if matches!(job.source, Source::Memory(_)) {
                    let _ = taken.recv();
                }
            }
        }
    })?;
    Ok(Running { jobs, room, ended })
}

/// The jobs that are done together. Sharing extents takes a lock that whoever writes the stage waits for, and holds it
/// until the extents are on disk: so they are gathered, and brought there beforehand, which needs no such lock.
fn gather(store: &Store, first: Job, queue: &Receiver<Job>) -> Vec<Job> {
    let mut jobs = vec![first];
    if !store.shares() {
        return jobs;
    }
    while jobs.len() < TOGETHER {
        let Ok(job) = queue.recv_timeout(PAUSE) else { break };
        jobs.push(job);
    }
    let mut last: Option<&Arc<Lent>> = None;
    for job in &jobs {
        if let Source::Stage { file, .. } = &job.source
            && !last.is_some_and(|last| Arc::ptr_eq(last, file))
        {
            // Where that fails sharing does what is left.
            let _ = retry_on_intr(|| fdatasync(&file.file));
            last = Some(file);
        }
    }
    jobs
}

fn keep(store: &Store, job: &Job, publisher: &mut Publisher) {
    let Job { hash, source, upload } = job;
    if upload.is_full() {
        return;
    }
    let stored = store.put(hash, source.len(), upload, publisher, |stage| match source {
        Source::Stage { file, offset, len } => stage.copy_from(file.file.as_fd(), *offset, *len as u64),
        Source::Memory(bytes) => stage.write(bytes),
    });
    // A store that is full, or a disk: the upload goes on without.
    if !matches!(stored, Ok(true)) {
        upload.full.store(true, Ordering::Relaxed);
    }
}
