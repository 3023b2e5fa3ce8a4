//! Files and offsets beyond 2^31 and 2^32 (phpseclib#291). The files are sparse: they cost no disk, and little
//! time.

use std::os::unix::fs::MetadataExt;
use std::thread;

use bcmr_tests::content::{hex, noise};
use bcmr_tests::reply::Entry;
use bcmr_tests::{Reply, Server, Site};
use bcmr_wire::codec::{Encoded, Encoder};
use bcmr_wire::limits::MAX_BLOCK;
use bcmr_wire::message::Algo;
use bcmr_wire::{Caps, Message};

const GIB: u64 = 1 << 30;

/// The file's length: beyond what 32 bits count, and no whole number of anything.
const SIZE: u64 = 5 * GIB + 12_345;

/// Where the borders are of what fits in 31 and 32 bits, signed and unsigned.
const BORDERS: [u64; 8] =
    [(1 << 31) - 1, 1 << 31, (1 << 31) + 1, (1 << 32) - 1, 1 << 32, (1 << 32) + 1, SIZE - 1, SIZE];

/// Bytes around each border.
const AROUND: u64 = 100;

/// A file of `SIZE` bytes with noise around each border.
fn file(site: &Site) {
    let pieces = [1 << 31, 1 << 32, SIZE - AROUND].map(|at| (at - AROUND, noise(2 * 100, at)));
    let pieces: Vec<_> = pieces.iter().map(|(at, bytes)| (*at, &bytes[..])).collect();
    site.sparse("f", SIZE, &pieces);
}

/// Bytes of the file as they are on disk.
fn read(site: &Site, offset: u64, len: u64) -> Vec<u8> {
    let file = std::fs::File::open(site.path("f")).unwrap();
    let len = len.min(file.metadata().unwrap().len().saturating_sub(offset));
    let mut bytes = vec![0; usize::try_from(len).unwrap()];
    std::os::unix::fs::FileExt::read_exact_at(&file, &mut bytes, offset).unwrap();
    bytes
}

fn on_disk(site: &Site) -> u64 {
    site.path("f").metadata().unwrap().blocks() * 512
}

#[test]
fn phpseclib_291_ranges_at_the_borders_of_31_and_32_bits_are_exact() {
    let site = Site::new();
    file(&site);
    let mut server = Server::plain(site.root());
    assert!(matches!(server.ask(&Message::Stat { path: "f" }), Reply::Stat { size: SIZE, .. }));
    let list = server.ask(&Message::List { path: "" });
    assert!(matches!(list.entries(), [Entry { size: SIZE, .. }]), "{list:?}");
    for border in BORDERS {
        for offset in [border - 50, border - 1, border] {
            for length in [1, 2, 51, 90] {
                let expected = read(&site, offset, length);
                let reply = server.ask(&Message::Hash { path: "f", offset, limit: Some(length) });
                assert_eq!(reply.hash(), hex(&expected), "{offset} {length}");
                if offset + length <= SIZE {
                    server.send(&Message::GetChunked { path: "f", offset, length });
                    let got = server.from.got();
                    assert!(got.content == expected && got.end.ok().is_none(), "{offset} {length}");
                }
            }
        }
    }
    let last_block = SIZE / MAX_BLOCK as u64 * MAX_BLOCK as u64 - MAX_BLOCK as u64;
    let block_hash = Some(hex(&read(&site, last_block, MAX_BLOCK as u64)));
    assert_eq!(server.ask(&Message::Resume { path: "f" }), Reply::Resume { size: SIZE, block_hash });
    server.finish();
}

#[test]
fn phpseclib_291_a_get_from_beyond_32_bits_is_the_rest() {
    let site = Site::new();
    file(&site);
    for caps in [Caps::NONE, Caps::ZSTD] {
        let mut server = Server::start(site.root()).hello(caps);
        for offset in [SIZE - 3 * MAX_BLOCK as u64, SIZE - 1, SIZE, SIZE + 1, 1 << 40] {
            let expected = read(&site, offset, u64::MAX);
            let got = server.get("f", offset);
            assert!(got.content == expected, "{offset}");
            assert_eq!(got.end.ok(), Some(&*hex(&expected)), "{offset}");
        }
        server.finish();
    }
}

