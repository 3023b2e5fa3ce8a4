//! The block pipeline, from a source through frames to a sink.

use std::io::{self, Read};

use bcmr_tests::content::{noise, text};
use bcmr_wire::blocks::{BlockReceiver, BlockSender, ReceiveError, SendError};
use bcmr_wire::codec::DecodeError;
use bcmr_wire::frame::{FrameError, FrameReader, FrameWriter};
use bcmr_wire::limits::{CODED_BLOCK, RAW_BLOCK};
use bcmr_wire::message::Algo;
use bcmr_wire::{Caps, Message, Type};

use crate::streams::{Chunks, Recorder, Silence};

const CODECS: [Option<Algo>; 3] = [None, Some(Algo::Lz4), Some(Algo::Zstd)];

/// What a receiver agrees to that wants a codec, and always that one.
fn caps(algo: Option<Algo>) -> Caps {
    match algo {
        None => Caps::NONE,
        Some(Algo::Lz4) => Caps::LZ4,
        Some(Algo::Zstd) => Caps::ZSTD,
    }
}

/// Sends `source` to its end, at most `left` bytes, and then Done. Returns the bytes on the wire, how many of
/// the source were sent, and their hash.
fn sent(algo: Option<Algo>, mut source: impl Read, mut left: u64) -> (Vec<u8>, u64, blake3::Hash) {
    let (mut sender, mut hasher) = (BlockSender::new(caps(algo)), blake3::Hasher::new());
    let mut stream = FrameWriter::new(Recorder::new());
    let mut total = 0;
    loop {
        let read = sender.send(&mut source, left, Some(&mut hasher), &mut stream).unwrap() as u64;
        (total, left) = (total + read, left - read);
        if read == 0 {
            break;
        }
    }
    stream.push(&Message::Done).unwrap();
    stream.flush().unwrap();
    (stream.get_ref().bytes(), total, hasher.finalize())
}

/// Receives data frames up to Done.
fn received(wire: impl Read) -> Vec<u8> {
    let (mut receiver, mut stream) = (BlockReceiver::new(Caps(0xff)), FrameReader::new(wire));
    let mut content = Vec::new();
    loop {
        let header = stream.header().unwrap().unwrap();
        let Some(data) = stream.data_header(header).unwrap() else {
            assert_eq!(header.kind, Type::Done);
            return content;
        };
        let taken = receiver.receive(data, &mut stream, |piece| {
            content.extend_from_slice(piece);
            Ok::<_, String>(())
        });
        taken.unwrap();
    }
}

#[test]
fn content_of_any_size_arrives_as_it_was() {
    let edges = [RAW_BLOCK, CODED_BLOCK].into_iter().flat_map(|block| [block - 1, block, block + 1]);
    let sizes: Vec<usize> = [0, 1, 100, 3_000_001].into_iter().chain(edges).collect();
    for algo in CODECS {
        for &len in &sizes {
            for content in [text(len), noise(len, len as u64)] {
                let (wire, total, hash) = sent(algo, &content[..], u64::MAX);
                assert_eq!((total, hash), (len as u64, blake3::hash(&content)), "{algo:?}");
                assert!(received(&wire[..]) == content, "{algo:?}: {len} bytes arrive as others");
            }
        }
    }
}

#[test]
fn content_arrives_as_it_was_however_source_and_stream_are_cut() {
    let content = [text(400_000), noise(400_000, 1)].concat();
    for algo in CODECS {
        let source = Chunks::new(&content, &[0, 7_001, 1, 65_536]);
        let (wire, total, _) = sent(algo, source, u64::MAX);
        assert_eq!(total, 800_000, "{algo:?}: a short read ends the source");
        assert!(received(Chunks::new(&wire, &[0, 1, 9_999, 300_000])) == content, "{algo:?}");
    }
}

#[test]
fn text_is_smaller_on_the_wire_only_through_a_codec() {
    let content = text(3_000_000);
    let on_the_wire = |algo| sent(algo, &content[..], u64::MAX).0.len();
    assert!(on_the_wire(None) > content.len());
    assert!(on_the_wire(Some(Algo::Lz4)) < content.len() / 2);
    assert!(on_the_wire(Some(Algo::Zstd)) < content.len() / 2);
}

