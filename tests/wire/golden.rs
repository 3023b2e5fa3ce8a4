//! The golden vectors, every entry of every section.

use bcmr_wire::codec::Decoder;
use bcmr_wire::frame::{FrameError, FrameReader};
use bcmr_wire::limits::HEADER;
use bcmr_wire::message::Malformed;
use bcmr_wire::seal::{Direction, Sealed, answer, is_answer};
use bcmr_wire::{Caps, Message, Type};

use crate::parts::{Parts, golden_frames, hex, hex_array, vectors};
use crate::streams::{Outcome, by_messages, by_pieces, message, refused};

/// The content of a compressed block, which stands at its frame's end.
fn compressed_content(frame: &[u8]) -> &[u8] {
    frame.get(HEADER + 9..).unwrap_or_default()
}

#[test]
fn every_golden_message_decodes_to_its_fields() {
    for vector in vectors("messages") {
        let frame = hex(&vector["frame"]);
        let parts = Parts::from_vector(&vector["fields"], compressed_content(&frame));
        let mut reader = FrameReader::new(&frame[..]);
        let header = reader.header().unwrap().unwrap();
        assert_eq!(reader.message(header).unwrap(), parts.message(), "{}", vector["name"]);
        assert!(reader.header().unwrap().is_none(), "{}: the frame is not all", vector["name"]);
    }
}

#[test]
fn every_golden_message_encodes_to_its_bytes() {
    for vector in vectors("messages") {
        let frame = hex(&vector["frame"]);
        let parts = Parts::from_vector(&vector["fields"], compressed_content(&frame));
        assert_eq!(parts.frame(), frame, "{}", vector["name"]);
    }
}

#[test]
fn golden_messages_are_of_every_type() {
    let of_a_kind = |kind: Type| vectors("messages").iter().any(|v| v["fields"]["type"] == kind.name());
    for &kind in Type::ALL {
        assert!(of_a_kind(kind), "no golden message of type {}", kind.name());
    }
}

#[test]
fn every_golden_compressed_block_decodes_to_its_text() {
    let mut decoder = Decoder::default();
    let mut seen = 0;
    for vector in vectors("messages").iter().filter(|v| v["fields"]["type"] == "DataCompressed") {
        let (frame, fields) = (hex(&vector["frame"]), &vector["fields"]);
        let Message::DataCompressed { algo, original_size, payload } =
            Message::decode(Type::DataCompressed, &frame[HEADER..]).unwrap()
        else {
            panic!("{} is no compressed block", vector["name"]);
        };
        let count = usize::try_from(fields["decoded_count"].as_u64().unwrap()).unwrap();
        let text = fields["decoded_repeat"].as_str().unwrap().repeat(count);
        let decoded = decoder.decode(algo, original_size as usize, payload).unwrap();
        assert_eq!(decoded, text.as_bytes(), "{}", vector["name"]);
        seen += 1;
    }
    assert_eq!(seen, 2, "one golden block of each codec");
}

#[test]
fn every_lenient_vector_is_accepted_as_what_it_means() {
    for (name, frame) in golden_frames("lenient") {
        let meant = match name.as_str() {
            "ok_tag_2" => Message::Ok { hash: None },
            "hello_without_caps" => Message::Hello { version: 2, caps: Caps::NONE },
            "put_overwrite_7" => Message::Put { path: "x", size: 0, offset: 0, overwrite: true },
            other => panic!("the vector {other} is not known to this test"),
        };
        assert_eq!(by_messages(&frame[..]), [message(&meant), Outcome::End], "{name}");
    }
}

#[test]
fn every_rejected_vector_is_refused_for_its_reason() {
    for (name, frame) in golden_frames("rejected") {
        let malformed = |kind, why| FrameError::Malformed { kind, why };
        let why = match name.as_str() {
            "unknown_type" => FrameError::UnknownType(0x7f),
            "trailing_bytes" => malformed(Type::Done, Malformed::Trailing),
            "short_string" => malformed(Type::Stat, Malformed::Short),
            "string_not_utf8" => malformed(Type::Stat, Malformed::NotUtf8),
            "data_inner_length_mismatch" => malformed(Type::Data, Malformed::Trailing),
            "have_blocks_count_huge" => malformed(Type::HaveBlocks, Malformed::Count),
            "list_response_count_huge" => malformed(Type::ListResponse, Malformed::Count),
            "compressed_algo_none" | "compressed_algo_unknown" => {
                malformed(Type::DataCompressed, Malformed::Algo)
            }
            "compressed_zero_size" | "compressed_size_over_4m" => {
                malformed(Type::DataCompressed, Malformed::OriginalSize)
            }
            "auth_hello_short" => malformed(Type::AuthHello, Malformed::Short),
            "put_without_overwrite_byte" => malformed(Type::Put, Malformed::Short),
            other => panic!("the vector {other} is not known to this test"),
        };
        assert!(why.is_violation(), "{name}");
        assert_eq!(by_messages(&frame[..]), [refused(&why)], "{name}");
        assert_eq!(by_pieces(&frame[..]), [refused(&why)], "{name}, its content taken by pieces");
    }
}

/// A golden sealed message: its key, direction and counter, the plain frame, the bytes on the wire.
fn sealed_vectors() -> Vec<(Sealed, Vec<u8>, Vec<u8>)> {
    let sealed = |v: &serde_json::Value| {
        let direction = match v["direction"].as_str().unwrap() {
            "client_to_server" => Direction::ClientToServer,
            "server_to_client" => Direction::ServerToClient,
            other => panic!("no direction has the name {other}"),
        };
        let counter = v["counter"].as_u64().unwrap();
        let sealed = Sealed::from_counter(&hex_array(&v["key"]), direction, counter);
        (sealed, hex(&v["plain_frame"]), hex(&v["wire"]))
    };
    vectors("aead").iter().map(sealed).collect()
}

#[test]
fn every_golden_sealed_message_is_sealed_to_its_bytes() {
    for (mut sealed, plain, wire) in sealed_vectors() {
        let mut out = b"before".to_vec();
        sealed.seal(&plain, &mut out).unwrap();
        assert_eq!(out, [b"before", &wire[..]].concat());
    }
}

#[test]
fn every_golden_sealed_message_opens_to_its_frame() {
    for (mut sealed, plain, wire) in sealed_vectors() {
        let (prefix, content) = wire.split_first_chunk().unwrap();
        assert_eq!(Sealed::length(*prefix), Ok(content.len()));
        assert_eq!(sealed.open(content).unwrap(), plain);
    }
}

#[test]
fn golden_sealed_messages_of_one_direction_follow_from_its_first() {
    let mut sealed = Sealed::new(&[0x42; 32], Direction::ClientToServer);
    for (_, plain, wire) in sealed_vectors().into_iter().take(3) {
        let mut out = Vec::new();
        sealed.seal(&plain, &mut out).unwrap();
        assert_eq!(out, wire);
    }
}

#[test]
fn every_golden_challenge_has_its_answer_and_no_other() {
    for vector in vectors("auth_mac") {
        let [key, nonce, mac] = ["session_key", "nonce", "mac"].map(|field| hex_array(&vector[field]));
        assert_eq!(*answer(&key, &nonce).as_bytes(), mac);
        assert!(is_answer(&key, &nonce, &mac));
        for bit in 0..256 {
            let mut other = mac;
            other[bit / 8] ^= 1 << (bit % 8);
            assert!(!is_answer(&key, &nonce, &other), "bit {bit} of the answer does not matter");
        }
    }
}
