//! The frame reader: chunks, ends, limits.

use std::io::{self, Read};

use bcmr_tests::content::noise;
use bcmr_wire::frame::{DataHeader, FrameError, FrameReader};
use bcmr_wire::limits::{MAX_PAYLOAD, MAX_UNAUTHENTICATED};
use bcmr_wire::message::{Algo, Malformed};
use bcmr_wire::{Message, Type};
use proptest::prelude::*;

use crate::parts::{Parts, any_parts, golden_frames, tries};
use crate::streams::{Chunks, Outcome, Silence, by_messages, by_pieces, by_skipping, message, refused};
use crate::table::ROWS;

fn frame(message: &Message<'_>) -> Vec<u8> {
    let mut frame = Vec::new();
    message.encode(&mut frame).unwrap();
    frame
}

/// The length prefix and type byte of a frame whose payload is `length` bytes.
fn header(length: usize, code: u8) -> Vec<u8> {
    let mut header = u32::try_from(length).unwrap().to_le_bytes().to_vec();
    header.push(code);
    header
}

/// Every golden frame, and between them blocks that are longer than the reader's buffer.
fn long_stream() -> (Vec<u8>, Vec<Outcome>) {
    let (mut stream, mut seen) = (Vec::new(), Vec::new());
    for (at, (_, golden)) in golden_frames("messages").into_iter().enumerate() {
        let kind = Type::from_code(golden[4]).unwrap();
        seen.push(message(&Message::decode(kind, &golden[5..]).unwrap()));
        stream.extend(golden);
        if at % 16 == 0 {
            let payload = noise(300_000 + at, at as u64);
            seen.push(message(&Message::Data { payload: &payload }));
            stream.extend(frame(&Message::Data { payload: &payload }));
        }
    }
    seen.push(Outcome::End);
    (stream, seen)
}

#[test]
fn frames_are_the_same_however_the_stream_is_cut() {
    let (stream, seen) = long_stream();
    assert!(seen.len() > 40);
    for sizes in [&[usize::MAX][..], &[1], &[0, 1, 0, 0, 2], &[4, 1], &[5, 3], &[1_000, 1], &[266_240, 7]] {
        assert_eq!(by_messages(Chunks::new(&stream, sizes)), seen, "messages in chunks of {sizes:?}");
        assert_eq!(by_pieces(Chunks::new(&stream, sizes)), seen, "pieces in chunks of {sizes:?}");
    }
}

proptest! {
    #![proptest_config(tries(60))]

    #[test]
    fn any_messages_are_the_same_in_any_chunks(
        parts in prop::collection::vec(any_parts(), 0..12),
        sizes in prop::collection::vec(0..400_usize, 1..20),
    ) {
        prop_assume!(sizes.iter().any(|&size| size > 0));
        let stream: Vec<u8> = parts.iter().flat_map(Parts::frame).collect();
        let mut seen: Vec<Outcome> = parts.iter().map(|parts| message(&parts.message())).collect();
        seen.push(Outcome::End);
        prop_assert_eq!(by_messages(Chunks::new(&stream, &sizes)), seen.clone());
        prop_assert_eq!(by_pieces(Chunks::new(&stream, &sizes)), seen);
    }

    #[test]
    fn any_bytes_are_judged_the_same_in_any_chunks(
        bytes in prop::collection::vec(any::<u8>(), 0..40),
        parts in any_parts(),
        at in any::<prop::sample::Index>(),
        sizes in prop::collection::vec(0..40_usize, 1..20),
    ) {
        prop_assume!(sizes.iter().any(|&size| size > 0));
        let mut stream = parts.frame();
        stream.splice(at.index(stream.len()).., bytes);
        let seen = by_messages(&stream[..]);
        prop_assert_eq!(by_messages(Chunks::new(&stream, &sizes)), seen);
        let seen = by_pieces(&stream[..]);
        prop_assert_eq!(by_pieces(Chunks::new(&stream, &sizes)), seen);
    }

    /// The two ways to take a data frame may refuse for different reasons, never only one of them.
    #[test]
    fn a_data_body_is_accepted_by_pieces_exactly_where_it_is_as_a_message(
        compressed: bool,
        body in prop::collection::vec(0..4_u8, 0..30),
    ) {
        let kind = if compressed { Type::DataCompressed } else { Type::Data };
        let stream = [&header(1 + body.len(), kind as u8), &body[..]].concat();
        let accepted = |seen: &[Outcome]| seen.last() == Some(&Outcome::End);
        let (whole, pieces) = (by_messages(&stream[..]), by_pieces(&stream[..]));
        prop_assert_eq!(accepted(&whole), accepted(&pieces), "{:?} {:?}", whole, pieces);
        if accepted(&whole) {
            prop_assert_eq!(whole, pieces);
        }
    }
}