#[test]
fn no_more_is_read_of_a_source_than_was_asked_for() {
    for algo in CODECS {
        for left in [0, 1, 300_000] {
            let content = text(left);
            let (wire, total, hash) = sent(algo, (&content[..]).chain(Silence), left as u64);
            assert_eq!((total, hash), (left as u64, blake3::hash(&content)), "{algo:?}");
            assert!(received(&wire[..]) == content, "{algo:?}");
        }
    }
}

#[test]
fn a_source_that_fails_leaves_the_stream_whole() {
    for algo in CODECS {
        let mut sender = BlockSender::new(caps(algo));
        let mut stream = FrameWriter::new(Recorder::new());
        let mut source = (&b"some bytes before it fails"[..]).chain(Silence);
        let failed = sender.send(&mut source, u64::MAX, None, &mut stream).unwrap_err();
        assert!(matches!(&failed, SendError::Source(e) if e.kind() == io::ErrorKind::Other), "{failed:?}");
        assert!(stream.is_flushed(), "{algo:?}: a part of a block stands in the stream");

        sender.send(&mut &b"next file"[..], u64::MAX, None, &mut stream).unwrap();
        stream.push(&Message::Done).unwrap();
        stream.flush().unwrap();
        assert_eq!(received(&stream.get_ref().bytes()[..]), b"next file", "{algo:?}");
    }
}

#[test]
fn a_stream_that_breaks_is_told_from_a_source_that_fails() {
    for algo in CODECS {
        let mut sender = BlockSender::new(caps(algo));
        // A slice takes what fits in it and then nothing more.
        let mut stream = FrameWriter::new(io::Cursor::new([0_u8; 16]));
        let content = noise(5_000_000, 2);
        let mut source = &content[..];
        let failed = loop {
            match sender.send(&mut source, u64::MAX, None, &mut stream) {
                Ok(0) => panic!("{algo:?}: all of it went into 16 bytes"),
                Ok(_) => {}
                Err(failed) => break failed,
            }
        };
        assert!(matches!(failed, SendError::Stream(_)), "{algo:?}: {failed:?}");
    }
}

/// Receives the one data frame at the stream's front, with a sink that takes `takes` pieces and refuses the
/// next; then the next frame must be Done.
fn receive_one_then_done(
    agreed: Caps,
    wire: impl Read,
    takes: usize,
) -> Result<usize, ReceiveError<&'static str>> {
    let (mut receiver, mut stream) = (BlockReceiver::new(agreed), FrameReader::new(wire));
    let header = stream.header().unwrap().unwrap();
    let data = stream.data_header(header).unwrap().unwrap();
    let mut pieces = 0;
    let taken = receiver.receive(data, &mut stream, |_| {
        pieces += 1;
        assert!(pieces - 1 <= takes, "the sink is asked again after it refused");
        if pieces > takes { Err("disk full") } else { Ok(()) }
    });
    if !matches!(taken, Err(ReceiveError::Frame(_))) {
        assert_eq!(stream.header().unwrap().unwrap().kind, Type::Done, "the frame is not consumed whole");
        assert!(stream.header().unwrap().is_none());
    }
    taken.map(|()| pieces)
}

fn then_done(message: &Message<'_>) -> Vec<u8> {
    let mut wire = Vec::new();
    message.encode(&mut wire).unwrap();
    Message::Done.encode(&mut wire).unwrap();
    wire
}

#[test]
fn a_sink_that_refuses_loses_its_frame_and_not_the_next() {
    let content = noise(1_000_000, 3);
    let wire = then_done(&Message::Data { payload: &content });
    let pieces = receive_one_then_done(Caps::NONE, Chunks::new(&wire, &[1_000]), usize::MAX).unwrap();
    assert!(pieces > 100);
    for takes in [0, 1, pieces / 2, pieces - 1] {
        let taken = receive_one_then_done(Caps::NONE, Chunks::new(&wire, &[1_000]), takes);
        assert!(matches!(taken, Err(ReceiveError::Sink("disk full"))), "{takes}: {taken:?}");
    }
    for algo in [Algo::Lz4, Algo::Zstd] {
        let (wire, ..) = sent(Some(algo), &text(1_000_000)[..], u64::MAX);
        assert_eq!(receive_one_then_done(Caps(0xff), &wire[..], usize::MAX).unwrap(), 1);
        let taken = receive_one_then_done(Caps(0xff), &wire[..], 0);
        assert!(matches!(taken, Err(ReceiveError::Sink("disk full"))), "{algo:?}: {taken:?}");
    }
}

