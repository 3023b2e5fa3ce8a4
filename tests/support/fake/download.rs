//! What a server may do to a client that downloads.

use std::process::ExitCode;

use bcmr_wire::list::{Entry, ListBuilder};
use bcmr_wire::message::Algo;
use bcmr_wire::{Caps, Message, Type};

use crate::link::{Link, Played};

/// What every file holds here.
const CONTENT: &[u8] = b"evil";

/// Says that `d` is a directory and holds the given names, those that end in a slash as directories; `\e`
/// stands for ESC.
pub(crate) fn lists(names: &[&str]) -> Played<ExitCode> {
    let mut link = Link::greeted()?;
    while let Some(request) = link.request()? {
        match request.kind {
            Type::Stat if request.path.contains('*') => link.error("no such file")?,
            Type::Stat => link.stat(request.path == "d")?,
            Type::List => {
                let mut list = ListBuilder::new();
                for name in names.iter().filter(|_| request.path == "d") {
                    let path = name.strip_suffix('/').unwrap_or(name).replace("\\e", "\x1b");
                    list.push(&Entry { path: &path, size: 4, mtime: 0, is_dir: name.ends_with('/') })?;
                }
                link.raw(&list.finish())?;
            }
            Type::Get => honest(&mut link)?,
            _ => link.error("no")?,
        }
    }
    Ok(ExitCode::SUCCESS)
}

/// Serves files of four bytes, honestly but for those whose names begin with `bad`.
pub(crate) fn gets(how: &str) -> Played<ExitCode> {
    let mut link = Link::greeted_with(if how == "no-hash" { Caps::FAST } else { Caps::NONE })?;
    if how == "ok-first" {
        link.send(&Message::Ok { hash: None })?;
    }
    while let Some(request) = link.request()? {
        match request.kind {
            Type::Stat => link.stat(false)?,
            Type::Get if request.path.starts_with("bad") => {
                if let Some(code) = bad(&mut link, how)? {
                    return Ok(code);
                }
            }
            Type::Get => honest(&mut link)?,
            _ => link.error("no")?,
        }
    }
    Ok(ExitCode::SUCCESS)
}

fn honest(link: &mut Link) -> Played<()> {
    link.send(&Message::Data { payload: CONTENT })?;
    link.send(&Message::Ok { hash: Some(&blake3::hash(CONTENT).to_hex()) })
}

fn bad(link: &mut Link, how: &str) -> Played<Option<ExitCode>> {
    let hash = blake3::hash(CONTENT).to_hex();
    let (data, ok) = (Message::Data { payload: CONTENT }, Message::Ok { hash: Some(&hash) });
    match how {
        "another-hash" => {
            link.send(&data)?;
            link.send(&Message::Ok { hash: Some(&blake3::hash(b"good").to_hex()) })?;
        }
        "ok-first" => honest(link)?,
        "ok-twice" => {
            honest(link)?;
            link.send(&ok)?;
        }
        "no-hash" => {
            link.send(&data)?;
            link.send(&Message::Ok { hash: None })?;
        }
        // Agreed on nothing, it may send no compressed block either; that is refused before decoding.
        "codec-not-agreed" => {
            let payload = zstd::bulk::compress(CONTENT, 3)?;
            link.send(&Message::DataCompressed { algo: Algo::Zstd, original_size: 4, payload: &payload })?;
            link.send(&ok)?;
        }
        "block-too-long" => {
            link.send(&Message::Data { payload: &vec![7; 5 * 1024 * 1024] })?;
            link.send(&ok)?;
        }
        "half-then-error" => {
            link.send(&data)?;
            link.error("the disk \x1b[31m broke\nbcmr: all is well")?;
        }
        "half-then-end" => {
            link.send(&data)?;
            return Ok(Some(ExitCode::FAILURE));
        }
        "another-reply" => link.stat(false)?,
        "no-frame" => link.raw(b"\0\0\0\0")?,
        other => return Err(format!("bad in which way? {other}").into()),
    }
    Ok(None)
}
