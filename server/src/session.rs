//! One connection from Hello to its end: which frame may come now, who serves it, what is answered.

use std::io;
use std::sync::Arc;

use bcmr_policy::request::Request;
use bcmr_policy::sandbox::{Sandboxed, granted};
use bcmr_policy::{Permit, Profile, Rules, Usage, Verb, judge};
use bcmr_publish::Publisher;
use bcmr_wire::blocks::{BlockReceiver, BlockSender, ReceiveError};
use bcmr_wire::frame::Header;
use bcmr_wire::limits::{COMPRESSED_HEADER, MAX_BLOCK, MAX_BODY};
use bcmr_wire::{Caps, Hash, Message, Type, VERSION};

use crate::asked::{Asked, asked};
use crate::audit::{Audit, Event};
use crate::cas::Cas;
use crate::connection::Connection;
use crate::exit::Exit;
use crate::failure::{End, Failure, Stop};
use crate::id::SessionId;
use crate::kept::Kept;
use crate::live::LiveSlot;
use crate::quota::Quota;
use crate::reply::{self, Reply};
use crate::state::slot::Slot;
use crate::tree::Tree;
use crate::verbs::put::{LivePut, Stored, Terms};
use crate::verbs::{get, hash, list, mkdir, resume, stat};

/// What a session serves, and by which rules.
pub(crate) struct Served {
    pub(crate) profile: Profile,
    pub(crate) tree: Tree,
    pub(crate) kept: Kept,
}

/// A connection that may use a tree under a profile.
pub(crate) struct Session {
    id: SessionId,
    audit: Arc<Audit>,
    connection: Connection,
    profile: Profile,
    usage: Usage,
    tree: Tree,
    /// The store of blocks, where there is one and the client makes use of it.
    cas: Option<Cas>,
    quota: Option<Quota>,
    /// Held until the session ends.
    _slot: Option<Slot>,
    publisher: Publisher,
    caps: Caps,
    sender: BlockSender,
    receiver: BlockReceiver,
    live: Arc<LiveSlot>,
    /// The path of the Put that came last, as the client spelled it, and the size that it declared.
    put_path: String,
    put_size: u64,
    /// Whether what is left of a refused Put is being passed over.
    discarding: bool,
}

impl Session {
    /// A session that has not said a word. That the process is in its sandbox is proved by `_sandboxed`.
    pub(crate) fn new(
        id: SessionId,
        audit: Arc<Audit>,
        _sandboxed: &Sandboxed,
        connection: Connection,
        Served { profile, tree, kept: Kept { cas, quota, slot } }: Served,
        live: Arc<LiveSlot>,
    ) -> Self {
        Self {
            id,
            audit,
            connection,
            profile,
            usage: Usage::default(),
            tree,
            cas,
            quota,
            _slot: slot,
            publisher: Publisher::default(),
            caps: Caps::NONE,
            sender: BlockSender::new(Caps::NONE),
            receiver: BlockReceiver::new(Caps::NONE),
            live,
            put_path: String::new(),
            put_size: 0,
            discarding: false,
        }
    }

    /// Serves until the client is done or gone. `greeted` is called when the handshake is through.
    pub(crate) fn run(mut self, greeted: impl FnOnce()) -> Exit {
        let end = match self.greet() {
            Ok(true) => {
                greeted();
                self.serve()
            }
            // The client wanted nothing at all.
            Ok(false) => Ok(()),
            Err(end) => Err(end),
        };
        self.live.abort();
        if let Some(cas) = self.cas.take() {
            cas.finish();
        }
        match end {
            Ok(()) => Exit::Done,
            Err(End::Link(_)) => Exit::Io,
            Err(End::Violation(why)) => {
                // Best effort: the client may be past listening.
                let _ = self.error(&why).and_then(|()| self.connection.flush());
                Exit::Protocol
            }
        }
    }

    /// Whether there was a Hello, which has been answered then.
    fn greet(&mut self) -> Result<bool, End> {
        let Some(header) = self.connection.header()? else { return Ok(false) };
        let (version, caps) = match self.connection.reader.message(header)? {
            Message::Hello { version, caps } => (version, caps),
            other => return Err(End::Violation(format!("expected Hello, not {}", other.kind().name()))),
        };
        if version != VERSION {
            let why = format!("protocol version mismatch: client={version} server={VERSION}");
            return Err(End::Violation(why));
        }
        self.caps = caps & offered(&self.profile.rules, self.cas.is_some());
        if !self.caps.has(Caps::DEDUP) {
            self.cas = None;
        }
        self.sender = BlockSender::new(self.caps);
        self.receiver = BlockReceiver::new(self.caps);
        self.connection.send(&Message::Welcome { version: VERSION, caps: self.caps })?;
        Ok(true)
    }

    fn serve(&mut self) -> Result<(), End> {
        while let Some(header) = self.connection.header()? {
            match header.kind {
                Type::Data | Type::DataCompressed => self.data(header)?,
                Type::HaveBlocks => self.have_blocks(header)?,
                Type::Done => self.done(header)?,
                _ => {
                    self.break_off_put(header.kind)?;
                    let (asked, path) = asked(&self.connection.reader.message(header)?);
                    self.request(asked, path)?;
                }
            }
        }
        if self.live.is_live() { Err(end_of_file()) } else { self.connection.flush() }
    }

