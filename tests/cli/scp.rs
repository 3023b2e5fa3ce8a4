//! The same words to scp and to us: where scp copies, we put the same files in the same places.

use std::fs;
use std::path::Path;
use std::process::{Command, Stdio};

use bcmr_tests::disk::snapshot;
use bcmr_tests::sshd::HOST;
use bcmr_tests::{Client, Sshd};
use tempfile::TempDir;

/// Fills a directory afresh: files and a tree that carry the name of their side, and directories to copy into.
fn fill(dir: &Path, side: &str) {
    for entry in fs::read_dir(dir).unwrap() {
        let path = entry.unwrap().path();
        if path.is_dir() { fs::remove_dir_all(path).unwrap() } else { fs::remove_file(path).unwrap() }
    }
    fs::create_dir_all(dir.join("tree/sub")).unwrap();
    fs::create_dir_all(dir.join("tree/empty")).unwrap();
    fs::create_dir(dir.join("d")).unwrap();
    fs::create_dir(dir.join("d with $(touch p) spaces")).unwrap();
    for file in [
        format!("f-{side}"),
        format!("tree/sub/{side}"),
        format!("-dash-{side}"),
        format!("two words-{side}"),
        format!("$(touch p)-{side}"),
    ] {
        fs::write(dir.join(&file), file).unwrap();
    }
}

/// Paths and contents, one a line.
fn outcome(dir: &Path) -> Vec<String> {
    let tree = snapshot(dir);
    tree.paths().iter().map(|path| format!("{path} {:?}", tree.get(path).unwrap().kind)).collect()
}

/// Gives the words to both. `@` in front of one stands for the other side, `{}` for the source's side.
#[track_caller]
fn as_scp(lines: &[&str]) {
    let (sshd, local) = (Sshd::ours(), TempDir::new().unwrap());
    let (here, there) = (local.path(), sshd.home());
    for line in lines {
        for up in [true, false] {
            let words: Vec<String> = line
                .split(", ")
                .map(|word| match word.strip_prefix('>') {
                    // The destination.
                    Some(to) if up => format!("{HOST}:{to}"),
                    Some("") => ".".to_owned(),
                    Some(to) => to.to_owned(),
                    None if word.starts_with('-') && word.len() <= 2 => word.to_owned(),
                    None if up => word.replace("{}", "here"),
                    None => format!("{HOST}:{}", word.replace("{}", "there")),
                })
                .collect();
            let reset = || {
                fill(here, "here");
                fill(&there, "there");
            };
            reset();
            let mut scp = Command::new("scp");
            scp.arg("-qF").arg(sshd.client_config()).args(&words).current_dir(here).stdin(Stdio::null());
            let scp = scp.output().expect("scp is not installed");
            assert!(scp.status.success(), "scp {words:?}: {}", String::from_utf8_lossy(&scp.stderr));
            let by_scp = [outcome(here), outcome(&there)];
            reset();
            Client::ours().over(&sshd).within(here).copy(&words).succeeds();
            assert_eq!(by_scp, [outcome(here), outcome(&there)], "{words:?}: scp's first, then ours");
        }
    }
}

/// CVE-2020-15778.
#[test]
#[ignore = "needs sshd: run by tests/run"]
fn cve_2020_15778_files_land_where_scp_puts_them() {
    as_scp(&[
        "f-{}, >d",
        "f-{}, >d/",
        "f-{}, >new",
        "f-{}, >",
        "f-{}, >.",
        "f-{}, >./d/other",
        "f-{}, tree/sub/{}, >d",
        "./f-{}, >d/.",
    ]);
}

/// CVE-2020-15778.
#[test]
#[ignore = "needs sshd: run by tests/run"]
fn cve_2020_15778_names_with_spaces_dashes_and_shell_words_land_where_scp_puts_them() {
    as_scp(&[
        "two words-{}, >d with $(touch p) spaces",
        "$(touch p)-{}, >d",
        "f-{}, >a new $(touch p) name",
        "./-dash-{}, >d",
        "--, -dash-{}, >d",
        "f-{}, >./-dash-new",
    ]);
}

/// CVE-2020-15778.
#[test]
#[ignore = "needs sshd: run by tests/run"]
fn cve_2020_15778_trees_land_where_scp_puts_them() {
    as_scp(&[
        "-r, tree, >d",
        "-r, tree, >d/",
        "-r, tree/, >d",
        "-r, tree, >new",
        "-r, tree/sub, >new",
        "-r, tree, f-{}, >d",
    ]);
}
