use std::io::Read;

use bcmr_policy::{Permit, request};
use bcmr_wire::limits::RAW_BLOCK;
use rustix::fs::{SeekFrom, seek};
use rustix::io::Errno;

use crate::failure::Failure;
use crate::tree::Tree;

/// BLAKE3 of a range of a file; of nothing where the range begins past its end.
pub(crate) fn hash(tree: &Tree, permit: Permit<request::Hash>) -> Result<blake3::Hash, Failure> {
    let (file, _) = tree.entry(permit.path())?.open_file()?;
    let request = permit.request();
    seek_to(&file, request.offset)?;
    hash_rest(&file, request.limit.unwrap_or(u64::MAX))
}

/// Moves to an offset that may lie past the end, but not past what an offset can be.
pub(crate) fn seek_to(file: &cap_std::fs::File, offset: u64) -> Result<(), Failure> {
    if i64::try_from(offset).is_err() {
        return Err(Failure::Offset(offset));
    }
    if offset == 0 {
        // Where a file that was just opened stands anyway.
        return Ok(());
    }
    match seek(file, SeekFrom::Start(offset)) {
        Ok(_) => Ok(()),
        // No file of this file system reaches that offset (ext4: 16 TiB), so that nothing is to be read there.
        Err(Errno::INVAL | Errno::OVERFLOW) => {
            seek(file, SeekFrom::End(0)).map(drop).map_err(Failure::os("seeking"))
        }
        Err(errno) => Err(Failure::os("seeking")(errno)),
    }
}

/// BLAKE3 of at most `limit` bytes from where the file stands.
pub(crate) fn hash_rest(file: &cap_std::fs::File, limit: u64) -> Result<blake3::Hash, Failure> {
    let mut hasher = blake3::Hasher::new();
    let mut buffer = vec![0; RAW_BLOCK];
    let mut rest = file.take(limit);
    loop {
        match rest.read(&mut buffer) {
            Ok(0) => return Ok(hasher.finalize()),
            Ok(read) => {
                hasher.update(&buffer[..read]);
            }
            Err(e) if e.kind() == std::io::ErrorKind::Interrupted => {}
            Err(e) => return Err(Failure::os("reading")(Errno::from_io_error(&e).unwrap_or(Errno::IO))),
        }
    }
}
