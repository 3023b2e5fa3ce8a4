//! Pipes that hold one page.

use std::io::{stdin, stdout};
use std::os::fd::AsFd;
use std::os::unix::process::CommandExt;
use std::process::Command;
use std::thread::sleep;
use std::time::Duration;

use rustix::pipe::{fcntl_getpipe_size, fcntl_setpipe_size};

use crate::link::Played;

const PAGE: usize = 4096;

/// Makes the two pipes to the client as small as pipes can be, then becomes the command, which cannot make them
/// larger again. The client makes them large when it has started us, so that is waited for.
pub(crate) fn narrow(command: &[&str]) -> Played<std::convert::Infallible> {
    let pipes = [stdin().as_fd().try_clone_to_owned()?, stdout().as_fd().try_clone_to_owned()?];
    let default = 16 * PAGE;
    for _ in 0..200 {
        if pipes.iter().all(|pipe| fcntl_getpipe_size(pipe).is_ok_and(|size| size > default)) {
            break;
        }
        sleep(Duration::from_millis(1));
    }
    for pipe in &pipes {
        fcntl_setpipe_size(pipe, PAGE)?;
    }
    let without = std::env::current_exe()?.with_file_name("without");
    Err(Command::new(without).args(["setpipe=EPERM", "--"]).args(command).exec().into())
}
