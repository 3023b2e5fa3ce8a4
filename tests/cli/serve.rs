//! `bcmr serve`, which clients of the public server start.

use std::fs;
use std::path::Path;
use std::process::{Command, Output, Stdio};

use bcmr_tests::binaries;

fn serve(client: &Path, args: &[&str]) -> Output {
    Command::new(client).arg("serve").args(args).stdin(Stdio::null()).output().unwrap()
}

#[test]
fn serve_becomes_the_server_beside_the_client_with_all_its_arguments() {
    let dir = tempfile::tempdir().unwrap();
    let client = dir.path().join("bcmr");
    fs::copy(binaries::client(), &client).unwrap();
    fs::copy(binaries::server(), dir.path().join("bcmr-serve")).unwrap();
    for (args, begin) in [(&["--version"], "bcmr-serve "), (&["--help"], "A hardened ")] {
        let output = serve(&client, args);
        assert!(String::from_utf8_lossy(&output.stdout).starts_with(begin), "{args:?}: {output:?}");
        assert_eq!(output.status.code(), Some(0), "{args:?}");
    }
    assert_eq!(serve(&client, &["--no-such"]).status.code(), Some(64), "the server's own exit code");
}

#[test]
fn serve_without_a_server_names_its_package_and_keeps_off_stdout() {
    if Path::new("/usr/bin/bcmr-serve").exists() {
        eprintln!("not run: this host has the package");
        return;
    }
    let dir = tempfile::tempdir().unwrap();
    let client = dir.path().join("bcmr");
    fs::copy(binaries::client(), &client).unwrap();
    let output = serve(&client, &[]);
    let stderr = String::from_utf8_lossy(&output.stderr);
    assert!(stderr.contains("install the package bcmr-serve"), "{stderr}");
    assert_eq!((output.status.code(), output.stdout.len()), (Some(74), 0));
}
