//! The frame writer: few calls, nothing lost, nothing of a frame that was not made.

use std::io::{self, Write};

use bcmr_tests::content::noise;
use bcmr_wire::Message;
use bcmr_wire::codec::Encoded;
use bcmr_wire::frame::FrameWriter;
use bcmr_wire::limits::{MAX_BLOCK, MAX_PAYLOAD, RAW_BLOCK};
use bcmr_wire::message::Algo;
use proptest::prelude::*;

use crate::parts::{any_parts, golden_frames, tries};
use crate::streams::{Outcome, Recorder, by_messages, message};

fn flushed(mut writer: FrameWriter<Recorder>) -> Vec<u8> {
    writer.flush().unwrap();
    let bytes = writer.get_ref().bytes();
    assert_eq!(writer.bytes_given(), bytes.len() as u64, "bytes given are not those that were taken");
    assert!(writer.is_flushed());
    bytes
}

fn filled_with(content: &[u8]) -> impl FnOnce(&mut [u8]) -> Result<usize, String> {
    |place| {
        place[..content.len()].copy_from_slice(content);
        Ok(content.len())
    }
}

#[test]
fn small_messages_are_gathered_into_one_call() {
    let mut writer = FrameWriter::new(Recorder::new());
    assert!(writer.is_flushed());
    for _ in 0..1_000 {
        writer.push(&Message::Done).unwrap();
    }
    assert!(!writer.is_flushed());
    assert_eq!((writer.get_ref().calls.len(), writer.bytes_given()), (0, 0));
    writer.flush().unwrap();
    assert_eq!((writer.get_ref().calls.len(), writer.bytes_given()), (1, 5_000));
    assert_eq!(flushed(writer), [1, 0, 0, 0, 9].repeat(1_000));
}

#[test]
fn much_is_written_without_being_asked_to_and_in_large_calls() {
    let mut writer = FrameWriter::new(Recorder::new());
    for _ in 0..300_000 {
        writer.push(&Message::Done).unwrap();
    }
    let calls = &writer.get_ref().calls;
    assert!(!calls.is_empty() && calls.len() < 10, "{} calls for 1.5 MB", calls.len());
    assert!(calls.iter().all(|call| call.len() > RAW_BLOCK));
    assert_eq!(flushed(writer).len(), 1_500_000);
}

/// What waits is late, and a receiver may have nothing else to do.
#[test]
fn no_more_than_one_raw_block_ever_waits() {
    let block = noise(RAW_BLOCK, 6);
    let mut writer = FrameWriter::new(Recorder::new());
    let mut pushed = 0;
    for len in [RAW_BLOCK, 1, RAW_BLOCK, RAW_BLOCK, 1_000, RAW_BLOCK - 1_000, 1, RAW_BLOCK] {
        if len % 2 == 0 {
            writer.push_data(len, filled_with(&block[..len])).unwrap().unwrap();
        } else {
            writer.push_block(Encoded::Raw(&block[..len])).unwrap();
        }
        pushed += len as u64 + 9;
        let waits = pushed - writer.bytes_given();
        assert!(waits <= RAW_BLOCK as u64 + 9, "{waits} bytes wait");
    }
    assert_eq!(flushed(writer).len() as u64, pushed);
}

proptest! {
    #![proptest_config(tries(60))]

    #[test]
    fn any_messages_arrive_whole_and_in_order_however_the_stream_takes_them(
        parts in prop::collection::vec(any_parts(), 0..12),
        at_most in 1..2_000_usize,
        flushes: u16,
    ) {
        let mut writer = FrameWriter::new(Recorder::reluctant(at_most));
        for (at, parts) in parts.iter().enumerate() {
            writer.push(&parts.message()).unwrap();
            if flushes >> at & 1 == 1 {
                writer.flush().unwrap();
            }
        }
        let mut seen: Vec<Outcome> = parts.iter().map(|parts| message(&parts.message())).collect();
        seen.push(Outcome::End);
        prop_assert_eq!(by_messages(&flushed(writer)[..]), seen);
    }
}

