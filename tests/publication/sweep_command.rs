//! `bcmr-serve sweep` clears a whole tree of one account's dead stages, and says what it did.

use std::fs::{self, File, Permissions};
use std::os::unix::fs::{PermissionsExt, chown, symlink};
use std::path::Path;
use std::process::{Command, Output};

use bcmr_tests::{Site, binaries};
use rustix::fs::{FlockOperation, flock};

/// The account that root acts as, and another one.
const NOBODY: u32 = 65_534;
const OTHER: u32 = 60_002;

fn stage(dir: &str, last: char) -> String {
    format!("{dir}/.bcmr-0123456789abcdef0123456789abcde{last}")
}

fn sweep(args: &[&str], dir: &Path) -> Output {
    Command::new(binaries::server()).arg("sweep").args(args).arg(dir).output().unwrap()
}

/// Its exit code and the lines that it printed, the directory at their front taken off.
fn told(output: &Output, dir: &Path) -> (Option<i32>, Vec<String>) {
    let text = String::from_utf8(output.stdout.clone()).unwrap();
    let dir = dir.display().to_string();
    let lines = text.lines().map(|line| line.strip_prefix(&dir).unwrap_or(line).to_owned());
    (output.status.code(), lines.collect())
}

#[test]
fn s8_the_sweep_command_clears_a_tree_of_dead_stages_and_of_nothing_else() {
    let site = Site::new();
    site.file(&stage(".", '0'), "dead");
    site.file(&stage("a/b/c", '0'), "dead");
    site.file(&stage("a/b/c", '1'), "dead");
    site.chmod(&stage("a/b/c", '1'), 0o400);
    site.file(&stage("shared", '0'), "dead");
    site.chmod("shared", 0o775);
    // Published, and killed before the other name was taken away.
    site.file("linked/f", "published");
    fs::hard_link(site.path("linked/f"), site.path(&stage("linked", '0'))).unwrap();
    // What is to stay: alive, no file, near the pattern, behind a link, beside the tree.
    let alive = File::open(site.file(&stage("live", '0'), "alive")).unwrap();
    flock(&alive, FlockOperation::NonBlockingLockExclusive).unwrap();
    site.dir(&stage("live", '1'));
    site.file("live/.bcmr-notes", "someone's own");
    site.outside_file(&stage(".", '0'), "beyond a link");
    symlink(site.outside(), site.path("link")).unwrap();
    let mut expected = site.tree();
    let outside = bcmr_tests::disk::snapshot(&site.outside());

    let output = sweep(&[], &site.root());
    let (code, mut lines) = told(&output, &site.root());
    lines.sort();
    let line = |at: &str, removed, emptied, left| {
        format!("{at}: {removed} removed, {emptied} emptied, {left} left alone")
    };
    let mut due = vec![
        line("", 1, 0, 0),
        line("/a/b/c", 2, 0, 0),
        line("/linked", 1, 0, 0),
        line("/live", 0, 0, 2),
        line("/shared", 0, 1, 0),
        line("total", 4, 1, 2),
    ];
    due.sort();
    assert_eq!((code, lines), (Some(0), due), "{output:?}");

    let after = site.tree();
    let gone: Vec<_> = expected.paths().into_iter().filter(|path| after.get(path).is_none()).collect();
    let dead = [stage(".", '0'), stage("a/b/c", '0'), stage("a/b/c", '1'), stage("linked", '0')];
    let dead: Vec<_> = dead.iter().map(|path| path.strip_prefix("./").unwrap_or(path)).collect();
    assert_eq!(gone, dead);
    assert_eq!(site.read(&stage("shared", '0')), b"");
    assert_eq!(site.read("linked/f"), b"published");
    assert_eq!(bcmr_tests::disk::snapshot(&site.outside()), outside);
    assert_eq!(site.read(&stage("live", '0')), b"alive");

    // What is left is told again, and nothing more is done.
    expected = site.tree();
    let (code, lines) = told(&sweep(&[], &site.root()), &site.root());
    assert_eq!((code, lines.last()), (Some(0), Some(&line("total", 0, 0, 3))));
    assert_eq!(site.tree(), expected);
}

#[test]
#[ignore = "needs root to act as another account: run by tests/run"]
fn the_sweep_command_acts_as_the_account_that_it_is_given() {
    let site = Site::new();
    fs::set_permissions(site.base(), Permissions::from_mode(0o755)).unwrap();
    site.dir("d");
    let owners = [0, NOBODY, OTHER];
    for (last, owner) in ['0', '1', '2'].into_iter().zip(owners) {
        let path = site.file(&stage("d", last), "dead");
        fs::set_permissions(&path, Permissions::from_mode(0o666)).unwrap();
        chown(path, Some(owner), Some(owner)).unwrap();
    }
    chown(site.path("d"), Some(NOBODY), Some(NOBODY)).unwrap();
    let (code, lines) = told(&sweep(&["--account", "nobody"], &site.root()), &site.root());
    assert_eq!((code, &*lines[0]), (Some(0), "/d: 1 removed, 0 emptied, 2 left alone"));
    assert_eq!(site.tree().stages().len(), 2);
    assert_eq!(site.read(&stage("d", '0')), b"dead");
    assert_eq!(site.read(&stage("d", '2')), b"dead");

    // Root itself is one account more, in a directory of another's: there it empties.
    let (code, lines) = told(&sweep(&[], &site.root()), &site.root());
    assert_eq!((code, &*lines[0]), (Some(0), "/d: 0 removed, 1 emptied, 1 left alone"));
    assert_eq!(site.read(&stage("d", '0')), b"");
    assert_eq!(site.read(&stage("d", '2')), b"dead");

    let before = site.tree();
    let output = sweep(&["--account", "no-such-account"], &site.root());
    assert_eq!(output.status.code(), Some(64), "{output:?}");
    assert!(String::from_utf8_lossy(&output.stderr).contains("no account"), "{output:?}");
    assert_eq!(site.tree(), before);
}

#[test]
fn the_sweep_command_says_where_it_cannot_look() {
    let site = Site::new();
    let output = sweep(&[], &site.path("absent"));
    assert_eq!(output.status.code(), Some(74), "{output:?}");
    assert!(String::from_utf8_lossy(&output.stderr).contains("absent"), "{output:?}");
}
