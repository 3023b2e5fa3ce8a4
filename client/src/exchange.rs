//! One connection: handshake, requests on one thread, replies on another, matched in their order.
//!
//! Requests are written without waiting for replies, and replies are read while requests are written, so that
//! neither a slow answer nor two full pipes ever stop the other direction. Every request puts a [`Job`] into
//! the queue; the replies' thread hands each job its reply, or, when the link is lost, gives the unanswered
//! ones back.

mod lost;
mod replies;

use std::fs::File;
use std::io;
use std::sync::Arc;
use std::sync::mpsc::{self, Receiver, SyncSender};
use std::thread::JoinHandle;

use bcmr_wire::blocks::{BlockReceiver, BlockSender};
use bcmr_wire::frame::{FrameError, FrameReader, FrameWriter};
use bcmr_wire::{Caps, Message, VERSION};

use crate::copy::Outcomes;
use crate::copy::download::GetItem;
use crate::copy::landing::Landing;
use crate::copy::upload::{MkdirJob, PutJob};
use crate::exit::Fatal;
use crate::pending::Pending;
use crate::pulse::{self, Felt, Pulse};
use crate::queue;
use crate::transport::{Ender, Transport};
use crate::ui::Lane;
pub(crate) use lost::Lost;
pub(crate) use replies::Replies;

/// Requests that may wait for their replies; bounds memory, not the number of files.
const QUEUE: usize = 4096;

/// What a request expects.
#[derive(Debug)]
pub(crate) enum Job {
    /// Someone waits for the reply, before which the server goes through so many bytes.
    Call(SyncSender<Reply>, u64),
    /// No request: someone waits for all replies before this.
    Barrier(SyncSender<()>),
    Put(PutJob),
    Mkdir(MkdirJob),
    Get(GetItem),
}

impl Job {
    /// Bytes of content that its request moves.
    fn content(&self) -> u64 {
        match self {
            Self::Put(job) => job.size(),
            Self::Get(item) => item.size,
            Self::Call(..) | Self::Barrier(_) | Self::Mkdir(_) => 0,
        }
    }

    /// Bytes that the server goes through before it reads on or says anything.
    fn silent(&self) -> u64 {
        match self {
            Self::Call(_, bytes) => *bytes,
            Self::Put(job) => job.kept(),
            Self::Barrier(_) | Self::Mkdir(_) | Self::Get(_) => 0,
        }
    }
}

/// A reply that carries no content.
#[derive(Clone, PartialEq, Eq, Debug)]
pub(crate) enum Reply {
    Ok(Option<String>),
    Error(ServerError),
    Stat(Stat),
    Hash(String),
    List(Vec<Listed>),
    /// Which of the announced blocks the server lacks.
    Missing(Vec<u8>),
}

/// What Stat says.
#[derive(Clone, Copy, PartialEq, Eq, Debug)]
pub(crate) struct Stat {
    pub(crate) size: u64,
    /// Seconds since the epoch.
    pub(crate) mtime: i64,
    pub(crate) is_dir: bool,
}

/// An entry of a listing.
#[derive(Clone, PartialEq, Eq, Debug)]
pub(crate) struct Listed {
    pub(crate) path: String,
    pub(crate) size: u64,
    /// Seconds since the epoch.
    pub(crate) mtime: i64,
    pub(crate) is_dir: bool,
}

/// An Error, as text to show.
#[derive(Clone, PartialEq, Eq, Debug)]
pub(crate) struct ServerError {
    pub(crate) text: String,
}

impl ServerError {
    /// Whether our server said it. After an Error to a Put another server answers once for every frame that was
    /// sent already, so that the connection cannot be used any more.
    pub(crate) fn is_ours(&self) -> bool {
        let id = self.text.rsplit_once(" (session ").and_then(|(_, id)| id.strip_suffix(')'));
        id.is_some_and(|id| id.len() == 16 && id.bytes().all(|b| b.is_ascii_hexdigit()))
    }

