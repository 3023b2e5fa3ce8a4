//! `bcmr serve`: what clients of the public server start on a machine. Here the server is a program of its own.

use std::ffi::OsString;
use std::io::ErrorKind;
use std::os::unix::process::CommandExt;
use std::path::{Path, PathBuf};
use std::process::Command;

use crate::exit::Exit;

/// Where the package puts the server.
const PACKAGED: &str = "/usr/bin/bcmr-serve";

/// Becomes the server; returns only where that cannot be.
pub(crate) fn run(args: &[OsString]) -> Exit {
    let server = beside().unwrap_or_else(|| PACKAGED.into());
    let why = Command::new(&server).args(args).exec();
    if why.kind() == ErrorKind::NotFound {
        eprintln!("bcmr: there is no {PACKAGED}: install the package bcmr-serve");
    } else {
        eprintln!("bcmr: cannot start {}: {why}", server.display());
    }
    Exit::Link
}

/// The server beside this program, as the tarball's `install.sh` puts them under one prefix.
fn beside() -> Option<PathBuf> {
    let server = std::env::current_exe().ok()?.parent()?.join(Path::new(PACKAGED).file_name()?);
    server.is_file().then_some(server)
}
