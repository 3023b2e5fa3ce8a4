//! Runs a command without some system calls, as an older kernel, another file system or a container's filter
//! would: `without openat2=ENOSYS tmpfile=EOPNOTSUPP -- COMMAND ARGUMENTS…`
//!
//! It installs a seccomp filter that lets everything through but the calls named, which fail with the error
//! named, and execs. What is run inherits the filter; a filter of its own can only take away more. Needs no
//! rights.
//!
//! A rule is `CALL=ERROR`, or `CALL:ARGUMENT&MASK=ERROR` for the calls in which that argument (counted from 0)
//! has all bits of the mask, or `CALL:ARGUMENT&MASK==VALUE=ERROR` for those in which it has that value under
//! the mask. Numbers may be written as `0x…` and `0o…`. Where two rules fit, the later one holds. `without
//! --list` names the calls, the short forms for some with an argument, and the errors.

mod calls;
mod rule;

use std::os::unix::process::CommandExt;
use std::process::{Command, ExitCode};

use rule::Rule;

/// What a shell answers when a command cannot be run.
const CANNOT_RUN: u8 = 126;

fn main() -> ExitCode {
    match run(&std::env::args().skip(1).collect::<Vec<_>>()) {
        Ok(()) => ExitCode::SUCCESS,
        Err(why) => {
            eprintln!("without: {why}");
            CANNOT_RUN.into()
        }
    }
}

/// Returns only where nothing is run.
fn run(args: &[String]) -> Result<(), String> {
    if args == ["--list"] {
        println!("{}", calls::list());
        return Ok(());
    }
    let usage = "usage: without CALL[:ARGUMENT&MASK[==VALUE]]=ERROR … -- COMMAND …";
    let end = args.iter().position(|arg| arg == "--").ok_or(usage)?;
    let (rules, command) = (&args[..end], &args[end + 1..]);
    let (program, arguments) = command.split_first().ok_or(usage)?;
    for rule in rules {
        Rule::parse(rule)?.install().map_err(|e| format!("{rule}: {e}"))?;
    }
    Err(format!("{program}: {}", Command::new(program).args(arguments).exec()))
}
