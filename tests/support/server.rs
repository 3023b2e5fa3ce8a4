//! A running server and the two ends of its streams: raw enough to say what no client would.

use std::fs::File;
use std::io::{Read, Seek};
use std::os::fd::OwnedFd;
use std::os::unix::process::ExitStatusExt;
use std::path::Path;
use std::process::{Child, ExitStatus};
use std::thread::sleep;
use std::time::{Duration, Instant};

use bcmr_wire::codec::Decoder;
use bcmr_wire::frame::{FrameReader, FrameWriter};
use bcmr_wire::{Caps, Message};
use rustix::process::{Pid, Signal, kill_process};
use tempfile::TempDir;

use crate::launch::Launch;
use crate::reply::Reply;
use crate::stream::{PATIENCE, Patient};

/// Bytes of content in one Data frame of [`ToServer::content`].
const BLOCK: usize = 1024 * 1024;

/// Bytes of the longest Error that is fair: it may repeat part of a path, and no content.
const LONGEST_ERROR: usize = 2048;

/// A server. It is killed where it still runs when the value goes.
#[derive(Debug)]
pub struct Server {
    /// What the server reads.
    pub to: ToServer,
    /// What the server writes.
    pub from: FromServer,
    child: Child,
    stderr: File,
    /// Where the program is, if it had to be copied.
    _copy: Option<TempDir>,
}

impl Server {
    pub(crate) fn new(child: Child, to: OwnedFd, from: OwnedFd, stderr: File, copy: Option<TempDir>) -> Self {
        let from = FromServer { frames: Some(FrameReader::new(Patient::new(from))), session: None };
        let to = ToServer { frames: Some(FrameWriter::new(Patient::new(to))) };
        Self { to, from, child, stderr, _copy: copy }
    }

    /// A server of `root` that has not been greeted.
    #[must_use]
    pub fn start(root: impl AsRef<Path>) -> Self {
        Launch::new(root).start()
    }

    /// A server of `root`, and a session in which everything is agreed on that the server knows, but not to
    /// wait for the disk.
    #[must_use]
    pub fn greeted(root: impl AsRef<Path>) -> Self {
        Self::start(root).hello(Caps(0xff).without(Caps::SYNC))
    }

    /// A server of `root`, and a session in which nothing is agreed on.
    #[must_use]
    pub fn plain(root: impl AsRef<Path>) -> Self {
        Self::start(root).hello(Caps::NONE)
    }

    /// Greets the server with these capabilities.
    #[must_use]
    #[track_caller]
    pub fn hello(mut self, caps: Caps) -> Self {
        self.greet(caps);
        self
    }

    /// Greets the server; returns what it agreed on.
    #[track_caller]
    pub fn greet(&mut self, caps: Caps) -> Caps {
        match self.ask(&Message::Hello { version: 2, caps }) {
            Reply::Welcome { version: 2, caps: agreed } => agreed,
            other => panic!("a Welcome was due, but this came: {other:?}"),
        }
    }

    /// Sends a message.
    #[track_caller]
    pub fn send(&mut self, message: &Message<'_>) {
        self.to.send(message);
    }

    /// The next reply.
    #[track_caller]
    pub fn reply(&mut self) -> Reply {
        self.from.reply()
    }

    /// Sends a message and takes the next reply.
    #[track_caller]
    pub fn ask(&mut self, message: &Message<'_>) -> Reply {
        self.to.send(message);
        self.from.reply()
    }

    /// Puts a file as a client does that reads nothing before it has sent all: the reply.
    #[track_caller]
    pub fn put(&mut self, path: &str, content: &[u8], overwrite: bool) -> Reply {
        self.to.put(path, content, overwrite);
        self.from.reply()
    }

    /// Gets a file from an offset.
    #[track_caller]
    pub fn get(&mut self, path: &str, offset: u64) -> Got {
        self.to.send(&Message::Get { path, offset });
        self.from.got()
    }

    /// Says that nothing more will be asked.
    pub fn close_input(&mut self) {
        self.to.frames = None;
    }

    /// Takes no more replies.
    pub fn close_output(&mut self) {
        self.from.frames = None;
    }