    // ---- what belongs to a Put

    fn begin_put(&mut self, put: bcmr_policy::request::Put, path: String) -> Result<(), End> {
        self.put_path = path;
        self.put_size = put.size;
        let begun = self.permit(&self.put_path, put).and_then(|permit| {
            if permit.request().offset > 0 && !self.caps.has(Caps::PUT_OFFSET) {
                return Err(Failure::Capability("CAP_PUT_OFFSET"));
            }
            let rules = &self.profile.rules;
            let terms = Terms {
                sync: self.caps.has(Caps::SYNC),
                parents: rules.verbs.has(Verb::Mkdir),
                mode: rules.file_mode,
                min_free: rules.min_free,
                readable: self.cas.is_some() && granted(rules).reads_files(),
            };
            let quota = self.quota.as_mut();
            self.live.begin(|| LivePut::begin(&self.tree, &mut self.publisher, permit, &terms, quota))
        });
        match begun {
            Ok(()) => Ok(()),
            Err(failure) => self.refuse_put(&failure),
        }
    }

    fn data(&mut self, header: Header) -> Result<(), End> {
        let reader = &mut self.connection.reader;
        let Some(data) = reader.data_header(header)? else { return Ok(()) };
        if !reader.holds(header.body) {
            self.connection.writer.flush().map_err(End::Link)?;
        }
        if !self.live.is_live() {
            // Still checked for being a frame, but not decoded.
            reader.skip(data.len())?;
            return if self.discarding { Ok(()) } else { self.unexpected(header.kind) };
        }
        reader.limit_body(COMPRESSED_HEADER + MAX_BLOCK);
        if let Some(Err(failure)) = self.live.with(|put| put.expect(data.decoded_len())) {
            reader.skip(data.len())?;
            return self.refuse_put(&failure);
        }
        self.usage.moved += data.decoded_len() as u64;
        let (live, mut stored) = (&self.live, None);
        let received = self.receiver.receive(data, reader, |bytes| {
            stored = live.with(|put| put.receive(bytes)).transpose()?.flatten();
            Ok(())
        });
        let failure = match received {
            Ok(()) => {
                if let (Some(cas), Some(Stored { hash, source, upload })) = (&mut self.cas, stored) {
                    cas.keep(hash, source, &upload);
                }
                return Ok(());
            }
            Err(ReceiveError::Frame(error)) => return Err(error.into()),
            Err(ReceiveError::Decode(error)) => Failure::Decode(error),
            Err(ReceiveError::NotNegotiated(algo)) => Failure::NotNegotiated(algo),
            Err(ReceiveError::Sink(failure)) => failure,
        };
        self.refuse_put(&failure)
    }

    fn have_blocks(&mut self, header: Header) -> Result<(), End> {
        let Message::HaveBlocks { block_size, hashes } = self.connection.reader.message(header)? else {
            return self.unexpected(header.kind);
        };
        if !self.live.is_live() {
            return if self.discarding { Ok(()) } else { self.unexpected(header.kind) };
        }
        match announce(&self.live, self.cas.as_ref(), block_size, hashes.to_vec()) {
            Ok(bits) => self.connection.send(&Message::MissingBlocks { bits: &bits }),
            Err(failure) => self.refuse_put(&failure),
        }
    }

    fn done(&mut self, header: Header) -> Result<(), End> {
        self.connection.reader.message(header)?;
        self.connection.reader.limit_body(MAX_BODY);
        if std::mem::take(&mut self.discarding) {
            return Ok(());
        }
        let quota = self.quota.as_mut().map(|quota| (quota, &self.tree));
        let finished = self.live.finish(&mut self.publisher, quota);
        self.release_quota();
        match finished {
            None => self.unexpected(header.kind),
            Some(result) => {
                let path = std::mem::take(&mut self.put_path);
                if let Ok(hash) = &result {
                    self.moved(Event::Publish, &path, self.put_size, *hash);
                }
                self.answer("put", &path, result.map(Reply::Ok))
            }
        }
    }

    /// Answers the Put that came last with an Error; what is left of it is passed over.
    fn refuse_put(&mut self, failure: &Failure) -> Result<(), End> {
        self.live.abort();
        self.release_quota();
        self.discarding = true;
        self.connection.reader.limit_body(MAX_BODY);
        let path = std::mem::take(&mut self.put_path);
        self.failed("put", &path, failure)
    }

    fn release_quota(&mut self) {
        if let Some(quota) = &mut self.quota {
            quota.release();
        }
    }

    /// Fails a Put in the middle of which a frame of another kind comes; that frame is served, so nothing is
    /// left to pass over.
    fn break_off_put(&mut self, by: Type) -> Result<(), End> {
        if self.live.is_live() {
            self.refuse_put(&Failure::BrokenOff(by))?;
        }
        self.discarding = false;
        Ok(())
    }

    // ---- what stands on its own