/// bcmr 0.7.2 takes an end after one to three bytes of a length for an end between frames.
#[test]
fn bcmr_0_7_2_every_truncation_of_every_golden_frame_is_a_broken_link() {
    let truncated = [refused(&FrameError::Truncated)];
    for (name, golden) in golden_frames("messages") {
        assert_eq!(by_messages(&golden[..0]), [Outcome::End], "an empty stream ends between frames");
        for cut in 1..golden.len() {
            let short = &golden[..cut];
            assert_eq!(by_messages(short), truncated, "{name} cut at {cut}");
            assert_eq!(by_pieces(short), truncated, "{name} cut at {cut}, by pieces");
            assert_eq!(by_skipping(short), truncated.clone().map(Err), "{name} cut at {cut}, skipped");
            let after_another = [&frame(&Message::Done), short].concat();
            let seen = by_messages(&after_another[..]);
            assert_eq!(seen[0], message(&Message::Done));
            assert_eq!(seen[1..], truncated, "{name} cut at {cut}, second");
        }
    }
    assert!(!FrameError::Truncated.is_violation(), "a broken link is not the other end's fault");
}

#[test]
fn a_truncated_long_body_is_a_broken_link() {
    let whole = frame(&Message::Data { payload: &noise(700_000, 1) });
    for cut in [266_239, 266_240, 266_241, 266_245, 400_000, whole.len() - 1] {
        for seen in [by_messages(&whole[..cut]), by_pieces(&whole[..cut])] {
            assert_eq!(seen, [refused(&FrameError::Truncated)], "cut at {cut}");
        }
    }
}

#[test]
fn bodies_that_are_passed_over_leave_the_next_frame_whole() {
    let (stream, seen) = long_stream();
    let kinds = |seen: &[Outcome]| -> Vec<Type> {
        let kind = |outcome: &Outcome| match outcome {
            Outcome::Message(kind, _) => Some(*kind),
            _ => None,
        };
        seen.iter().filter_map(kind).collect()
    };
    for sizes in [&[usize::MAX][..], &[1_003], &[0, 77]] {
        let skipped = by_skipping(Chunks::new(&stream, sizes));
        assert_eq!(skipped.last(), Some(&Err(Outcome::End)));
        assert_eq!(skipped.into_iter().filter_map(Result::ok).collect::<Vec<_>>(), kinds(&seen));
    }
}

/// What comes of a stream that gives `bytes` and then fails if it is asked for more.
fn refusal_without_reading_on(bytes: &[u8]) -> FrameError {
    let mut reader = FrameReader::new(bytes.chain(Silence));
    reader.header().unwrap_err()
}

#[test]
fn a_length_of_0_is_refused_before_anything_more_is_read() {
    let why = refusal_without_reading_on(&[0; 4]);
    assert!(matches!(why, FrameError::Empty), "{why:?}");
    assert!(why.is_violation());
}

#[test]
fn a_length_above_16_mib_is_refused_before_anything_more_is_read() {
    for length in [MAX_PAYLOAD + 1, 1 << 31, u32::MAX as usize] {
        let why = refusal_without_reading_on(&header(length, 0)[..4]);
        assert!(
            matches!(why, FrameError::Oversized { length: told, limit: MAX_PAYLOAD } if told == length),
            "{why:?}"
        );
        assert!(why.is_violation());
    }
}