    /// KiB of its resident set at its largest so far.
    #[must_use]
    pub fn peak_kib(&self) -> u64 {
        peak_kib(self.child.id())
    }

    /// The process.
    #[must_use]
    pub fn pid(&self) -> Pid {
        Pid::from_child(&self.child)
    }

    /// Sends a signal.
    pub fn signal(&self, signal: Signal) {
        kill_process(self.pid(), signal).unwrap();
    }

    /// Waits until the server has ended by itself, for at most `limit`.
    #[track_caller]
    pub fn ends_within(&mut self, limit: Duration) -> ExitStatus {
        let deadline = Instant::now() + limit;
        loop {
            if let Some(status) = self.child.try_wait().unwrap() {
                return status;
            }
            assert!(Instant::now() < deadline, "the server still runs after {limit:?}");
            sleep(Duration::from_millis(2));
        }
    }

    /// Waits until the server has ended by itself: its exit code.
    #[track_caller]
    pub fn exit_code(&mut self) -> i32 {
        let status = self.ends_within(PATIENCE);
        status.code().unwrap_or_else(|| panic!("the server died of signal {:?}", status.signal()))
    }

    /// Asks for nothing more, and checks that nothing more is answered and the server ends content.
    #[track_caller]
    pub fn finish(mut self) {
        self.close_input();
        assert_eq!(self.from.next_reply(), None, "a reply that nobody asked for");
        assert_eq!(self.exit_code(), 0);
    }

    /// Takes the one Error with which a server ends a session that broke the protocol: its text.
    #[track_caller]
    pub fn ends_by_violation(mut self) -> String {
        let reply = self.reply();
        assert_eq!(self.from.next_reply(), None, "a reply after the last");
        assert_eq!(self.exit_code(), 76);
        reply.error().to_owned()
    }

    /// What the server has written on its standard error so far.
    #[must_use]
    pub fn stderr(&mut self) -> String {
        let mut text = String::new();
        self.stderr.rewind().unwrap();
        self.stderr.read_to_string(&mut text).unwrap();
        text
    }
}

impl Drop for Server {
    fn drop(&mut self) {
        // Fails where it has ended already.
        let _ = self.child.kill();
        let _ = self.child.wait();
    }
}

/// The way to a server.
#[derive(Debug)]
pub struct ToServer {
    frames: Option<FrameWriter<Patient>>,
}

impl ToServer {
    fn frames(&mut self) -> &mut FrameWriter<Patient> {
        self.frames.as_mut().expect("the server's input was closed")
    }

    /// The descriptor.
    #[must_use]
    pub fn stream(&self) -> &Patient {
        self.frames.as_ref().expect("the server's input was closed").get_ref()
    }

    /// Sends a message.
    #[track_caller]
    pub fn send(&mut self, message: &Message<'_>) {
        let frames = self.frames();
        frames.push(message).and_then(|()| frames.flush()).expect("the server takes no message");
    }

    /// Sends bytes, whatever they are.
    #[track_caller]
    pub fn send_raw(&mut self, bytes: &[u8]) {
        let frames = self.frames();
        frames.push_encoded(bytes).and_then(|()| frames.flush()).expect("the server takes no bytes");
    }

    /// Sends bytes as far as the server takes them: it may have had enough.
    pub fn try_send_raw(&mut self, bytes: &[u8]) -> bool {
        let frames = self.frames();
        frames.push_encoded(bytes).and_then(|()| frames.flush()).is_ok()
    }

    /// Sends content as Data frames.
    #[track_caller]
    pub fn content(&mut self, content: &[u8]) {
        content.chunks(BLOCK).for_each(|payload| self.send(&Message::Data { payload }));
    }

    /// Sends a whole Put.
    #[track_caller]
    pub fn put(&mut self, path: &str, content: &[u8], overwrite: bool) {
        self.send(&Message::Put { path, size: content.len() as u64, offset: 0, overwrite });
        self.content(content);
        self.send(&Message::Done);
    }
}

