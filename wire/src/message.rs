//! What a frame means: every message of protocol 2, read without copying and written byte for byte.

use thiserror::Error;

use crate::Hash;
use crate::caps::Caps;
use crate::field::{Fields, PutFields};
use crate::limits::{
    COMPRESSED_HEADER, DATA_HEADER, HEADER, LENGTH_PREFIX, MAX_BLOCK, MAX_BODY, MAX_PAYLOAD, MAX_REQUEST,
};
use crate::list::List;

macro_rules! types {
    ($($name:ident = $code:literal, $max:expr;)*) => {
        /// The type byte of a frame.
        #[derive(Clone, Copy, PartialEq, Eq, Debug, Hash)]
        #[repr(u8)]
        #[allow(missing_docs, reason = "the names are those of the protocol's message table")]
        pub enum Type { $($name = $code),* }

        impl Type {
            /// Every type, in the order of their codes.
            pub const ALL: &[Self] = &[$(Self::$name),*];

            /// The type of a code, or None where the protocol assigns none.
            #[must_use]
            pub const fn from_code(code: u8) -> Option<Self> {
                match code { $($code => Some(Self::$name),)* _ => None }
            }

            /// The name in the protocol's message table.
            #[must_use]
            pub const fn name(self) -> &'static str {
                match self { $(Self::$name => stringify!($name)),* }
            }

            /// Bytes of the longest body that a frame of this type can ever need.
            #[must_use]
            pub const fn max_body(self) -> usize {
                match self { $(Self::$name => $max),* }
            }
        }
    };
}

types! {
    Hello = 0x01, MAX_REQUEST;
    List = 0x02, MAX_REQUEST;
    Stat = 0x03, MAX_REQUEST;
    Hash = 0x04, MAX_REQUEST;
    Get = 0x05, MAX_REQUEST;
    Put = 0x06, MAX_REQUEST;
    Mkdir = 0x07, MAX_REQUEST;
    Resume = 0x08, MAX_REQUEST;
    Done = 0x09, MAX_REQUEST;
    HaveBlocks = 0x0a, MAX_BODY;
    OpenDirectChannel = 0x0b, MAX_REQUEST;
    AuthHello = 0x0c, MAX_REQUEST;
    PutChunked = 0x0d, MAX_REQUEST;
    GetChunked = 0x0e, MAX_REQUEST;
    Truncate = 0x0f, MAX_REQUEST;
    Welcome = 0x81, MAX_REQUEST;
    Ok = 0x82, MAX_REQUEST;
    Error = 0x83, MAX_BODY;
    Data = 0x84, DATA_HEADER + MAX_BLOCK;
    StatResponse = 0x85, MAX_REQUEST;
    HashResponse = 0x86, MAX_REQUEST;
    ListResponse = 0x87, MAX_BODY;
    ResumeResponse = 0x88, MAX_REQUEST;
    DataCompressed = 0x89, COMPRESSED_HEADER + MAX_BLOCK;
    MissingBlocks = 0x8a, MAX_REQUEST + 4;
    DirectChannelReady = 0x8b, MAX_REQUEST;
    AuthChallenge = 0x8c, MAX_REQUEST;
}

/// How a block was made smaller.
#[derive(Clone, Copy, PartialEq, Eq, Debug)]
#[repr(u8)]
pub enum Algo {
    /// One raw LZ4 block, no size prefix.
    Lz4 = 1,
    /// Exactly one Zstd frame.
    Zstd = 2,
}

impl Algo {
    const fn from_code(code: u8) -> Option<Self> {
        match code {
            1 => Some(Self::Lz4),
            2 => Some(Self::Zstd),
            _ => None,
        }
    }
}

