//! Where downloads are written: staged beside the destination, hashed, and published, on the replies' thread.

use std::ffi::OsStr;
use std::os::fd::OwnedFd;
use std::path::{Path, PathBuf};
use std::sync::Arc;

use bcmr_publish::{How, PublishError, Publisher, Stage};
use bcmr_wire::blocks::ReceiveError;
use bcmr_wire::shown::shown;
use rustix::fs::{CWD, Mode, OFlags, Timespec, Timestamps, UTIME_OMIT, futimens, openat};
use rustix::io::Errno;

use super::Outcomes;
use super::download::GetItem;
use crate::exchange::{Lost, Replies, Reply};

/// The landing place of one connection's downloads.
pub(crate) struct Landing {
    outcomes: Arc<Outcomes>,
    publisher: Publisher,
    /// The directory of the last file, opened.
    dir: Option<(PathBuf, Arc<OwnedFd>)>,
}

/// Why a file cannot be written here.
enum Local {
    /// The others can.
    File(String),
    /// Nothing can.
    Disk(String),
}

impl Landing {
    pub(crate) fn new(outcomes: Arc<Outcomes>) -> Self {
        Self { outcomes, publisher: Publisher::default(), dir: None }
    }

    /// Takes the content and the reply of a Get. The job comes back where it was not answered.
    pub(crate) fn take(&mut self, job: GetItem, replies: &mut Replies) -> Result<(), (GetItem, Lost)> {
        match self.receive(&job, replies) {
            Ok(Ok(size)) => {
                self.outcomes.copied(job.turn, size);
                self.outcomes.tell(&job.remote, &job.local.display());
                Ok(())
            }
            Ok(Err(Local::File(text))) => {
                self.outcomes.fail_at(job.turn, text);
                Ok(())
            }
            Ok(Err(Local::Disk(text))) => Err((job, Lost::Local(text))),
            Err(why) => Err((job, why)),
        }
    }

    fn receive(&mut self, job: &GetItem, replies: &mut Replies) -> Result<Result<u64, Local>, Lost> {
        let mut hasher = replies.hashed.then(blake3::Hasher::new);
        let mut staged: Option<Result<Stage, Local>> = None;
        let reply = loop {
            let header = replies.header()?;
            let Some(data) = replies.reader.data_header(header)? else { break replies.reply_of(header)? };
            let staged = staged.get_or_insert_with(|| self.stage(job));
            let outcomes = &self.outcomes;
            let received = replies.blocks.receive(data, &mut replies.reader, |bytes| {
                if let Ok(stage) = staged {
                    if let Some(hasher) = &mut hasher {
                        hasher.update(bytes);
                    }
                    stage.write(bytes)?;
                    outcomes.moved(bytes.len() as u64);
                }
                Ok::<(), PublishError>(())
            });
            match received {
                Ok(()) => {}
                Err(ReceiveError::Frame(error)) => return Err(error.into()),
                Err(ReceiveError::Sink(error)) => *staged = Err(local(&job.local, error)),
                Err(error) => *staged = Err(Local::File(format!("{}: {error}", shown(&job.remote)))),
            }
            if let Err(Local::Disk(text)) = staged {
                return Ok(Err(Local::Disk(std::mem::take(text))));
            }
        };
        let hash = match reply {
            Reply::Ok(hash) => hash,
            Reply::Error(error) => return Ok(Err(Local::File(error.about(&job.remote)))),
            _ => return Err(Lost::Unexpected("another reply")),
        };
        let stage = match staged.unwrap_or_else(|| self.stage(job)) {
            Ok(stage) => stage,
            Err(local) => return Ok(Err(local)),
        };
        let computed = hasher.map(|hasher| hasher.finalize().to_hex());
        if computed.is_some() && hash.as_deref() != computed.as_deref() {
            let text = format!(
                "{}: what arrived is not what the server read (the hashes differ)",
                shown(&job.remote)
            );
            return Ok(Err(Local::File(text)));
        }
        if self.outcomes.settings.preserve
            && let Err(errno) = set_mtime(&stage, job.mtime)
        {
            return Ok(Err(Local::File(format!("{}: setting its time: {errno}", job.local.display()))));
        }
        let size = stage.len();
        let published = self.publisher.publish(stage);
        Ok(published.map(|()| size).map_err(|error| local(&job.local, error)))
    }

    fn stage(&mut self, job: &GetItem) -> Result<Stage, Local> {
        let parent = match job.local.parent() {
            Some(parent) if !parent.as_os_str().is_empty() => parent,
            _ => Path::new("."),
        };
        let io = |e: std::io::Error| Local::File(format!("{}: {e}", job.local.display()));
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
        let how = How { overwrite: settings.overwrite, sync: settings.sync, ..How::default() };
        let name = job.local.file_name().unwrap_or(OsStr::new(""));
        self.publisher.begin(open, name, how).map_err(|error| local(&job.local, error))
    }
}

fn set_mtime(stage: &Stage, mtime: i64) -> Result<(), Errno> {
    let omit = Timespec { tv_sec: 0, tv_nsec: UTIME_OMIT };
    let mtime = Timespec { tv_sec: mtime, tv_nsec: 0 };
    futimens(stage.as_fd(), &Timestamps { last_access: omit, last_modification: mtime })
}

fn local(path: &Path, error: PublishError) -> Local {
    let text = match error {
        PublishError::Taken => format!("{}: exists (replace it with -f -y)", path.display()),
        error => format!("{}: {error}", path.display()),
    };
    match error {
        PublishError::Io { errno: Errno::NOSPC | Errno::DQUOT | Errno::IO | Errno::ROFS, .. } => {
            Local::Disk(text)
        }
        _ => Local::File(text),
    }
}