#[test]
fn frames_that_stand_encoded_go_out_as_they_are() {
    let mut writer = FrameWriter::new(Recorder::new());
    let golden: Vec<Vec<u8>> = golden_frames("messages").into_iter().map(|(_, frame)| frame).collect();
    for frame in &golden {
        writer.push_encoded(frame).unwrap();
    }
    let long = noise(MAX_PAYLOAD, 1);
    writer.push_encoded(&long).unwrap();
    writer.push(&Message::Done).unwrap();
    assert_eq!(flushed(writer), [&golden.concat()[..], &long, &[1, 0, 0, 0, 9]].concat());
}

#[test]
fn a_big_block_goes_out_whole_in_one_call_after_what_was_gathered() {
    let block = noise(MAX_BLOCK, 2);
    let (algo, original_size) = (Algo::Lz4, 4_194_304);
    let blocks = [
        (Encoded::Raw(&block), Message::Data { payload: &block }),
        (
            Encoded::Compressed { algo, original_size, content: &block },
            Message::DataCompressed { algo, original_size, payload: &block },
        ),
    ];
    for (encoded, same) in blocks {
        let mut writer = FrameWriter::new(Recorder::new());
        writer.push(&Message::Done).unwrap();
        writer.push_block(encoded).unwrap();
        let calls = &writer.get_ref().calls;
        assert_eq!(calls.len(), 2, "what was gathered, then the block with its header");
        assert_eq!(calls[0], [1, 0, 0, 0, 9]);
        assert_eq!(by_messages(&calls[1][..]), [message(&same), Outcome::End]);
        assert!(writer.is_flushed());
        assert_eq!(writer.bytes_given(), (5 + calls[1].len()) as u64);
    }
}

#[test]
fn a_big_block_arrives_whole_where_the_stream_takes_little_at_a_time() {
    let block = noise(1_000_000, 3);
    let mut writer = FrameWriter::new(Recorder::reluctant(999));
    writer.push_block(Encoded::Raw(&block)).unwrap();
    writer.push(&Message::Done).unwrap();
    let seen = [message(&Message::Data { payload: &block }), message(&Message::Done), Outcome::End];
    assert_eq!(by_messages(&flushed(writer)[..]), seen);
}

#[test]
fn blocks_of_any_size_around_the_buffers_arrive_whole() {
    let mut writer = FrameWriter::new(Recorder::new());
    let mut seen = Vec::new();
    for len in
        [1, RAW_BLOCK - 1, RAW_BLOCK, 2 * RAW_BLOCK, 2 * RAW_BLOCK + 9, 2 * RAW_BLOCK + 10, 3 * RAW_BLOCK]
    {
        let block = noise(len, len as u64);
        writer.push_block(Encoded::Raw(&block)).unwrap();
        writer.push(&Message::Done).unwrap();
        seen.extend([message(&Message::Data { payload: &block }), message(&Message::Done)]);
    }
    seen.push(Outcome::End);
    assert_eq!(by_messages(&flushed(writer)[..]), seen);
}

#[test]
fn content_that_is_filled_in_place_is_a_data_frame_of_what_was_filled() {
    let mut writer = FrameWriter::new(Recorder::new());
    assert_eq!(writer.push_data(100, filled_with(b"abc")).unwrap(), Ok(3));
    let full = noise(RAW_BLOCK, 4);
    let offered = |place: &mut [u8]| {
        assert_eq!(place.len(), RAW_BLOCK, "more or less was offered than a raw block");
        place.copy_from_slice(&full);
        Ok::<_, String>(RAW_BLOCK)
    };
    for _ in 0..5 {
        assert_eq!(writer.push_data(usize::MAX, offered).unwrap(), Ok(RAW_BLOCK));
    }
    let mut seen = vec![message(&Message::Data { payload: b"abc" })];
    seen.extend(vec![message(&Message::Data { payload: &full }); 5]);
    seen.push(Outcome::End);
    assert_eq!(by_messages(&flushed(writer)[..]), seen);
}