/// Why a body is not what its type says. Ends the session (wire-v2, "Frame").
#[derive(Clone, Copy, PartialEq, Eq, Debug, Error)]
#[non_exhaustive]
pub enum Malformed {
    /// A length or a fixed field runs past the payload.
    #[error("a field runs past the end of the frame")]
    Short,
    /// The body holds more than the type's fields.
    #[error("the frame goes on after its last field")]
    Trailing,
    /// A string is not UTF-8.
    #[error("a string is not UTF-8")]
    NotUtf8,
    /// A count is above [`crate::limits::MAX_COUNT`].
    #[error("a count is above the limit of 1048576")]
    Count,
    /// DataCompressed names algorithm 0 or one that is not assigned.
    #[error("the compression algorithm is unknown")]
    Algo,
    /// DataCompressed declares an original size of 0 or above [`MAX_BLOCK`].
    #[error("the declared block size is not between 1 and 4194304 bytes")]
    OriginalSize,
}

/// A message that does not fit in one frame. Nothing was written.
#[derive(Clone, Copy, PartialEq, Eq, Debug, Error)]
#[error("{} would need more than the 16 MiB of one frame", .0.name())]
pub struct TooLong(pub Type);

/// One message. Strings and bytes borrow from the frame's body.
///
/// Sizes, offsets and lengths are bytes; mtimes are seconds since the epoch, negative before it.
#[derive(Clone, Copy, PartialEq, Debug)]
#[allow(missing_docs, reason = "the fields are those of the protocol's message table")]
pub enum Message<'a> {
    Hello { version: u8, caps: Caps },
    List { path: &'a str },
    Stat { path: &'a str },
    Hash { path: &'a str, offset: u64, limit: Option<u64> },
    Get { path: &'a str, offset: u64 },
    Put { path: &'a str, size: u64, offset: u64, overwrite: bool },
    Mkdir { path: &'a str },
    Resume { path: &'a str },
    Done,
    HaveBlocks { block_size: u32, hashes: &'a [Hash] },
    OpenDirectChannel,
    AuthHello { mac: Hash },
    PutChunked { path: &'a str, offset: u64, length: u64 },
    GetChunked { path: &'a str, offset: u64, length: u64 },
    Truncate { path: &'a str, size: u64 },
    Welcome { version: u8, caps: Caps },
    Ok { hash: Option<&'a str> },
    Error { message: &'a str },
    Data { payload: &'a [u8] },
    StatResponse { size: u64, mtime: i64, is_dir: bool },
    HashResponse { hash: &'a str },
    ListResponse(List<'a>),
    ResumeResponse { size: u64, block_hash: Option<&'a str> },
    DataCompressed { algo: Algo, original_size: u32, payload: &'a [u8] },
    MissingBlocks { bits: &'a [u8] },
    DirectChannelReady { addr: &'a str, session_key: [u8; 32] },
    AuthChallenge { nonce: [u8; 32] },
}

impl<'a> Message<'a> {
    /// Reads the body of a frame of type `kind`; the body must be consumed exactly.
    ///
    /// # Errors
    /// [`Malformed`], when the body is not what the type's row in the message table says.
    pub fn decode(kind: Type, body: &'a [u8]) -> Result<Self, Malformed> {
        let mut f = Fields::new(body);
        let message = match kind {
            // Peers from before capabilities existed send the version alone.
            Type::Hello => Self::Hello { version: f.u8()?, caps: caps(&mut f)? },
            Type::Welcome => Self::Welcome { version: f.u8()?, caps: caps(&mut f)? },
            Type::List => Self::List { path: f.string()? },
            Type::Stat => Self::Stat { path: f.string()? },
            Type::Hash => Self::Hash { path: f.string()?, offset: f.u64()?, limit: f.opt(Fields::u64)? },
            Type::Get => Self::Get { path: f.string()?, offset: f.u64()? },
            Type::Put => {
                Self::Put { path: f.string()?, size: f.u64()?, offset: f.u64()?, overwrite: f.bool()? }
            }
            Type::Mkdir => Self::Mkdir { path: f.string()? },
            Type::Resume => Self::Resume { path: f.string()? },
            Type::Done => Self::Done,
            Type::HaveBlocks => {
                let block_size = f.u32()?;
                let count = f.count(size_of::<Hash>())?;
                let (hashes, _) = f.take(count * size_of::<Hash>())?.as_chunks();
                Self::HaveBlocks { block_size, hashes }
            }
            Type::OpenDirectChannel => Self::OpenDirectChannel,
            Type::AuthHello => Self::AuthHello { mac: f.array()? },
            Type::PutChunked => Self::PutChunked { path: f.string()?, offset: f.u64()?, length: f.u64()? },
            Type::GetChunked => Self::GetChunked { path: f.string()?, offset: f.u64()?, length: f.u64()? },
            Type::Truncate => Self::Truncate { path: f.string()?, size: f.u64()? },
            Type::Ok => Self::Ok { hash: f.opt(Fields::string)? },
            Type::Error => Self::Error { message: f.string()? },
            Type::Data => Self::Data { payload: f.bytes()? },
            Type::StatResponse => Self::StatResponse { size: f.u64()?, mtime: f.i64()?, is_dir: f.bool()? },
            Type::HashResponse => Self::HashResponse { hash: f.string()? },
            Type::ListResponse => Self::ListResponse(List::decode(&mut f)?),
            Type::ResumeResponse => {
                Self::ResumeResponse { size: f.u64()?, block_hash: f.opt(Fields::string)? }
            }
            Type::DataCompressed => {
                let (algo, original_size) = compressed_header(&mut f)?;
                Self::DataCompressed { algo, original_size, payload: f.bytes()? }
            }
            Type::MissingBlocks => Self::MissingBlocks { bits: f.bytes()? },
            Type::DirectChannelReady => {
                Self::DirectChannelReady { addr: f.string()?, session_key: f.array()? }
            }
            Type::AuthChallenge => Self::AuthChallenge { nonce: f.array()? },
        };
        if f.is_empty() { Ok(message) } else { Err(Malformed::Trailing) }
    }

    /// The type byte of this message.
    #[must_use]
    pub const fn kind(&self) -> Type {
        match self {
            Self::Hello { .. } => Type::Hello,
            Self::List { .. } => Type::List,
            Self::Stat { .. } => Type::Stat,
            Self::Hash { .. } => Type::Hash,
            Self::Get { .. } => Type::Get,
            Self::Put { .. } => Type::Put,
            Self::Mkdir { .. } => Type::Mkdir,
            Self::Resume { .. } => Type::Resume,
            Self::Done => Type::Done,
            Self::HaveBlocks { .. } => Type::HaveBlocks,
            Self::OpenDirectChannel => Type::OpenDirectChannel,
            Self::AuthHello { .. } => Type::AuthHello,
            Self::PutChunked { .. } => Type::PutChunked,
            Self::GetChunked { .. } => Type::GetChunked,
            Self::Truncate { .. } => Type::Truncate,
            Self::Welcome { .. } => Type::Welcome,
            Self::Ok { .. } => Type::Ok,
            Self::Error { .. } => Type::Error,
            Self::Data { .. } => Type::Data,
            Self::StatResponse { .. } => Type::StatResponse,
            Self::HashResponse { .. } => Type::HashResponse,
            Self::ListResponse(_) => Type::ListResponse,
            Self::ResumeResponse { .. } => Type::ResumeResponse,
            Self::DataCompressed { .. } => Type::DataCompressed,
            Self::MissingBlocks { .. } => Type::MissingBlocks,
            Self::DirectChannelReady { .. } => Type::DirectChannelReady,
            Self::AuthChallenge { .. } => Type::AuthChallenge,
        }
    }

    /// Appends this message's whole frame, length prefix included, to `out`.
    ///
    /// # Errors
    /// [`TooLong`], when the payload would pass 16 MiB; `out` is then as it was.
    pub fn encode(&self, out: &mut Vec<u8>) -> Result<(), TooLong> {
        let start = out.len();
        out.extend_from_slice(&[0; LENGTH_PREFIX]);
        out.push(self.kind() as u8);
        self.encode_body(out);
        settle_length(out, start, self.kind())
    }

    fn encode_body(&self, out: &mut Vec<u8>) {
        match *self {
            Self::Hello { version, caps } | Self::Welcome { version, caps } => {
                out.extend_from_slice(&[version, caps.0]);
            }
            Self::List { path } | Self::Stat { path } | Self::Mkdir { path } | Self::Resume { path } => {
                out.put_bytes(path.as_bytes());
            }
            Self::Hash { path, offset, limit } => {
                out.put_bytes(path.as_bytes());
                out.put_u64(offset);
                out.put_opt(limit, Vec::put_u64);
            }
            Self::Get { path, offset } => {
                out.put_bytes(path.as_bytes());
                out.put_u64(offset);
            }
            Self::Put { path, size, offset, overwrite } => {
                out.put_bytes(path.as_bytes());
                out.put_u64(size);
                out.put_u64(offset);
                out.push(overwrite.into());
            }
            Self::Done | Self::OpenDirectChannel => {}
            Self::HaveBlocks { block_size, hashes } => {
                out.put_u32(block_size);
                out.put_u32(u32::try_from(hashes.len()).unwrap_or(u32::MAX));
                out.extend_from_slice(hashes.as_flattened());
            }
            Self::AuthHello { mac: bytes } | Self::AuthChallenge { nonce: bytes } => {
                out.extend_from_slice(&bytes);
            }
            Self::PutChunked { path, offset, length } | Self::GetChunked { path, offset, length } => {
                out.put_bytes(path.as_bytes());
                out.put_u64(offset);
                out.put_u64(length);
            }
            Self::Truncate { path, size } => {
                out.put_bytes(path.as_bytes());
                out.put_u64(size);
            }
            Self::Ok { hash } => out.put_opt(hash, |out, hash| out.put_bytes(hash.as_bytes())),
            Self::Error { message: text } | Self::HashResponse { hash: text } => {
                out.put_bytes(text.as_bytes());
            }
            Self::Data { payload: bytes } | Self::MissingBlocks { bits: bytes } => out.put_bytes(bytes),
            Self::StatResponse { size, mtime, is_dir } => {
                out.put_u64(size);
                out.put_i64(mtime);
                out.push(is_dir.into());
            }
            Self::ListResponse(list) => list.encode(out),
            Self::ResumeResponse { size, block_hash } => {
                out.put_u64(size);
                out.put_opt(block_hash, |out, hash| out.put_bytes(hash.as_bytes()));
            }
            Self::DataCompressed { algo, original_size, payload } => {
                out.push(algo as u8);
                out.put_u32(original_size);
                out.put_bytes(payload);
            }
            Self::DirectChannelReady { addr, session_key } => {
                out.put_bytes(addr.as_bytes());
                out.extend_from_slice(&session_key);
            }
        }
    }
}

fn caps(f: &mut Fields<'_>) -> Result<Caps, Malformed> {
    if f.is_empty() { Ok(Caps::NONE) } else { f.u8().map(Caps) }
}

/// The fields of DataCompressed before its content.
pub(crate) fn compressed_header(f: &mut Fields<'_>) -> Result<(Algo, u32), Malformed> {
    let algo = Algo::from_code(f.u8()?).ok_or(Malformed::Algo)?;
    let original_size = f.u32()?;
    if original_size == 0 || original_size as usize > MAX_BLOCK {
        return Err(Malformed::OriginalSize);
    }
    Ok((algo, original_size))
}

/// Writes the length prefix of the frame that begins at `start`, now that its body stands; takes the frame
/// away again where it is too long.
fn settle_length(out: &mut Vec<u8>, start: usize, kind: Type) -> Result<(), TooLong> {
    let payload = out.len() - start - LENGTH_PREFIX;
    debug_assert!(out.len() - start >= HEADER, "a frame has a type byte");
    if payload > MAX_PAYLOAD {
        out.truncate(start);
        return Err(TooLong(kind));
    }
    let payload = u32::try_from(payload).map_err(|_| TooLong(kind))?;
    out[start..start + LENGTH_PREFIX].copy_from_slice(&payload.to_le_bytes());
    Ok(())
}
