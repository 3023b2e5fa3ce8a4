//! Block codecs: what is encoded and what is not worth it; what decodes and what must not.

use bcmr_tests::content::{noise, text};
use bcmr_wire::Caps;
use bcmr_wire::codec::{DecodeError, Decoder, Encoded, Encoder, negotiated};
use bcmr_wire::limits::{MAX_BLOCK, MAX_ZSTD_WINDOW};
use bcmr_wire::message::Algo;
use proptest::prelude::*;
use zstd::bulk::Compressor;

use crate::parts::tries;

const BOTH: [Algo; 2] = [Algo::Lz4, Algo::Zstd];

/// The encoded form of a block that is worth encoding.
fn encoded(algo: Algo, block: &[u8]) -> Vec<u8> {
    match Encoder::default().encode(algo, block) {
        Encoded::Compressed { algo: told, original_size, content } => {
            assert_eq!((told, original_size as usize), (algo, block.len()));
            content.to_vec()
        }
        Encoded::Raw(_) => panic!("{algo:?} found {} bytes not worth it", block.len()),
    }
}

fn decode(algo: Algo, original_size: usize, content: &[u8]) -> Result<Vec<u8>, DecodeError> {
    Decoder::default().decode(algo, original_size, content).map(<[u8]>::to_vec)
}

#[test]
fn zstd_is_used_where_both_codecs_are_agreed() {
    assert_eq!(negotiated(Caps::LZ4 | Caps::ZSTD | Caps::DEDUP), Some(Algo::Zstd));
    assert_eq!(negotiated(Caps::ZSTD), Some(Algo::Zstd));
    assert_eq!(negotiated(Caps::LZ4 | Caps::SYNC), Some(Algo::Lz4));
    assert_eq!(negotiated(Caps(0xff).without(Caps::LZ4 | Caps::ZSTD)), None);
}

#[test]
fn text_is_compressed_and_comes_back() {
    for algo in BOTH {
        for len in [100, 65_536, 1_048_576, MAX_BLOCK] {
            let block = text(len);
            let content = encoded(algo, &block);
            assert!(content.len() * 10 < len * 9, "{algo:?}: {} of {len} bytes", content.len());
            assert_eq!(decode(algo, len, &content).unwrap(), block);
        }
    }
}

#[test]
fn noise_and_nothing_go_raw() {
    let mut encoder = Encoder::default();
    for algo in BOTH {
        for len in [0, 1, 2, 1_000, 1_048_576, MAX_BLOCK] {
            let block = noise(len, 1);
            match encoder.encode(algo, &block) {
                Encoded::Raw(raw) => assert_eq!(raw, block),
                Encoded::Compressed { content, .. } => {
                    panic!("{algo:?} made {} bytes of {len} of noise", content.len());
                }
            }
        }
    }
}

/// Noise with ever less of it replaced by zeros is first worth its codec, then not. LZ4 passes exactly 95 % on
/// the way.
#[test]
fn a_block_goes_raw_when_its_codec_leaves_more_than_95_percent() {
    let mut encoder = Encoder::default();
    for algo in BOTH {
        let (mut largest, mut raw) = (0, 0);
        for random in 1_800..2_000 {
            let mut block = noise(2_000, 2);
            block[random..].fill(0);
            match encoder.encode(algo, &block) {
                Encoded::Compressed { content, .. } => largest = largest.max(content.len()),
                Encoded::Raw(_) => raw += 1,
            }
        }
        assert!((1_895..=1_900).contains(&largest), "{algo:?}: {largest}");
        assert!(algo == Algo::Zstd || largest == 1_900, "{algo:?}: exactly 95 % goes raw");
        assert!(raw > 50, "{algo:?}: {raw} of 200 blocks go raw");
    }
}

proptest! {
    #![proptest_config(tries(80))]

    #[test]
    fn any_block_that_is_encoded_decodes_to_itself(
        unit in prop::collection::vec(any::<u8>(), 1..300),
        repeat in 1..200_usize,
        zstd: bool,
    ) {
        let (algo, block) = (BOTH[usize::from(zstd)], unit.repeat(repeat));
        match Encoder::default().encode(algo, &block) {
            Encoded::Raw(raw) => prop_assert_eq!(raw, &block[..]),
            Encoded::Compressed { algo: told, original_size, content } => {
                prop_assert!(content.len() * 100 <= block.len() * 95);
                prop_assert_eq!((told, original_size as usize), (algo, block.len()));
                prop_assert_eq!(decode(algo, block.len(), content).unwrap(), block);
            }
        }
    }

    #[test]
    fn any_bytes_decode_to_their_declared_size_or_not_at_all(
        content in prop::collection::vec(any::<u8>(), 0..60),
        original_size in 1..5_000_usize,
        zstd: bool,
    ) {
        let content = if zstd { [&MAGIC[..], &content].concat() } else { content };
        if let Ok(block) = decode(BOTH[usize::from(zstd)], original_size, &content) {
            prop_assert_eq!(block.len(), original_size);
        }
    }
}

