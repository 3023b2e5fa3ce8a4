use bcmr_policy::{Permit, request};
use bcmr_wire::Message;

use crate::failure::Failure;
use crate::tree::{self, Tree};

pub(crate) fn stat(tree: &Tree, permit: Permit<request::Stat>) -> Result<Message<'static>, Failure> {
    let entry = tree.entry(permit.path())?;
    Ok(Message::StatResponse {
        size: tree::size(&entry.stat),
        mtime: entry.stat.st_mtime,
        is_dir: entry.is_dir(),
    })
}
