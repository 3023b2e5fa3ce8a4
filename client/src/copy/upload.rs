//! Uploads: every file's Put, content and Done flow without waiting for replies.

use std::collections::VecDeque;
use std::fs::{File, Metadata};
use std::io::{self, Read};
use std::os::unix::fs::MetadataExt;
use std::path::{Path, PathBuf};
use std::sync::atomic::{AtomicBool, Ordering};
use std::sync::{Arc, OnceLock};

use bcmr_wire::blocks::{BlockSender, SendError};
use bcmr_wire::frame::FrameError;
use bcmr_wire::{Message, codec};

use super::Outcomes;
use super::dial::Dialer;
use super::names::{self, Into, Standing};
use super::settle::settle;
use crate::cli::ConnectionArgs;
use crate::exchange::{Dead, Exchange, Job, Lost, Replies, Reply};
use crate::exit::Fatal;
use crate::plan::{FileItem, Item, Plan, Source, join};
use crate::target::Remote;

/// A Put whose reply is awaited.
#[derive(Debug)]
pub(crate) struct PutJob {
    item: FileItem,
    state: Arc<PutState>,
}

/// What both threads know of a Put.
#[derive(Debug, Default)]
struct PutState {
    /// Bytes that were declared.
    size: u64,
    /// The hash of what was sent; set before Done goes out.
    hash: OnceLock<blake3::Hash>,
    /// Why the file could not be read to its end.
    source_failed: OnceLock<String>,
    /// Set when the Error is here, so that the rest of the content is not sent.
    refused: AtomicBool,
}

/// A Mkdir whose reply is awaited.
#[derive(Debug)]
pub(crate) struct MkdirJob {
    remote: String,
}

/// Copies local sources to a server.
pub(super) fn upload(
    sources: &[PathBuf],
    to: &Remote,
    connection: &ConnectionArgs,
    outcomes: &Arc<Outcomes>,
) -> Result<(), Fatal> {
    let mut dialer = Dialer::new(&to.host, to.path.is_absolute(), connection, outcomes);
    let mut link = dialer.dial()?;
    let planned = place(sources, to.path.as_str(), &mut link, outcomes);
    let mut plan = match planned {
        Ok(Ok(sources)) => Plan::new(sources, outcomes.settings.recursive),
        Ok(Err(fatal)) => return Err(fatal),
        Err(Dead) => return Err(lost(link.close().why.as_ref(), outcomes)),
    };
    let mut again = VecDeque::new();
    loop {
        let done = send_all(&mut link, &mut again, &mut plan, outcomes).and_then(|()| {
            again.extend(settle(&mut link, outcomes.take_refused(), Vec::new(), outcomes)?);
            Ok(())
        });
        let ending = match done {
            Ok(()) if again.is_empty() => link.close(),
            Ok(()) => continue,
            Err(Dead) => link.close(),
        };
        match ending.why {
            None if done.is_ok() => return Ok(()),
            Some(Lost::Foreign) => {}
            why => return Err(lost(why.as_ref(), outcomes)),
        }
        // What was on its way may have arrived or not; that is found out before it is sent again.
        let unanswered = ending.left.into_iter().filter_map(item_of).collect();
        link = dialer.dial().inspect_err(|_| outcomes.fail_refused())?;
        let settled = settle(&mut link, outcomes.take_refused(), unanswered, outcomes);
        again.extend(settled.map_err(|Dead| lost(None, outcomes))?);
    }
}

fn lost(why: Option<&Lost>, outcomes: &Outcomes) -> Fatal {
    outcomes.fail_refused();
    let why = why.map_or_else(|| Lost::Closed.to_string(), ToString::to_string);
    Fatal::link(format!("the connection was lost: {why}; what was reported as copied is whole"))
}

fn item_of(job: Job) -> Option<Item> {
    match job {
        Job::Put(job) => Some(Item::File(job.item)),
        Job::Mkdir(job) => Some(Item::Dir { remote: job.remote }),
        Job::Call(_) | Job::Barrier(_) | Job::Get(_) => None,
    }
}

/// Finds out where the copies go.
fn place(
    sources: &[PathBuf],
    to: &str,
    link: &mut Exchange,
    outcomes: &Outcomes,
) -> Result<Result<Vec<Source>, Fatal>, Dead> {
    let standing = match link.call(&Message::Stat { path: to })? {
        Reply::Stat(stat) if stat.is_dir => Standing::Directory,
        Reply::Stat(_) => Standing::File,
        // Absent, or a profile that answers no Stat: then the slash decides.
        _ => Standing::Absent,
    };
    let remote = |source: &PathBuf| match names::decide(to, to, standing, sources.len())? {
        Into::Name(name) => Ok(Some(name.to_owned())),
        Into::Directory(dir) => Ok(match names::own_name(source).map(|name| name.to_str()) {
            None => Some(dir.to_owned()),
            Some(Some(name)) => Some(join(dir, name)),
            Some(None) => {
                let name = source.as_os_str().as_encoded_bytes().escape_ascii();
                outcomes.fail(&format!("{name}: the name is not UTF-8, so the protocol cannot carry it"));
                None
            }
        }),
    };
    Ok(sources
        .iter()
        .filter_map(|source| match remote(source) {
            Ok(None) => None,
            Ok(Some(remote)) => Some(Ok(Source { local: source.clone(), remote })),
            Err(fatal) => Some(Err(fatal)),
        })
        .collect())
}

