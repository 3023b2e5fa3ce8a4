//! The stores of an account's blocks, looked at and cleaned by hand.

use std::io::Write as _;

use serde_json::json;

use super::served;
use crate::boot::args::{CasArgs, CasCommand};
use crate::boot::environment::Environment;
use crate::cas::Inspected;
use crate::exit::{Exit, say};

/// Does one thing to every store of the account, and prints what came of it.
pub(crate) fn cas(args: &CasArgs, environment: &Environment) -> Exit {
    let roots = match served::roots(args.account.as_deref(), environment) {
        Ok(roots) => roots,
        Err(exit) => return exit,
    };
    let mut all = Vec::new();
    let mut failed = false;
    for served in &roots {
        let path = served.rules.root.display().to_string();
        let inspected = served
            .state()
            .and_then(|state| Inspected::open(&state, &served.rules).map_err(|e| e.to_string()))
            .and_then(|store| act(args.command, &store).map_err(|e| e.to_string()));
        match inspected {
            Ok(report) => all.push((path, served.rules.profile.clone(), report)),
            Err(why) => {
                say(&format!("{}: {why}", served.rules.state.display()));
                failed = true;
            }
        }
    }
    let text = if args.json { in_json(&all) } else { in_lines(&all) };
    match std::io::stdout().write_all(text.as_bytes()) {
        Ok(()) if !failed => Exit::Done,
        _ => Exit::Io,
    }
}

/// What is in a store, and what was removed from it.
struct Report {
    blocks: usize,
    bytes: u64,
    cap: Option<u64>,
    removed: usize,
}

fn act(command: CasCommand, store: &Inspected) -> rustix::io::Result<Report> {
    let removed = match command {
        CasCommand::Stat => 0,
        CasCommand::Verify => store.remove_damaged()?,
        CasCommand::Gc => store.shrink()?,
        CasCommand::Clear => store.clear()?,
    };
    let (blocks, bytes) = store.recount()?;
    Ok(Report { blocks, bytes, cap: store.cap(), removed })
}

fn in_lines(all: &[(String, String, Report)]) -> String {
    let line = |(root, profile, report): &(String, String, Report)| {
        let Report { blocks, bytes, cap, removed } = report;
        let cap = cap.map_or_else(|| "without a cap".to_owned(), |cap| format!("of {cap}"));
        format!("{profile}: {root}: {blocks} blocks, {bytes} bytes {cap}; {removed} removed\n")
    };
    all.iter().map(line).collect()
}

fn in_json(all: &[(String, String, Report)]) -> String {
    let stores: Vec<_> = all
        .iter()
        .map(|(root, profile, report)| {
            json!({
                "profile": profile, "root": root, "blocks": report.blocks, "bytes": report.bytes,
                "cap": report.cap, "removed": report.removed,
            })
        })
        .collect();
    format!("{:#}\n", json!(stores))
}
