//! What programs read: one JSON object per line on stdout. Version 1 of the schema, which README describes; a later
//! version may add keys and types, and takes none away.

use std::fmt::Write as _;
use std::time::Duration;

use serde_json::{Value, json};

use super::{Meter, Status};
use crate::copy::{Copied, Ended, Failure, Way};
use crate::output;

/// Prints an event. Nothing can be done where nobody reads; what is copied is copied all the same.
pub(super) fn print(event: &Value) {
    output::line(&line(event));
}

/// An event without the control characters that JSON allows in strings, and a terminal acts on. They stand nowhere
/// else in it.
pub(crate) fn line(event: &Value) -> String {
    let mut line = String::new();
    for c in event.to_string().chars() {
        // Writing to a string does not fail.
        let _ = if c.is_control() { write!(line, "\\u{:04x}", u32::from(c)) } else { line.write_char(c) };
    }
    line
}

pub(super) fn start(way: &Way) -> Value {
    let (way, sources, destination) = match way {
        Way::Up { sources, to } => {
            let sources = sources.iter().map(|path| path.display().to_string()).collect::<Vec<_>>();
            ("upload", sources, to.to_string())
        }
        Way::Down { sources, to } => {
            let sources = sources.iter().map(ToString::to_string).collect();
            ("download", sources, to.display().to_string())
        }
    };
    json!({
        "type": "start", "schema": 1, "version": env!("CARGO_PKG_VERSION"),
        "way": way, "sources": sources, "destination": destination,
    })
}

pub(super) fn file(status: Status, file: &Copied<'_>) -> Value {
    let status = match status {
        Status::Copied => "copied",
        Status::Already => "already",
        Status::WouldCopy => "would-copy",
    };
    json!({
        "type": "file", "status": status, "source": file.from.to_string(), "destination": file.to.to_string(),
        "bytes": file.size, "hash": file.hash,
    })
}

pub(super) fn failed(failure: &Failure) -> Value {
    json!({"type": "file", "status": "failed", "path": failure.name, "error": failure.why})
}

pub(super) fn left_out(failure: &Failure) -> Value {
    json!({"type": "file", "status": "left-out", "path": failure.name, "error": failure.why})
}

pub(super) fn warning(text: &str) -> Value {
    json!({"type": "warning", "message": text})
}

pub(super) fn progress(meter: &Meter, elapsed: Duration) -> Value {
    json!({
        "type": "progress", "files": meter.files(), "bytes": meter.moved(), "total": meter.expected(),
        "seconds": elapsed.as_secs_f64(),
    })
}

pub(super) fn summary(meter: &Meter, ended: &Ended, elapsed: Duration) -> Value {
    let (exit, error) = match &ended.result {
        Ok(exit) => (*exit, None),
        Err(fatal) => (fatal.exit, Some(&fatal.message)),
    };
    json!({
        "type": "summary", "exit": exit as u8, "error": error, "fallback": ended.by_scp.then_some("scp"),
        "files": meter.files(), "already": meter.already(), "failed": ended.failed,
        "bytes": meter.copied(), "present": meter.present(), "wire": meter.wire(),
        "seconds": elapsed.as_secs_f64(),
    })
}