#[test]
fn one_encoder_and_one_decoder_serve_blocks_of_any_size_in_any_order() {
    let (mut encoder, mut decoder) = (Encoder::default(), Decoder::default());
    for len in [500_000, 100, 4_000_000, 3_000, 500_000] {
        for algo in BOTH {
            let block = text(len);
            let Encoded::Compressed { content, .. } = encoder.encode(algo, &block) else {
                panic!("{algo:?} found {len} bytes of text not worth it");
            };
            assert_eq!(decoder.decode(algo, len, content).unwrap(), block);
        }
    }
}

#[test]
fn a_block_that_is_not_of_its_declared_size_is_refused() {
    for algo in BOTH {
        let block = text(10_000);
        let content = encoded(algo, &block);
        assert_eq!(decode(algo, 10_000, &content).unwrap(), block);
        for wrong in [1, 9_999, 10_001, 20_000, MAX_BLOCK] {
            assert_eq!(decode(algo, wrong, &content), Err(DecodeError::Corrupt(wrong)), "{algo:?}");
        }
    }
}

#[test]
fn a_block_above_4_mib_is_refused_even_where_it_would_decode() {
    for algo in BOTH {
        let content = encoded(algo, &text(MAX_BLOCK));
        assert!(decode(algo, MAX_BLOCK, &content).is_ok());
        let larger = MAX_BLOCK + 1;
        assert_eq!(decode(algo, larger, &content), Err(DecodeError::Corrupt(larger)), "{algo:?}");
        let content = encoded(algo, &text(larger));
        assert_eq!(decode(algo, larger, &content), Err(DecodeError::Corrupt(larger)), "{algo:?}");
    }
}

#[test]
fn truncated_blocks_are_refused_and_altered_ones_never_grow() {
    let mut decoder = Decoder::default();
    for algo in BOTH {
        let block = text(3_000);
        let content = encoded(algo, &block);
        for cut in 0..content.len() {
            assert!(decoder.decode(algo, 3_000, &content[..cut]).is_err(), "{algo:?} cut at {cut}");
        }
        for at in 0..content.len() {
            let mut altered = content.clone();
            altered[at] ^= 0x55;
            if let Ok(decoded) = decoder.decode(algo, 3_000, &altered) {
                assert_eq!(decoded.len(), 3_000);
            }
        }
        assert_eq!(decoder.decode(algo, 3_000, &content).unwrap(), block, "a good block after bad ones");
    }
}

/// An LZ4 block: one literal, a match of eight bytes at `offset`, five literals.
fn lz4_with_match_at(offset: u16) -> Vec<u8> {
    [&[0x14, b'a'], &offset.to_le_bytes()[..], &[0x50], b"bcdef"].concat()
}

/// A match that begins before its block once copied what an earlier block had left in the buffer.
#[test]
fn rustsec_2026_0041_an_lz4_match_before_the_start_is_refused_and_echoes_nothing() {
    let mut decoder = Decoder::default();
    let secret = text(65_536);
    let content = encoded(Algo::Lz4, &secret);
    for offset in [0, 2, 3, 14, 256, 65_535] {
        assert_eq!(decoder.decode(Algo::Lz4, 65_536, &content).unwrap(), secret);
        let refused = decoder.decode(Algo::Lz4, 14, &lz4_with_match_at(offset));
        assert_eq!(refused, Err(DecodeError::Corrupt(14)), "offset {offset}");
    }
    assert_eq!(decoder.decode(Algo::Lz4, 14, &lz4_with_match_at(1)).unwrap(), b"aaaaaaaaabcdef");
}

#[test]
fn an_lz4_block_with_a_size_before_it_or_bytes_after_it_is_refused() {
    let good = lz4_with_match_at(1);
    assert!(decode(Algo::Lz4, 14, &good).is_ok());
    let prefixed = [&14_u32.to_le_bytes()[..], &good].concat();
    assert_eq!(decode(Algo::Lz4, 14, &prefixed), Err(DecodeError::Corrupt(14)));
    for after in [&b"x"[..], &good] {
        assert!(decode(Algo::Lz4, 14, &[&good[..], after].concat()).is_err());
    }
}

const MAGIC: [u8; 4] = [0x28, 0xb5, 0x2f, 0xfd];

/// A Zstd frame by hand (RFC 8878): descriptor and what follows it in the header, then one raw block, the last.
fn zstd_frame(header: &[u8], content: &[u8]) -> Vec<u8> {
    let block = u32::try_from(content.len() << 3 | 1).unwrap().to_le_bytes();
    [&MAGIC, header, &block[..3], content].concat()
}

/// The window byte of a window of 2^`log` bytes and `eighths` of it.
fn window(log: u8, eighths: u8) -> u8 {
    (log - 10) << 3 | eighths
}

#[test]
fn a_zstd_header_of_9_bytes_with_a_window_of_512_mib_is_refused() {
    let huge = zstd_frame(&[0, window(29, 0)], b"");
    assert_eq!(huge.len(), 9);
    assert_eq!(decode(Algo::Zstd, 1, &huge), Err(DecodeError::Window(512 * 1024 * 1024)));
}

