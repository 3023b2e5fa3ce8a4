//! Where downloads are written: staged beside the destination, hashed, and published, on the replies' thread.

use std::ffi::OsStr;
use std::fs::File;
use std::io::{Read, Seek, SeekFrom};
use std::os::fd::{AsFd, OwnedFd};
use std::path::{Path, PathBuf};
use std::sync::Arc;

use bcmr_publish::{How, PublishError, Publisher, Stage};
use bcmr_wire::blocks::ReceiveError;
use rustix::fs::{CWD, Mode, OFlags, Timespec, Timestamps, UTIME_OMIT, futimens, openat};
use rustix::io::Errno;

use super::download::GetItem;
use super::outcomes::{Copied, Failure, Outcomes};
use super::prove::Doubt;
use crate::exchange::{Lost, Replies, Reply};
use crate::ui::Lane;

/// The landing place of one connection's downloads.
pub(crate) struct Landing {
    outcomes: Arc<Outcomes>,
    publisher: Publisher,
    /// The directory of the last file, opened.
    dir: Option<(PathBuf, Arc<OwnedFd>)>,
    lane: Lane,
}

/// Why a file cannot be written here.
enum Local {
    /// The others can.
    File(Failure),
    /// Nothing can.
    Disk(String),
}

impl Landing {
    pub(crate) fn new(outcomes: Arc<Outcomes>, lane: Lane) -> Self {
        Self { outcomes, publisher: Publisher::default(), dir: None, lane }
    }

    /// Takes the content and the reply of a Get. The job comes back where it was not answered.
    pub(crate) fn take(&mut self, job: GetItem, replies: &mut Replies) -> Result<(), (GetItem, Lost)> {
        match self.receive(&job, replies) {
            Ok(Ok(Landed { size, hash })) => {
                let settings = &self.outcomes.settings;
                if settings.verify || (settings.strict && job.kept.is_some()) {
                    self.outcomes.doubt(Doubt::of_download(&job, size));
                } else {
                    let hash = hash.as_deref();
                    let file = Copied { from: &job.remote, to: &job.local.display(), size, hash };
                    self.outcomes.copied(job.turn, &file);
                }
                Ok(())
            }
            Ok(Err(Local::File(failure))) => {
                self.outcomes.fail_at(job.turn, failure);
                Ok(())
            }
            Ok(Err(Local::Disk(text))) => Err((job, Lost::Local(text))),
            Err(why) => Err((job, why)),
        }
    }

    fn receive(&mut self, job: &GetItem, replies: &mut Replies) -> Result<Result<Landed, Local>, Lost> {
        self.lane.begin(|| job.remote.clone(), job.size);
        let mut hasher = replies.hashed.then(blake3::Hasher::new);
        let mut staged: Option<Result<Stage, Local>> = None;
        let reply = loop {
            let header = replies.header()?;
            let Some(data) = replies.reader.data_header(header)? else { break replies.reply_of(header)? };
            let staged = staged.get_or_insert_with(|| self.stage(job));
            let (outcomes, lane) = (&self.outcomes, &self.lane);
            let received = replies.blocks.receive(data, &mut replies.reader, |bytes| {
                if let Ok(stage) = staged {
                    if let Some(hasher) = &mut hasher {
                        hasher.update(bytes);
                    }
                    stage.write(bytes)?;
                    outcomes.moved(bytes.len() as u64);
                    lane.moved(bytes.len() as u64);
                }
                Ok::<(), PublishError>(())
            });
            match received {
                Ok(()) => {}
                Err(ReceiveError::Frame(error)) => return Err(error.into()),
                Err(ReceiveError::Sink(error)) => *staged = Err(local(&job.local, error)),
                Err(error) => *staged = Err(Local::File(Failure::new(&job.remote, error))),
            }
            if let Err(Local::Disk(text)) = staged {
                return Ok(Err(Local::Disk(std::mem::take(text))));
            }
        };
        let hash = match reply {
            Reply::Ok(hash) => hash,
            Reply::Error(error) => {
                return Ok(Err(Local::File(Failure::new(&job.remote, error.without(&job.remote)))));
            }
            _ => return Err(Lost::Unexpected("another reply")),
        };
        let stage = match staged.unwrap_or_else(|| self.stage(job)) {
            Ok(stage) => stage,
            Err(local) => return Ok(Err(local)),
        };
        let computed = hasher.map(|hasher| hasher.finalize().to_hex());
        if computed.is_some() && hash.as_deref() != computed.as_deref() {
            let why = "what arrived is not what the server read (the hashes differ)";
            return Ok(Err(Local::File(Failure::new(&job.remote, why))));
        }
        if self.outcomes.settings.preserve
            && let Err(errno) = set_mtime(&stage, job.mtime)
        {
            let why = format!("setting its time: {errno}");
            return Ok(Err(Local::File(Failure::new(job.local.display(), why))));
        }
        let size = stage.len();
        let published = self.publisher.publish(stage);
        // The hash of a part is not the file's.
        let hash = computed.filter(|_| job.kept.is_none()).map(|hash| hash.to_string());
        Ok(published.map(|()| Landed { size, hash }).map_err(|error| local(&job.local, error)))
    }

