//! Any stream, in any pieces, through the frame reader: read message by message and read with the content of
//! data frames piece by piece, it must give the same frames and be refused at the same one.
//!
//! Input: four piece sizes, used in turn, of which 0 is an interrupted call; then the stream.
#![no_main]

use std::io::{self, Read};
use std::iter::Cycle;
use std::slice::Iter;

use bcmr_wire::Message;
use bcmr_wire::frame::{DataHeader, FrameError, FrameReader};
use libfuzzer_sys::fuzz_target;

/// A stream that gives itself in pieces.
struct Pieces<'a> {
    stream: &'a [u8],
    sizes: Cycle<Iter<'a, u8>>,
}

impl Read for Pieces<'_> {
    fn read(&mut self, buf: &mut [u8]) -> io::Result<usize> {
        let size = self.sizes.next().map_or(0, |&size| usize::from(size));
        if size == 0 {
            return Err(io::ErrorKind::Interrupted.into());
        }
        let len = size.min(buf.len());
        self.stream.read(&mut buf[..len])
    }
}

/// A message as a frame, so that messages from two readers compare. It came in a frame, so it fits in one.
fn frame(message: &Message<'_>) -> Vec<u8> {
    let mut frame = Vec::new();
    assert_eq!(message.encode(&mut frame), Ok(()));
    frame
}

fn next_message(reader: &mut FrameReader<impl Read>) -> Result<Option<Vec<u8>>, FrameError> {
    let Some(header) = reader.header()? else { return Ok(None) };
    reader.message(header).map(|message| Some(frame(&message)))
}

fn next_by_pieces(reader: &mut FrameReader<impl Read>) -> Result<Option<Vec<u8>>, FrameError> {
    let Some(header) = reader.header()? else { return Ok(None) };
    let Some(data) = reader.data_header(header)? else {
        return reader.message(header).map(|message| Some(frame(&message)));
    };
    let (DataHeader::Raw(len) | DataHeader::Compressed { len, .. }) = data;
    let mut content = Vec::new();
    while content.len() < len {
        content.extend_from_slice(reader.piece(len - content.len())?);
    }
    let payload = &content[..];
    Ok(Some(frame(&match data {
        DataHeader::Raw(_) => Message::Data { payload },
        DataHeader::Compressed { algo, original_size, .. } => {
            let original_size = u32::try_from(original_size).unwrap_or(u32::MAX);
            Message::DataCompressed { algo, original_size, payload }
        }
    })))
}

/// Passes over every body up to the end of the stream.
fn skip_all(mut reader: FrameReader<impl Read>) -> Result<(), FrameError> {
    while let Some(header) = reader.header()? {
        reader.skip(header.body)?;
    }
    Ok(())
}

fuzz_target!(|input: &[u8]| {
    let Some((&sizes, stream)) = input.split_first_chunk::<4>() else { return };
    let sizes = [sizes[0], sizes[1], sizes[2], sizes[3].max(1)];
    let pieces = || FrameReader::new(Pieces { stream, sizes: sizes.iter().cycle() });

    let (mut whole, mut cut) = (FrameReader::new(stream), pieces());
    let accepted = loop {
        let (message, by_pieces) = (next_message(&mut whole), next_by_pieces(&mut cut));
        // Why a frame is refused may differ: its content may be missing too.
        assert_eq!(message.is_ok(), by_pieces.is_ok(), "{message:?} {by_pieces:?}");
        let (Ok(message), Ok(by_pieces)) = (message, by_pieces) else { break false };
        assert_eq!(message, by_pieces);
        if message.is_none() {
            break true;
        }
    };
    assert!(skip_all(pieces()).is_ok() || !accepted, "frames that are accepted are refused when skipped");
});
