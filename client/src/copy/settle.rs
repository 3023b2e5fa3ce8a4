//! What became of uploads that were refused, or whose answer was lost: the server is asked what it has.
//!
//! A file that is there with the same content counts as done, whoever put it there: a retry after a lost
//! answer finds its own file, and must not take it for someone else's.

use bcmr_wire::Message;

use super::Outcomes;
use super::opened::whole_hash;
use super::outcomes::{Copied, Failure, Refused};
use crate::exchange::{Dead, Exchange, Reply, Stat};
use crate::plan::{FileItem, Item};

/// Questions asked at a time.
const BATCH: usize = 1000;

/// An upload whose fate is open.
struct Open {
    item: Item,
    /// The server's refusal; None where its answer was lost.
    why: Option<String>,
}

/// What stands under its name.
enum Stands {
    /// Nothing, or nothing that can be looked at.
    Nothing,
    Directory,
    /// The same content: its size, and its hash.
    Same(u64, String),
    Other,
}

/// Settles refusals and lost answers; returns what is to be sent again. Where the connection is lost meanwhile it is
/// all as open as before.
pub(super) fn settle(
    link: &mut Exchange,
    unanswered: &[Item],
    outcomes: &Outcomes,
) -> Result<Vec<Item>, Dead> {
    let refused = outcomes.take_refused();
    let open = |why: Option<&str>, item: &Item| Open { item: item.clone(), why: why.map(str::to_owned) };
    let refusals = refused.iter().map(|Refused { item, why }| open(Some(why), item));
    let all: Vec<_> = refusals.chain(unanswered.iter().map(|item| open(None, item))).collect();
    let mut found = Vec::with_capacity(all.len());
    for batch in all.chunks(BATCH) {
        match look(link, batch, outcomes) {
            Ok(some) => found.extend(some),
            Err(dead) => {
                refused.into_iter().for_each(|Refused { item, why }| outcomes.refuse(item, why));
                return Err(dead);
            }
        }
    }
    let fates = all.into_iter().zip(found);
    Ok(fates.filter_map(|(open, stands)| decide(open, stands, outcomes)).collect())
}

/// Whether nothing that the server has could change what is done.
fn is_clear(open: &Open, outcomes: &Outcomes) -> bool {
    matches!(open.item, Item::File(_)) && outcomes.settings.overwrite
}

fn look(link: &mut Exchange, batch: &[Open], outcomes: &Outcomes) -> Result<Vec<Stands>, Dead> {
    let mut asked = Vec::with_capacity(batch.len());
    for open in batch {
        asked.push(match &open.item {
            _ if is_clear(open, outcomes) => None,
            Item::File(FileItem { remote, .. }) | Item::Dir { remote, .. } => {
                Some(link.ask(&Message::Stat { path: remote })?)
            }
        });
    }
    let mut found = Vec::with_capacity(batch.len());
    for (open, reply) in batch.iter().zip(asked) {
        let reply = match reply {
            Some(reply) => link.wait(&reply)?,
            None => Reply::Ok(None),
        };
        found.push(match (reply, &open.item) {
            (Reply::Stat(Stat { is_dir: true, .. }), _) => Stands::Directory,
            (Reply::Stat(stat), Item::File(item)) => match same_content(link, item, stat.size)? {
                Some(hash) => Stands::Same(stat.size, hash),
                None => Stands::Other,
            },
            (Reply::Stat(_), Item::Dir { .. }) => Stands::Other,
            _ => Stands::Nothing,
        });
    }
    Ok(found)
}

/// Counts or names an item, or returns it where it is to be sent again.
fn decide(open: Open, stands: Stands, outcomes: &Outcomes) -> Option<Item> {
    let Open { item, why } = open;
    let item = match item {
        Item::Dir { turn, .. } if matches!(stands, Stands::Directory) => {
            outcomes.done(turn);
            return None;
        }
        Item::Dir { .. } if why.is_none() && matches!(stands, Stands::Nothing) => return Some(item),
        Item::Dir { remote, turn } => {
            outcomes.fail_at(turn, Failure::new(remote, why.as_deref().unwrap_or("a file stands there")));
            return None;
        }
        Item::File(item) => item,
    };
    match (stands, why) {
        // Replacing again what may have been replaced already changes nothing.
        (Stands::Nothing, None) => return Some(Item::File(item)),
        (Stands::Same(size, hash), why) => {
            let (from, to) = (&item.local.display(), &item.remote);
            let file = Copied { from, to, size, hash: Some(&hash) };
            match why {
                Some(_) => outcomes.already(item.turn, &file),
                None => outcomes.copied(item.turn, &file),
            }
        }
        (_, why) => {
            let why = why.as_deref().unwrap_or("exists on the server with other content");
            outcomes.fail_at(item.turn, Failure::new(item.local.display(), why));
        }
    }
    None
}

/// The hash of what is there, where it is what is here.
pub(super) fn same_content(link: &mut Exchange, item: &FileItem, size: u64) -> Result<Option<String>, Dead> {
    if !std::fs::metadata(&item.local).is_ok_and(|here| here.len() == size) {
        return Ok(None);
    }
    let asked = link.ask_through(&Message::Hash { path: &item.remote, offset: 0, limit: None }, size)?;
    link.flush()?;
    let here = whole_hash(&item.local, &link.pulse);
    match (link.wait(&asked)?, here) {
        (Reply::Hash(there), Ok(here)) if here.to_hex().as_str() == there => Ok(Some(there)),
        _ => Ok(None),
    }
}