    /// Whether it says that something stands under the name: that may be what was to be sent.
    pub(crate) fn is_taken(&self) -> bool {
        self.text.contains("already exists")
    }

    /// The text, without the path that it is about, which our server repeats.
    pub(crate) fn without(&self, path: &str) -> &str {
        self.text.strip_prefix(path).and_then(|rest| rest.strip_prefix(": ")).unwrap_or(&self.text)
    }

    /// The text, with the path that it is about: our server repeats it, others may not.
    pub(crate) fn about(&self, path: &str) -> String {
        if self.is_ours() { self.text.clone() } else { format!("{path}: {}", self.text) }
    }
}

/// The connection is of no use any more; [`Exchange::close`] tells why.
#[derive(Clone, Copy, PartialEq, Eq, Debug)]
pub(crate) struct Dead;

impl From<queue::Gone> for Dead {
    fn from(_: queue::Gone) -> Self {
        Self
    }
}

impl From<io::Error> for Dead {
    fn from(_: io::Error) -> Self {
        Self
    }
}

/// How a connection ended.
#[derive(Debug)]
pub(crate) struct Ending {
    /// None where everything was answered.
    pub(crate) why: Option<Lost>,
    /// What was asked for and not answered.
    pub(crate) left: Vec<Job>,
}

/// A connection after its handshake.
pub(crate) struct Exchange {
    pub(crate) requests: FrameWriter<Felt<File>>,
    /// That something goes on, though no byte moves.
    pub(crate) pulse: Arc<Pulse>,
    pub(crate) blocks: BlockSender,
    /// What both ends can do.
    pub(crate) caps: Caps,
    jobs: queue::Sender<Job>,
    pending: Arc<Pending>,
    replies: JoinHandle<Ending>,
    transport: Transport,
    /// Whether the server was sent blocks that it stores.
    pub(crate) stores: bool,
    /// What shows a person the file that is being copied.
    pub(crate) lane: Lane,
    outcomes: Arc<Outcomes>,
}

/// Why a handshake failed.
#[derive(Debug)]
pub(crate) enum NoWelcome {
    /// The stream ended or broke before anything came.
    Nothing,
    /// What came is not the protocol; its first bytes.
    Noise(Vec<u8>),
    /// The server said why it does not serve.
    Error(String),
    /// Another version, or a frame that has no place here.
    Mismatch(String),
}

impl Exchange {
    /// Says hello over the streams of `transport` and starts the replies' thread.
    pub(crate) fn open(
        transport: &mut Option<Transport>,
        wanted: Caps,
        lane: &Lane,
        outcomes: &Arc<Outcomes>,
    ) -> Result<Self, NoWelcome> {
        let child = transport.as_mut().ok_or(NoWelcome::Nothing)?;
        let streams = child.streams().map_err(|_| NoWelcome::Nothing)?;
        let (pulse, pending) = (Arc::new(Pulse::default()), Arc::new(Pending::default()));
        let (ender, shared) = (child.ender(), Arc::clone(outcomes));
        if let Some(ender) = ender {
            pulse::watch(&pulse, &pending, outcomes.settings.patience, ender)
                .map_err(|_| NoWelcome::Nothing)?;
        }
        let mut requests = FrameWriter::new(Felt::new(streams.to_server, &pulse));
        let mut replies = FrameReader::new(Felt::new(streams.from_server, &pulse));
        let hello = requests.push(&Message::Hello { version: VERSION, caps: wanted });
        // A refusal comes unasked, and may be there to read though writing failed.
        let _ = hello.and_then(|()| requests.flush());
        let caps = welcome(&mut replies)? & wanted;
        let child = transport.take().ok_or(NoWelcome::Nothing)?;
        child.show_stderr();
        let (jobs, mut queue) = queue::queue(QUEUE);
        let hashed = !caps.has(Caps::FAST);
        let stream = Replies { reader: replies, blocks: BlockReceiver::new(caps), hashed };
        pulse.welcome();
        outcomes.ui().greeted();
        let felt = Arc::clone(&pulse);
        let answered = Arc::clone(&pending);
        let landing = Landing::new(Arc::clone(outcomes), lane.clone());
        let replies = std::thread::Builder::new()
            .name("replies".to_owned())
            .spawn(move || take_replies(stream, &mut queue, landing, &answered, ender, &felt, &shared))
            .map_err(|_| NoWelcome::Nothing)?;
        let blocks = BlockSender::new(caps);
        Ok(Self {
            requests,
            pulse,
            blocks,
            caps,
            jobs,
            pending,
            replies,
            transport: child,
            stores: false,
            lane: lane.clone(),
            outcomes: Arc::clone(outcomes),
        })
    }

