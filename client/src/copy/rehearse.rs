//! `-n`: what would become of each file, as far as that can be learnt without changing anything.

use bcmr_wire::Message;

use super::found::Found;
use super::order::Turn;
use super::outcomes::{Copied, Failure, Outcomes};
use super::settle::same_content;
use crate::exchange::{Dead, Exchange, Reply};
use crate::plan::Item;

/// What is said of a name that is taken, here or there.
const TAKEN: &str = "exists (replace it with -f -y)";

/// Tells what would become of uploads.
pub(super) fn uploads(link: &mut Exchange, items: &[Item], outcomes: &Outcomes) -> Result<(), Dead> {
    let files =
        || items.iter().filter_map(|item| if let Item::File(file) = item { Some(file) } else { None });
    let mut stats = Vec::new();
    for file in files() {
        stats.push(link.ask(&Message::Stat { path: &file.remote })?);
    }
    let mut fates = Vec::new();
    for (file, stat) in files().zip(stats) {
        fates.push(match link.wait(&stat)? {
            Reply::Stat(stat) if stat.is_dir => Err("a directory stands under the name"),
            Reply::Stat(stat) if !outcomes.settings.overwrite => {
                same_content(link, file, stat.size)?.map(Some).ok_or(TAKEN)
            }
            _ => Ok(None),
        });
    }
    for (file, fate) in files().zip(fates) {
        let (from, size) = (file.local.display(), std::fs::metadata(&file.local).map(|file| file.len()));
        match (fate, size) {
            (Err(why), _) => outcomes.fail_at(file.turn, Failure::new(from, why)),
            (_, Err(e)) => outcomes.fail_at(file.turn, Failure::new(from, e)),
            (Ok(Some(hash)), Ok(size)) => {
                let file_there = Copied { from: &from, to: &file.remote, size, hash: Some(&hash) };
                outcomes.already(file.turn, &file_there);
            }
            (Ok(None), Ok(size)) => outcomes.would(file.turn, &from, &file.remote, size),
        }
    }
    Ok(())
}

/// Tells what would become of downloads, which are looked for here.
pub(super) fn downloads(found: &[Found], outcomes: &Outcomes) {
    for Found { remote, local, size, .. } in found.iter().filter(|found| !found.is_dir) {
        match local.symlink_metadata() {
            Ok(there) if there.is_dir() => {
                outcomes.fail(local.display(), "a directory stands under the name");
            }
            Ok(_) if !outcomes.settings.overwrite => outcomes.fail(local.display(), TAKEN),
            _ => outcomes.would(Turn::default(), remote, &local.display(), *size),
        }
    }
}