    fn request(&mut self, asked: Asked, path: String) -> Result<(), End> {
        let (tree, sync) = (&self.tree, self.caps.has(Caps::SYNC));
        let result = match asked {
            Asked::Put(put) => return self.begin_put(put, path),
            Asked::Get(get) => return self.get(get, &path),
            Asked::Stat(a) => self.permit(&path, a).and_then(|p| stat::stat(tree, p)).map(Reply::Message),
            Asked::List(a) => {
                let listed = |p| list::list(tree, &self.profile.fence, p);
                self.permit(&path, a).and_then(listed).map(Reply::Listing)
            }
            Asked::Hash(a) => self.permit(&path, a).and_then(|p| hash::hash(tree, p)).map(Reply::Hash),
            Asked::Mkdir(a) => {
                self.permit(&path, a).and_then(|p| mkdir::mkdir(tree, p, sync)).map(|()| Reply::Ok(None))
            }
            Asked::Resume(a) => {
                self.permit(&path, a).and_then(|p| resume::resume(tree, p)).map(Reply::Present)
            }
            Asked::Striped => {
                self.discarding = true;
                Err(Failure::Striped)
            }
            Asked::Truncate => Err(Failure::Striped),
            Asked::DirectChannel => Err(Failure::Capability("CAP_DIRECT_TCP")),
            Asked::Nothing(kind) => return self.unexpected(kind),
        };
        self.answer(asked.name(), &path, result)
    }

    fn get(&mut self, asked: bcmr_policy::request::Get, path: &str) -> Result<(), End> {
        let hashed = asked.length.is_none() && !self.caps.has(Caps::FAST);
        let moved = self.usage.moved;
        let sent = match self.permit(path, asked) {
            Ok(permit) => {
                let (sender, writer) = (&mut self.sender, &mut self.connection.writer);
                get::get(&self.tree, permit, sender, writer, hashed, &mut self.usage.moved)
            }
            Err(failure) => Err(Stop::Failed(failure)),
        };
        match sent {
            Ok(hash) => {
                self.moved(Event::Get, path, self.usage.moved - moved, hash);
                self.answer("get", path, Ok(Reply::Ok(hash)))
            }
            Err(Stop::Failed(failure)) => self.answer("get", path, Err(failure)),
            Err(Stop::Ended(end)) => Err(end),
        }
    }

    fn permit<R: Request>(&self, path: &str, request: R) -> Result<Permit<R>, Failure> {
        Ok(judge(&self.profile, self.usage, path, request)?)
    }

    // ---- answers

    fn answer(&mut self, what: &str, path: &str, result: Result<Reply, Failure>) -> Result<(), End> {
        match result {
            Ok(reply) => reply.send(&mut self.connection.writer).map_err(End::Link),
            Err(failure) => self.failed(what, path, &failure),
        }
    }

    /// Answers with an Error; the audit trail has it whole, where it is a refusal or concerns the operator.
    fn failed(&mut self, what: &str, path: &str, failure: &Failure) -> Result<(), End> {
        let event = match failure {
            Failure::Refused(_) => Some(Event::Refused),
            failure if failure.concerns_operator() => Some(Event::Failed),
            _ => None,
        };
        if let Some(event) = event {
            self.audit.denied(event, what, path, &failure.to_string());
        }
        self.error(&reply::text(what, path, failure))
    }

    fn moved(&self, event: Event, path: &str, bytes: u64, hash: Option<blake3::Hash>) {
        self.audit.moved(event, path, bytes, hash.map(|hash| hash.to_hex()).as_deref());
    }

    fn unexpected(&mut self, kind: Type) -> Result<(), End> {
        self.error(&reply::coarse(&Failure::Unexpected(kind)))
    }

    fn error(&mut self, text: &str) -> Result<(), End> {
        self.connection.send(&Message::Error { message: &reply::with_session(text, self.id) })
    }
}

/// What a session can do; what its client can do, too, holds.
fn offered(rules: &Rules, store: bool) -> Caps {
    let mut caps = Caps::FAST | Caps::SYNC | Caps::PUT_OFFSET;
    if store {
        caps = caps | Caps::DEDUP;
    }
    if rules.compression.zstd {
        caps = caps | Caps::ZSTD;
    }
    if rules.compression.lz4 {
        caps = caps | Caps::LZ4;
    }
    caps
}

/// Takes an announcement of blocks: which of them have to come. Block by block, so that the watch never waits long
/// for the slot.
fn announce(
    live: &LiveSlot,
    cas: Option<&Cas>,
    block_size: u32,
    hashes: Vec<Hash>,
) -> Result<Vec<u8>, Failure> {
    let cas = cas.ok_or(Failure::Capability("CAP_DEDUP"))?;
    live.with(|put| put.announce(block_size, hashes, cas)).transpose()?;
    loop {
        match live.with(|put| put.look_up(cas)).transpose()? {
            Some(None) => {}
            Some(Some(bits)) => return Ok(bits),
            None => return Ok(Vec::new()),
        }
    }
}

fn end_of_file() -> End {
    End::Link(io::ErrorKind::UnexpectedEof.into())
}
