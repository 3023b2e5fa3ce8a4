//! A server that does what none should: `fake-server SCENARIO ARGUMENT…` on its stdin and stdout.
//!
//! `fake-server narrow COMMAND…` becomes an honest one, behind pipes that hold no more than a page;
//! `fake-server slow FILE COMMAND…` one behind a link that stops until the file exists;
//! `fake-server chatty COMMAND…` one that says much on stderr in the middle.
//!
//! It does no harm by itself and touches no file. What it does under each scenario stands with the scenario's
//! function.

mod download;
mod handshake;
mod link;
mod narrow;
mod slow;
mod upload;

use std::process::ExitCode;

fn main() -> ExitCode {
    let args: Vec<String> = std::env::args().skip(1).collect();
    let args: Vec<&str> = args.iter().map(String::as_str).collect();
    let played = match args.split_first() {
        Some((&"lists", names)) => download::lists(names),
        Some((&"gets", [how])) => download::gets(how),
        Some((&"puts", [how])) => upload::puts(how),
        Some((&"narrow", command)) => narrow::narrow(command).map(|never| match never {}),
        Some((&"chatty", command)) => slow::chatty(command),
        Some((&"slow", [go, command @ ..])) => slow::slow(go, command),
        Some((&"greets", how)) => handshake::greets(how),
        _ => Err(format!("no such scenario: {args:?}").into()),
    };
    match played {
        Ok(code) => code,
        // The client may well have had enough.
        Err(why) => {
            eprintln!("fake-server: {why}");
            ExitCode::FAILURE
        }
    }
}