#[test]
fn a_codec_that_was_not_agreed_is_refused_and_the_stream_goes_on() {
    for (algo, cap) in [(Algo::Lz4, Caps::LZ4), (Algo::Zstd, Caps::ZSTD)] {
        let (wire, ..) = sent(Some(algo), &text(500_000)[..], u64::MAX);
        assert!(receive_one_then_done(cap, &wire[..], usize::MAX).is_ok());
        for agreed in [Caps::NONE, Caps(0xff).without(cap)] {
            let taken = receive_one_then_done(agreed, &wire[..], usize::MAX);
            assert!(matches!(taken, Err(ReceiveError::NotNegotiated(told)) if told == algo), "{taken:?}");
        }
    }
}

#[test]
fn a_block_that_does_not_decode_gives_nothing_to_the_sink_and_the_stream_goes_on() {
    for (algo, why) in [(Algo::Lz4, DecodeError::Corrupt(100)), (Algo::Zstd, DecodeError::NotOneFrame)] {
        let payload = noise(300_000, 4);
        let wire = then_done(&Message::DataCompressed { algo, original_size: 100, payload: &payload });
        let taken = receive_one_then_done(Caps(0xff), &wire[..], 0);
        assert!(matches!(taken, Err(ReceiveError::Decode(told)) if told == why), "{taken:?}");
    }
}

#[test]
fn a_stream_that_ends_in_content_is_a_broken_link_whoever_refused_it() {
    let content = noise(1_000_000, 5);
    let raw = then_done(&Message::Data { payload: &content });
    let coded = Message::DataCompressed { algo: Algo::Lz4, original_size: 9, payload: &content };
    let coded = then_done(&coded);
    for wire in [&raw[..500_000], &coded[..500_000]] {
        for takes in [0, usize::MAX] {
            let taken = receive_one_then_done(Caps::NONE, Chunks::new(wire, &[1_000]), takes);
            assert!(matches!(taken, Err(ReceiveError::Frame(FrameError::Truncated))), "{taken:?}");
        }
    }
}

#[test]
fn an_empty_block_gives_nothing_to_the_sink() {
    let wire = then_done(&Message::Data { payload: b"" });
    assert_eq!(receive_one_then_done(Caps::NONE, &wire[..], 0).unwrap(), 0);
}

/// The types and sizes of the data frames that `content` is sent in.
fn frames(agreed: Caps, content: &[u8]) -> Vec<(Type, usize)> {
    let mut sender = BlockSender::new(agreed);
    let mut stream = FrameWriter::new(Recorder::new());
    let mut source = content;
    while sender.send(&mut source, u64::MAX, None, &mut stream).unwrap() > 0 {}
    stream.flush().unwrap();
    let bytes = stream.get_ref().bytes();
    let mut reader = FrameReader::new(&bytes[..]);
    let mut frames = Vec::new();
    while let Some(header) = reader.header().unwrap() {
        frames.push((header.kind, header.body));
        reader.skip(header.body).unwrap();
    }
    frames
}

#[test]
fn most_of_a_file_that_does_not_shrink_is_not_tried() {
    let content = noise(40 << 20, 3);
    let frames = frames(Caps::ZSTD, &content);
    assert!(frames.iter().all(|(kind, _)| *kind == Type::Data));
    // What was tried comes in blocks of that size, what was not in smaller ones.
    let tried = frames.iter().filter(|(_, body)| *body > RAW_BLOCK + 4).count();
    assert!((2..=7).contains(&tried), "{tried} of 40 blocks were tried");
}

#[test]
fn the_compressible_end_of_a_file_that_began_otherwise_is_found() {
    let mut content = noise(3 << 20, 4);
    content.extend_from_slice(&text(20 << 20));
    let frames = frames(Caps::ZSTD, &content);
    let coded = frames.iter().filter(|(kind, _)| *kind == Type::DataCompressed).count();
    assert!(coded >= 15, "{coded} of 20");
}

#[test]
fn a_receiver_of_both_codecs_gets_zstd_while_that_pays() {
    let frames = frames(Caps::ZSTD | Caps::LZ4, &text(2 << 20));
    assert!(frames.iter().all(|(kind, _)| *kind == Type::DataCompressed), "{frames:?}");
}