#[test]
#[cfg_attr(debug_assertions, ignore = "slow where nothing is optimised: run by tests/run")]
fn phpseclib_291_the_hash_of_more_than_4_gib_is_that_of_all_of_it() {
    let site = Site::new();
    file(&site);
    let mut server = Server::plain(site.root());
    server.send(&Message::Hash { path: "f", offset: 0, limit: None });
    let path = site.path("f");
    let expected = thread::spawn(move || {
        let mut hasher = blake3::Hasher::new();
        hasher.update_reader(std::fs::File::open(path).unwrap()).unwrap();
        hasher.finalize().to_hex().to_string()
    });
    assert_eq!(server.reply().hash(), expected.join().unwrap());
    server.finish();
}

#[test]
fn phpseclib_291_a_put_with_an_offset_beyond_32_bits_keeps_what_is_before_and_its_holes() {
    for offset in [(1 << 31) - 1, (1 << 31) + 1, (1 << 32) - 1, 1 << 32, (1 << 32) + 1, SIZE] {
        let site = Site::new();
        file(&site);
        let before = [1 << 31, 1 << 32].map(|border| read(&site, border - 150, 150));
        let kept = |border: u64| border <= offset + 50;
        let tail = noise(5_000, offset);
        let mut server = Server::start(site.root()).hello(Caps::PUT_OFFSET);
        let size = offset + tail.len() as u64;
        server.send(&Message::Put { path: "f", size, offset, overwrite: true });
        server.to.content(&tail);
        assert_eq!(server.ask(&Message::Done), Reply::Ok { hash: None }, "{offset}");
        assert_eq!(site.path("f").metadata().unwrap().len(), size);
        assert!(read(&site, offset, u64::MAX) == tail, "{offset}");
        for (border, before) in [1 << 31, 1 << 32].into_iter().zip(before) {
            if kept(border) {
                let len = usize::try_from(150.min(offset - (border - 150))).unwrap();
                assert!(read(&site, border - 150, len as u64) == before[..len], "{offset} {border}");
            }
        }
        assert!(on_disk(&site) < 1 << 20, "{offset}: {} bytes on disk", on_disk(&site));
        server.finish();
    }
}

#[test]
#[cfg_attr(debug_assertions, ignore = "slow where nothing is optimised: run by tests/run")]
fn a_put_of_more_than_4_gib_of_zeros_is_a_hole() {
    let site = Site::new();
    let mut server = Server::start(site.root()).hello(Caps::ZSTD);
    let (zeros, tail) = (vec![0; MAX_BLOCK], noise(77, 1));
    let blocks = 4 * GIB / MAX_BLOCK as u64 + 1;
    let size = blocks * MAX_BLOCK as u64 + tail.len() as u64;
    let mut encoder = Encoder::default();
    let Encoded::Compressed { algo: Algo::Zstd, original_size, content } = encoder.encode(Algo::Zstd, &zeros)
    else {
        panic!("zeros go raw")
    };
    server.send(&Message::Put { path: "f", size, offset: 0, overwrite: false });
    for _ in 0..blocks {
        server.send(&Message::DataCompressed { algo: Algo::Zstd, original_size, payload: content });
    }
    server.send(&Message::Data { payload: &tail });
    assert!(server.ask(&Message::Done).ok().is_some());
    assert_eq!(site.path("f").metadata().unwrap().len(), size);
    assert!(read(&site, size - 77, 77) == tail);
    assert!(on_disk(&site) < 1 << 20, "{} bytes on disk", on_disk(&site));
    server.finish();
}

#[test]
fn a_file_of_3_tib_can_be_told_listed_resumed_and_read_at_its_end() {
    const SIZE: u64 = 3 << 40;
    let site = Site::new();
    site.sparse("f", SIZE, &[(SIZE - 3, b"end")]);
    let mut server = Server::plain(site.root());
    assert!(matches!(server.ask(&Message::Stat { path: "f" }), Reply::Stat { size: SIZE, .. }));
    assert!(matches!(server.ask(&Message::Resume { path: "f" }), Reply::Resume { size: SIZE, .. }));
    assert_eq!(server.get("f", SIZE - 3).content, b"end");
    let reply = server.ask(&Message::Hash { path: "f", offset: SIZE - 3, limit: Some(u64::MAX) });
    assert_eq!(reply.hash(), hex(b"end"));
    server.finish();
}
