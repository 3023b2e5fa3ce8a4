use std::os::fd::{AsFd, BorrowedFd};

use rustix::io::Errno;
use thiserror::Error;

use super::bytes::{read_full, write_full};
use super::private_file;

/// Grows when something in the state directory changes its meaning.
const FORMAT: u64 = 1;

const NAME: &str = "format";

/// Why a state directory is left alone.
#[derive(Clone, Copy, PartialEq, Eq, Debug, Error)]
pub(crate) enum Unusable {
    #[error("its format is {0}, and this server knows {FORMAT} at most")]
    Newer(u64),
    #[error("its format cannot be read")]
    Unreadable,
    #[error("it is not this account's own")]
    NotOwn,
    #[error("{0}")]
    Io(#[from] Errno),
}

/// Checks that this server knows the format of a state directory; a new directory gets it.
pub(super) fn check(top: BorrowedFd<'_>) -> Result<(), Unusable> {
    let file = private_file(top, NAME)?;
    let mut text = [0; 24];
    let len = read_full(file.as_fd(), &mut text)?;
    if len == 0 {
        // Others may do the same at the same time, and write the same.
        write_full(file.as_fd(), format!("{FORMAT}\n").as_bytes(), 0)?;
        return Ok(());
    }
    let text = std::str::from_utf8(&text[..len]).map_err(|_| Unusable::Unreadable)?;
    match text.trim_end().parse() {
        Ok(FORMAT) => Ok(()),
        Ok(newer) if newer > FORMAT => Err(Unusable::Newer(newer)),
        _ => Err(Unusable::Unreadable),
    }
}
