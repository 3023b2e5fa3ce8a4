//! Listings: what is built is what is read, up to the limits of one frame.

use bcmr_wire::frame::FrameReader;
use bcmr_wire::limits::{HEADER, MAX_COUNT, MAX_PAYLOAD};
use bcmr_wire::list::{Entry, List, ListBuilder};
use bcmr_wire::{Message, Type};
use proptest::prelude::*;

use crate::parts::{OwnedEntry, any_entry, as_entry, tries};

fn built(entries: &[OwnedEntry]) -> Vec<u8> {
    let mut list = ListBuilder::new();
    for entry in entries {
        list.push(&as_entry(entry)).unwrap();
    }
    list.finish()
}

/// Reads the one frame of a listing and hands it to `judge`.
fn read<T>(frame: &[u8], judge: impl FnOnce(List<'_>) -> T) -> T {
    let mut reader = FrameReader::new(frame);
    let header = reader.header().unwrap().unwrap();
    assert_eq!(HEADER + header.body, frame.len(), "the frame's length is not its own");
    match reader.message(header).unwrap() {
        Message::ListResponse(list) => judge(list),
        other => panic!("a listing is read as {other:?}"),
    }
}

proptest! {
    #![proptest_config(tries(100))]

    #[test]
    fn any_listing_is_read_as_it_was_built(entries in prop::collection::vec(any_entry(), 0..60)) {
        let frame = built(&entries);
        let owned = |e: Entry<'_>| (e.path.to_owned(), e.size, e.mtime, e.is_dir);
        read(&frame, |list| {
            assert_eq!(list.iter().map(owned).collect::<Vec<_>>(), entries);
            assert_eq!((list.len(), list.is_empty()), (entries.len(), entries.is_empty()));
            let mut again = Vec::new();
            Message::ListResponse(list).encode(&mut again).unwrap();
            assert_eq!(again, frame, "a listing that was read encodes to other bytes");
        });
    }
}

/// cap-std turned times before the epoch into others; the peer's field is signed and 64 bits wide.
#[test]
fn cap_std_328_mtimes_before_the_epoch_and_far_after_stay() {
    let mtimes = [-1, 0, i64::MIN, i64::MAX, 1 << 40, -(1 << 40)];
    let entries: Vec<OwnedEntry> = mtimes.map(|mtime| (mtime.to_string(), u64::MAX, mtime, true)).into();
    read(&built(&entries), |list| {
        assert_eq!(list.iter().map(|e| e.mtime).collect::<Vec<_>>(), mtimes);
    });
}

#[test]
fn an_empty_listing_is_a_frame_too() {
    assert_eq!(built(&[]), [5, 0, 0, 0, 0x87, 0, 0, 0, 0]);
    assert_eq!(ListBuilder::default().finish(), built(&[]));
}

/// The peer sent such listings in frames that no reader takes; 300 000 entries and more must end in an error.
#[test]
fn bcmr_0_7_2_a_listing_is_refused_at_the_entry_that_would_pass_16_mib() {
    let entry = Entry { path: "", size: 0, mtime: 0, is_dir: false };
    let mut list = ListBuilder::new();
    for at in 0..798_914 {
        list.push(&entry).unwrap_or_else(|e| panic!("entry {at}: {e}"));
    }
    let refused = list.push(&entry).unwrap_err();
    assert!(refused.to_string().contains("16 MiB"), "{refused}");
    assert_eq!(list.push(&entry), Err(refused), "refused once and then taken");

    let frame = list.finish();
    assert!(frame.len() - 4 <= MAX_PAYLOAD && frame.len() - 4 + 21 > MAX_PAYLOAD);
    read(&frame, |list| {
        assert_eq!(list.len(), 798_914);
        assert_eq!(list.iter().count(), 798_914);
        assert!(list.iter().all(|read| read == entry));
    });
    const { assert!(798_914 < MAX_COUNT, "the frame's end comes before the count's") };
}

#[test]
fn a_listing_may_fill_its_frame_to_the_last_byte() {
    let room = MAX_PAYLOAD - 1 - 4 - 21;
    let path = "x".repeat(room + 1);
    let entry = |path| Entry { path, size: 1, mtime: -1, is_dir: true };
    let mut list = ListBuilder::new();
    assert!(list.push(&entry(&path)).is_err(), "one byte too long");
    list.push(&entry(&path[1..])).unwrap();
    assert!(list.push(&entry("")).is_err());
    let frame = list.finish();
    assert_eq!(frame.len(), 4 + MAX_PAYLOAD);
    read(&frame, |list| assert_eq!(list.iter().collect::<Vec<_>>(), [entry(&path[1..])]));
}

#[test]
fn a_listing_with_a_broken_entry_anywhere_is_refused_whole() {
    let entries: Vec<OwnedEntry> = (0..20).map(|at| (format!("f{at}"), at, 0, false)).collect();
    let body = built(&entries).split_off(HEADER);
    assert!(Message::decode(Type::ListResponse, &body).is_ok());
    let mut at = 4;
    for (path, ..) in &entries {
        let mut broken = body.clone();
        broken[at + 4] = 0xff;
        assert!(Message::decode(Type::ListResponse, &broken).is_err(), "{path} is not UTF-8");
        at += 21 + path.len();
    }
}
