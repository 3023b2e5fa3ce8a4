//! Streams that give and take as scripted, and what a reader makes of them.

use std::io::{self, IoSlice, Read, Write};
use std::iter::Cycle;
use std::slice::Iter;

use bcmr_wire::frame::{DataHeader, FrameError, FrameReader};
use bcmr_wire::{Message, Type};

/// Gives `data` in pieces of the given sizes, over and over; a size of 0 is an interrupted call.
pub(crate) struct Chunks<'a> {
    data: &'a [u8],
    sizes: Cycle<Iter<'a, usize>>,
}

impl<'a> Chunks<'a> {
    pub(crate) fn new(data: &'a [u8], sizes: &'a [usize]) -> Self {
        assert!(sizes.iter().any(|&size| size > 0), "a stream that never gives anything");
        Self { data, sizes: sizes.iter().cycle() }
    }
}

impl Read for Chunks<'_> {
    fn read(&mut self, buf: &mut [u8]) -> io::Result<usize> {
        match self.sizes.next() {
            Some(&0) | None => Err(io::ErrorKind::Interrupted.into()),
            Some(&size) => {
                let len = size.min(buf.len());
                self.data.read(&mut buf[..len])
            }
        }
    }
}

/// A stream whose other end has fallen silent: to ask it for anything fails.
pub(crate) struct Silence;

impl Read for Silence {
    fn read(&mut self, _: &mut [u8]) -> io::Result<usize> {
        Err(io::Error::other("asked a silent stream for more"))
    }
}

/// Keeps what each call wrote, at most `at_most` bytes of it; every other call is interrupted where asked.
#[derive(Debug)]
pub(crate) struct Recorder {
    pub(crate) calls: Vec<Vec<u8>>,
    at_most: usize,
    interrupt: bool,
    turn: bool,
}

impl Recorder {
    pub(crate) fn new() -> Self {
        Self { calls: Vec::new(), at_most: usize::MAX, interrupt: false, turn: false }
    }

    pub(crate) fn reluctant(at_most: usize) -> Self {
        Self { at_most, interrupt: true, ..Self::new() }
    }

    pub(crate) fn bytes(&self) -> Vec<u8> {
        self.calls.concat()
    }
}

impl Write for Recorder {
    fn write(&mut self, buf: &[u8]) -> io::Result<usize> {
        self.write_vectored(&[IoSlice::new(buf)])
    }

    fn write_vectored(&mut self, parts: &[IoSlice<'_>]) -> io::Result<usize> {
        self.turn = !self.turn;
        if self.interrupt && self.turn {
            return Err(io::ErrorKind::Interrupted.into());
        }
        let mut call = Vec::new();
        for part in parts {
            call.extend_from_slice(&part[..part.len().min(self.at_most - call.len())]);
        }
        let written = call.len();
        self.calls.push(call);
        Ok(written)
    }

    fn flush(&mut self) -> io::Result<()> {
        Ok(())
    }
}

/// What a reader made of one frame, or of a stream's end.
#[derive(Clone, PartialEq, Eq, Debug)]
pub(crate) enum Outcome {
    /// A message: its type and the hash of its encoded form.
    Message(Type, blake3::Hash),
    /// The end, on a frame's boundary.
    End,
    /// No further frame can be read; the error's debug form.
    Refused(String),
}

pub(crate) fn message(message: &Message<'_>) -> Outcome {
    let mut frame = Vec::new();
    message.encode(&mut frame).unwrap();
    Outcome::Message(message.kind(), blake3::hash(&frame))
}

pub(crate) fn refused(error: &FrameError) -> Outcome {
    Outcome::Refused(format!("{error:?}"))
}

/// What comes of a stream that is read message by message.
pub(crate) fn by_messages(stream: impl Read) -> Vec<Outcome> {
    follow(stream, |reader| {
        let Some(header) = reader.header()? else { return Ok(Outcome::End) };
        Ok(message(&reader.message(header)?))
    })
}

/// The same, where the content of data frames is taken piece by piece, and data frames are judged before their
/// content is here.
pub(crate) fn by_pieces(stream: impl Read) -> Vec<Outcome> {
    follow(stream, |reader| {
        let Some(header) = reader.header()? else { return Ok(Outcome::End) };
        let Some(data) = reader.data_header(header)? else {
            return Ok(message(&reader.message(header)?));
        };
        let (DataHeader::Raw(len) | DataHeader::Compressed { len, .. }) = data;
        let mut payload = Vec::new();
        while payload.len() < len {
            let piece = reader.piece(len - payload.len())?;
            assert!(!piece.is_empty() && payload.len() + piece.len() <= len, "a piece that is none");
            payload.extend_from_slice(piece);
        }
        let payload = &payload[..];
        Ok(message(&match data {
            DataHeader::Raw(_) => Message::Data { payload },
            DataHeader::Compressed { algo, original_size, .. } => {
                let original_size = original_size.try_into().unwrap();
                Message::DataCompressed { algo, original_size, payload }
            }
        }))
    })
}

/// What comes of a stream of which every body is passed over.
pub(crate) fn by_skipping(stream: impl Read) -> Vec<Result<Type, Outcome>> {
    let mut reader = FrameReader::new(stream);
    let mut seen = Vec::new();
    loop {
        let step = reader.header().and_then(|header| match header {
            Some(header) => reader.skip(header.body).map(|()| Some(header.kind)),
            None => Ok(None),
        });
        match step {
            Ok(Some(kind)) => seen.push(Ok(kind)),
            Ok(None) => seen.push(Err(Outcome::End)),
            Err(e) => seen.push(Err(refused(&e))),
        }
        if seen.last().is_some_and(Result::is_err) {
            return seen;
        }
    }
}

fn follow<R: Read>(
    stream: R,
    mut step: impl FnMut(&mut FrameReader<R>) -> Result<Outcome, FrameError>,
) -> Vec<Outcome> {
    let mut reader = FrameReader::new(stream);
    let mut seen = Vec::new();
    loop {
        let outcome = step(&mut reader).unwrap_or_else(|e| refused(&e));
        seen.push(outcome);
        if !matches!(seen.last(), Some(Outcome::Message(..))) {
            return seen;
        }
    }
}
