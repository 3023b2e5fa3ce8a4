//! Messages: the table of types, round trips, and what a body may not be.

use bcmr_wire::limits::{HEADER, MAX_PAYLOAD};
use bcmr_wire::message::{Malformed, TooLong};
use bcmr_wire::{Caps, Message, Type};
use proptest::prelude::*;

use crate::parts::{any_parts, golden_frames, tries};
use crate::streams::{Outcome, by_messages, by_pieces, message};
use crate::table::{Places, ROWS, row_of};

#[test]
fn types_are_those_of_the_message_table_and_no_others() {
    for code in 0..=u8::MAX {
        let (kind, row) = (Type::from_code(code), row_of(code));
        assert_eq!(kind.map(Type::name), row.map(|row| row.name), "0x{code:02x}");
        assert_eq!(kind.map(|kind| kind as u8), row.map(|row| row.code), "0x{code:02x}");
    }
    let all: Vec<u8> = Type::ALL.iter().map(|&kind| kind as u8).collect();
    assert_eq!(all, ROWS.iter().map(|row| row.code).collect::<Vec<_>>());
}

proptest! {
    #![proptest_config(tries(400))]

    #[test]
    fn any_message_encodes_to_a_frame_that_decodes_to_it(parts in any_parts()) {
        let frame = parts.frame();
        prop_assert_eq!(frame[4], parts.kind as u8);
        prop_assert_eq!(Message::decode(parts.kind, &frame[HEADER..]).unwrap(), parts.message());
        let seen = [message(&parts.message()), Outcome::End];
        prop_assert_eq!(by_messages(&frame[..]), seen.clone());
        prop_assert_eq!(by_pieces(&frame[..]), seen);
    }

    #[test]
    fn a_message_is_appended_after_what_stands_already(parts in any_parts()) {
        let mut out = b"before".to_vec();
        parts.message().encode(&mut out).unwrap();
        prop_assert_eq!(out, [b"before", &parts.frame()[..]].concat());
    }

    #[test]
    fn no_body_may_go_on_after_its_last_field(parts in any_parts(), more in any::<u8>()) {
        let mut frame = parts.frame();
        frame.push(more);
        prop_assert_eq!(Message::decode(parts.kind, &frame[HEADER..]), Err(Malformed::Trailing));
    }

    #[test]
    fn no_body_may_end_before_its_last_field(parts in any_parts(), cut in any::<prop::sample::Index>()) {
        let frame = parts.frame();
        let body = &frame[HEADER..];
        prop_assume!(!body.is_empty());
        let short = &body[..cut.index(body.len())];
        let missing_caps = matches!(parts.kind, Type::Hello | Type::Welcome) && short.len() == 1;
        let decoded = Message::decode(parts.kind, short);
        prop_assert_eq!(decoded.is_ok(), missing_caps, "{:?}", decoded);
        prop_assert!(matches!(decoded, Ok(_) | Err(Malformed::Short | Malformed::NotUtf8)), "{:?}", decoded);
    }

    #[test]
    fn any_body_at_all_decodes_to_what_encodes_again_or_is_refused(
        kind in (0..Type::ALL.len()).prop_map(|at| Type::ALL[at]),
        body in prop::collection::vec(any::<u8>(), 0..80),
    ) {
        if let Ok(decoded) = Message::decode(kind, &body) {
            let mut frame = Vec::new();
            decoded.encode(&mut frame).unwrap();
            prop_assert_eq!(Message::decode(kind, &frame[HEADER..]).unwrap(), decoded);
        }
    }
}

#[test]
fn a_missing_caps_byte_reads_as_no_capabilities() {
    assert_eq!(Message::decode(Type::Hello, &[2]), Ok(Message::Hello { version: 2, caps: Caps::NONE }));
    assert_eq!(Message::decode(Type::Welcome, &[2]), Ok(Message::Welcome { version: 2, caps: Caps::NONE }));
    assert_eq!(Message::decode(Type::Hello, &[]), Err(Malformed::Short));
    assert_eq!(Message::decode(Type::Welcome, &[2, 0, 0]), Err(Malformed::Trailing));
}

