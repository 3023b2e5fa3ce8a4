//! ListResponse: a whole subtree in one frame, built and read without one allocation per entry.

use crate::field::{Fields, PutFields};
use crate::limits::{LENGTH_PREFIX, MAX_COUNT, MAX_PAYLOAD};
use crate::message::{Malformed, Type};

/// One entry of a listing.
#[derive(Clone, Copy, PartialEq, Eq, Debug)]
pub struct Entry<'a> {
    /// Path relative to the listed directory.
    pub path: &'a str,
    /// Bytes.
    pub size: u64,
    /// Seconds since the epoch.
    pub mtime: i64,
    /// Whether it is a directory.
    pub is_dir: bool,
}

/// Bytes of the shortest entry: an empty path's length, size, mtime, is_dir.
const MIN_ENTRY: usize = 4 + 8 + 8 + 1;

impl<'a> Entry<'a> {
    fn decode(f: &mut Fields<'a>) -> Result<Self, Malformed> {
        Ok(Self { path: f.string()?, size: f.u64()?, mtime: f.i64()?, is_dir: f.bool()? })
    }

    fn encode(&self, out: &mut Vec<u8>) {
        out.put_bytes(self.path.as_bytes());
        out.put_u64(self.size);
        out.put_i64(self.mtime);
        out.push(self.is_dir.into());
    }
}

/// The entries of a ListResponse, each checked when the frame was decoded.
#[derive(Clone, Copy, PartialEq, Debug)]
pub struct List<'a> {
    count: u32,
    entries: &'a [u8],
}

impl<'a> List<'a> {
    pub(crate) fn decode(f: &mut Fields<'a>) -> Result<Self, Malformed> {
        let count = f.count(MIN_ENTRY)?;
        let entries = f.rest();
        for _ in 0..count {
            Entry::decode(f)?;
        }
        let len = entries.len() - f.rest().len();
        #[allow(clippy::cast_possible_truncation, reason = "count is at most MAX_COUNT")]
        Ok(Self { count: count as u32, entries: &entries[..len] })
    }

    pub(crate) fn encode(&self, out: &mut Vec<u8>) {
        out.put_u32(self.count);
        out.extend_from_slice(self.entries);
    }

    /// How many entries there are.
    #[must_use]
    pub const fn len(&self) -> usize {
        self.count as usize
    }

    /// Whether there is no entry.
    #[must_use]
    pub const fn is_empty(&self) -> bool {
        self.count == 0
    }

    /// The entries in the order in which they were sent.
    pub fn iter(&self) -> impl Iterator<Item = Entry<'a>> + use<'a> {
        let mut f = Fields::new(self.entries);
        // decode() has read every entry once, so none fails now.
        (0..self.count).map_while(move |_| Entry::decode(&mut f).ok())
    }
}

/// A listing that outgrew what one frame carries.
#[derive(Clone, Copy, PartialEq, Eq, Debug, thiserror::Error)]
#[error(
    "the listing is longer than one frame carries (16 MiB or 1048576 entries); list its directories one by one"
)]
pub struct ListTooLong;

/// Builds the frame of a ListResponse entry by entry, so that a listing costs its own bytes and no more.
#[derive(Debug)]
pub struct ListBuilder {
    frame: Vec<u8>,
    count: usize,
}

impl Default for ListBuilder {
    fn default() -> Self {
        Self::new()
    }
}

impl ListBuilder {
    const COUNT_AT: usize = LENGTH_PREFIX + 1;

    /// A listing without entries.
    #[must_use]
    pub fn new() -> Self {
        let mut frame = vec![0; LENGTH_PREFIX];
        frame.push(Type::ListResponse as u8);
        frame.put_u32(0);
        Self { frame, count: 0 }
    }

    /// Appends an entry.
    ///
    /// # Errors
    /// [`ListTooLong`], when the frame would pass 16 MiB or the count its limit.
    pub fn push(&mut self, entry: &Entry<'_>) -> Result<(), ListTooLong> {
        let len = self.frame.len() + MIN_ENTRY + entry.path.len() - LENGTH_PREFIX;
        if len > MAX_PAYLOAD || self.count == MAX_COUNT {
            return Err(ListTooLong);
        }
        entry.encode(&mut self.frame);
        self.count += 1;
        Ok(())
    }

    /// The whole frame, length prefix included.
    #[must_use]
    pub fn finish(mut self) -> Vec<u8> {
        #[allow(clippy::cast_possible_truncation, reason = "push() holds both below their limits")]
        let (payload, count) = ((self.frame.len() - LENGTH_PREFIX) as u32, self.count as u32);
        self.frame[..LENGTH_PREFIX].copy_from_slice(&payload.to_le_bytes());
        self.frame[Self::COUNT_AT..Self::COUNT_AT + 4].copy_from_slice(&count.to_le_bytes());
        self.frame
    }
}
