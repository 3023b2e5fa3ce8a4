//! What became of uploads that were refused, or whose answer was lost: the server is asked what it has.
//!
//! A file that is there with the same content counts as done, whoever put it there: a retry after a lost
//! answer finds its own file, and must not take it for someone else's.

use std::fs::File;
use std::sync::mpsc::Receiver;

use bcmr_wire::Message;

use super::Outcomes;
use super::outcomes::Refused;
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

/// Settles refusals and lost answers; returns what is to be sent again.
pub(super) fn settle(
    link: &mut Exchange,
    refused: Vec<Refused>,
    unanswered: Vec<Item>,
    outcomes: &Outcomes,
) -> Result<Vec<Item>, Dead> {
    let refused = refused.into_iter().map(|Refused { item, why }| Open { item, why: Some(why) });
    let unanswered = unanswered.into_iter().map(|item| Open { item, why: None });
    let (mut again, mut asked) = (Vec::new(), Vec::new());
    for open in refused.chain(unanswered) {
        match (&open.item, &open.why) {
            // Replacing again what may have been replaced already changes nothing.
            (Item::File(_), None) if outcomes.settings.overwrite => again.push(open.item),
            (Item::File(item), Some(why)) if outcomes.settings.overwrite => {
                outcomes.fail_at(item.turn, format!("{}: {why}", item.local.display()));
            }
            (Item::File(FileItem { remote, .. }) | Item::Dir { remote, .. }, _) => {
                let reply = link.ask(&Message::Stat { path: remote })?;
                asked.push((open, reply));
            }
        }
        if asked.len() == BATCH {
            again.extend(take(link, std::mem::take(&mut asked), outcomes)?);
        }
    }
    again.extend(take(link, asked, outcomes)?);
    Ok(again)
}

fn take(
    link: &mut Exchange,
    asked: Vec<(Open, Receiver<Reply>)>,
    outcomes: &Outcomes,
) -> Result<Vec<Item>, Dead> {
    let mut again = Vec::new();
    for (open, reply) in asked {
        let stands = match link.wait(&reply)? {
            Reply::Stat(stat) => Some(stat),
            _ => None,
        };
        match (open.item, open.why, stands) {
            (Item::Dir { turn, .. }, _, Some(Stat { is_dir: true, .. })) => outcomes.done(turn),
            (Item::Dir { remote, turn }, why, _) => {
                let why = why.unwrap_or_else(|| "not created".to_owned());
                outcomes.fail_at(turn, format!("{remote}: {why}"));
            }
            (Item::File(item), None, None) => again.push(Item::File(item)),
            (Item::File(item), why, Some(stat)) if same_content(link, &item, stat)? => match why {
                Some(_) => outcomes.already(item.turn),
                None => outcomes.copied(item.turn, stat.size),
            },
            (Item::File(item), why, _) => {
                let why = why.unwrap_or_else(|| "exists on the server with other content".to_owned());
                outcomes.fail_at(item.turn, format!("{}: {why}", item.local.display()));
            }
        }
    }
    Ok(again)
}

fn same_content(link: &mut Exchange, item: &FileItem, there: Stat) -> Result<bool, Dead> {
    let same_size = std::fs::metadata(&item.local).is_ok_and(|here| here.len() == there.size);
    if there.is_dir || !same_size {
        return Ok(false);
    }
    let asked = link.ask(&Message::Hash { path: &item.remote, offset: 0, limit: None })?;
    let mut hasher = blake3::Hasher::new();
    let here = File::open(&item.local).and_then(|file| hasher.update_reader(file).map(|h| h.finalize()));
    let there = link.wait(&asked)?;
    Ok(here.is_ok_and(|here| there == Reply::Hash(here.to_hex().to_string())))
}
