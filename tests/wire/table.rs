//! The protocol's message table written down a second time, from the document and not from the code, so that
//! tests can find a field in a frame without the code that they judge.

use std::ops::Range;

/// What a body consists of, in order.
#[derive(Clone, Copy, PartialEq)]
pub(crate) enum Field {
    /// A fixed number of bytes.
    Fixed(usize),
    /// A u32 length and that many bytes of UTF-8.
    Text,
    /// A u32 length and that many bytes.
    Bytes,
    /// A tag, and a u64 where the tag is 1.
    OptNumber,
    /// A tag, and a text where the tag is 1.
    OptText,
    /// A u32 count and that many hashes of 32 bytes.
    Hashes,
    /// A u32 count and that many entries: text, u64, i64, bool.
    Entries,
}

/// One row of the message table.
pub(crate) struct Row {
    pub(crate) code: u8,
    pub(crate) name: &'static str,
    /// Bytes of the longest body that is legal.
    pub(crate) longest: usize,
    pub(crate) fields: &'static [Field],
}

const fn row(code: u8, name: &'static str, longest: usize, fields: &'static [Field]) -> Row {
    Row { code, name, longest, fields }
}

const SMALL: usize = 65_536;
const WHOLE: usize = 16_777_215;
const BLOCK: usize = 4_194_304;

use Field::{Bytes, Entries, Fixed, Hashes, OptNumber, OptText, Text};

/// Bytes of a u64 or i64.
const NUMBER: Field = Fixed(8);
/// Bytes of a u8 or bool.
const BYTE: Field = Fixed(1);
/// Bytes of a u32 that counts nothing in the frame.
const WORD: Field = Fixed(4);
/// A hash, a key, a nonce.
const ARRAY: Field = Fixed(32);

pub(crate) const ROWS: &[Row] = &[
    row(0x01, "Hello", SMALL, &[BYTE, BYTE]),
    row(0x02, "List", SMALL, &[Text]),
    row(0x03, "Stat", SMALL, &[Text]),
    row(0x04, "Hash", SMALL, &[Text, NUMBER, OptNumber]),
    row(0x05, "Get", SMALL, &[Text, NUMBER]),
    row(0x06, "Put", SMALL, &[Text, NUMBER, NUMBER, BYTE]),
    row(0x07, "Mkdir", SMALL, &[Text]),
    row(0x08, "Resume", SMALL, &[Text]),
    row(0x09, "Done", SMALL, &[]),
    row(0x0a, "HaveBlocks", WHOLE, &[WORD, Hashes]),
    row(0x0b, "OpenDirectChannel", SMALL, &[]),
    row(0x0c, "AuthHello", SMALL, &[ARRAY]),
    row(0x0d, "PutChunked", SMALL, &[Text, NUMBER, NUMBER]),
    row(0x0e, "GetChunked", SMALL, &[Text, NUMBER, NUMBER]),
    row(0x0f, "Truncate", SMALL, &[Text, NUMBER]),
    row(0x81, "Welcome", SMALL, &[BYTE, BYTE]),
    row(0x82, "Ok", SMALL, &[OptText]),
    row(0x83, "Error", WHOLE, &[Text]),
    row(0x84, "Data", 4 + BLOCK, &[Bytes]),
    row(0x85, "StatResponse", SMALL, &[NUMBER, NUMBER, BYTE]),
    row(0x86, "HashResponse", SMALL, &[Text]),
    row(0x87, "ListResponse", WHOLE, &[Entries]),
    row(0x88, "ResumeResponse", SMALL, &[NUMBER, OptText]),
    row(0x89, "DataCompressed", 9 + BLOCK, &[BYTE, WORD, Bytes]),
    // 524 287 hashes fit a HaveBlocks frame; their bits are 64 KiB, and a length stands before them.
    row(0x8a, "MissingBlocks", 4 + SMALL, &[Bytes]),
    row(0x8b, "DirectChannelReady", SMALL, &[Text, ARRAY]),
    row(0x8c, "AuthChallenge", SMALL, &[ARRAY]),
];

pub(crate) fn row_of(code: u8) -> Option<&'static Row> {
    ROWS.iter().find(|row| row.code == code)
}

/// Where the variable parts of one well-formed body stand.
#[derive(Default)]
pub(crate) struct Places {
    /// Where each u32 stands that says how long or how many.
    pub(crate) lengths: Vec<usize>,
    /// The bytes of each string.
    pub(crate) texts: Vec<Range<usize>>,
    /// Where each tag of an optional field stands.
    pub(crate) tags: Vec<usize>,
    end: usize,
}

impl Places {
    pub(crate) fn in_body(row: &Row, body: &[u8]) -> Self {
        let mut places = Self::default();
        for &field in row.fields {
            places.walk(field, body);
        }
        assert_eq!(places.end, body.len(), "{}: the body is longer than its row", row.name);
        places
    }

    fn walk(&mut self, field: Field, body: &[u8]) {
        match field {
            Fixed(len) => self.end += len,
            Bytes => self.end += self.length(body),
            Text => {
                let len = self.length(body);
                self.texts.push(self.end..self.end + len);
                self.end += len;
            }
            OptNumber | OptText => {
                self.tags.push(self.end);
                self.end += 1;
                if body[self.end - 1] == 1 {
                    self.walk(if field == OptText { Text } else { NUMBER }, body);
                }
            }
            Hashes => self.end += 32 * self.length(body),
            Entries => {
                for _ in 0..self.length(body) {
                    for field in [Text, NUMBER, NUMBER, BYTE] {
                        self.walk(field, body);
                    }
                }
            }
        }
    }

    fn length(&mut self, body: &[u8]) -> usize {
        self.lengths.push(self.end);
        let length = body[self.end..][..4].try_into().unwrap();
        self.end += 4;
        u32::from_le_bytes(length) as usize
    }
}