#[test]
fn any_version_is_read_so_that_it_can_be_answered() {
    for version in [0, 1, 3, 255] {
        let hello = Message::Hello { version, caps: Caps(0x80) };
        assert_eq!(Message::decode(Type::Hello, &[version, 0x80]), Ok(hello));
    }
}

#[test]
fn no_string_of_any_message_may_be_other_than_utf8() {
    let mut tried = 0;
    for (name, frame) in golden_frames("messages") {
        let (kind, body) = (Type::from_code(frame[4]).unwrap(), &frame[HEADER..]);
        for text in Places::in_body(row_of(frame[4]).unwrap(), body).texts {
            if text.is_empty() {
                continue;
            }
            let mut wrong = body.to_vec();
            wrong[text.end - 1] = 0xff;
            assert_eq!(Message::decode(kind, &wrong), Err(Malformed::NotUtf8), "{name} at {text:?}");
            tried += 1;
        }
    }
    assert!(tried > 20, "only {tried} strings in the golden messages");
}

#[test]
fn a_tag_other_than_1_means_absent_and_none_but_0_is_written() {
    for tag in (0..=u8::MAX).filter(|&tag| tag != 1) {
        assert_eq!(Message::decode(Type::Ok, &[tag]), Ok(Message::Ok { hash: None }));
        let mut hash = [0; 13];
        hash[12] = tag;
        assert_eq!(
            Message::decode(Type::Hash, &hash),
            Ok(Message::Hash { path: "", offset: 0, limit: None })
        );
        let mut resume = [0; 9];
        resume[8] = tag;
        assert_eq!(
            Message::decode(Type::ResumeResponse, &resume),
            Ok(Message::ResumeResponse { size: 0, block_hash: None })
        );
    }
    let mut frame = Vec::new();
    Message::Ok { hash: None }.encode(&mut frame).unwrap();
    assert_eq!(frame, [2, 0, 0, 0, 0x82, 0]);
}

#[test]
fn a_bool_other_than_0_is_true_and_1_is_written() {
    for byte in 1..=u8::MAX {
        let mut body = [0; 17];
        body[16] = byte;
        let stat = Message::decode(Type::StatResponse, &body).unwrap();
        assert_eq!(stat, Message::StatResponse { size: 0, mtime: 0, is_dir: true });
        let mut frame = Vec::new();
        stat.encode(&mut frame).unwrap();
        assert_eq!(frame.last(), Some(&1));
    }
}

#[test]
fn a_message_of_exactly_16_mib_is_encoded_and_one_byte_more_is_not() {
    let text = "x".repeat(MAX_PAYLOAD - 1 - 4);
    let mut out = b"before".to_vec();
    Message::Error { message: &text }.encode(&mut out).unwrap();
    assert_eq!(out[6..10], [0, 0, 0, 1], "16 MiB in little-endian order");
    assert_eq!(out.len(), 6 + 4 + MAX_PAYLOAD);

    let text = text + "x";
    let mut out = b"before".to_vec();
    assert_eq!(Message::Error { message: &text }.encode(&mut out), Err(TooLong(Type::Error)));
    assert_eq!(out, b"before", "a frame that is refused leaves something behind");
}

#[test]
fn caps_are_the_bits_of_the_table_and_unknown_ones_stay() {
    let table = [
        (0x01, Caps::LZ4),
        (0x02, Caps::ZSTD),
        (0x04, Caps::DEDUP),
        (0x08, Caps::FAST),
        (0x10, Caps::SYNC),
        (0x20, Caps::DIRECT_TCP),
        (0x40, Caps::AEAD),
        (0x80, Caps::PUT_OFFSET),
    ];
    for (bit, cap) in table {
        assert_eq!(cap, Caps(bit));
        assert!(Caps(0xff).has(cap) && !Caps(0xff).without(cap).has(cap), "{cap:?}");
        assert_eq!(Caps(0xff).without(cap), Caps(!bit));
        assert_eq!(Caps::NONE | cap, cap);
        assert_eq!(Caps(0xff) & cap, cap);
    }
    assert!(!Caps::LZ4.has(Caps::LZ4 | Caps::ZSTD), "half of two capabilities is not both");
    assert_eq!(format!("{:?}", Caps(0x81)), r#"{"LZ4", "PUT_OFFSET"}"#);
}