/// The way from a server.
#[derive(Debug)]
pub struct FromServer {
    frames: Option<FrameReader<Patient>>,
    /// The id that the session's first Error named.
    session: Option<String>,
}

impl FromServer {
    /// The descriptor.
    #[must_use]
    pub fn stream(&self) -> &Patient {
        self.frames.as_ref().expect("the server's output was closed").get_ref()
    }

    /// The next reply, None at the end.
    #[track_caller]
    pub fn next_reply(&mut self) -> Option<Reply> {
        let frames = self.frames.as_mut().expect("the server's output was closed");
        let header = frames.header().expect("a frame was due")?;
        let reply = Reply::new(&frames.message(header).expect("a frame was due"));
        if let Reply::Error { message } = &reply {
            self.check_error(message);
        }
        Some(reply)
    }

    /// The next reply.
    #[track_caller]
    pub fn reply(&mut self) -> Reply {
        self.next_reply().expect("a reply was due, but the stream has ended")
    }

    /// The next replies.
    #[track_caller]
    pub fn replies(&mut self, count: usize) -> Vec<Reply> {
        (0..count).map(|_| self.reply()).collect()
    }

    /// Checks that no reply comes for a while, in which the server does what it was told last. An emulator needs
    /// longer for that, on a machine that is busy: `BCMR_SLOWNESS` times.
    #[track_caller]
    pub fn stays_silent(&self, time: Duration) {
        let slowness = std::env::var("BCMR_SLOWNESS").map_or(1, |times| times.parse().unwrap());
        let timeout = rustix::event::Timespec::try_from(time * slowness).unwrap();
        let ready = rustix::event::PollFlags::IN;
        let mut fds = [rustix::event::PollFd::new(self.stream(), ready)];
        assert_eq!(rustix::event::poll(&mut fds, Some(&timeout)), Ok(0), "the server says something");
    }

    /// The replies to a Get.
    #[track_caller]
    pub fn got(&mut self) -> Got {
        let mut decoder = Decoder::default();
        let mut got = Got { content: Vec::new(), blocks: Vec::new(), end: Reply::Ok { hash: None } };
        loop {
            let reply = self.reply();
            let block = match &reply {
                Reply::Data { payload } => payload,
                Reply::DataCompressed { algo, original_size, payload } => {
                    decoder.decode(*algo, *original_size as usize, payload).unwrap()
                }
                _ => return Got { end: reply, ..got },
            };
            got.content.extend_from_slice(block);
            got.blocks.push(reply);
        }
    }

    /// Every Error ends in the session's id, repeats no more than a bit of a path, and no byte that would move
    /// a cursor or end a line.
    #[track_caller]
    fn check_error(&mut self, text: &str) {
        let id = text.strip_suffix(')').and_then(|text| text.rsplit_once(" (session "));
        let (_, id) = id.unwrap_or_else(|| panic!("an Error without the session's id: {text:?}"));
        let is_hex = |b: u8| matches!(b, b'0'..=b'9' | b'a'..=b'f');
        assert!(id.len() == 16 && id.bytes().all(is_hex), "the session's id is none: {text:?}");
        assert!(text.len() <= LONGEST_ERROR && !text.chars().any(char::is_control), "{text:?}");
        let session = self.session.get_or_insert_with(|| id.to_owned());
        assert_eq!(session, id, "the session has changed its id");
    }

    /// The id that the session's Errors name.
    #[must_use]
    pub fn session(&self) -> Option<&str> {
        self.session.as_deref()
    }
}

/// What a Get was answered with.
#[derive(Debug)]
pub struct Got {
    /// The blocks, decoded, one after another.
    pub content: Vec<u8>,
    /// The blocks as they came.
    pub blocks: Vec<Reply>,
    /// What came after the last block.
    pub end: Reply,
}

/// KiB of a process's resident set at its largest so far (proc(5)).
#[must_use]
pub fn peak_kib(pid: u32) -> u64 {
    let status = std::fs::read_to_string(format!("/proc/{pid}/status")).unwrap();
    let line = status.lines().find_map(|line| line.strip_prefix("VmHWM:")).unwrap();
    line.trim().trim_end_matches(" kB").parse().unwrap()
}
