//! `bcmr-serve cas` and `bcmr-serve quota`.

use std::fs;
use std::os::unix::fs::FileExt;

use serde_json::json;

use crate::host::Host;
use crate::scene::MIB;

#[test]
#[ignore = "needs root to act for an account: run by tests/run"]
fn cas_counts_checks_shrinks_and_empties_an_accounts_store_as_that_account() {
    let host = Host::new("[profile.p.cas]\ncap = \"64MiB\"");
    host.prints("provision --account nobody");
    host.upload("f", 23 * MIB, 1);
    let root = host.site.root().display().to_string();
    let cost = (23 * MIB + 6 * 4096) as u64;
    let report = |blocks: u64, bytes: u64, cap: u64, removed: u64| json!({"profile": "p", "root": root, "blocks": blocks, "bytes": bytes, "cap": cap, "removed": removed});
    assert_eq!(host.json("cas stat --json --account nobody"), report(6, cost, 64 << 20, 0));
    let line = |text: &str| format!("p: {root}: {text}\n");
    assert_eq!(
        host.prints("cas stat --account nobody"),
        line(&format!("6 blocks, {cost} bytes of 67108864; 0 removed"))
    );
    assert_eq!(host.json("cas verify --json --account nobody"), report(6, cost, 64 << 20, 0));
    let mut blocks: Vec<_> =
        fs::read_dir(host.blocks()).unwrap().map(|block| block.unwrap().path()).collect();
    blocks.sort_by_key(|block| block.metadata().unwrap().len());
    fs::OpenOptions::new().write(true).open(&blocks[1]).unwrap().write_all_at(b"damage", 100).unwrap();
    fs::OpenOptions::new().write(true).open(&blocks[2]).unwrap().set_len(5 << 20).unwrap();
    let left = cost - 2 * (4 * MIB + 4096) as u64;
    assert_eq!(host.json("cas verify --json --account nobody"), report(4, left, 64 << 20, 2));
    assert!(!blocks[1].exists() && !blocks[2].exists() && blocks[0].exists() && blocks[3].exists());
    // A cap that was lowered: gc need not wait for the next upload.
    host.profile("[profile.p.cas]\ncap = \"9MiB\"");
    let shrunk = host.json("cas gc --json --account nobody");
    assert_eq!(
        (&shrunk["cap"], &shrunk["blocks"], &shrunk["removed"]),
        (&json!(9 << 20), &json!(2), &json!(2))
    );
    assert_eq!(host.json("cas gc --json --account nobody")["removed"], 0);
    host.is_the_accounts();
    assert_eq!(host.json("cas clear --json --account nobody"), report(0, 0, 9 << 20, 2));
    assert_eq!(fs::read_dir(host.blocks()).unwrap().count(), 0);
    host.profile("[profile.p.cas]\ncap = \"64MiB\"");
    assert_eq!(host.upload("f", 23 * MIB, 1).len(), 6);
    assert_eq!(host.upload("f", 23 * MIB, 1).len(), 0);
    // What another account asks, or of another account, is another store, of which there is none.
    assert_eq!(host.prints("cas clear --account other"), "");
    assert_eq!(host.upload("f", 23 * MIB, 1).len(), 0);
    assert_eq!(host.run("cas stat --account absent").status.code(), Some(64));
    assert_eq!(host.run("cas wipe").status.code(), Some(64));
}

#[test]
#[ignore = "needs root to act for an account: run by tests/run"]
fn cas_and_quota_leave_a_newer_format_alone() {
    let host = Host::new("account_quota = \"100MiB\"");
    host.prints("provision --account nobody");
    host.upload("f", 5 * MIB, 1);
    fs::write(host.state().join("format"), "2\n").unwrap();
    let before = bcmr_tests::disk::snapshot(&host.state());
    for words in ["cas stat", "cas verify", "cas gc", "cas clear", "quota show", "quota rescan"] {
        let output = host.run(&format!("{words} --account nobody"));
        assert_eq!(output.status.code(), Some(74), "{words}: {output:?}");
        let said = String::from_utf8_lossy(&output.stderr);
        assert!(said.contains("its format is 2, and this server knows 1 at most"), "{words}: {said}");
    }
    assert_eq!(bcmr_tests::disk::snapshot(&host.state()), before);
}

#[test]
#[ignore = "needs root to act for an account: run by tests/run"]
fn cas_finds_an_accounts_own_store_in_personal_mode() {
    let host = Host::new("");
    let home = host.site.root();
    let line = format!(
        "echo other:x:65534:65534::{}: >> /etc/passwd && sed -i /nonexist/d /etc/passwd",
        home.display()
    );
    let launch = bcmr_tests::Launch::with_args([""; 0]).env("HOME", &home).env("BCMR_CAS_DIR", "");
    let mut server = crate::scene::greeted(launch.without_rights());
    crate::scene::upload(&mut server, "f", &bcmr_tests::content::noise(5 * MIB, 1));
    server.finish();
    let output = host.run_after("cas stat --json --account other", &line);
    let json: serde_json::Value = serde_json::from_slice(&output.stdout).unwrap();
    assert_eq!((&json[0]["profile"], &json[0]["blocks"]), (&json!("personal"), &json!(2)), "{output:?}");
}

#[test]
#[ignore = "needs root to act for an account: run by tests/run"]
fn quota_shows_what_is_counted_and_rescan_what_stands() {
    let host = Host::new("account_quota = \"100MiB\"\nmax_entries = 7");
    host.prints("provision --account nobody");
    for (path, len) in [("a", 3), ("d/b", 2), ("d/c", 1)] {
        host.upload(path, len * MIB, 1);
    }
    let root = host.site.root().display().to_string();
    let shows = |bytes: usize, entries: u64| {
        json!({"profile": "p", "root": root, "bytes": bytes, "account_quota": 100 << 20, "entries": entries,
               "max_entries": 7})
    };
    assert_eq!(host.json("quota show --json --account nobody"), shows(6 * MIB, 3));
    assert_eq!(
        host.prints("quota show --account nobody"),
        format!("p: {root}: 6291456 of 104857600 bytes, 3 of 7 names\n")
    );
    fs::remove_file(host.site.path("d/b")).unwrap();
    assert_eq!(host.json("quota show --json --account nobody"), shows(6 * MIB, 3));
    assert_eq!(host.json("quota rescan --json --account nobody"), shows(4 * MIB, 2));
    assert_eq!(host.json("quota show --json --account nobody"), shows(4 * MIB, 2));
    host.is_the_accounts();
    // Without a limit of that kind there is nothing to show.
    host.profile("");
    assert_eq!(host.prints("quota show --account nobody"), "");
    assert_eq!(host.run("quota show --account absent").status.code(), Some(64));
}
