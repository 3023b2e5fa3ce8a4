//! The audit trail: one record for each start, file, refusal and end, to the journal or to syslog.
//!
//! The socket is connected before the sandbox, which lets nothing connect, and never waits: a log that is stuck
//! must not hold up service. Records of files are written several at once, since each that is written alone may wake
//! a processor for whoever takes it, which costs more than a small file does; the watch sees to it that none is held
//! for long. What cannot be held either is counted, and told when something can be written.

mod event;
mod flood;
mod held;
mod record;

use std::os::fd::OwnedFd;
use std::sync::{Mutex, MutexGuard, PoisonError};
use std::time::{Duration, Instant};

use rustix::event::{EventfdFlags, PollFd, PollFlags, Timespec, eventfd, poll};
use rustix::io::{read, write};

use crate::id::SessionId;

pub(crate) use self::event::Event;
use self::flood::Flood;
use self::held::Held;
use self::record::{Form, Record, context_field};

/// How long the record of a file is held for others to join it.
const HOLD: Duration = Duration::from_millis(20);

/// How long a session that ends waits for the log to take its last records.
const LAST: Duration = Duration::from_millis(200);

/// Who takes the records.
#[derive(Debug)]
pub(crate) enum Log {
    /// journald's native socket.
    Journal(OwnedFd),
    /// syslog's.
    Syslog(OwnedFd),
    /// Nobody.
    Nowhere,
}

impl Log {
    const fn socket(&self) -> Option<&OwnedFd> {
        match self {
            Self::Journal(socket) | Self::Syslog(socket) => Some(socket),
            Self::Nowhere => None,
        }
    }
}

/// Whose session it is; the journal has this with every record.
#[derive(Debug)]
pub(crate) struct Context<'a> {
    /// None in personal mode.
    pub(crate) profile: Option<&'a str>,
    pub(crate) label: Option<&'a str>,
    pub(crate) uid: u32,
    pub(crate) peer: &'a str,
}

/// Writes the records of one session, from either thread.
#[derive(Debug)]
pub(crate) struct Audit {
    log: Log,
    id: SessionId,
    context: String,
    /// Whether each file is recorded; in personal mode people move files of their own.
    files: bool,
    /// Tells the watch that something is held; without it, nothing waits for others.
    wake: Option<OwnedFd>,
    tally: Mutex<Tally>,
}

/// What happened so far.
#[derive(Debug)]
struct Tally {
    flood: Flood,
    lost: u64,
    lost_in_all: u64,
    published: u64,
    sent: u64,
    refused: u64,
    failed: u64,
    ended: bool,
    /// Where records are built: one after another, so that none needs room of its own.
    buffers: [String; 2],
    held: Held,
}

impl Audit {
    pub(crate) fn new(log: Log, id: SessionId, who: &Context<'_>) -> Self {
        let Context { profile, label, uid, peer } = *who;
        let context = [
            context_field("PROFILE", profile.unwrap_or("personal")),
            label.map_or_else(String::new, |label| context_field("LABEL", label)),
            context_field("UID", &uid.to_string()),
            context_field("PEER", peer),
        ];
        let flood = Flood::new(Instant::now());
        let tally = Tally {
            flood,
            lost: 0,
            lost_in_all: 0,
            published: 0,
            sent: 0,
            refused: 0,
            failed: 0,
            ended: false,
            buffers: Default::default(),
            held: Held::default(),
        };
        let flags = EventfdFlags::CLOEXEC | EventfdFlags::NONBLOCK;
        let wake = log.socket().and_then(|_| eventfd(0, flags).ok());
        let (context, files) = (context.concat(), profile.is_some());
        Self { log, id, context, files, wake, tally: Mutex::new(tally) }
    }