#[test]
fn a_frame_of_exactly_16_mib_is_read_and_one_byte_more_is_refused() {
    let text = "x".repeat(MAX_PAYLOAD - 5);
    let stream = frame(&Message::Error { message: &text });
    assert_eq!(stream.len(), 4 + MAX_PAYLOAD);
    let mut reader = FrameReader::new(&stream[..]);
    let read = reader.header().unwrap().unwrap();
    assert_eq!(reader.message(read).unwrap(), Message::Error { message: &text });

    let why = refusal_without_reading_on(&header(MAX_PAYLOAD + 1, Type::Error as u8));
    assert!(matches!(why, FrameError::Oversized { .. }), "{why:?}");
}

#[test]
fn a_body_longer_than_its_type_can_need_is_refused_before_it_is_read() {
    for row in ROWS {
        let mut reader = FrameReader::new(io::Cursor::new(header(1 + row.longest, row.code)).chain(Silence));
        let legal = reader.header().unwrap().unwrap();
        assert_eq!((legal.kind as u8, legal.body), (row.code, row.longest), "{}", row.name);

        let why = refusal_without_reading_on(&header(2 + row.longest, row.code));
        assert!(matches!(why, FrameError::Oversized { .. }), "{}: {why:?}", row.name);
    }
}

#[test]
fn an_unassigned_type_is_refused_before_its_body_is_read() {
    let assigned = |code: &u8| ROWS.iter().any(|row| row.code == *code);
    for code in (0..=u8::MAX).filter(|code| !assigned(code)) {
        let why = refusal_without_reading_on(&header(MAX_PAYLOAD, code));
        assert!(matches!(why, FrameError::UnknownType(told) if told == code), "{why:?}");
        assert!(why.is_violation());
    }
}

#[test]
fn a_block_of_4_mib_is_legal_and_one_byte_more_is_refused() {
    let block = noise(4_194_304, 4);
    let message = Message::Data { payload: &block };
    let stream = frame(&message);
    assert_eq!(by_pieces(&stream[..]), [crate::streams::message(&message), Outcome::End]);

    let stream = frame(&Message::Data { payload: &[&block[..], b"x"].concat() });
    assert!(matches!(&by_pieces(&stream[..])[..], [Outcome::Refused(why)] if why.starts_with("Oversized")));
}

#[test]
fn a_compressed_block_may_declare_4_mib_and_not_one_byte_more() {
    let declares = |original_size| {
        let stream = frame(&Message::DataCompressed { algo: Algo::Zstd, original_size, payload: b"x" });
        let mut reader = FrameReader::new(&stream[..]);
        let header = reader.header().unwrap().unwrap();
        reader.data_header(header).map(Option::unwrap)
    };
    let legal = DataHeader::Compressed { algo: Algo::Zstd, original_size: 4_194_304, len: 1 };
    assert_eq!(declares(4_194_304).unwrap(), legal);
    for size in [0, 4_194_305, u32::MAX] {
        let why = declares(size).unwrap_err();
        assert!(matches!(why, FrameError::Malformed { why: Malformed::OriginalSize, .. }), "{size}: {why:?}");
    }
}

#[test]
fn a_data_frame_is_judged_before_its_content_arrives() {
    let whole = frame(&Message::Data { payload: &[7; 1_000] });
    let mut reader = FrameReader::new(whole[..9].chain(Silence));
    let header = reader.header().unwrap().unwrap();
    assert_eq!(reader.data_header(header).unwrap(), Some(DataHeader::Raw(1_000)));

    for (inner, expected) in
        [(999_u32, Malformed::Trailing), (1_001, Malformed::Short), (u32::MAX, Malformed::Short)]
    {
        let mut wrong = whole[..9].to_vec();
        wrong[5..].copy_from_slice(&inner.to_le_bytes());
        let mut reader = FrameReader::new((&wrong[..]).chain(Silence));
        let header = reader.header().unwrap().unwrap();
        let why = reader.data_header(header).unwrap_err();
        assert!(matches!(why, FrameError::Malformed { why, .. } if why == expected), "{inner}: {why:?}");
    }
}

