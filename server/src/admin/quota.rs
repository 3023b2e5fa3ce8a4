//! What an account published and still stands, as its ledgers have it.

use std::io::Write as _;

use serde_json::json;

use super::served::{self, ServedRoot};
use crate::boot::args::{QuotaArgs, QuotaCommand};
use crate::boot::environment::Environment;
use crate::exit::{Exit, say};
use crate::quota::{Amount, Ledger, stands};

/// Shows the ledgers of the profiles that limit what may be published; `rescan` looks at every entry first.
pub(crate) fn quota(args: &QuotaArgs, environment: &Environment) -> Exit {
    let roots = match served::roots(args.account.as_deref(), environment) {
        Ok(roots) => roots,
        Err(exit) => return exit,
    };
    let limited =
        |served: &&ServedRoot| served.rules.account_quota.is_some() || served.rules.max_entries.is_some();
    let mut out = Vec::new();
    for served in roots.iter().filter(limited) {
        match look(args.command, served) {
            Ok(amount) => out.push((served, amount)),
            Err(why) => {
                say(&format!("{}: {why}", served.rules.state.display()));
                return Exit::Io;
            }
        }
    }
    let text = if args.json { in_json(&out) } else { in_lines(&out) };
    match std::io::stdout().write_all(text.as_bytes()) {
        Ok(()) => Exit::Done,
        Err(_) => Exit::Io,
    }
}

fn look(command: QuotaCommand, served: &ServedRoot) -> Result<Amount, String> {
    let ledger = Ledger::open(&served.state()?).map_err(|e| e.to_string())?;
    let amount = match command {
        QuotaCommand::Show => ledger.total(),
        QuotaCommand::Rescan => {
            let tree = served.tree().ok_or("the root cannot be looked at")?;
            ledger.rescan(|path| stands(&tree, path))
        }
    };
    amount.map_err(|e| e.to_string())
}

fn in_lines(all: &[(&ServedRoot, Amount)]) -> String {
    let of = |limit: Option<u64>| limit.map_or_else(String::new, |limit| format!(" of {limit}"));
    let line = |(served, Amount { bytes, entries }): &(&ServedRoot, Amount)| {
        let rules = &served.rules;
        format!(
            "{}: {}: {bytes}{} bytes, {entries}{} names\n",
            rules.profile,
            rules.root.display(),
            of(rules.account_quota),
            of(rules.max_entries)
        )
    };
    all.iter().map(line).collect()
}

fn in_json(all: &[(&ServedRoot, Amount)]) -> String {
    let ledgers: Vec<_> = all
        .iter()
        .map(|(served, amount)| {
            json!({
                "profile": served.rules.profile, "root": served.rules.root.display().to_string(),
                "bytes": amount.bytes, "account_quota": served.rules.account_quota,
                "entries": amount.entries, "max_entries": served.rules.max_entries,
            })
        })
        .collect();
    format!("{:#}\n", json!(ledgers))
}
