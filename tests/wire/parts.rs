//! A message that owns its fields: made from a golden vector or at random.

use std::collections::BTreeMap;

use bcmr_wire::limits::{HEADER, MAX_BLOCK};
use bcmr_wire::list::{Entry, ListBuilder};
use bcmr_wire::message::Algo;
use bcmr_wire::{Caps, Hash, Message, Type};
use proptest::collection::vec;
use proptest::option;
use proptest::prelude::{Strategy, any};
use proptest::test_runner::Config;
use serde_json::Value;

/// One entry of a listing.
pub(crate) type OwnedEntry = (String, u64, i64, bool);

/// What messages are made of; a type takes what it has fields for.
#[derive(Clone, Debug)]
pub(crate) struct Parts {
    pub(crate) kind: Type,
    /// The path, message, address or hash that a type always has.
    text: String,
    hash: Option<String>,
    version: u8,
    caps: u8,
    size: u64,
    offset: u64,
    length: u64,
    limit: Option<u64>,
    mtime: i64,
    flag: bool,
    algo: Algo,
    original_size: u32,
    block_size: u32,
    bytes: Vec<u8>,
    array: Hash,
    hashes: Vec<Hash>,
    entries: Vec<OwnedEntry>,
    /// The body of the ListResponse of `entries`.
    list: Vec<u8>,
}

impl Parts {
    pub(crate) fn message(&self) -> Message<'_> {
        let Self { version, size, offset, length, limit, mtime, original_size, block_size, .. } = *self;
        let (path, caps) = (self.text.as_str(), Caps(self.caps));
        match self.kind {
            Type::Hello => Message::Hello { version, caps },
            Type::List => Message::List { path },
            Type::Stat => Message::Stat { path },
            Type::Hash => Message::Hash { path, offset, limit },
            Type::Get => Message::Get { path, offset },
            Type::Put => Message::Put { path, size, offset, overwrite: self.flag },
            Type::Mkdir => Message::Mkdir { path },
            Type::Resume => Message::Resume { path },
            Type::Done => Message::Done,
            Type::HaveBlocks => Message::HaveBlocks { block_size, hashes: &self.hashes },
            Type::OpenDirectChannel => Message::OpenDirectChannel,
            Type::AuthHello => Message::AuthHello { mac: self.array },
            Type::PutChunked => Message::PutChunked { path, offset, length },
            Type::GetChunked => Message::GetChunked { path, offset, length },
            Type::Truncate => Message::Truncate { path, size },
            Type::Welcome => Message::Welcome { version, caps },
            Type::Ok => Message::Ok { hash: self.hash.as_deref() },
            Type::Error => Message::Error { message: &self.text },
            Type::Data => Message::Data { payload: &self.bytes },
            Type::StatResponse => Message::StatResponse { size, mtime, is_dir: self.flag },
            Type::HashResponse => Message::HashResponse { hash: &self.text },
            Type::ListResponse => Message::decode(Type::ListResponse, &self.list).unwrap(),
            Type::ResumeResponse => Message::ResumeResponse { size, block_hash: self.hash.as_deref() },
            Type::DataCompressed => {
                Message::DataCompressed { algo: self.algo, original_size, payload: &self.bytes }
            }
            Type::MissingBlocks => Message::MissingBlocks { bits: &self.bytes },
            Type::DirectChannelReady => {
                Message::DirectChannelReady { addr: &self.text, session_key: self.array }
            }
            Type::AuthChallenge => Message::AuthChallenge { nonce: self.array },
        }
    }

    pub(crate) fn frame(&self) -> Vec<u8> {
        let mut frame = Vec::new();
        self.message().encode(&mut frame).unwrap();
        frame
    }

    fn plain(kind: Type) -> Self {
        Self {
            kind,
            text: String::new(),
            hash: None,
            version: 0,
            caps: 0,
            size: 0,
            offset: 0,
            length: 0,
            limit: None,
            mtime: 0,
            flag: false,
            algo: Algo::Lz4,
            original_size: 1,
            block_size: 0,
            bytes: Vec::new(),
            array: [0; 32],
            hashes: Vec::new(),
            entries: Vec::new(),
            list: listing(&[]),
        }
    }

    /// The message of a golden vector. A field that no message has fails, so that none is left unchecked. The
    /// content of a compressed block is not in its vector's fields: `content` is.
    pub(crate) fn from_vector(fields: &Value, content: &[u8]) -> Self {
        let fields: BTreeMap<String, Value> = serde_json::from_value(fields.clone()).unwrap();
        let name = fields["type"].as_str().unwrap();
        let kind = Type::ALL.iter().copied().find(|kind| kind.name() == name);
        let mut parts = Self::plain(kind.unwrap_or_else(|| panic!("no type has the name {name}")));
        for (field, value) in &fields {
            let text = || value.as_str().unwrap().to_owned();
            let number = || value.as_u64().unwrap();
            match field.as_str() {
                "type" | "decoded_count" | "decoded_repeat" => {}
                "path" | "message" | "addr" => parts.text = text(),
                "hash" if kind == Some(Type::HashResponse) => parts.text = text(),
                "hash" | "block_hash" => parts.hash = value.as_str().map(str::to_owned),
                "version" => parts.version = number().try_into().unwrap(),
                "caps" => parts.caps = number().try_into().unwrap(),
                "size" => parts.size = number(),
                "offset" => parts.offset = number(),
                "length" => parts.length = number(),
                "limit" => parts.limit = value.as_u64(),
                "mtime" => parts.mtime = value.as_i64().unwrap(),
                "is_dir" | "overwrite" => parts.flag = value.as_bool().unwrap(),
                "algo" => {
                    parts.algo = match number() {
                        1 => Algo::Lz4,
                        2 => Algo::Zstd,
                        other => panic!("no algorithm has the number {other}"),
                    };
                    parts.bytes = content.to_vec();
                }
                "original_size" => parts.original_size = number().try_into().unwrap(),
                "block_size" => parts.block_size = number().try_into().unwrap(),
                "payload" | "bits" => parts.bytes = hex(value),
                "mac" | "nonce" | "session_key" => parts.array = hex_array(value),
                "hashes" => parts.hashes = value.as_array().unwrap().iter().map(hex_array).collect(),
                "entries" => {
                    parts.entries = value.as_array().unwrap().iter().map(entry).collect();
                    parts.list = listing(&parts.entries);
                }
                other => panic!("{name} has no field {other}"),
            }
        }
        parts
    }
}

