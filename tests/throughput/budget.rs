//! What a file costs in system calls: counted, because calls repeat exactly where seconds do not.
//!
//! Each workload runs with few files and with many; the difference is what the files cost, without start and end.
//! A budget is the count that was measured when it was written down; [`SLACK`] is less than one call per file, and
//! leaves room for what depends on how full the pipes happen to be.

use std::collections::BTreeMap;
use std::fs;
use std::process::Command;

use bcmr_tests::binaries;
use bcmr_tests::client::quoted;
use bcmr_tests::content::noise;
use tempfile::TempDir;

use crate::memory;

const FEW: usize = 1000;
const MANY: usize = 4000;

/// Calls per file that may come on top of a budget.
const SLACK: f64 = 0.5;

/// Calls of the server alone, or of both ends, for copying so many files of 1 KiB, by name.
fn calls(files: usize, up: bool, server_alone: bool) -> BTreeMap<String, i64> {
    let place = TempDir::new_in(memory()).unwrap();
    let path = |name: &str| place.path().join(name);
    fs::create_dir_all(path("root")).unwrap();
    let (source, args) = if up { ("d", ["d", ":up"]) } else { ("root/d", [":d", "down"]) };
    fs::create_dir(path(source)).unwrap();
    for number in 0..files {
        fs::write(path(source).join(format!("{number:06}")), noise(1024, number as u64)).unwrap();
    }
    let strace = format!("strace -f -qq -c -o {}", quoted(&path("calls")));
    let serve = format!("{} --root {}", quoted(&binaries::server()), quoted(&path("root")));
    let (before, serve) = if server_alone { ("exec ", format!("{strace} {serve}")) } else { ("", serve) };
    let client = format!("\"$@\" --via 'exec {}'", serve.replace('\'', ""));
    let client = if server_alone { client } else { format!("exec {strace} {client}") };
    let line = format!("{before}{client} copy -q -r -P 1 --compress none {}", args.join(" "));
    let status =
        Command::new("sh").args(["-c", &line, "sh"]).arg(binaries::client()).current_dir(&place).status();
    assert!(status.unwrap().success(), "{line}");
    let counted = fs::read_to_string(path("calls")).expect("strace is not installed");
    let row = |line: &str| {
        let words: Vec<_> = line.split_whitespace().collect();
        let count = words.get(3)?.parse().ok()?;
        (words.last() != Some(&"total")).then(|| (words[words.len() - 1].to_owned(), count))
    };
    counted.lines().filter_map(row).collect()
}

/// Calls per file of the client and of the server, by name.
fn per_file(up: bool) -> [BTreeMap<String, f64>; 2] {
    let grown = |server_alone| {
        let mut many = calls(MANY, up, server_alone);
        for (name, count) in calls(FEW, up, server_alone) {
            *many.entry(name).or_default() -= count;
        }
        many
    };
    let (both, server) = (grown(false), grown(true));
    let each = |count: i64| count as f64 / (MANY - FEW) as f64;
    let client = both.iter().map(|(name, n)| (name.clone(), each(n - server.get(name).unwrap_or(&0))));
    [client.collect(), server.iter().map(|(name, n)| (name.clone(), each(*n))).collect()]
}

#[track_caller]
fn keeps_to(up: bool, budgets: [f64; 2]) {
    for ((end, counted), budget) in ["client", "server"].into_iter().zip(per_file(up)).zip(budgets) {
        let total: f64 = counted.values().sum();
        let of: Vec<_> =
            counted.iter().filter(|(_, n)| **n > 0.05).map(|(k, n)| format!("{k} {n:.2}")).collect();
        println!("up: {up}, {end}: {total:.2} calls per file (budget {budget}): {}", of.join(", "));
        assert!(total > 2.0, "nothing was counted");
        assert!(total <= budget + SLACK, "{end}: {total:.2} calls per file, {budget} are allowed: {of:?}");
        assert!(total >= budget - SLACK, "{end}: {total:.2} calls per file: lower the budget of {budget}");
    }
}

#[test]
#[ignore = "needs strace: run by tests/run"]
fn a_small_file_goes_up_for_5_calls_of_the_client_and_8_of_the_server() {
    keeps_to(true, [5.0, 8.0]);
}

#[test]
#[ignore = "needs strace: run by tests/run"]
fn a_small_file_comes_down_for_4_calls_of_the_client_and_8_of_the_server() {
    keeps_to(false, [4.0, 8.0]);
}
