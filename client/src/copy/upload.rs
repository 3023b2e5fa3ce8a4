//! Uploads: every file's Put, content and Done flow without waiting for replies.

use std::path::PathBuf;
use std::sync::atomic::{AtomicBool, Ordering};
use std::sync::{Arc, OnceLock};

use bcmr_wire::blocks::{SendError, dedup};
use bcmr_wire::frame::FrameError;
use bcmr_wire::{Caps, Message};

use super::ahead::Ahead;
use super::announce::{self, Answer, Sent};
use super::crew::{Errand, carry};
use super::dial::Dialer;
use super::opened::Opened;
use super::order::Turn;
use super::outcomes::{Copied, Failure, Outcomes};
use super::prove::{self, Doubt};
use super::settle::settle;
use super::{place, rehearse, resume};
use crate::cli::ConnectionArgs;
use crate::exchange::{Dead, Exchange, Job, Lost, Replies, Reply};
use crate::exit::Fatal;
use crate::plan::{FileItem, Item, NotSent, Plan};
use crate::target::Remote;

/// Items by which it is decided over how many connections to copy, where nobody says.
const SAMPLE: usize = 2048;

/// A Put whose reply is awaited.
#[derive(Debug)]
pub(crate) struct PutJob(Arc<Sending>);

/// What both threads know of a Put.
#[derive(Debug)]
struct Sending {
    item: FileItem,
    /// Bytes that were declared.
    size: u64,
    /// Bytes of them that are not sent, the server having them.
    kept: u64,
    /// The hash of what was sent; set before Done goes out.
    hash: OnceLock<blake3::Hash>,
    /// Why the file could not be read to its end.
    source_failed: OnceLock<String>,
    /// Whether that is because it changed meanwhile.
    changed: AtomicBool,
    /// Where the answer goes if the file's blocks are announced, and how many there are then.
    answer: Answer,
    /// Set when the Error is here, so that the rest of the content is not sent.
    refused: AtomicBool,
}

/// A Mkdir whose reply is awaited.
#[derive(Debug)]
pub(crate) struct MkdirJob {
    remote: String,
    turn: Turn,
}

/// Copies local sources to a server.
pub(super) fn upload(
    sources: &[PathBuf],
    to: &Remote,
    connection: &ConnectionArgs,
    outcomes: &Arc<Outcomes>,
) -> Result<(), Fatal> {
    let mut dialer = Dialer::new(&to.host, to.path.is_absolute(), connection, outcomes);
    let ahead = Ahead::before(sources, &outcomes.settings);
    let link = dialer.dial()?;
    let errand = Upload { outcomes, ahead: ahead.filter(|_| link.caps.has(Caps::DEDUP)) };
    let (standing, link) = dialer.ask(link, |link| place::look(to.path.as_str(), link))?;
    let sources = place::place(sources, to.path.as_str(), standing, outcomes)?;
    let mut plan = Plan::new(sources, &outcomes.settings);
    // The beginning of the plan tells enough; a million files need not be known before the first is sent.
    let first: Vec<_> = plan.by_ref().take(SAMPLE).collect();
    let bytes = first.iter().flatten().map(|item| errand.weight(item)).sum();
    let parallel = outcomes.settings.parallel_for(first.len(), bytes);
    if first.len() < SAMPLE {
        outcomes.ui().expect(bytes);
    }
    if parallel > 1 {
        outcomes.in_turn();
    }
    let planned = first.into_iter().chain(plan);
    let items = planned.filter_map(|item| {
        item.map_err(|NotSent { failure, turn, wanted }| match wanted {
            true => outcomes.leave_out(turn, &failure),
            false => outcomes.fail_at(turn, failure),
        })
        .ok()
    });
    let carried = carry(&errand, items, &mut dialer, link, parallel);
    // Where the connection was lost nothing more can be found out about them.
    outcomes.fail_refused();
    outcomes.name_all();
    carried
}

/// Sending files and directories.
struct Upload<'a> {
    outcomes: &'a Arc<Outcomes>,
    /// The first file, whose blocks were hashed while the connection was made.
    ahead: Option<Ahead>,
}