#[test]
fn what_is_no_data_frame_is_left_whole_by_the_question() {
    let list = Message::List { path: "dir" };
    let stream = frame(&list);
    let mut reader = FrameReader::new(&stream[..]);
    let header = reader.header().unwrap().unwrap();
    assert_eq!(reader.data_header(header).unwrap(), None);
    assert_eq!(reader.message(header).unwrap(), list);
}

#[test]
fn a_limit_on_bodies_holds_for_every_type_until_it_is_lifted() {
    let bytes = |len: usize| header(1 + len, Type::HaveBlocks as u8);
    let mut reader = FrameReader::new(io::Cursor::new(bytes(MAX_UNAUTHENTICATED)));
    reader.limit_body(MAX_UNAUTHENTICATED);
    assert_eq!(reader.header().unwrap().unwrap().body, MAX_UNAUTHENTICATED);

    let mut reader = FrameReader::new(io::Cursor::new(bytes(MAX_UNAUTHENTICATED + 1)));
    reader.limit_body(MAX_UNAUTHENTICATED);
    let why = reader.header().unwrap_err();
    assert!(matches!(why, FrameError::Oversized { length: 66, limit: 65 }), "{why:?}");

    let mut reader = FrameReader::new(io::Cursor::new(bytes(MAX_PAYLOAD)));
    reader.limit_body(usize::MAX);
    assert!(reader.header().is_err(), "a limit can widen what the protocol allows");
}

#[test]
fn what_was_read_ahead_is_held_and_counted() {
    let two = [frame(&Message::List { path: "a" }), frame(&Message::Done)].concat();
    let mut reader = FrameReader::new(&two[..]);
    assert!(reader.holds(0) && !reader.holds(1) && !reader.holds_frame());
    assert_eq!((reader.bytes_taken(), reader.read_ahead()), (0, &[][..]));

    let list = reader.header().unwrap().unwrap();
    assert_eq!(reader.bytes_taken(), two.len() as u64, "both frames come in one read");
    assert!(reader.holds(list.body));
    reader.skip(list.body).unwrap();
    assert_eq!(reader.read_ahead(), frame(&Message::Done));
    assert!(reader.holds_frame() && reader.holds(5) && !reader.holds(6));
    assert!(reader.get_ref().is_empty());

    reader.header().unwrap().unwrap();
    assert!(!reader.holds_frame());
    assert!(reader.header().unwrap().is_none());
    assert_eq!(reader.bytes_taken(), two.len() as u64);
}

/// Whether the second of two frames is held once the first was taken, where `second` has arrived of it.
fn holds_second(second: &[u8]) -> bool {
    let stream = [&frame(&Message::Done), second].concat();
    let mut reader = FrameReader::new(&stream[..]);
    reader.header().unwrap().unwrap();
    assert_eq!(reader.read_ahead(), second);
    reader.holds_frame()
}

#[test]
fn a_frame_is_held_when_it_is_here_whole_or_will_be_refused() {
    let whole = frame(&Message::List { path: "dir" });
    assert!(holds_second(&whole));
    for cut in 0..whole.len() {
        assert!(!holds_second(&whole[..cut]), "{cut} of {} bytes", whole.len());
    }
    let to_be_refused =
        [&[0; 4][..], &[0xff; 4], &header(MAX_PAYLOAD + 1, 2)[..4], &header(70_000, 2), &header(9, 0x7f)];
    for refused in to_be_refused {
        assert!(holds_second(refused), "{refused:02x?}");
    }
}

#[test]
fn a_failing_stream_is_no_violation_and_an_interrupted_one_goes_on() {
    let why = FrameReader::new(Silence).header().unwrap_err();
    assert!(matches!(&why, FrameError::Io(e) if e.kind() == io::ErrorKind::Other), "{why:?}");
    assert!(!why.is_violation());

    let done = frame(&Message::Done);
    let mut reader = FrameReader::new(Chunks::new(&done, &[0, 0, 1]));
    assert_eq!(reader.header().unwrap().unwrap().kind, Type::Done);
}
