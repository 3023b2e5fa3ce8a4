//! Files that are published, and whose content is proven once more: the server is asked for the hash of what stands
//! there, which is compared with what was sent, or with what stands here.

use std::path::PathBuf;

use bcmr_wire::Message;

use super::opened::whole_hash;
use super::order::Turn;
use super::outcomes::{Copied, Failure, Outcomes};
use super::{Settings, download::GetItem};
use crate::exchange::{Dead, Exchange, Reply};
use crate::plan::FileItem;

/// Files that are asked about at a time: the server hashes one while another is hashed here.
const BATCH: usize = 100;

/// A published file.
#[derive(Clone, Debug)]
pub(crate) struct Doubt {
    pub(super) turn: Turn,
    local: PathBuf,
    remote: String,
    size: u64,
    /// Where what is proven begins.
    offset: u64,
    /// The hash from there on; None where it is to be read again.
    hash: Option<blake3::Hash>,
    /// Whether the local file is the source.
    up: bool,
}

impl Doubt {
    /// An upload. What the server kept was proven before, so that only the rest is left, unless more is asked for.
    pub(super) fn of_upload(
        item: &FileItem,
        size: u64,
        kept: u64,
        sent: Option<blake3::Hash>,
        settings: &Settings,
    ) -> Self {
        let all = settings.verify || settings.strict;
        let (offset, hash) = if all { (0, None) } else { (kept, sent) };
        let FileItem { local, remote, turn, .. } = item.clone();
        Self { turn, local, remote, size, offset, hash, up: true }
    }

    /// A download, which is read again from the disk.
    pub(super) fn of_download(item: &GetItem, size: u64) -> Self {
        let GetItem { remote, local, turn, .. } = item.clone();
        Self { turn, local, remote, size, offset: 0, hash: None, up: false }
    }

    /// The failure to prove it.
    pub(super) fn unproven(&self, why: impl std::fmt::Display) -> Failure {
        Failure::new(self.source(), format!("was copied, but not verified: {why}"))
    }

    fn source(&self) -> String {
        if self.up { self.local.display().to_string() } else { self.remote.clone() }
    }
}

/// Proves what is to be proven.
pub(super) fn prove(link: &mut Exchange, outcomes: &Outcomes) -> Result<(), Dead> {
    let mut doubts = outcomes.take_doubts();
    while !doubts.is_empty() {
        let batch = doubts.split_off(doubts.len().saturating_sub(BATCH));
        if let Err(dead) = prove_some(link, &batch, outcomes) {
            // Over another connection, perhaps. What was proven already is proven again, and counted once.
            batch.into_iter().chain(doubts).for_each(|doubt| outcomes.doubt(doubt));
            return Err(dead);
        }
    }
    Ok(())
}

fn prove_some(link: &mut Exchange, batch: &[Doubt], outcomes: &Outcomes) -> Result<(), Dead> {
    let mut asked = Vec::new();
    for doubt in batch {
        let hash = Message::Hash { path: &doubt.remote, offset: doubt.offset, limit: None };
        asked.push(link.ask_through(&hash, doubt.size)?);
    }
    let mut results = Vec::new();
    for (doubt, reply) in batch.iter().zip(asked) {
        link.flush()?;
        let here = match doubt.hash {
            Some(hash) => Ok(hash),
            None => whole_hash(&doubt.local, &link.pulse),
        };
        results.push(match (link.wait(&reply)?, here) {
            (Reply::Hash(there), Ok(here)) if here.to_hex().as_str() == there => Ok(there),
            (Reply::Hash(_), Ok(_)) => Err(Failure::new(
                doubt.source(),
                "what stands on the server is not what stands here (the hashes differ)",
            )),
            (Reply::Error(error), _) => Err(doubt.unproven(error.text)),
            (Reply::Hash(_), Err(e)) => Err(doubt.unproven(e)),
            _ => return Err(Dead),
        });
    }
    for (doubt, result) in batch.iter().zip(results) {
        match result {
            Ok(hash) => {
                let (local, remote): (_, &dyn std::fmt::Display) = (doubt.local.display(), &doubt.remote);
                let (from, to): (&dyn std::fmt::Display, _) =
                    if doubt.up { (&local, remote) } else { (remote, &local as &dyn std::fmt::Display) };
                let hash = (doubt.offset == 0).then_some(hash.as_str());
                outcomes.copied(doubt.turn, &Copied { from, to, size: doubt.size, hash });
            }
            Err(failure) => outcomes.fail_at(doubt.turn, failure),
        }
    }
    Ok(())
}
