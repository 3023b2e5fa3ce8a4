//! `-C`: what is there already is found out before anything is sent. A file of the same size and hash is left; of one
//! that was copied in part, the rest is copied, where replacing it is allowed and the part is proven by its hash.

use std::fs::Metadata;
use std::path::Path;
use std::sync::mpsc::Receiver;

use bcmr_wire::{Caps, Message};

use super::download::GetItem;
use super::opened::{Age, Opened};
use super::outcomes::{Copied, Outcomes};
use crate::exchange::{Dead, Exchange, Reply, Stat};
use crate::plan::{FileItem, Item};

/// Items that are looked at together, before the first of them is sent.
pub(super) const BATCH: usize = 500;

/// Uploads of these that are still needed.
pub(super) fn uploads(link: &mut Exchange, items: &[Item], outcomes: &Outcomes) -> Result<Vec<Item>, Dead> {
    let mut stats = Vec::new();
    for item in items {
        stats.push(match item {
            Item::File(file) => Some(link.ask(&Message::Stat { path: &file.remote })?),
            Item::Dir { .. } => None,
        });
    }
    let may_keep = outcomes.settings.overwrite && link.caps.has(Caps::PUT_OFFSET);
    let mut looked = Vec::new();
    for (item, stat) in items.iter().zip(stats) {
        let there = match stat {
            Some(stat) => link.wait(&stat)?,
            None => Reply::Ok(None),
        };
        let asked = match (item, there) {
            // What cannot be looked at is named when it is to be sent.
            (Item::File(file), Reply::Stat(Stat { size: has, is_dir: false, .. })) => {
                let len = std::fs::metadata(&file.local).map_or(0, |metadata| metadata.len());
                let side = Side { local: &file.local, len, remote: &file.remote, has };
                ask(link, side, may_keep && 0 < has && has < len)?
            }
            _ => None,
        };
        looked.push((item, asked));
    }
    let mut needed = Vec::new();
    for (item, asked) in looked {
        match (item, compare(link, asked)?) {
            (Item::File(file), Proven::Whole(size, hash)) => {
                let copied =
                    Copied { from: &file.local.display(), to: &file.remote, size, hash: Some(&hash) };
                outcomes.already(file.turn, &copied);
            }
            (Item::File(file), Proven::Part(kept, _, age)) => {
                outcomes.meter().add_present(kept);
                outcomes.ui().moved(kept);
                needed.push(Item::File(FileItem { kept: Some(Box::new((kept, age))), ..file.clone() }));
            }
            (item, _) => needed.push(item.clone()),
        }
    }
    Ok(needed)
}

/// Downloads of these that are still needed.
pub(super) fn downloads(
    link: &mut Exchange,
    items: &[GetItem],
    outcomes: &Outcomes,
) -> Result<Vec<GetItem>, Dead> {
    let may_keep = outcomes.settings.overwrite;
    let mut looked = Vec::new();
    for item in items {
        let there = if item.fresh { None } else { std::fs::metadata(&item.local).ok() };
        let asked = match there.filter(Metadata::is_file) {
            Some(there) => {
                let (len, has) = (there.len(), item.size);
                let side = Side { local: &item.local, len, remote: &item.remote, has };
                ask(link, side, may_keep && 0 < len && len < has)?
            }
            None => None,
        };
        looked.push((item, asked));
    }
    let mut needed = Vec::new();
    for (item, asked) in looked {
        match compare(link, asked)? {
            Proven::Whole(size, hash) => {
                let copied =
                    Copied { from: &item.remote, to: &item.local.display(), size, hash: Some(&hash) };
                outcomes.already(item.turn, &copied);
            }
            Proven::Part(kept, proof, _) => {
                outcomes.meter().add_present(kept);
                outcomes.ui().moved(kept);
                needed.push(GetItem { kept: Some(Box::new((kept, proof))), ..item.clone() });
            }
            Proven::Nothing => needed.push(item.clone()),
        }
    }
    Ok(needed)
}

/// A file on both sides.
#[derive(Clone, Copy)]
struct Side<'a> {
    local: &'a Path,
    /// Bytes that this side has.
    len: u64,
    remote: &'a str,
    /// Bytes that the server has.
    has: u64,
}

/// The question whether the two are the same up to the end of the shorter one.
struct Asked<'a> {
    local: &'a Path,
    len: u64,
    whole: bool,
    reply: Receiver<Reply>,
}

/// What the answer proves.
enum Proven {
    Nothing,
    /// The file is there, with this size and hash.
    Whole(u64, String),
    /// So many bytes of it are, with this hash, where the local file is like this.
    Part(u64, blake3::Hash, Age),
}

/// Asks where both have the file, or where `may_keep` says that the one has a beginning of the other's.
fn ask<'a>(link: &mut Exchange, side: Side<'a>, may_keep: bool) -> Result<Option<Asked<'a>>, Dead> {
    let Side { local, len, remote, has } = side;
    let whole = len == has;
    if !whole && !may_keep {
        return Ok(None);
    }
    let len = len.min(has);
    let reply = link.ask_through(&Message::Hash { path: remote, offset: 0, limit: Some(len) }, len)?;
    Ok(Some(Asked { local, len, whole, reply }))
}

fn compare(link: &mut Exchange, asked: Option<Asked<'_>>) -> Result<Proven, Dead> {
    let Some(Asked { local, len, whole, reply }) = asked else { return Ok(Proven::Nothing) };
    // The server hashes meanwhile.
    link.flush()?;
    let here = Opened::open(local).and_then(|mut file| Ok((file.hash(len, &link.pulse)?, file)));
    let (Reply::Hash(there), Ok((here, file))) = (link.wait(&reply)?, here) else {
        return Ok(Proven::Nothing);
    };
    let same = here.to_hex().as_str() == there && !file.changed(local);
    Ok(match (same, whole) {
        (false, _) => Proven::Nothing,
        (true, true) if file.size() == len => Proven::Whole(len, there),
        (true, true) => Proven::Nothing,
        (true, false) => Proven::Part(len, here, file.age()),
    })
}