#[test]
fn content_of_which_nothing_was_filled_writes_nothing() {
    let mut writer = FrameWriter::new(Recorder::new());
    assert_eq!(writer.push_data(100, |_| Ok::<_, String>(0)).unwrap(), Ok(0));
    assert_eq!(writer.push_data(0, |place| Ok::<_, String>(place.len())).unwrap(), Ok(0));
    assert!(writer.is_flushed());
    assert_eq!(flushed(writer), b"");
}

#[test]
fn content_that_could_not_be_filled_leaves_nothing_of_its_frame() {
    let mut writer = FrameWriter::new(Recorder::new());
    writer.push_data(10, filled_with(b"kept")).unwrap().unwrap();
    let failed = writer.push_data(10, |place| {
        place.fill(0xee);
        Err::<usize, _>("disk")
    });
    assert_eq!(failed.unwrap(), Err("disk"));
    writer.push(&Message::Done).unwrap();
    let seen = [message(&Message::Data { payload: b"kept" }), message(&Message::Done), Outcome::End];
    assert_eq!(by_messages(&flushed(writer)[..]), seen);
}

#[test]
fn more_claimed_to_be_filled_than_was_offered_is_not_believed() {
    let mut writer = FrameWriter::new(Recorder::new());
    assert_eq!(writer.push_data(4, |_| Ok::<_, String>(1_000)).unwrap(), Ok(4));
    assert_eq!(flushed(writer), [9, 0, 0, 0, 0x84, 4, 0, 0, 0, 0, 0, 0, 0]);
}

#[test]
fn a_message_that_fits_no_frame_is_refused_and_the_stream_goes_on() {
    let mut writer = FrameWriter::new(Recorder::new());
    let text = "x".repeat(MAX_PAYLOAD);
    let refused = writer.push(&Message::Error { message: &text }).unwrap_err();
    assert_eq!(refused.kind(), io::ErrorKind::InvalidInput);
    writer.push(&Message::Done).unwrap();
    assert_eq!(flushed(writer), [1, 0, 0, 0, 9]);
}

/// A stream whose other end hung up.
struct HungUp;

impl Write for HungUp {
    fn write(&mut self, _: &[u8]) -> io::Result<usize> {
        Err(io::ErrorKind::BrokenPipe.into())
    }

    fn flush(&mut self) -> io::Result<()> {
        Ok(())
    }
}

/// A stream that takes nothing any more without saying why.
struct Full;

impl Write for Full {
    fn write(&mut self, _: &[u8]) -> io::Result<usize> {
        Ok(0)
    }

    fn flush(&mut self) -> io::Result<()> {
        Ok(())
    }
}

#[test]
fn a_stream_that_takes_nothing_is_an_error_and_no_byte_was_given() {
    let block = noise(MAX_BLOCK, 5);

    let mut writer = FrameWriter::new(HungUp);
    writer.push(&Message::Done).unwrap();
    assert_eq!(writer.flush().unwrap_err().kind(), io::ErrorKind::BrokenPipe);
    assert_eq!(writer.push_block(Encoded::Raw(&block)).unwrap_err().kind(), io::ErrorKind::BrokenPipe);
    assert_eq!(writer.bytes_given(), 0);

    let mut writer = FrameWriter::new(Full);
    writer.push(&Message::Done).unwrap();
    assert_eq!(writer.flush().unwrap_err().kind(), io::ErrorKind::WriteZero);
    assert_eq!(writer.push_block(Encoded::Raw(&block)).unwrap_err().kind(), io::ErrorKind::WriteZero);
    assert_eq!(writer.bytes_given(), 0);
}