/// Sends everything and waits for the last reply.
fn send_all(
    link: &mut Exchange,
    again: &mut VecDeque<Item>,
    plan: &mut Plan,
    outcomes: &Outcomes,
) -> Result<(), Dead> {
    let mut blocks = BlockSender::new(codec::negotiated(link.caps));
    loop {
        let item = match again.pop_front() {
            Some(item) => item,
            None => match plan.next() {
                Some(Ok(item)) => item,
                Some(Err(text)) => {
                    outcomes.fail(&text);
                    continue;
                }
                None => break,
            },
        };
        match item {
            Item::Dir { remote } => {
                let job = Job::Mkdir(MkdirJob { remote: remote.clone() });
                link.send(&Message::Mkdir { path: &remote }, job)?;
            }
            Item::File(item) => send_file(link, item, &mut blocks, outcomes)?,
        }
    }
    link.wait_for_all()
}

fn send_file(
    link: &mut Exchange,
    item: FileItem,
    blocks: &mut BlockSender,
    outcomes: &Outcomes,
) -> Result<(), Dead> {
    let named = |e: io::Error| format!("{}: {e}", item.local.display());
    let (mut file, before) = match open(&item.local) {
        Ok(opened) => opened,
        Err(e) => {
            outcomes.fail(&named(e));
            return Ok(());
        }
    };
    let size = before.len();
    let state = Arc::new(PutState { size, ..PutState::default() });
    let remote = item.remote.clone();
    let put = Message::Put { path: &remote, size, offset: 0, overwrite: outcomes.settings.overwrite };
    let local = item.local.clone();
    link.send(&put, Job::Put(PutJob { item, state: Arc::clone(&state) }))?;
    let mut hasher = blake3::Hasher::new();
    let mut left = size;
    while left > 0 && !state.refused.load(Ordering::Acquire) {
        match blocks.send(&mut file, left, Some(&mut hasher), &mut link.requests) {
            Ok(0) => break,
            Ok(sent) => {
                left -= sent as u64;
                outcomes.meter().add_moved(sent as u64);
            }
            Err(SendError::Stream(_)) => return Err(Dead),
            Err(SendError::Source(e)) => {
                let _ = state.source_failed.set(format!("{}: {e}", local.display()));
                break;
            }
        }
    }
    if !state.refused.load(Ordering::Acquire) && changed(&file, &before) {
        let _ = state.source_failed.set(format!("{}: changed while it was copied", local.display()));
        // What was sent may be of two ages. Having less or more than was declared, the server publishes nothing.
        if left == 0 {
            link.requests.push(&Message::Data { payload: &[0] })?;
        }
    }
    let _ = state.hash.set(hasher.finalize());
    Ok(link.requests.push(&Message::Done)?)
}

/// Opens a source, and looks at it.
fn open(path: &Path) -> io::Result<(File, Metadata)> {
    let file = File::open(path)?;
    let metadata = file.metadata()?;
    // Files of /proc and the like have content, but no size that could be declared.
    if metadata.len() == 0 && (&file).read(&mut [0])? > 0 {
        return Err(io::Error::other("its size is not known before it is read"));
    }
    Ok((file, metadata))
}

/// Whether a source is not what it was any more; also where that cannot be learnt.
fn changed(file: &File, before: &Metadata) -> bool {
    let age = |m: &Metadata| (m.len(), m.mtime(), m.mtime_nsec());
    file.metadata().map_or(true, |now| age(&now) != age(before))
}

impl PutJob {
    /// Takes the reply. The job comes back where it was not answered.
    pub(crate) fn take(self, replies: &mut Replies, outcomes: &Outcomes) -> Result<(), (Option<Self>, Lost)> {
        let reply = match replies.reply() {
            Ok(reply) => reply,
            Err(Lost::Stream(FrameError::Oversized { .. })) => {
                // Only a server that repeats the refused block in its Error sends such a frame here.
                self.refused(outcomes, "the server refused it at great length".to_owned());
                return Err((None, Lost::Foreign));
            }
            Err(why) => return Err((Some(self), why)),
        };
        match reply {
            Reply::Ok(hash) => {
                let sent = self.state.hash.get().map(blake3::Hash::to_hex);
                if hash.is_some() && hash.as_deref() == sent.as_deref() {
                    outcomes.meter().add_file(self.state.size);
                } else {
                    outcomes.fail(&format!(
                        "{}: what the server stored is not what was sent (the hashes differ)",
                        self.item.local.display()
                    ));
                }
                Ok(())
            }
            Reply::Error(error) => {
                self.state.refused.store(true, Ordering::Release);
                let ours = error.is_ours();
                self.refused(outcomes, error.text);
                if ours { Ok(()) } else { Err((None, Lost::Foreign)) }
            }
            _ => Err((Some(self), Lost::Unexpected("another reply"))),
        }
    }

    fn refused(self, outcomes: &Outcomes, why: String) {
        match self.state.source_failed.get() {
            Some(text) => outcomes.fail(text),
            None => outcomes.refuse(Item::File(self.item), why),
        }
    }
}

impl MkdirJob {
    pub(crate) fn take(self, replies: &mut Replies, outcomes: &Outcomes) -> Result<(), (Self, Lost)> {
        match replies.reply() {
            Ok(Reply::Ok(_)) => Ok(()),
            Ok(Reply::Error(error)) => {
                outcomes.refuse(Item::Dir { remote: self.remote }, error.text);
                Ok(())
            }
            Ok(_) => Err((self, Lost::Unexpected("another reply"))),
            Err(why) => Err((self, why)),
        }
    }
}