fn entry(value: &Value) -> OwnedEntry {
    (
        value["path"].as_str().unwrap().to_owned(),
        value["size"].as_u64().unwrap(),
        value["mtime"].as_i64().unwrap(),
        value["is_dir"].as_bool().unwrap(),
    )
}

pub(crate) fn as_entry((path, size, mtime, is_dir): &OwnedEntry) -> Entry<'_> {
    Entry { path, size: *size, mtime: *mtime, is_dir: *is_dir }
}

/// The body of the ListResponse of these entries.
fn listing(entries: &[OwnedEntry]) -> Vec<u8> {
    let mut list = ListBuilder::new();
    for entry in entries {
        list.push(&as_entry(entry)).unwrap();
    }
    list.finish().split_off(HEADER)
}

/// One section of the golden vectors.
pub(crate) fn vectors(section: &str) -> Vec<Value> {
    let all: BTreeMap<String, Vec<Value>> =
        serde_json::from_str(include_str!("../data/wire-v2-vectors.json")).unwrap();
    all[section].clone()
}

/// The frames of one section of the golden vectors, each with its name.
pub(crate) fn golden_frames(section: &str) -> Vec<(String, Vec<u8>)> {
    vectors(section).iter().map(|v| (v["name"].as_str().unwrap().to_owned(), hex(&v["frame"]))).collect()
}

pub(crate) fn hex(value: &Value) -> Vec<u8> {
    let digits = value.as_str().unwrap().as_bytes();
    let byte = |pair| u8::from_str_radix(std::str::from_utf8(pair).unwrap(), 16).unwrap();
    digits.chunks(2).map(byte).collect()
}

pub(crate) fn hex_array(value: &Value) -> [u8; 32] {
    hex(value).try_into().unwrap()
}

/// How often a property is tried. Nothing is kept of a failure: its smallest form is printed, and becomes a
/// test by name.
pub(crate) fn tries(cases: u32) -> Config {
    Config { cases, failure_persistence: None, ..Config::default() }
}

fn any_text(longest: usize) -> impl Strategy<Value = String> {
    vec(any::<char>(), 0..longest).prop_map(String::from_iter)
}

pub(crate) fn any_entry() -> impl Strategy<Value = OwnedEntry> {
    (any_text(40), any::<u64>(), any::<i64>(), any::<bool>())
}

/// Any message of any type.
pub(crate) fn any_parts() -> impl Strategy<Value = Parts> {
    let texts = (any_text(200), option::of(any_text(80)));
    let small = (any::<u8>(), any::<u8>(), any::<u32>(), any::<bool>());
    let numbers = (any::<u64>(), any::<u64>(), any::<u64>(), option::of(any::<u64>()), any::<i64>());
    let block = (any::<bool>(), 1..=u32::try_from(MAX_BLOCK).unwrap(), vec(any::<u8>(), 0..600));
    let lists = (any::<Hash>(), vec(any::<Hash>(), 0..40), vec(any_entry(), 0..20));
    (0..Type::ALL.len(), texts, small, numbers, block, lists).prop_map(
        |(kind, (text, hash), (version, caps, block_size, flag), numbers, block, lists)| {
            let (size, offset, length, limit, mtime) = numbers;
            let (lz4, original_size, bytes) = block;
            let (array, hashes, entries) = lists;
            let algo = if lz4 { Algo::Lz4 } else { Algo::Zstd };
            let (kind, list) = (Type::ALL[kind], listing(&entries));
            Parts {
                kind,
                text,
                hash,
                version,
                caps,
                size,
                offset,
                length,
                limit,
                mtime,
                flag,
                algo,
                original_size,
                block_size,
                bytes,
                array,
                hashes,
                entries,
                list,
            }
        },
    )
}
