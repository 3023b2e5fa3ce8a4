//! Any body of any type: what decodes must encode to a frame that decodes to the same.
//!
//! Input: the type byte, then the body.
#![no_main]

use bcmr_wire::limits::HEADER;
use bcmr_wire::{Message, Type};
use libfuzzer_sys::fuzz_target;

fuzz_target!(|input: &[u8]| {
    let Some((&code, body)) = input.split_first() else { return };
    let Some(kind) = Type::from_code(code) else { return };
    let Ok(message) = Message::decode(kind, body) else { return };
    assert_eq!(message.kind(), kind);

    let mut frame = Vec::new();
    assert_eq!(message.encode(&mut frame), Ok(()));
    assert_eq!(Message::decode(kind, &frame[HEADER..]), Ok(message));
    if let Message::ListResponse(list) = message {
        assert_eq!(list.iter().count(), list.len(), "entries that were counted do not decode");
    }
});
