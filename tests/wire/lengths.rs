//! Every field that says how long or how many, with values that it must not be believed.

use bcmr_wire::limits::HEADER;
use bcmr_wire::message::Malformed;
use bcmr_wire::{Message, Type};

use crate::parts::golden_frames;
use crate::table::{Places, row_of};

/// Calls `judge` for every length and count of every golden message with the message's name and type, its body,
/// and where the field stands in it.
fn each_length_field(mut judge: impl FnMut(&str, Type, &[u8], usize)) {
    let mut fields = 0;
    for (name, frame) in golden_frames("messages") {
        let (kind, body) = (Type::from_code(frame[4]).unwrap(), &frame[HEADER..]);
        for at in Places::in_body(row_of(frame[4]).unwrap(), body).lengths {
            judge(&name, kind, body, at);
            fields += 1;
        }
    }
    assert!(fields > 30, "only {fields} lengths and counts in the golden messages");
}

fn value_at(body: &[u8], at: usize) -> u32 {
    u32::from_le_bytes(body[at..at + 4].try_into().unwrap())
}

fn with(body: &[u8], at: usize, value: u32) -> Vec<u8> {
    let mut body = body.to_vec();
    body[at..at + 4].copy_from_slice(&value.to_le_bytes());
    body
}

/// rsync believed a checksum length (CVE-2024-12084) and a size near the type's end (CVE-2026-43618).
#[test]
fn cve_2024_12084_cve_2026_43618_a_length_or_count_that_is_not_true_is_refused() {
    each_length_field(|name, kind, body, at| {
        let truth = value_at(body, at);
        assert!(Message::decode(kind, &with(body, at, truth)).is_ok(), "{name}: true, and still refused");
        let near = [truth.wrapping_sub(1), truth + 1, truth + 32];
        for value in [0, 1, u32::MAX, u32::MAX - 3, 1 << 31, (1 << 31) - 1].into_iter().chain(near) {
            if value != truth {
                let wrong = with(body, at, value);
                let decoded = Message::decode(kind, &wrong);
                assert!(decoded.is_err(), "{name}: {value} instead of {truth} at {at}: {decoded:?}");
            }
        }
    });
}

/// Sums of a length and what stands before it must not wrap around: the largest ones that are refused as too
/// short for their frame, not as something that happens to be elsewhere.
#[test]
fn cve_2026_43618_a_length_near_the_types_end_runs_past_the_frame() {
    each_length_field(|name, kind, body, at| {
        for value in [u32::MAX, u32::MAX - u32::try_from(at).unwrap(), 1 << 31] {
            let why = Message::decode(kind, &with(body, at, value)).unwrap_err();
            assert!(matches!(why, Malformed::Short | Malformed::Count), "{name}: {value} at {at}: {why:?}");
        }
    });
}

#[test]
fn a_count_above_its_limit_is_refused_as_such_and_one_at_it_as_too_short() {
    let limit: u32 = 1_048_576;
    for (kind, before) in [(Type::HaveBlocks, &[0; 4][..]), (Type::ListResponse, &[][..])] {
        let counted = |count: u32| [before, &count.to_le_bytes()].concat();
        assert_eq!(Message::decode(kind, &counted(limit + 1)), Err(Malformed::Count));
        assert_eq!(Message::decode(kind, &counted(limit)), Err(Malformed::Short));
        assert!(Message::decode(kind, &counted(0)).is_ok());
    }
}

/// Whatever stands anywhere in a body, it is decoded or refused; a panic would end every other request too.
#[test]
fn no_value_at_any_place_of_a_golden_message_makes_decoding_panic() {
    for (_, frame) in golden_frames("messages") {
        let (kind, body) = (Type::from_code(frame[4]).unwrap(), &frame[HEADER..]);
        for at in 0..body.len().saturating_sub(3) {
            for value in [0, 1, 32, 1 << 20, (1 << 20) + 1, 1 << 31, u32::MAX] {
                let _ = Message::decode(kind, &with(body, at, value));
            }
        }
    }
}
