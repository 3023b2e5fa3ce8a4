//! The audit trail: one record per line of syslog, each value quoted, so that no client can write a record of
//! its own.

use std::cell::Cell;
use std::fmt::Write;
use std::os::fd::OwnedFd;

use rustix::io::write;

use crate::id::SessionId;

/// Facility authpriv, severity notice (RFC 5424, section 6.2.1).
const PRIORITY: u8 = 10 * 8 + 5;

/// Bytes of a value that are recorded.
const VALUE: usize = 1024;

/// Writes the records of one session.
#[derive(Debug)]
pub(crate) struct Audit {
    socket: Option<OwnedFd>,
    id: SessionId,
    lost: Cell<u64>,
}

impl Audit {
    pub(crate) const fn new(socket: Option<OwnedFd>, id: SessionId) -> Self {
        Self { socket, id, lost: Cell::new(0) }
    }

    /// Writes a record; one that cannot be written is counted, and the count goes into the next.
    pub(crate) fn record(&self, event: &str, fields: &[(&str, &str)]) {
        let Some(socket) = &self.socket else { return };
        let mut line = format!("<{PRIORITY}>bcmr-serve[{}]: {event} session={}", std::process::id(), self.id);
        for (name, value) in fields {
            // Writing to a String cannot fail.
            let _ = write!(line, " {name}=\"{}\"", quoted(value));
        }
        if self.lost.get() > 0 {
            let _ = write!(line, " lost={}", self.lost.get());
        }
        match write(socket, line.as_bytes()) {
            Ok(_) => self.lost.set(0),
            Err(_) => self.lost.set(self.lost.get() + 1),
        }
    }
}

/// A value on one line, with an end that it cannot forge, in printable ASCII.
fn quoted(value: &str) -> String {
    let start = &value[..value.floor_char_boundary(VALUE)];
    let more = if start.len() < value.len() { "..." } else { "" };
    format!("{}{more}", start.escape_default())
}

#[cfg(test)]
mod tests {
    use super::quoted;

    #[test]
    fn oferchen_rsync_7296_a_path_stays_one_quoted_value() {
        let quoted = quoted("a\nFAKE ok\" event=\"x\u{1b}[0m\u{202e}\\");
        assert_eq!(quoted, "a\\nFAKE ok\\\" event=\\\"x\\u{1b}[0m\\u{202e}\\\\");
        assert!(quoted.bytes().all(|b| (0x20..0x7f).contains(&b)));
    }

    #[test]
    fn a_long_value_is_cut() {
        assert_eq!(quoted(&"ü".repeat(2000)).len(), 512 * 6 + 3);
    }
}