    /// Sends a request, or its first frame, and queues what is to be done with the reply.
    pub(crate) fn send(&mut self, message: &Message<'_>, job: Job) -> Result<(), Dead> {
        // What waits in the buffer must go out before the queue is waited for.
        let flushed = if self.jobs.is_full() { self.requests.flush() } else { Ok(()) };
        self.pending.sent(job.content());
        self.pulse.silent(job.silent());
        // Queued first, and in any case: the reply may come before the request is written whole, and what is not
        // queued is not sent again over another connection.
        self.jobs.send(job)?;
        flushed?;
        Ok(self.requests.push(message)?)
    }

    /// Sends a request whose reply someone will ask for later.
    pub(crate) fn ask(&mut self, message: &Message<'_>) -> Result<Receiver<Reply>, Dead> {
        self.ask_through(message, 0)
    }

    /// The same of one for which the server goes through so many bytes: a hash.
    pub(crate) fn ask_through(&mut self, message: &Message<'_>, bytes: u64) -> Result<Receiver<Reply>, Dead> {
        let (sender, receiver) = mpsc::sync_channel(1);
        self.send(message, Job::Call(sender, bytes))?;
        Ok(receiver)
    }

    /// Sends a request and waits for its reply.
    pub(crate) fn call(&mut self, message: &Message<'_>) -> Result<Reply, Dead> {
        let reply = self.ask(message)?;
        self.wait(&reply)
    }

    /// Waits for a reply that was asked for.
    pub(crate) fn wait(&mut self, reply: &Receiver<Reply>) -> Result<Reply, Dead> {
        self.requests.flush()?;
        reply.recv().map_err(|_| Dead)
    }

    /// Where more than `most` bytes of content are on their way, waits until no more than half of that are: going
    /// on after each answer would be a wake-up and a flush for each.
    pub(crate) fn wait_below(&mut self, most: u64) -> Result<(), Dead> {
        if self.pending.is_at_most(most) {
            return Ok(());
        }
        self.requests.flush()?;
        if self.pending.wait(most / 2) { Ok(()) } else { Err(Dead) }
    }

    /// Writes what was gathered.
    pub(crate) fn flush(&mut self) -> Result<(), Dead> {
        Ok(self.requests.flush()?)
    }

    /// Takes leave of a connection that turned out dead, and says why.
    pub(crate) fn lost(self) -> Fatal {
        self.close().why.unwrap_or(Lost::Closed).into_fatal()
    }

    /// Waits until everything that was sent is answered.
    pub(crate) fn wait_for_all(&mut self) -> Result<(), Dead> {
        let (sender, receiver) = mpsc::sync_channel(1);
        self.requests.flush()?;
        self.pending.sent(0);
        self.jobs.send(Job::Barrier(sender))?;
        receiver.recv().map_err(|_| Dead)
    }

    /// Lets the server finish, and takes leave of it. With `why` None in the result all was answered.
    pub(crate) fn close(self) -> Ending {
        let Self { mut requests, jobs, replies, mut transport, outcomes, pulse, stores, .. } = self;
        let flushed = requests.flush();
        outcomes.meter().add_wire(requests.bytes_given());
        drop(jobs);
        if flushed.is_err() {
            transport.kill();
        }
        drop(requests);
        let ending = replies.join().unwrap_or_else(|_| Ending { why: Some(Lost::Closed), left: Vec::new() });
        // Nobody is to end a child that was waited for.
        drop(pulse);
        if ending.why.is_some() {
            transport.kill();
            let _ = transport.wait();
        } else if stores {
            transport.leave();
        } else {
            let _ = transport.wait();
        }
        ending
    }
}