impl Errand for Upload<'_> {
    type Item = Item;

    fn weight(&self, item: &Item) -> u64 {
        match item {
            Item::Dir { .. } => 0,
            // One that cannot be looked at will be named when it is opened.
            Item::File(file) => std::fs::metadata(&file.local).map_or(0, |metadata| metadata.len()),
        }
    }

    fn send(&self, link: &mut Exchange, item: Item) -> Result<(), Dead> {
        match item {
            Item::Dir { remote, turn } => {
                let job = Job::Mkdir(MkdirJob { remote: remote.clone(), turn });
                link.send(&Message::Mkdir { path: &remote }, job)
            }
            Item::File(item) => send_file(link, item, self.ahead.as_ref(), self.outcomes),
        }
    }

    fn settle(&self, link: &mut Exchange, doubtful: &[Item]) -> Result<Vec<Item>, Dead> {
        prove::prove(link, self.outcomes)?;
        let mut again = settle(link, doubtful, self.outcomes)?;
        again.extend(self.outcomes.take_again());
        Ok(again)
    }

    fn resume(&self, link: &mut Exchange, items: &[Item]) -> Result<Vec<Item>, Dead> {
        if self.outcomes.settings.dry_run {
            return rehearse::uploads(link, items, self.outcomes).map(|()| Vec::new());
        }
        resume::uploads(link, items, self.outcomes)
    }

    fn resumes(&self) -> bool {
        self.outcomes.settings.resume || self.outcomes.settings.dry_run
    }

    fn item(&self, job: Job) -> Option<Item> {
        match job {
            Job::Put(PutJob(sending)) => Some(Item::File(sending.item.clone())),
            Job::Mkdir(job) => Some(Item::Dir { remote: job.remote, turn: job.turn }),
            Job::Call(..) | Job::Barrier(_) | Job::Get(_) => None,
        }
    }
}

fn send_file(
    link: &mut Exchange,
    item: FileItem,
    ahead: Option<&Ahead>,
    outcomes: &Outcomes,
) -> Result<(), Dead> {
    let mut file = match Opened::open(&item.local) {
        Ok(file) => file,
        Err(e) => {
            outcomes.fail_at(item.turn, Failure::new(item.local.display(), e));
            return Ok(());
        }
    };
    let size = file.size();
    link.lane.begin(|| item.local.display().to_string(), size);
    let kept = item.kept.as_ref().filter(|kept| kept.1 == file.age()).map_or(0, |kept| kept.0);
    let sending = Arc::new(Sending {
        item,
        size,
        kept,
        hash: OnceLock::new(),
        source_failed: OnceLock::new(),
        changed: AtomicBool::new(false),
        answer: Answer::default(),
        refused: AtomicBool::new(false),
    });
    let FileItem { local, remote, .. } = &sending.item;
    let put = Message::Put { path: remote, size, offset: kept, overwrite: outcomes.settings.overwrite };
    link.send(&put, Job::Put(PutJob(Arc::clone(&sending))))?;
    link.blocks.begin();
    if kept == 0 && announce::pays(link.caps, size) {
        let refused = || sending.refused.load(Ordering::Acquire);
        let known = ahead.and_then(|ahead| ahead.take(local, &file, &link.pulse));
        match announce::send(link, &file, size, known, &sending.answer, refused, outcomes)? {
            Sent::NotAnnounced => {}
            sent => return finish_announced(link, &sending, &file, sent),
        }
    }
    let mut hasher = blake3::Hasher::new();
    let mut left = size - kept;
    if let Err(e) = file.start_at(kept) {
        let _ = sending.source_failed.set(e.to_string());
        left = 0;
    }
    while left > 0 && !sending.refused.load(Ordering::Acquire) {
        match link.blocks.send(&mut file, left, Some(&mut hasher), &mut link.requests) {
            Ok(0) => break,
            Ok(sent) => {
                left -= sent as u64;
                outcomes.moved(sent as u64);
                link.lane.moved(sent as u64);
            }
            Err(SendError::Stream(_)) => return Err(Dead),
            Err(SendError::Source(e)) => {
                let _ = sending.source_failed.set(e.to_string());
                break;
            }
        }
    }
    if !sending.refused.load(Ordering::Acquire) && file.changed(local) {
        sending.has_changed();
        // What was sent may be of two ages. Having less or more than was declared, the server publishes nothing.
        if left == 0 {
            link.requests.push(&Message::Data { payload: &[0] })?;
        }
    }
    let _ = sending.hash.set(hasher.finalize());
    Ok(link.requests.push(&Message::Done)?)
}

/// Ends a Put whose blocks were announced. What was sent of a source that changed is not what was announced, or is
/// too little: the server publishes nothing.
fn finish_announced(link: &mut Exchange, sending: &Sending, file: &Opened, sent: Sent) -> Result<(), Dead> {
    match sent {
        Sent::Whole(_) if file.changed(&sending.item.local) => {
            sending.has_changed();
            link.requests.push(&Message::Data { payload: &[0] })?;
        }
        Sent::Whole(hash) => {
            let _ = sending.hash.set(hash);
        }
        Sent::Source(e) => {
            let _ = sending.source_failed.set(e.to_string());
        }
        Sent::Refused | Sent::NotAnnounced => {}
    }
    Ok(link.requests.push(&Message::Done)?)
}

