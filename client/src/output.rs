//! stdout, which is what programs read. Whether it could be written is told when the command ends: what was asked for
//! is done all the same.

use std::fmt::Display;
use std::io::{self, ErrorKind, Write};
use std::sync::OnceLock;

use crate::exit::Exit;
use crate::ui::Ui;

/// Why something could not be written.
static FAILED: OnceLock<io::Error> = OnceLock::new();

/// Prints a line.
pub(crate) fn line(line: &dyn Display) {
    print(format!("{line}\n").as_bytes());
}

/// Prints text.
pub(crate) fn print(text: &[u8]) {
    if let Err(e) = io::stdout().write_all(text).and_then(|()| io::stdout().flush()) {
        let _ = FAILED.set(e);
    }
}

/// The exit code of a command that would end with `exit`. A reader that has read enough is no failure.
pub(crate) fn end(exit: Exit) -> Exit {
    match FAILED.get() {
        Some(e) if e.kind() != ErrorKind::BrokenPipe => {
            Ui::asking().error(&format!("cannot write output: {e}"));
            exit.max(Exit::SomeFailed)
        }
        _ => exit,
    }
}
