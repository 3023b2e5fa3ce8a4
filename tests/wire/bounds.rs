//! What reading costs in memory (S5): no value of any length, count or compressed block allocates more than its
//! limit.
//!
//! Each of these tests runs its measured part alone in a process of its own, whose address space may grow by a
//! given number of bytes and no more: an allocation beyond that ends it, touched or not.

use std::any::type_name;
use std::env;
use std::io::{self, Read};
use std::process::{Command, exit};

use bcmr_tests::content::text;
use bcmr_wire::codec::{DecodeError, Decoder};
use bcmr_wire::frame::{FrameError, FrameReader, FrameWriter};
use bcmr_wire::limits::{HEADER, MAX_BLOCK, MAX_PAYLOAD};
use bcmr_wire::list::{Entry, ListBuilder};
use bcmr_wire::message::Algo;
use bcmr_wire::{Message, Type};
use rustix::process::{Resource, Rlimit, getrlimit, setrlimit};

use crate::parts::golden_frames;
use crate::table::{Places, row_of};

const MIB: u64 = 1024 * 1024;

/// Set in the process that measures.
const MEASURING: &str = "BCMR_TEST_MEASURING";

/// Written by the process that measures once its part has come to its end.
const DONE: &str = "stayed within its bound";

/// Runs `part` in a process of its own that repeats `test`, which must be the calling test itself. The address
/// space may grow by `bound` bytes while `part` runs. Returns what that process had to say where it died.
fn within<T>(bound: u64, test: T, part: impl FnOnce()) -> Result<(), String> {
    if env::var_os(MEASURING).is_some() {
        let most = address_space() + bound;
        setrlimit(Resource::As, Rlimit { current: Some(most), ..getrlimit(Resource::As) }).unwrap();
        part();
        println!("{DONE}");
        exit(0);
    }
    drop(test);
    let name = type_name::<T>().split_once("::").unwrap().1;
    let child = Command::new(env::current_exe().unwrap())
        .args([name, "--exact", "--nocapture", "--test-threads=1"])
        .env(MEASURING, "1")
        // glibc would serve a thread from address space that it reserved before the bound was set.
        .envs([("MALLOC_ARENA_MAX", "1"), ("MALLOC_MMAP_THRESHOLD_", "131072")])
        .output()
        .unwrap();
    let said = |bytes| String::from_utf8_lossy(bytes).into_owned();
    if said(&child.stdout).contains(DONE) { Ok(()) } else { Err(said(&child.stderr)) }
}

/// Bytes of this process's address space.
fn address_space() -> u64 {
    let status = std::fs::read_to_string("/proc/self/status").unwrap();
    let line = status.lines().find_map(|line| line.strip_prefix("VmSize:")).unwrap();
    line.trim().strip_suffix("kB").unwrap().trim().parse::<u64>().unwrap() * 1024
}

#[test]
fn an_allocation_above_its_bound_ends_the_measuring_process() {
    let said = within(MIB, an_allocation_above_its_bound_ends_the_measuring_process, || {
        // Never touched, as a capacity that a count asks for.
        std::hint::black_box(Vec::<u8>::with_capacity(2 * 1024 * 1024));
    });
    let said = said.unwrap_err();
    assert!(said.contains("memory allocation"), "it ended for another reason: {said}");
}

#[test]
fn an_allocation_below_its_bound_does_not() {
    within(2 * MIB, an_allocation_below_its_bound_does_not, || {
        std::hint::black_box(Vec::<u8>::with_capacity(1024 * 1024));
    })
    .unwrap();
}

#[test]
fn cve_2024_12084_cve_2026_43618_no_length_or_count_is_allocated_before_it_is_checked() {
    within(MIB, cve_2024_12084_cve_2026_43618_no_length_or_count_is_allocated_before_it_is_checked, || {
        for (_, frame) in golden_frames("messages") {
            let body = &frame[HEADER..];
            for at in Places::in_body(row_of(frame[4]).unwrap(), body).lengths {
                for value in [0, 1, 1 << 20, 1 << 31, u32::MAX] {
                    let mut frame = frame.clone();
                    frame[HEADER + at..][..4].copy_from_slice(&u32::to_le_bytes(value));
                    let mut reader = FrameReader::new(&frame[..]);
                    let header = reader.header().unwrap().unwrap();
                    let _ = reader.message(header);
                }
            }
        }
    })
    .unwrap();
}

#[test]
fn a_frame_length_above_16_mib_is_not_allocated() {
    within(MIB, a_frame_length_above_16_mib_is_not_allocated, || {
        for length in [MAX_PAYLOAD + 1, 1 << 31, u32::MAX as usize] {
            let header = u32::try_from(length).unwrap().to_le_bytes();
            let mut reader = FrameReader::new((&header[..]).chain(io::repeat(0x0a)));
            assert!(matches!(reader.header(), Err(FrameError::Oversized { .. })));
        }
    })
    .unwrap();
}

#[test]
fn a_frame_of_16_mib_costs_its_own_bytes_once() {
    within(17 * MIB, a_frame_of_16_mib_costs_its_own_bytes_once, || {
        let frames = || {
            let header = [0, 0, 0, 1, Type::HaveBlocks as u8];
            io::Cursor::new(header).chain(io::repeat(0).take(MAX_PAYLOAD as u64 - 1))
        };
        let mut reader = FrameReader::new(frames().chain(frames()));
        for _ in 0..2 {
            let header = reader.header().unwrap().unwrap();
            assert_eq!(reader.body(header.body).unwrap().len(), MAX_PAYLOAD - 1);
        }
        assert!(reader.header().unwrap().is_none());
    })
    .unwrap();
}