impl Sending {
    fn has_changed(&self) {
        let _ = self.source_failed.set("changed while it was copied".to_owned());
        self.changed.store(true, Ordering::Release);
    }
}

impl PutJob {
    /// Bytes of content that were declared.
    pub(crate) fn size(&self) -> u64 {
        self.0.size
    }

    /// Bytes of them that the server has.
    pub(crate) fn kept(&self) -> u64 {
        self.0.kept
    }

    /// Takes the reply. The job comes back where it was not answered.
    pub(crate) fn take(self, replies: &mut Replies, outcomes: &Outcomes) -> Result<(), (Option<Self>, Lost)> {
        let reply = loop {
            match replies.reply() {
                Ok(Reply::Missing(bits)) if self.answers(&bits) => {
                    if !self.0.answer.give(bits) {
                        return Err((Some(self), Lost::Unexpected("MissingBlocks")));
                    }
                }
                Ok(reply) => break reply,
                Err(Lost::Stream(FrameError::Oversized { .. })) => {
                    // Only a server that repeats the refused block in its Error sends such a frame here.
                    self.stop();
                    self.refused(outcomes, "the server refused it at great length".to_owned());
                    return Err((None, Lost::Foreign));
                }
                Err(why) => return Err((Some(self), why)),
            }
        };
        match reply {
            Reply::Ok(hash) => {
                self.done(hash.as_deref(), outcomes);
                Ok(())
            }
            Reply::Error(error) => {
                self.stop();
                let ours = error.is_ours();
                if ours && !error.is_taken() {
                    self.failed(outcomes, &error.text);
                } else {
                    self.refused(outcomes, error.text);
                }
                if ours { Ok(()) } else { Err((None, Lost::Foreign)) }
            }
            _ => Err((Some(self), Lost::Unexpected("another reply"))),
        }
    }

    /// Whether these bits answer the announcement of this file's blocks.
    fn answers(&self, bits: &[u8]) -> bool {
        bits.len() as u64 == dedup::count(self.0.size).div_ceil(8)
    }

    /// Tells whoever still sends that no answer comes.
    pub(crate) fn give_up(&self) {
        self.0.answer.give_up();
    }

    /// Has whoever still sends stop.
    fn stop(&self) {
        self.0.refused.store(true, Ordering::Release);
        self.give_up();
    }

    /// Takes the hash of what was published: the server computes one unless it has kept a part.
    fn done(self, hash: Option<&str>, outcomes: &Outcomes) {
        let Sending { item, size, kept, .. } = &*self.0;
        let sent = self.0.hash.get();
        let same = match hash {
            Some(hash) => sent.is_some_and(|sent| sent.to_hex().as_str() == hash),
            None => *kept > 0 && sent.is_some(),
        };
        if !same {
            let why = "what the server stored is not what was sent (the hashes differ)";
            outcomes.fail_at(item.turn, Failure::new(item.local.display(), why));
        } else if *kept > 0 || outcomes.settings.verify {
            outcomes.doubt(Doubt::of_upload(item, *size, *kept, sent.copied(), &outcomes.settings));
        } else {
            let file = Copied { from: &item.local.display(), to: &item.remote, size: *size, hash };
            outcomes.copied(item.turn, &file);
        }
    }

    fn refused(self, outcomes: &Outcomes, why: String) {
        match self.0.source_failed.get() {
            None if !outcomes.settings.overwrite => outcomes.refuse(Item::File(self.0.item.clone()), why),
            _ => self.failed(outcomes, &why),
        }
    }

    /// Asking the server what it has would change nothing: names the file, unless it is to be sent once more.
    fn failed(self, outcomes: &Outcomes, why: &str) {
        let Sending { item, source_failed, changed, .. } = &*self.0;
        if changed.load(Ordering::Acquire) && !item.again {
            outcomes.send_again(Item::File(FileItem { again: true, ..item.clone() }));
            return;
        }
        let why = source_failed.get().map_or(why, String::as_str);
        outcomes.fail_at(item.turn, Failure::new(item.local.display(), why));
    }
}

impl MkdirJob {
    pub(crate) fn take(self, replies: &mut Replies, outcomes: &Outcomes) -> Result<(), (Self, Lost)> {
        match replies.reply() {
            Ok(Reply::Ok(_)) => {
                outcomes.done(self.turn);
                Ok(())
            }
            Ok(Reply::Error(error)) => {
                outcomes.refuse(Item::Dir { remote: self.remote, turn: self.turn }, error.text);
                Ok(())
            }
            Ok(_) => Err((self, Lost::Unexpected("another reply"))),
            Err(why) => Err((self, why)),
        }
    }
}
