//! The streams to the client, and its requests.

use std::error::Error;
use std::fs::File;
use std::io::{Write, stdin, stdout};
use std::os::fd::AsFd;

use bcmr_wire::frame::{FrameReader, FrameWriter};
use bcmr_wire::{Caps, Message, Type, VERSION};

pub(crate) type Played<T> = Result<T, Box<dyn Error>>;

/// What a client asks for.
pub(crate) struct Request {
    pub(crate) kind: Type,
    pub(crate) path: String,
    /// Bytes of content, in a frame that carries any.
    pub(crate) content: Vec<u8>,
}

pub(crate) struct Link {
    reader: FrameReader<File>,
    writer: FrameWriter<File>,
}

impl Link {
    /// A link on which nothing was said yet.
    pub(crate) fn new() -> Played<Self> {
        // Past the buffers of the standard library, in which a frame would wait for its end of line.
        let (from, to) = (stdin().as_fd().try_clone_to_owned()?, stdout().as_fd().try_clone_to_owned()?);
        Ok(Self { reader: FrameReader::new(from.into()), writer: FrameWriter::new(to.into()) })
    }

    /// Greets the client, and agrees on nothing.
    pub(crate) fn greeted() -> Played<Self> {
        Self::greeted_with(Caps::NONE)
    }

    /// Greets the client, whatever it can, with these capabilities.
    pub(crate) fn greeted_with(caps: Caps) -> Played<Self> {
        let mut link = Self::new()?;
        link.request()?.ok_or("no Hello")?;
        link.send(&Message::Welcome { version: VERSION, caps })?;
        Ok(link)
    }

    /// The next request, None at the end.
    pub(crate) fn request(&mut self) -> Played<Option<Request>> {
        let Some(header) = self.reader.header()? else { return Ok(None) };
        let (path, content) = match self.reader.message(header)? {
            Message::Stat { path }
            | Message::List { path }
            | Message::Mkdir { path }
            | Message::Get { path, .. }
            | Message::Hash { path, .. }
            | Message::Put { path, .. } => (path.to_owned(), Vec::new()),
            Message::Data { payload } => (String::new(), payload.to_owned()),
            _ => (String::new(), Vec::new()),
        };
        Ok(Some(Request { kind: header.kind, path, content }))
    }

    pub(crate) fn send(&mut self, message: &Message<'_>) -> Played<()> {
        self.writer.push(message)?;
        Ok(self.writer.flush()?)
    }

    pub(crate) fn error(&mut self, message: &str) -> Played<()> {
        self.send(&Message::Error { message })
    }

    /// Says that a name stands for a directory, or for a file of four bytes.
    pub(crate) fn stat(&mut self, is_dir: bool) -> Played<()> {
        self.send(&Message::StatResponse { size: 4, mtime: 0, is_dir })
    }

    /// Sends bytes, whatever they are.
    pub(crate) fn raw(&mut self, bytes: &[u8]) -> Played<()> {
        Ok(self.writer.get_ref().write_all(bytes)?)
    }
}
