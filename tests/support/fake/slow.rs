//! An honest server behind a link with a whim.

use std::io::{Read, Write, stderr, stdin};
use std::path::Path;
use std::process::{Command, ExitCode, Stdio};
use std::thread::sleep;
use std::time::Duration;

use crate::link::Played;

/// Bytes that go through before anything happens.
const FREE: usize = 4_000_000;

/// Starts the command behind a link that carries no more than [`FREE`] bytes to it before the file `go` exists.
pub(crate) fn slow(go: &str, command: &[&str]) -> Played<ExitCode> {
    relay(command, || {
        let go = Path::new(go);
        while !go.exists() {
            if !go.parent().is_some_and(Path::exists) {
                return Err("the test is over".into());
            }
            sleep(Duration::from_millis(5));
        }
        Ok(())
    })
}

/// Starts the command behind a link that stops after [`FREE`] bytes to write a megabyte to stderr.
pub(crate) fn chatty(command: &[&str]) -> Played<ExitCode> {
    relay(command, || {
        let line = "still alive, still alive, still alive, still alive\n";
        Ok(stderr().write_all(line.repeat((1 << 20) / line.len()).as_bytes())?)
    })
}

fn relay(command: &[&str], whim: impl FnOnce() -> Played<()>) -> Played<ExitCode> {
    let (program, args) = command.split_first().ok_or("no command")?;
    let mut server = Command::new(program).args(args).stdin(Stdio::piped()).spawn()?;
    let mut to = server.stdin.take().ok_or("no pipe")?;
    let (mut from, mut carried, mut piece) = (stdin().lock(), 0, vec![0; 65_536]);
    let mut whim = Some(whim);
    loop {
        let read = from.read(&mut piece)?;
        if read == 0 {
            break;
        }
        carried += read;
        if carried > FREE
            && let Some(whim) = whim.take()
        {
            whim()?;
        }
        to.write_all(&piece[..read])?;
    }
    drop(to);
    server.wait()?;
    Ok(ExitCode::SUCCESS)
}