#[test]
fn a_zstd_window_of_8_mib_is_taken_and_the_next_larger_one_is_refused() {
    assert_eq!(decode(Algo::Zstd, 3, &zstd_frame(&[0, window(10, 0)], b"abc")).unwrap(), b"abc");
    assert_eq!(decode(Algo::Zstd, 3, &zstd_frame(&[0, window(23, 0)], b"abc")).unwrap(), b"abc");
    let sizes = [(23, 1, 9 << 20), (23, 7, 15 << 20), (24, 0, 16 << 20), (41, 7, (1 << 41) / 8 * 15)];
    for (log, eighths, size) in sizes {
        let frame = zstd_frame(&[0, window(log, eighths)], b"abc");
        assert_eq!(decode(Algo::Zstd, 3, &frame), Err(DecodeError::Window(size)));
    }
}

/// Where the header has no window, the content's size is the window.
#[test]
fn a_zstd_content_size_counts_as_its_window() {
    const SINGLE_WITH_8_BYTES: u8 = 0xe0;
    let sized = |size: u64| zstd_frame(&[&[SINGLE_WITH_8_BYTES][..], &size.to_le_bytes()].concat(), b"abc");
    assert_eq!(decode(Algo::Zstd, 3, &sized(3)).unwrap(), b"abc");
    assert_eq!(decode(Algo::Zstd, 3, &sized(4)), Err(DecodeError::Corrupt(3)));
    assert_eq!(decode(Algo::Zstd, 3, &sized(MAX_ZSTD_WINDOW)), Err(DecodeError::Corrupt(3)));
    for size in [MAX_ZSTD_WINDOW + 1, 1 << 32, 1 << 63, u64::MAX - 2] {
        assert_eq!(decode(Algo::Zstd, 3, &sized(size)), Err(DecodeError::Window(size)));
    }
    // libzstd's own words for "unknown" and "error" are no sizes.
    for size in [u64::MAX - 1, u64::MAX] {
        assert!(decode(Algo::Zstd, 3, &sized(size)).is_err(), "{size}");
    }
}

#[test]
fn what_is_not_exactly_one_zstd_frame_is_refused() {
    let one = encoded(Algo::Zstd, &text(1_000));
    let skippable = [&[0x50, 0x2a, 0x4d, 0x18, 3, 0, 0, 0][..], b"abc"].concat();
    let legacy = [&[0x27], &one[1..]].concat();
    let empty_frame = zstd_frame(&[0, window(10, 0)], b"");
    assert_eq!(decode(Algo::Zstd, 1_000, &one).unwrap(), text(1_000));
    for (what, content) in [
        ("a trailing byte", [&one[..], &[0]].concat()),
        ("a second frame", [&one[..], &one].concat()),
        ("a second frame that is empty", [&one[..], &empty_frame].concat()),
        ("an empty frame before it", [&empty_frame[..], &one].concat()),
        ("a skippable frame after it", [&one[..], &skippable].concat()),
        ("a skippable frame before it", [&skippable[..], &one].concat()),
        ("a skippable frame alone", skippable),
        ("a frame of an old version", legacy),
        ("a frame without its magic number", one[4..].to_vec()),
        ("a frame without its end", one[..one.len() - 1].to_vec()),
        ("a magic number alone", MAGIC.to_vec()),
        ("nothing", Vec::new()),
    ] {
        for original_size in [1_000, 2_000] {
            let decoded = decode(Algo::Zstd, original_size, &content);
            assert_eq!(decoded, Err(DecodeError::NotOneFrame), "{what}");
        }
    }
}

#[test]
fn a_zstd_frame_that_needs_a_dictionary_or_fails_its_checksum_is_refused() {
    let with_dictionary = zstd_frame(&[0x01, window(10, 0), 7], b"abc");
    assert_eq!(decode(Algo::Zstd, 3, &with_dictionary), Err(DecodeError::Corrupt(3)));

    let mut compressor = Compressor::new(1).unwrap();
    compressor.include_checksum(true).unwrap();
    let mut content = compressor.compress(&text(1_000)).unwrap();
    assert_eq!(decode(Algo::Zstd, 1_000, &content).unwrap(), text(1_000));
    *content.last_mut().unwrap() ^= 1;
    assert_eq!(decode(Algo::Zstd, 1_000, &content), Err(DecodeError::Corrupt(1_000)));
}

/// Peers choose their own level, and need not write the content's size.
#[test]
fn zstd_frames_of_every_level_with_and_without_their_size_are_taken() {
    let block = text(50_000);
    for level in [-5, 1, 3, 9, 19] {
        for sized in [true, false] {
            let mut compressor = Compressor::new(level).unwrap();
            compressor.include_contentsize(sized).unwrap();
            let content = compressor.compress(&block).unwrap();
            assert!(decode(Algo::Zstd, block.len(), &content).unwrap() == block, "level {level}, {sized}");
        }
    }
}
