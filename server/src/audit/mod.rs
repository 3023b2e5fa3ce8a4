//! The audit trail: one record for each start, file, refusal and end, to the journal or to syslog.
//!
//! The socket is connected before the sandbox, which lets nothing connect, and never waits: a log that is stuck
//! must not hold up service. What cannot be written is counted, and told when something can.

mod event;
mod flood;
mod record;

use std::os::fd::OwnedFd;
use std::sync::{Mutex, MutexGuard, PoisonError};
use std::time::Instant;

use rustix::io::write;

use crate::id::SessionId;

pub(crate) use self::event::Event;
use self::flood::Flood;
use self::record::{Form, Record, context_field};

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
        };
        Self { log, id, context: context.concat(), files: profile.is_some(), tally: Mutex::new(tally) }
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
    }

    fn record(&self, tally: &mut Tally, event: Event, fields: &[(&str, &str)]) {
        let (socket, form) = match &self.log {
            Log::Journal(socket) => (socket, Form::Fields { context: &self.context }),
            Log::Syslog(socket) => (socket, Form::Line),
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
        let written = write(socket, record.finish());
        if written.is_ok() {
            tally.lost = 0;
            tally.flood.told();
        } else {
            tally.lost += 1;
            tally.lost_in_all += 1;
        }
    }
}
