//! Any bytes as a compressed block: it decodes to its declared size or not at all, and a decoder that was used
//! before says the same as a new one, so that nothing of one block can show in another. Run under a bound on
//! single allocations: a block, and the codec's state.
//!
//! Input: the algorithm, the declared size in four bytes, then the encoded bytes.
#![no_main]

use bcmr_wire::codec::{Decoder, Encoded, Encoder};
use bcmr_wire::message::Algo;
use libfuzzer_sys::fuzz_target;

/// A decoder whose buffer is full of another block.
fn used_decoder() -> Decoder {
    let mut decoder = Decoder::default();
    let other = [0xaa; 4_096];
    if let Encoded::Compressed { algo, original_size, content } = Encoder::default().encode(Algo::Lz4, &other)
    {
        assert_eq!(decoder.decode(algo, original_size as usize, content), Ok(&other[..]));
    }
    decoder
}

fuzz_target!(|input: &[u8]| {
    let Some((&[algo, ref size @ ..], content)) = input.split_first_chunk::<5>() else { return };
    let algo = if algo == Algo::Lz4 as u8 { Algo::Lz4 } else { Algo::Zstd };
    let original_size = u32::from_le_bytes(*size) as usize;

    let (mut new, mut used) = (Decoder::default(), used_decoder());
    let decoded = new.decode(algo, original_size, content);
    assert_eq!(decoded, used.decode(algo, original_size, content));
    assert!(decoded.is_err() || decoded.is_ok_and(|block| block.len() == original_size));
});