fn welcome(replies: &mut FrameReader<Felt<File>>) -> Result<Caps, NoWelcome> {
    let header = match replies.header() {
        Ok(Some(header)) => header,
        Ok(None) => return Err(NoWelcome::Nothing),
        Err(FrameError::Io(_)) => return Err(NoWelcome::Nothing),
        // Whatever the remote shell printed is no frame, or looks like one that is much too long.
        Err(_) => return Err(NoWelcome::Noise(replies.read_ahead().to_vec())),
    };
    let noise = || NoWelcome::Mismatch("its first frame is malformed".to_owned());
    match replies.message(header).map_err(|_| noise())? {
        Message::Welcome { version: VERSION, caps } => Ok(caps),
        Message::Welcome { version, .. } => {
            Err(NoWelcome::Mismatch(format!("it speaks protocol version {version}, not {VERSION}")))
        }
        Message::Error { message } => Err(NoWelcome::Error(message.to_owned())),
        other => Err(NoWelcome::Mismatch(format!("it sent {} before Welcome", other.kind().name()))),
    }
}

/// Hands every job its reply. When the link is lost ends the child, so that whoever writes to it learns of it,
/// and gives back what was not answered.
fn take_replies(
    mut stream: Replies,
    queue: &mut queue::Receiver<Job>,
    mut landing: Landing,
    pending: &Pending,
    child: Option<Ender>,
    pulse: &Pulse,
    outcomes: &Arc<Outcomes>,
) -> Ending {
    let lost = queue.find_map(|job| {
        let (content, silent) = (job.content(), job.silent());
        let handed = hand_over(job, &mut stream, &mut landing, outcomes);
        pending.answered(content);
        pulse.spoke(silent);
        handed.err()
    });
    pending.close();
    outcomes.meter().add_wire(stream.reader.bytes_taken());
    let Some((unanswered, why)) = lost else { return Ending { why: None, left: Vec::new() } };
    let why = pulse.given_up().map_or(why, Lost::from);
    if let Some(ender) = child {
        // Not waited for yet.
        ender.end();
    }
    // The server may outlive the child, where that is a shell. Nobody reading any more, it ends too, and with
    // it the wait of whoever writes to it.
    drop(stream);
    // Those who wait for a reply learn from the loss of their sender that none comes.
    let left =
        unanswered.into_iter().chain(queue).filter(|job| !matches!(job, Job::Call(..) | Job::Barrier(_)));
    let given_up = |job: &Job| {
        if let Job::Put(job) = job {
            job.give_up();
        }
    };
    Ending { why: Some(why), left: left.inspect(given_up).collect() }
}

/// Hands one job its reply. The job comes back where it was not answered.
fn hand_over(
    job: Job,
    stream: &mut Replies,
    landing: &mut Landing,
    outcomes: &Outcomes,
) -> Result<(), (Option<Job>, Lost)> {
    match job {
        Job::Barrier(caller) => {
            answer(&caller, ());
            Ok(())
        }
        Job::Call(caller, _) => stream.reply().map(|reply| answer(&caller, reply)).map_err(|why| (None, why)),
        Job::Put(job) => job.take(stream, outcomes).map_err(|(job, why)| (job.map(Job::Put), why)),
        Job::Mkdir(job) => job.take(stream, outcomes).map_err(|(job, why)| (Some(Job::Mkdir(job)), why)),
        Job::Get(job) => landing.take(job, stream).map_err(|(job, why)| (Some(Job::Get(job)), why)),
    }
}

/// Tells whoever waits; they may have given up.
fn answer<T>(caller: &SyncSender<T>, reply: T) {
    let _ = caller.send(reply);
}
