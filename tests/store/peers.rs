//! Dedup with the public bcmr 0.7.2 at the other end, over a real sshd. What crosses the wire is counted where the
//! server reads it.

use std::fs;
use std::os::unix::fs::PermissionsExt;
use std::path::{Path, PathBuf};

use bcmr_tests::client::{peer, quoted};
use bcmr_tests::content::noise;
use bcmr_tests::sshd::HOST;
use bcmr_tests::{Client, Sshd, binaries};
use tempfile::TempDir;

use crate::scene::MIB;

const LEN: usize = 32 * MIB;

/// A host whose server keeps what it is sent, for a test to look at.
struct Counted {
    sshd: Sshd,
    dir: TempDir,
}

impl Counted {
    /// One that starts `server` under `name`.
    fn new(name: &str, server: &Path) -> Self {
        let dir = TempDir::new().unwrap();
        let wrapper = dir.path().join("wrapper");
        let kept = quoted(&dir.path().join("kept-"));
        fs::write(&wrapper, format!("#!/bin/sh\ntee {kept}$$ | {} \"$@\"\n", quoted(server))).unwrap();
        fs::set_permissions(&wrapper, fs::Permissions::from_mode(0o755)).unwrap();
        Self { sshd: Sshd::start(&[(name, wrapper)]), dir }
    }

    /// Bytes that servers were sent since this was asked last.
    fn received(&self) -> u64 {
        let files: Vec<PathBuf> =
            fs::read_dir(self.dir.path()).unwrap().map(|entry| entry.unwrap().path()).collect();
        let kept =
            files.iter().filter(|path| path.file_name().unwrap().to_str().unwrap().starts_with("kept-"));
        kept.map(|path| {
            let len = path.metadata().unwrap().len();
            fs::remove_file(path).unwrap();
            len
        })
        .sum()
    }
}

/// Uploads a file twice under two names, and once more with one byte changed.
fn three_times(client: fn() -> Client, host: &Counted) {
    let here = TempDir::new().unwrap();
    let mut content = noise(LEN, 1);
    let copy = |name: &str, content: &[u8]| {
        fs::write(here.path().join("f"), content).unwrap();
        let to = format!("{HOST}:{name}");
        client()
            .over(&host.sshd)
            .within(here.path())
            .copy(["f", &to])
            .succeeds()
            .keeps_quiet_about("falling back");
        assert!(fs::read(host.sshd.home().join(name)).unwrap() == content, "{name}");
        host.received()
    };
    let first = copy("first", &content);
    let second = copy("second", &content);
    content[LEN / 2] ^= 1;
    let changed = copy("changed", &content);
    println!("{LEN} bytes of content: {first} on the wire, {second} again, {changed} with one byte changed");
    assert!(first >= LEN as u64);
    assert!(second <= LEN as u64 / 1000, "{second}");
    assert!((4 << 20..5 << 20).contains(&changed), "{changed}");
}

#[test]
#[ignore = "needs sshd: run by tests/run"]
fn the_public_client_finds_its_blocks_in_our_store() {
    three_times(Client::public, &Counted::new("bcmr", &binaries::server()));
}

#[test]
#[ignore = "needs sshd: run by tests/run"]
fn our_client_finds_its_blocks_in_the_public_servers_store() {
    three_times(Client::ours, &Counted::new("bcmr", &peer()));
}

#[test]
#[ignore = "needs sshd: run by tests/run"]
fn our_client_finds_its_blocks_in_our_store() {
    three_times(Client::ours, &Counted::new("bcmr-serve", &binaries::server()));
}
