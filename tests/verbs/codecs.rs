//! Put with compressed blocks: good ones, bad ones, and those that were not agreed on.

use bcmr_tests::content::{hex, noise, text};
use bcmr_tests::{Server, Site};
use bcmr_wire::codec::{Encoded, Encoder};
use bcmr_wire::limits::MAX_BLOCK;
use bcmr_wire::message::Algo;
use bcmr_wire::{Caps, Message};

use crate::put::{data, furnished, new, over};

/// Sends a compressed block.
fn compressed(server: &mut Server, algo: Algo, block: &[u8]) {
    match Encoder::default().encode(algo, block) {
        Encoded::Compressed { original_size, content, .. } => {
            server.send(&Message::DataCompressed { algo, original_size, payload: content });
        }
        Encoded::Raw(_) => panic!("the block does not get smaller"),
    }
}

#[test]
fn compressed_and_raw_blocks_mix_and_the_hash_is_of_what_they_decode_to() {
    let site = Site::new();
    let (a, b, c) = (text(MAX_BLOCK), noise(1000, 2), text(70_000));
    let whole = [&a[..], &b, &c].concat();
    let mut server = Server::start(site.root()).hello(Caps::LZ4 | Caps::ZSTD);
    server.send(&new("f", whole.len() as u64));
    compressed(&mut server, Algo::Zstd, &a);
    server.send(&data(&b));
    compressed(&mut server, Algo::Lz4, &c);
    assert_eq!(server.ask(&Message::Done).ok(), Some(&*hex(&whole)));
    assert!(site.read("f") == whole);
    server.finish();
}

/// Sends one compressed block in a Put of `size` bytes; the Error it must give.
fn bad_block(algo: Algo, size: u32, payload: &[u8]) -> String {
    let (site, before) = furnished();
    let mut server = Server::start(site.root()).hello(Caps::LZ4 | Caps::ZSTD);
    server.send(&over("f", size.into()));
    server.send(&Message::DataCompressed { algo, original_size: size, payload });
    let error = server.reply().error().to_owned();
    // The rest is passed over, and the session lives.
    server.send(&data(b"more"));
    server.send(&Message::Done);
    assert_eq!(server.get("f", 0).content, b"old bytes");
    server.finish();
    assert_eq!(site.everything(), before);
    error
}

#[test]
fn rustsec_2026_0041_an_lz4_match_from_before_the_block_is_an_error_of_its_put() {
    // A literal, then a match that begins 9 bytes before the block.
    for payload in [&[0x1f, b'a', 10, 0, 0][..], &[0x0f, 1, 0, 0], &[0x1f, b'a', 0, 0, 0]] {
        let error = bad_block(Algo::Lz4, 20, payload);
        assert!(error.contains("does not decode"), "{error}");
    }
}

#[test]
fn a_block_that_decodes_to_another_length_is_an_error_of_its_put() {
    let zstd = |len| zstd::bulk::compress(&vec![7; len], 3).unwrap();
    for (algo, payload) in [
        (Algo::Zstd, zstd(19)),
        (Algo::Zstd, zstd(21)),
        (Algo::Zstd, zstd(8 << 20)),
        (Algo::Zstd, [zstd(10), zstd(10)].concat()),
        (Algo::Zstd, [zstd(20), vec![0]].concat()),
        (Algo::Zstd, b"no zstd frame".to_vec()),
        (Algo::Zstd, Vec::new()),
        (Algo::Lz4, vec![0x50, 1, 2, 3, 4, 5]),
        (Algo::Lz4, Vec::new()),
    ] {
        let error = bad_block(algo, 20, &payload);
        assert!(error.contains("decode") || error.contains("zstd frame"), "{error}");
    }
}

#[test]
fn a_zstd_window_of_512_mib_is_an_error_of_its_put() {
    let header = [0x28, 0xb5, 0x2f, 0xfd, 0, (29 - 10) << 3, 1, 0, 0];
    let error = bad_block(Algo::Zstd, 20, &header);
    assert!(error.contains("window of 536870912 bytes"), "{error}");
}

#[test]
fn a_block_of_a_codec_that_was_not_agreed_on_is_an_error_of_its_put() {
    let (site, before) = furnished();
    for (caps, algo) in [(Caps::NONE, Algo::Lz4), (Caps::LZ4, Algo::Zstd), (Caps::ZSTD, Algo::Lz4)] {
        let mut server = Server::start(site.root()).hello(caps);
        server.send(&over("f", 1000));
        compressed(&mut server, algo, &text(1000));
        let reply = server.reply();
        assert!(reply.error().contains("not negotiated"), "{reply:?}");
        server.send(&Message::Done);
        server.finish();
    }
    assert_eq!(site.everything(), before);
}