    fn stage(&mut self, job: &GetItem) -> Result<Stage, Local> {
        let parent = match job.local.parent() {
            Some(parent) if !parent.as_os_str().is_empty() => parent,
            _ => Path::new("."),
        };
        let io = |e: std::io::Error| Local::File(Failure::new(job.local.display(), e));
        let open = match &self.dir {
            Some((path, open)) if path == parent => Arc::clone(open),
            _ => {
                let flags = OFlags::PATH | OFlags::DIRECTORY | OFlags::CLOEXEC;
                let open = openat(CWD, parent, flags, Mode::empty()).map_err(|e| io(e.into()))?;
                let open = Arc::new(open);
                self.dir = Some((parent.to_owned(), Arc::clone(&open)));
                open
            }
        };
        let settings = &self.outcomes.settings;
        let readable = job.kept.is_some();
        let how = How { overwrite: settings.overwrite, sync: settings.sync, readable, ..How::default() };
        let name = job.local.file_name().unwrap_or(OsStr::new(""));
        let mut stage = self.publisher.begin(open, name, how).map_err(|error| local(&job.local, error))?;
        if let Some((kept, proof)) = job.kept.as_deref().copied() {
            let from = File::open(&job.local).map_err(io)?;
            while !stage.keep_some(from.as_fd(), kept).map_err(|error| local(&job.local, error))? {}
            if prefix_hash(&stage, kept).map_err(io)? != proof {
                let why = "what was here of it changed meanwhile; repeat the command";
                return Err(Local::File(Failure::new(job.local.display(), why)));
            }
        }
        Ok(stage)
    }
}

/// A file that was published.
struct Landed {
    size: u64,
    hash: Option<String>,
}

/// The hash of what a stage holds.
fn prefix_hash(stage: &Stage, len: u64) -> std::io::Result<blake3::Hash> {
    let mut file = File::from(stage.as_fd().try_clone_to_owned()?);
    // The position is shared with the stage, which writes where it knows that it is.
    let mut hasher = blake3::Hasher::new();
    file.seek(SeekFrom::Start(0))?;
    hasher.update_reader(file.take(len))?;
    Ok(hasher.finalize())
}

fn set_mtime(stage: &Stage, mtime: i64) -> Result<(), Errno> {
    let omit = Timespec { tv_sec: 0, tv_nsec: UTIME_OMIT };
    let mtime = Timespec { tv_sec: mtime, tv_nsec: 0 };
    futimens(stage.as_fd(), &Timestamps { last_access: omit, last_modification: mtime })
}

fn local(path: &Path, error: PublishError) -> Local {
    let failure = match &error {
        PublishError::Taken => Failure::new(path.display(), "exists (replace it with -f -y)"),
        error => Failure::new(path.display(), error),
    };
    match error {
        PublishError::Io { errno: Errno::NOSPC | Errno::DQUOT | Errno::IO | Errno::ROFS, .. } => {
            Local::Disk(failure.to_string())
        }
        _ => Local::File(failure),
    }
}
