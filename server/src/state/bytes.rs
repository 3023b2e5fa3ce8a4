//! Files of the state directory, read and written whole.

use std::os::fd::BorrowedFd;

use rustix::io::{Errno, pread, pwrite, retry_on_intr};

/// Fills `bytes` from a file's start; returns how many there were.
pub(crate) fn read_full(file: BorrowedFd<'_>, bytes: &mut [u8]) -> Result<usize, Errno> {
    let mut filled = 0;
    while filled < bytes.len() {
        match retry_on_intr(|| pread(file, &mut bytes[filled..], filled as u64))? {
            0 => break,
            read => filled += read,
        }
    }
    Ok(filled)
}

/// Writes all of `bytes` at `offset`.
pub(crate) fn write_full(file: BorrowedFd<'_>, bytes: &[u8], offset: u64) -> Result<(), Errno> {
    let written = retry_on_intr(|| pwrite(file, bytes, offset))?;
    if written == bytes.len() { Ok(()) } else { Err(Errno::NOSPC) }
}

/// The numbers at a file's start, each 8 bytes, little end first; None where it is shorter.
pub(super) fn read_numbers<const N: usize>(file: BorrowedFd<'_>) -> Result<Option<[u64; N]>, Errno> {
    let mut bytes = [[0; 8]; N];
    let whole = read_full(file, bytes.as_flattened_mut())? == N * 8;
    Ok(whole.then(|| bytes.map(u64::from_le_bytes)))
}

/// Writes numbers to a file's start.
pub(super) fn write_numbers<const N: usize>(file: BorrowedFd<'_>, numbers: [u64; N]) -> Result<(), Errno> {
    write_full(file, numbers.map(u64::to_le_bytes).as_flattened(), 0)
}
