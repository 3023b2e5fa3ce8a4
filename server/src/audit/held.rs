use std::collections::VecDeque;
use std::os::fd::AsFd;

use rustix::io::{Errno, write};

/// Bytes that are written without waiting for more.
const MANY: usize = 32 * 1024;

/// Bytes that are held for a log that takes nothing now.
const MOST: usize = 128 * 1024;

/// Records that wait to be written together, first come first.
#[derive(Debug, Default)]
pub(super) struct Held {
    bytes: Vec<u8>,
    lengths: VecDeque<usize>,
    blocked: bool,
}

impl Held {
    pub(super) fn is_empty(&self) -> bool {
        self.lengths.is_empty()
    }

    pub(super) const fn are_many(&self) -> bool {
        self.bytes.len() >= MANY
    }

    /// Whether the log had no room when it was last written to.
    pub(super) const fn is_blocked(&self) -> bool {
        self.blocked
    }

    /// Adds a record; false where there is no room.
    pub(super) fn push(&mut self, record: &[u8]) -> bool {
        let room = self.bytes.len() + record.len() <= MOST;
        if room {
            self.bytes.extend_from_slice(record);
            self.lengths.push_back(record.len());
        }
        room
    }

    /// Writes what the log has room for; returns how many records are lost since it can take no more at all.
    pub(super) fn write(&mut self, log: impl AsFd) -> u64 {
        let (mut done, mut lost) = (0, 0);
        self.blocked = false;
        while let Some(&length) = self.lengths.front() {
            match write(&log, &self.bytes[done..done + length]) {
                Ok(_) => {}
                Err(Errno::AGAIN) => {
                    self.blocked = true;
                    break;
                }
                Err(_) => lost += 1,
            }
            done += length;
            self.lengths.pop_front();
        }
        self.bytes.drain(..done);
        lost
    }

    /// Gives up what is held; returns how many records that were.
    pub(super) fn give_up(&mut self) -> u64 {
        self.bytes.clear();
        self.blocked = false;
        self.lengths.drain(..).count() as u64
    }
}

#[cfg(test)]
mod tests {
    use std::os::unix::net::UnixDatagram;

    use super::*;

    fn pair() -> (UnixDatagram, UnixDatagram) {
        let (log, taker) = UnixDatagram::pair().unwrap();
        log.set_nonblocking(true).unwrap();
        taker.set_nonblocking(true).unwrap();
        (log, taker)
    }

    fn taken(taker: &UnixDatagram) -> Vec<String> {
        let mut buffer = [0; MOST];
        std::iter::from_fn(|| {
            taker.recv(&mut buffer).ok().map(|n| String::from_utf8(buffer[..n].into()).unwrap())
        })
        .collect()
    }

    #[test]
    fn what_the_log_has_no_room_for_stays_and_comes_later_in_order() {
        let (log, taker) = pair();
        let mut held = Held::default();
        let records: Vec<_> = (0..5000).map(|i| format!("record {i}")).collect();
        assert!(records.iter().all(|record| held.push(record.as_bytes())));
        let mut all = Vec::new();
        while !held.is_empty() {
            assert_eq!(held.write(&log), 0);
            assert_eq!(held.is_blocked(), !held.is_empty());
            let some = taken(&taker);
            assert!(!some.is_empty());
            all.extend(some);
        }
        assert!(all == records);
    }

    #[test]
    fn there_is_an_end_to_what_is_held() {
        let mut held = Held::default();
        let pushed = (0..).take_while(|_| held.push(&[b'x'; 1000])).count();
        assert_eq!((pushed, held.give_up()), (MOST / 1000, (MOST / 1000) as u64));
        assert!(held.is_empty() && held.push(b"again"));
    }

    #[test]
    fn what_a_log_that_is_gone_does_not_take_is_lost_and_counted() {
        let (log, taker) = pair();
        drop(taker);
        let mut held = Held::default();
        assert!(held.push(b"one") && held.push(b"two"));
        assert_eq!(held.write(&log), 2);
        assert!(held.is_empty() && !held.is_blocked());
    }
}
