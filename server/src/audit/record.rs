use std::fmt::Write;

use super::event::Event;
use crate::id::SessionId;

/// Facility authpriv (RFC 5424, section 6.2.1).
const FACILITY: u8 = 10;

/// Bytes of a value that are recorded.
const VALUE: usize = 1024;

/// How a record is written.
#[derive(Clone, Copy, Debug)]
pub(super) enum Form<'a> {
    /// A line for /dev/log (RFC 3164, section 4.1, without the parts that syslogd adds).
    Line,
    /// Fields for the journal (systemd's JOURNAL_NATIVE_PROTOCOL), with those that all records of the session have:
    /// who filters by field sees no other record beside this one.
    Fields { context: &'a str },
}

/// One record, built where it is sent from. A field's name is lower case; the journal has it as `BCMR_NAME`, and in
/// MESSAGE as well. A value is escaped to printable ASCII, so that no client can end its record or begin one of its
/// own.
#[derive(Debug)]
pub(super) struct Record<'b> {
    journal: bool,
    /// The line, or MESSAGE.
    line: &'b mut String,
    /// What comes after MESSAGE.
    fields: &'b mut String,
}

impl<'b> Record<'b> {
    /// A record in two buffers, whose content goes.
    pub(super) fn new(
        form: Form<'_>,
        event: Event,
        id: SessionId,
        line: &'b mut String,
        fields: &'b mut String,
    ) -> Self {
        line.clear();
        fields.clear();
        // Writing to a String cannot fail.
        let _ = match form {
            Form::Line => {
                let priority = FACILITY * 8 + event.severity();
                write!(line, "<{priority}>bcmr-serve[{}]: {event} session={id}", std::process::id())
            }
            Form::Fields { context } => {
                let (message, severity) = (event.message_id(), event.severity());
                let _ = write!(
                    fields,
                    "\nMESSAGE_ID={message}\nPRIORITY={severity}\nSYSLOG_FACILITY={FACILITY}\n\
                     SYSLOG_IDENTIFIER=bcmr-serve\n{context}BCMR_SESSION={id}\n"
                );
                write!(line, "MESSAGE={event} session={id}")
            }
        };
        Self { journal: matches!(form, Form::Fields { .. }), line, fields }
    }

    /// Adds a field.
    pub(super) fn field(&mut self, name: &str, value: &str) {
        self.line.extend([" ", name, "=\""]);
        let start = self.line.len();
        escape(value, self.line);
        if self.journal {
            self.fields.push_str("BCMR_");
            self.fields.extend(name.chars().map(|c| c.to_ascii_uppercase()));
            self.fields.extend(["=", &self.line[start..], "\n"]);
        }
        self.line.push('"');
    }

    /// The whole datagram.
    pub(super) fn finish(self) -> &'b [u8] {
        self.line.push_str(self.fields);
        self.line.as_bytes()
    }
}

/// A field of the journal alone.
pub(super) fn context_field(name: &str, value: &str) -> String {
    let mut field = format!("BCMR_{name}=");
    escape(value, &mut field);
    field + "\n"
}

/// Adds a value on one line, with an end that it cannot forge, in printable ASCII.
fn escape(value: &str, out: &mut String) {
    let start = &value[..value.floor_char_boundary(VALUE)];
    // Nearly every value is as it should be, and is added in one piece.
    if start.bytes().all(|b| (0x20..0x7f).contains(&b) && !matches!(b, b'\\' | b'"' | b'\'')) {
        out.push_str(start);
    } else {
        out.extend(start.escape_default());
    }
    if start.len() < value.len() {
        out.push_str("...");
    }
}

#[cfg(test)]
mod tests {
    use super::escape;

    fn escaped(value: &str) -> String {
        let mut out = String::new();
        escape(value, &mut out);
        out
    }

    #[test]
    fn oferchen_rsync_7296_a_path_stays_one_quoted_value() {
        let escaped = escaped("a\nFAKE ok\" event=\"x\u{1b}[0m\u{202e}\\");
        assert_eq!(escaped, "a\\nFAKE ok\\\" event=\\\"x\\u{1b}[0m\\u{202e}\\\\");
        assert!(escaped.bytes().all(|b| (0x20..0x7f).contains(&b)));
    }

    #[test]
    fn every_character_is_escaped_alike_alone_and_among_others() {
        for c in (0..=0x2ff).filter_map(char::from_u32) {
            assert_eq!(escaped(&c.to_string()), c.escape_default().to_string());
            assert_eq!(escaped(&format!("\n{c}")), format!("\\n{}", c.escape_default()));
        }
    }

    #[test]
    fn a_long_value_is_cut() {
        assert_eq!(escaped(&"ü".repeat(2000)).len(), 512 * 6 + 3);
        assert_eq!(escaped(&"a".repeat(2000)).len(), 1024 + 3);
    }
}
