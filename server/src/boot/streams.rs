//! stdin and stdout become the client's streams, and nobody else's.

use std::io;
use std::os::fd::{AsFd, OwnedFd};

use rustix::fs::{CWD, Mode, OFlags, openat};
use rustix::pipe::fcntl_setpipe_size;
use rustix::stdio::{dup2_stdin, dup2_stdout};

/// Bytes that a pipe is asked to hold: what Linux lets everyone have (pipe(7), pipe-max-size), and less where
/// that was lowered. A pipe of 64 KiB, the default, costs a third of the throughput.
const PIPE_SIZES: [usize; 3] = [1024 * 1024, 512 * 1024, 256 * 1024];

/// The client's streams.
pub(crate) struct Streams {
    pub(crate) input: OwnedFd,
    pub(crate) output: OwnedFd,
    /// Another handle of the output, for the watch.
    pub(crate) hangup: OwnedFd,
}

/// Takes stdin and stdout, and leaves /dev/null in their places, so that nothing else can read or write there.
pub(crate) fn take() -> io::Result<Streams> {
    let input = io::stdin().as_fd().try_clone_to_owned()?;
    let output = io::stdout().as_fd().try_clone_to_owned()?;
    let hangup = output.try_clone()?;
    let null = openat(CWD, "/dev/null", OFlags::RDWR | OFlags::CLOEXEC, Mode::empty())?;
    dup2_stdin(&null)?;
    dup2_stdout(&null)?;
    for stream in [&input, &output] {
        enlarge(stream);
    }
    Ok(Streams { input, output, hangup })
}

fn enlarge(stream: &OwnedFd) {
    // Refused for what is no pipe, and where the user's pipes hold too much already.
    let _ = PIPE_SIZES.iter().find(|size| fcntl_setpipe_size(stream, **size).is_ok());
}
