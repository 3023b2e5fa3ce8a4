//! Where the programs under test are, built first where nobody says.

use std::collections::BTreeMap;
use std::env;
use std::fs::{File, OpenOptions};
use std::io::{Read, Seek, Write};
use std::path::{Path, PathBuf};
use std::process::Command;
use std::sync::Mutex;

/// The directory that holds `bcmr-serve` and `bcmr`. Where it is not set, they are built as the tests were.
pub const BIN_DIR: &str = "BCMR_BIN_DIR";

/// The server, `bcmr-serve`.
#[must_use]
pub fn server() -> PathBuf {
    program("bcmr-serve")
}

/// The client, `bcmr`.
#[must_use]
pub fn client() -> PathBuf {
    program("bcmr")
}

/// The escape probe. Built as the server is, so that both go into the same sandbox.
#[must_use]
pub fn probe() -> PathBuf {
    program("bcmr-probe")
}

/// Whether a program needs no dynamic linker, as the one that ships (musl).
#[must_use]
pub fn is_static(program: &Path) -> bool {
    let bytes = std::fs::read(program).unwrap();
    !bytes.windows(10).any(|window| window == b"/ld-linux-")
}

/// A tool of these tests' own, such as `without`, which Cargo builds with them.
#[must_use]
pub fn tool(name: &str) -> PathBuf {
    let path = profile_dir().join(name);
    assert!(path.is_file(), "{} is not built: run the tests by cargo", path.display());
    path
}

/// A program whose package has the same name.
fn program(name: &'static str) -> PathBuf {
    static FOUND: Mutex<BTreeMap<&'static str, PathBuf>> = Mutex::new(BTreeMap::new());
    let mut found = FOUND.lock().unwrap();
    let path = found.entry(name).or_insert_with(|| {
        let dir = env::var_os(BIN_DIR).map(PathBuf::from);
        dir.unwrap_or_else(|| build_once_per_run(name)).join(name)
    });
    assert!(path.is_file(), "there is no {}", path.display());
    path.clone()
}

/// Builds a package; returns the directory its program is in. A runner that gives each test a process of its
/// own (cargo-nextest) has one of them build, and the others wait for it.
fn build_once_per_run(package: &str) -> PathBuf {
    let dir = profile_dir();
    let Some(run) = env::var("NEXTEST_RUN_ID").ok() else {
        build(package);
        return dir;
    };
    let built = dir.join(format!(".built-for-tests-{package}"));
    let mut built: File =
        OpenOptions::new().read(true).write(true).create(true).truncate(false).open(built).unwrap();
    built.lock().unwrap();
    let mut last = String::new();
    built.read_to_string(&mut last).unwrap();
    if last != run {
        build(package);
        built.set_len(0).unwrap();
        built.rewind().unwrap();
        built.write_all(run.as_bytes()).unwrap();
    }
    dir
}

fn build(package: &str) {
    let profile_dir = profile_dir();
    let above = profile_dir.parent().unwrap();
    let mut cargo = Command::new(env::var_os("CARGO").unwrap_or_else(|| "cargo".into()));
    cargo.args(["build", "--quiet", "--package", package, "--profile", profile_of(&profile_dir)]);
    cargo.current_dir(env!("CARGO_MANIFEST_DIR"));
    // Where a target was named, its triple stands between the target directory and the profile's.
    let triple = above.file_name().and_then(|name| name.to_str()).unwrap_or_default();
    if triple.starts_with(env::consts::ARCH) && triple.contains("-linux-") {
        cargo.arg("--target-dir").arg(above.parent().unwrap()).arg("--target").arg(triple);
    } else {
        cargo.arg("--target-dir").arg(above);
    }
    let status = cargo.status().unwrap();
    assert!(status.success(), "{package} does not build");
}

fn profile_of(dir: &Path) -> &str {
    match dir.file_name().unwrap().to_str().unwrap() {
        "debug" => "dev",
        profile => profile,
    }
}

/// Where Cargo puts the programs of the profile that this test was built with: the test itself is in `deps`.
fn profile_dir() -> PathBuf {
    let this = env::current_exe().unwrap();
    let deps = this.parent().unwrap();
    assert!(deps.ends_with("deps"), "{} was not started by cargo", this.display());
    deps.parent().unwrap().to_owned()
}
