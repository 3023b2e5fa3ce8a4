//! One published file in the ledger, as bytes.

use super::ledger::Amount;

/// A file that was published, or is about to be.
#[derive(Clone, PartialEq, Eq, Debug)]
pub(super) struct Record {
    pub(super) inode: u64,
    pub(super) size: u64,
    /// From the root, without symbolic links.
    pub(super) path: String,
}

/// Stands before a record that counts, and before one that does not any more.
pub(super) const COUNTS: u8 = 1;
pub(super) const GONE: u8 = 0;

/// Mark, length of the path, inode, size.
const FIXED: usize = 1 + 2 + 8 + 8;

impl Record {
    pub(super) const fn amount(&self) -> Amount {
        Amount { bytes: self.size, entries: 1 }
    }

    /// A number that stands for this record and, as far as chance goes, for no other; never 0.
    pub(super) fn tag(&self) -> u64 {
        number(&self.encode())
    }

    /// The bytes of a record that counts: mark, then little end first the path's length, inode, size, path.
    pub(super) fn encode(&self) -> Vec<u8> {
        // Paths have at most 4095 bytes.
        let len = u16::try_from(self.path.len()).unwrap_or(u16::MAX);
        let mut bytes = vec![COUNTS];
        bytes.extend(len.to_le_bytes());
        bytes.extend(self.inode.to_le_bytes());
        bytes.extend(self.size.to_le_bytes());
        bytes.extend(&self.path.as_bytes()[..usize::from(len)]);
        bytes
    }
}

/// A number that stands for a path in the same way.
pub(super) fn tag_of(path: &str) -> u64 {
    number(path.as_bytes())
}

fn number(bytes: &[u8]) -> u64 {
    blake3::hash(bytes).as_bytes().first_chunk().map_or(1, |bytes| u64::from_le_bytes(*bytes) | 1)
}

/// A bucket's records that count, each with its place, and where the next one goes. What a crash left half
/// written at the end is overwritten then.
pub(super) fn decode(bytes: &[u8]) -> (Vec<(u64, Record)>, u64) {
    let (mut records, mut at) = (Vec::new(), 0);
    while let Some((mark, record, len)) = one(&bytes[at..]) {
        if mark == COUNTS {
            records.push((at as u64, record));
        }
        at += len;
    }
    (records, at as u64)
}

fn one(bytes: &[u8]) -> Option<(u8, Record, usize)> {
    let (fixed, rest) = bytes.split_at_checked(FIXED)?;
    let number = |from: usize| Some(u64::from_le_bytes(*fixed[from..].first_chunk()?));
    let len = usize::from(u16::from_le_bytes([fixed[1], fixed[2]]));
    let path = rest.get(..len).filter(|path| !path.is_empty())?;
    let path = String::from_utf8(path.to_vec()).ok()?;
    Some((fixed[0], Record { inode: number(3)?, size: number(11)?, path }, FIXED + len))
}

#[cfg(test)]
mod tests {
    use super::*;

    fn record(path: &str, inode: u64) -> Record {
        Record { inode, size: inode * 10, path: path.to_owned() }
    }

    #[test]
    fn what_was_written_is_read_and_what_is_gone_or_torn_is_not() {
        let (a, b, c) = (record("a/b\n\0x", 1), record("ü", u64::MAX / 10), record(&"p".repeat(4095), 3));
        let mut bytes = [a.encode(), b.encode(), c.encode()].concat();
        let (all, end) = decode(&bytes);
        assert_eq!(
            all.iter().map(|(_, record)| record.clone()).collect::<Vec<_>>(),
            [a.clone(), b, c.clone()]
        );
        assert_eq!(end, bytes.len() as u64);
        let second = usize::try_from(all[1].0).unwrap();
        bytes[second] = GONE;
        assert_eq!(decode(&bytes).0.len(), 2);
        for cut in 1..c.encode().len() {
            let (left, end) = decode(&bytes[..bytes.len() - cut]);
            assert_eq!((left.len(), end), (1, all[2].0), "{cut}");
        }
        assert_eq!(decode(&[0; 100]), (Vec::new(), 0));
    }
}
