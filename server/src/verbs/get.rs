use std::io::Write;

use bcmr_policy::{Permit, Refusal, request};
use bcmr_wire::blocks::{BlockSender, SendError, Spliced};
use bcmr_wire::frame::{FrameWriter, Splice};
use rustix::io::Errno;

use super::hash::seek_to;
use crate::failure::{Failure, Stop};
use crate::tree::{self, Tree};

/// Sends a file's content from an offset, and returns its hash where `hashed`. What was sent is counted in
/// `moved`, also where it stops short.
pub(crate) fn get<W: Write + Splice>(
    tree: &Tree,
    permit: Permit<request::Get>,
    blocks: &mut BlockSender,
    stream: &mut FrameWriter<W>,
    hashed: bool,
    moved: &mut u64,
) -> Result<Option<blake3::Hash>, Stop> {
    let (file, stat) = tree.entry(permit.path())?.open_file()?;
    let &request::Get { offset, length, allowance } = permit.request();
    let size = tree::size(&stat);
    if let Some(length) = length {
        check_range(offset, length, size)?;
    }
    seek_to(&file, offset)?;
    // Files of /proc and the like have content, but no size.
    let mut left = length.unwrap_or(if size == 0 { allowance } else { size.saturating_sub(offset) });
    if left > allowance {
        return Err(Refusal::Transfer.into());
    }
    let mut hasher = hashed.then(blake3::Hasher::new);
    let mut file = file.into_std();
    blocks.begin();
    while left > 0 {
        // What nobody looks at need not be copied here.
        let spliced = if hashed { None } else { blocks.splice(&file, left, stream).map_err(Stop::link)? };
        let sent = match spliced {
            Some(Spliced { ended: true, .. }) => {
                return Err(Failure::os("reading")(Errno::IO).into());
            }
            Some(Spliced { sent, .. }) => sent,
            None => blocks.send(&mut file, left, hasher.as_mut(), stream).map_err(stop)?,
        } as u64;
        if sent == 0 {
            break;
        }
        left -= sent;
        *moved += sent;
    }
    if length.is_some() && left > 0 {
        return Err(Failure::os("reading")(Errno::IO).into());
    }
    Ok(hasher.map(|hasher| hasher.finalize()))
}

fn check_range(offset: u64, length: u64, size: u64) -> Result<(), Failure> {
    let inside = offset.checked_add(length).is_some_and(|end| end <= size) && (length > 0 || size == 0);
    if inside { Ok(()) } else { Err(Failure::Range { offset, length, size }) }
}

fn stop(error: SendError) -> Stop {
    match error {
        SendError::Source(e) => Failure::os("reading")(Errno::from_io_error(&e).unwrap_or(Errno::IO)).into(),
        SendError::Stream(e) => Stop::link(e),
    }
}
