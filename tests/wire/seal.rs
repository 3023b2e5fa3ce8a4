//! Sealing: only what the other end sealed, in its order, opens.

use bcmr_wire::limits::{MAX_PAYLOAD, TAG};
use bcmr_wire::seal::{Direction, SealError, Sealed};

const KEY: [u8; 32] = [0x5a; 32];

fn sealer() -> Sealed {
    Sealed::new(&KEY, Direction::ClientToServer)
}

/// The sealed forms, without their length prefixes, of these frames.
fn sealed(frames: &[&[u8]]) -> Vec<Vec<u8>> {
    let mut sealer = sealer();
    let one = |frame: &&[u8]| {
        let mut out = Vec::new();
        sealer.seal(frame, &mut out).unwrap();
        let (prefix, content) = out.split_first_chunk().unwrap();
        assert_eq!(Sealed::length(*prefix), Ok(content.len()));
        content.to_vec()
    };
    frames.iter().map(one).collect()
}

#[test]
fn frames_open_in_the_order_in_which_they_were_sealed() {
    let frames: [&[u8]; 4] = [b"one", b"", b"three", b"three"];
    let messages = sealed(&frames);
    assert_ne!(messages[2], messages[3], "equal frames show as equal on the wire");
    let mut opener = sealer();
    for (frame, message) in frames.iter().zip(&messages) {
        assert_eq!(&opener.open(message).unwrap(), frame);
    }
}

#[test]
fn bcmr_ea6e772_a_flipped_bit_is_refused() {
    let message = sealed(&[b"\x01\x00\x00\x00\x09"]).remove(0);
    assert!(sealer().open(&message).is_ok());
    for bit in 0..message.len() * 8 {
        let mut other = message.clone();
        other[bit / 8] ^= 1 << (bit % 8);
        assert_eq!(sealer().open(&other), Err(SealError::Tag), "bit {bit}");
    }
}

#[test]
fn bcmr_ea6e772_a_replayed_message_is_refused() {
    let messages = sealed(&[b"one", b"two"]);
    let mut opener = sealer();
    opener.open(&messages[0]).unwrap();
    assert_eq!(opener.open(&messages[0]), Err(SealError::Tag));
}

#[test]
fn bcmr_ea6e772_reordered_messages_are_refused() {
    let messages = sealed(&[b"one", b"two"]);
    assert_eq!(sealer().open(&messages[1]), Err(SealError::Tag));
    let mut opener = sealer();
    opener.open(&messages[0]).unwrap();
    opener.open(&messages[1]).unwrap();
}

#[test]
fn bcmr_ea6e772_a_truncated_or_longer_message_is_refused() {
    let message = sealed(&[b"frame"]).remove(0);
    for cut in 0..message.len() {
        assert_eq!(sealer().open(&message[..cut]), Err(SealError::Tag), "cut at {cut}");
        assert_eq!(sealer().open(&message[message.len() - cut..]), Err(SealError::Tag), "cut before {cut}");
    }
    assert_eq!(sealer().open(&[&message[..], b"x"].concat()), Err(SealError::Tag));
}

#[test]
fn a_message_sent_back_to_its_sender_is_refused() {
    let message = sealed(&[b"frame"]).remove(0);
    let mut other_way = Sealed::new(&KEY, Direction::ServerToClient);
    assert_eq!(other_way.open(&message), Err(SealError::Tag));
}

#[test]
fn a_message_under_another_key_is_refused() {
    let message = sealed(&[b"frame"]).remove(0);
    for bit in 0..256 {
        let mut key = KEY;
        key[bit / 8] ^= 1 << (bit % 8);
        let mut opener = Sealed::new(&key, Direction::ClientToServer);
        assert_eq!(opener.open(&message), Err(SealError::Tag), "bit {bit} of the key does not matter");
    }
}

/// A connection that went on after a refusal would let an attacker try until something fits.
#[test]
fn a_refused_message_uses_up_its_counter() {
    let message = sealed(&[b"frame"]).remove(0);
    let mut opener = sealer();
    assert_eq!(opener.open(b"not sixteen bytes and a frame"), Err(SealError::Tag));
    assert_eq!(opener.open(&message), Err(SealError::Tag));
}

#[test]
fn a_length_is_between_a_tag_and_16_mib_and_a_tag() {
    let length = |length: usize| Sealed::length(u32::try_from(length).unwrap().to_le_bytes());
    for legal in [16, 17, 16 * 1024 * 1024 + 16] {
        assert_eq!(length(legal), Ok(legal));
    }
    for refused in [0, 1, 15, 16 * 1024 * 1024 + 17, 1 << 31, u32::MAX as usize] {
        assert_eq!(length(refused), Err(SealError::Length(refused)));
    }
}

#[test]
fn a_frame_too_long_to_be_opened_is_not_sealed_and_costs_no_counter() {
    let frame = vec![7; MAX_PAYLOAD + 1];
    let (mut sealer, mut opener) = (sealer(), sealer());
    let mut out = b"before".to_vec();
    assert_eq!(sealer.seal(&frame, &mut out), Err(SealError::Length(frame.len() + TAG)));
    assert_eq!(out, b"before");

    let mut out = Vec::new();
    sealer.seal(b"frame", &mut out).unwrap();
    assert_eq!(opener.open(&out[4..]).unwrap(), b"frame");

    let mut out = Vec::new();
    sealer.seal(&frame[1..], &mut out).unwrap();
    assert_eq!(Sealed::length(*out.first_chunk().unwrap()), Ok(MAX_PAYLOAD + TAG));
    assert_eq!(out.len(), 4 + MAX_PAYLOAD + TAG);
}

/// A counter that started over would use a nonce a second time, and give the key's stream away.
#[test]
fn no_message_is_sealed_or_opened_after_the_last_counter() {
    let last = || Sealed::from_counter(&KEY, Direction::ServerToClient, u64::MAX);
    let (mut sealer, mut opener) = (last(), last());
    let mut out = Vec::new();
    sealer.seal(b"last", &mut out).unwrap();
    let message = out.split_off(4);
    assert_eq!(opener.open(&message).unwrap(), b"last");

    let mut out = b"before".to_vec();
    for _ in 0..3 {
        assert_eq!(sealer.seal(b"more", &mut out), Err(SealError::Counter));
        assert_eq!(opener.open(&message), Err(SealError::Counter));
    }
    assert_eq!(out, b"before");
}