    fn tally(&self) -> MutexGuard<'_, Tally> {
        self.tally.lock().unwrap_or_else(PoisonError::into_inner)
    }

    /// Records something that happens once in a session.
    pub(crate) fn once(&self, event: Event, fields: &[(&str, &str)]) {
        self.record(&mut self.tally(), event, fields);
    }

    /// Records a file that arrived or was sent.
    pub(crate) fn moved(&self, event: Event, path: &str, bytes: u64, hash: Option<&str>) {
        let mut tally = self.tally();
        let verb = match event {
            Event::Publish => {
                tally.published += 1;
                "put"
            }
            _ => {
                tally.sent += 1;
                "get"
            }
        };
        if !self.files {
            return;
        }
        let bytes = bytes.to_string();
        let [verb, path, bytes, ok] = [("verb", verb), ("path", path), ("bytes", &*bytes), ("result", "ok")];
        match hash {
            Some(hash) => self.record(&mut tally, event, &[verb, path, bytes, ("hash", hash), ok]),
            None => self.record(&mut tally, event, &[verb, path, bytes, ok]),
        }
    }

    /// Records a request that came to nothing; a flood of them is folded.
    pub(crate) fn denied(&self, event: Event, verb: &str, path: &str, reason: &str) {
        let mut tally = self.tally();
        let result = match event {
            Event::Refused => {
                tally.refused += 1;
                "refused"
            }
            _ => {
                tally.failed += 1;
                "failed"
            }
        };
        if tally.flood.admits(Instant::now()) {
            let fields = [("verb", verb), ("path", path), ("result", result), ("reason", reason)];
            self.record(&mut tally, event, &fields);
        }
    }

    /// Records how the session ended, and how much it came to; once, though both threads may come to the end.
    pub(crate) fn end(&self, result: &str) {
        let mut tally = self.tally();
        if std::mem::replace(&mut tally.ended, true) {
            return;
        }
        let taken = self.write_last(&mut tally);
        let count = |n: u64| n.to_string();
        let counts = [
            ("published", count(tally.published)),
            ("sent", count(tally.sent)),
            ("refusals", count(tally.refused)),
            ("failures", count(tally.failed)),
            ("losses", count(tally.lost_in_all)),
        ];
        let fields: Vec<_> = [("result", result)]
            .into_iter()
            .chain(counts.iter().map(|(name, count)| (*name, count.as_str())))
            .collect();
        self.record(&mut tally, Event::End, &fields);
        if taken {
            self.write_last(&mut tally);
        }
    }

    /// What the watch waits for before it calls [`Audit::write_held`].
    pub(crate) fn due(&self) -> Option<PollFd<'_>> {
        if self.tally().held.is_blocked() {
            return self.log.socket().map(|socket| PollFd::new(socket, PollFlags::OUT));
        }
        self.wake.as_ref().map(|wake| PollFd::new(wake, PollFlags::IN))
    }

    /// Writes what is held, once others had the time to join it.
    pub(crate) fn write_held(&self) {
        if let Some(wake) = &self.wake
            && read(wake, &mut [0; 8]).is_ok()
        {
            std::thread::sleep(HOLD);
        }
        self.write(&mut self.tally());
    }

    /// Writes what is held; what the log does not take within [`LAST`] is lost. Whether it took everything.
    fn write_last(&self, tally: &mut Tally) -> bool {
        let until = Instant::now() + LAST;
        self.write(tally);
        while let Some(socket) = self.log.socket().filter(|_| tally.held.is_blocked()) {
            let left = until.saturating_duration_since(Instant::now());
            let timeout = Timespec { tv_sec: 0, tv_nsec: left.subsec_nanos().into() };
            if poll(&mut [PollFd::new(socket, PollFlags::OUT)], Some(&timeout)) == Ok(0) {
                let lost = tally.held.give_up();
                tally.lose(lost);
                return false;
            }
            self.write(tally);
        }
        true
    }

    fn write(&self, tally: &mut Tally) {
        if let Some(socket) = self.log.socket() {
            let lost = tally.held.write(socket);
            tally.lose(lost);
        }
    }

    fn record(&self, tally: &mut Tally, event: Event, fields: &[(&str, &str)]) {
        let form = match &self.log {
            Log::Journal(_) => Form::Fields { context: &self.context },
            Log::Syslog(_) => Form::Line,
            Log::Nowhere => return,
        };
        let [line, rest] = &mut tally.buffers;
        let mut record = Record::new(form, event, self.id, line, rest);
        for (name, value) in fields {
            record.field(name, value);
        }
        for (name, count) in [("lost", tally.lost), ("folded", tally.flood.folded())] {
            if count > 0 {
                record.field(name, &count.to_string());
            }
        }
        let first = tally.held.is_empty();
        if !tally.held.push(record.finish()) {
            tally.lose(1);
        } else {
            tally.lost = 0;
            tally.flood.told();
        }
        if !event.is_of_a_file() || self.wake.is_none() || tally.held.are_many() {
            self.write(tally);
        }
        if let Some(wake) = &self.wake
            && first
            && !tally.held.is_empty()
        {
            // Its number is far from full.
            let _ = write(wake, &1_u64.to_ne_bytes());
        }
    }
}

impl Tally {
    const fn lose(&mut self, records: u64) {
        self.lost += records;
        self.lost_in_all += records;
    }
}