#[test]
fn a_raw_block_of_4_mib_is_never_held_whole() {
    within(MIB, a_raw_block_of_4_mib_is_never_held_whole, || {
        let header = [5, 0, 0x40, 0, Type::Data as u8, 0, 0, 0x40, 0];
        let mut reader = FrameReader::new((&header[..]).chain(io::repeat(7)));
        let header = reader.header().unwrap().unwrap();
        assert!(reader.data_header(header).unwrap().is_some());
        let mut left = MAX_BLOCK;
        while left > 0 {
            left -= reader.piece(left).unwrap().len();
        }
    })
    .unwrap();
}

#[test]
fn a_giant_message_is_not_kept_once_it_was_written() {
    let text = "x".repeat(MAX_PAYLOAD - 5);
    within(20 * MIB, a_giant_message_is_not_kept_once_it_was_written, || {
        let mut writer = FrameWriter::new(io::sink());
        writer.push(&Message::Error { message: &text }).unwrap();
        std::hint::black_box(Vec::<u8>::with_capacity(MAX_PAYLOAD));
        assert_eq!(writer.bytes_given(), 4 + MAX_PAYLOAD as u64);
    })
    .unwrap();
}

#[test]
fn a_listing_of_as_many_entries_as_fit_costs_nothing_beside_its_frame() {
    let entry = Entry { path: "", size: 0, mtime: 0, is_dir: false };
    let mut list = ListBuilder::new();
    while list.push(&entry).is_ok() {}
    let frame = list.finish();
    within(MIB, a_listing_of_as_many_entries_as_fit_costs_nothing_beside_its_frame, || {
        let Ok(Message::ListResponse(list)) = Message::decode(Type::ListResponse, &frame[HEADER..]) else {
            panic!("the listing is refused");
        };
        assert_eq!(list.iter().count(), 798_914);
    })
    .unwrap();
}

#[test]
fn a_hash_list_as_long_as_fits_costs_nothing_beside_its_frame() {
    let hashes = vec![[7; 32]; 524_287];
    let mut frame = Vec::new();
    Message::HaveBlocks { block_size: 4_194_304, hashes: &hashes }.encode(&mut frame).unwrap();
    within(MIB, a_hash_list_as_long_as_fits_costs_nothing_beside_its_frame, || {
        let Ok(Message::HaveBlocks { hashes, .. }) = Message::decode(Type::HaveBlocks, &frame[HEADER..])
        else {
            panic!("the hash list is refused");
        };
        assert_eq!(hashes.len(), 524_287);
    })
    .unwrap();
}

/// Zstd frames that ask for much: a window of 512 MiB in 9 bytes, and contents of 512 MiB and 2^62 bytes.
fn greedy_zstd() -> [Vec<u8>; 3] {
    const MAGIC: [u8; 4] = [0x28, 0xb5, 0x2f, 0xfd];
    let sized = |size: u64| [&MAGIC, &[0xe0][..], &size.to_le_bytes(), &[1, 0, 0]].concat();
    [[&MAGIC, &[0, (29 - 10) << 3, 1, 0, 0][..]].concat(), sized(512 << 20), sized(1 << 62)]
}

#[test]
fn a_zstd_window_of_512_mib_is_refused_before_it_is_allocated() {
    within(MIB, a_zstd_window_of_512_mib_is_refused_before_it_is_allocated, || {
        for content in greedy_zstd() {
            let mut decoder = Decoder::default();
            let refused = decoder.decode(Algo::Zstd, 1, &content);
            assert!(matches!(refused, Err(DecodeError::Window(_))), "{refused:?}");
        }
    })
    .unwrap();
}

/// A block's worth of zeros 64 times over, in a few bytes.
fn bomb(algo: Algo) -> Vec<u8> {
    match algo {
        Algo::Zstd => zstd::bulk::compress(&vec![0; 64 * MAX_BLOCK], 3).unwrap(),
        // One literal, then a match of offset 1 whose length goes on, 255 a byte.
        Algo::Lz4 => [&[0x1f, 0, 1, 0][..], &vec![0xff; 64 * MAX_BLOCK / 255], &[0]].concat(),
    }
}

#[test]
fn a_compressed_block_costs_its_declared_size_whatever_it_decodes_to() {
    let bombs = [Algo::Lz4, Algo::Zstd].map(|algo| (algo, bomb(algo)));
    within(5 * MIB, a_compressed_block_costs_its_declared_size_whatever_it_decodes_to, || {
        let mut decoder = Decoder::default();
        for (algo, bomb) in &bombs {
            for original_size in [1, 1_000, MAX_BLOCK] {
                assert!(decoder.decode(*algo, original_size, bomb).is_err(), "{algo:?}");
            }
        }
    })
    .unwrap();
}

#[test]
fn a_good_block_of_4_mib_costs_its_size_and_the_codecs_state() {
    let blocks = [Algo::Lz4, Algo::Zstd].map(|algo| {
        match bcmr_wire::codec::Encoder::default().encode(algo, &text(MAX_BLOCK)) {
            bcmr_wire::codec::Encoded::Compressed { content, .. } => (algo, content.to_vec()),
            bcmr_wire::codec::Encoded::Raw(_) => panic!("text goes raw"),
        }
    });
    within(5 * MIB, a_good_block_of_4_mib_costs_its_size_and_the_codecs_state, || {
        let mut decoder = Decoder::default();
        for _ in 0..3 {
            for (algo, content) in &blocks {
                assert_eq!(decoder.decode(*algo, MAX_BLOCK, content).unwrap().len(), MAX_BLOCK);
            }
        }
    })
    .unwrap();
}
