use std::fmt::Write;

use super::event::Event;
use crate::id::SessionId;

/// Facility authpriv (RFC 5424, section 6.2.1).
const FACILITY: u8 = 10;

/// Bytes of a value that are recorded.
const VALUE: usize = 1024;

/// One record, both as a line of syslog and as fields of the journal. A field's name is lower case; the journal
/// has it as `BCMR_NAME`. A value is escaped to printable ASCII, so that no client can end its record or begin
/// one of its own.
#[derive(Debug)]
pub(super) struct Record {
    event: Event,
    line: String,
    fields: String,
}

impl Record {
    pub(super) fn new(event: Event, id: SessionId) -> Self {
        let line = format!("{event} session={id}");
        Self { event, line, fields: format!("BCMR_SESSION={id}\n") }
    }

    /// Adds a field.
    pub(super) fn field(&mut self, name: &str, value: &str) {
        let value = escaped(value);
        // Writing to a String cannot fail.
        let _ = write!(self.line, " {name}=\"{value}\"");
        let _ = writeln!(self.fields, "BCMR_{}={value}", name.to_ascii_uppercase());
    }

    /// The datagram for /dev/log (RFC 3164, section 4.1, without the parts that syslogd adds).
    pub(super) fn syslog(&self) -> Vec<u8> {
        let priority = FACILITY * 8 + self.event.severity();
        format!("<{priority}>bcmr-serve[{}]: {}", std::process::id(), self.line).into_bytes()
    }

    /// The datagram for the journal (systemd's JOURNAL_NATIVE_PROTOCOL), with the fields that all records of the
    /// session have: who filters by field sees no other record beside this one.
    pub(super) fn journal(&self, context: &str) -> Vec<u8> {
        let Self { event, line, fields } = self;
        format!(
            "MESSAGE={line}\nMESSAGE_ID={}\nPRIORITY={}\nSYSLOG_FACILITY={FACILITY}\n\
             SYSLOG_IDENTIFIER=bcmr-serve\n{context}{fields}",
            event.message_id(),
            event.severity(),
        )
        .into_bytes()
    }
}

/// A field of the journal alone.
pub(super) fn context_field(name: &str, value: &str) -> String {
    format!("BCMR_{name}={}\n", escaped(value))
}

/// A value on one line, with an end that it cannot forge, in printable ASCII.
fn escaped(value: &str) -> String {
    let start = &value[..value.floor_char_boundary(VALUE)];
    let more = if start.len() < value.len() { "..." } else { "" };
    format!("{}{more}", start.escape_default())
}

#[cfg(test)]
mod tests {
    use super::escaped;

    #[test]
    fn oferchen_rsync_7296_a_path_stays_one_quoted_value() {
        let escaped = escaped("a\nFAKE ok\" event=\"x\u{1b}[0m\u{202e}\\");
        assert_eq!(escaped, "a\\nFAKE ok\\\" event=\\\"x\\u{1b}[0m\\u{202e}\\\\");
        assert!(escaped.bytes().all(|b| (0x20..0x7f).contains(&b)));
    }

    #[test]
    fn a_long_value_is_cut() {
        assert_eq!(escaped(&"ü".repeat(2000)).len(), 512 * 6 + 3);
    }
}
