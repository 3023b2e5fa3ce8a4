//! A batch with names in the middle that exist. After an Error to a Put the public server answers once more for
//! every frame that was on its way, so that the connection cannot be used any more.

use std::fs;
use std::path::Path;

use bcmr_tests::content::noise;

use crate::pair::{Makes, Pair};

/// Twelve files, some of several blocks; the third, seventh and eighth exist on the other side.
const FILES: usize = 12;
const EXIST: [usize; 3] = [3, 7, 8];

fn content(number: usize) -> Vec<u8> {
    noise(if number.is_multiple_of(2) { 100 } else { 9_000_000 }, number as u64)
}

fn batch(pair: &Pair, there: impl Fn(usize) -> Vec<u8>) {
    for number in 1..=FILES {
        pair.here(&format!("batch/{number:02}"), content(number));
    }
    for number in EXIST {
        pair.there(&format!("batch/{number:02}"), there(number));
    }
}

/// Numbers of files that are there with the content that is here.
fn arrived(pair: &Pair) -> Vec<usize> {
    let same = |path: &Path, number| fs::read(path).is_ok_and(|there| there == content(number));
    (1..=FILES).filter(|number| same(&pair.home(&format!("batch/{number:02}")), *number)).collect()
}

fn with_other_content_they_are_refused_and_named_and_the_rest_arrives(makes: Makes) {
    let pair = Pair::new(makes);
    // Of the same size too, so that only a look at the content tells.
    batch(&pair, |number| if number == 7 { vec![7; content(7).len()] } else { b"other".to_vec() });
    let before: Vec<_> =
        EXIST.map(|number| fs::read(pair.home(&format!("batch/{number:02}"))).unwrap()).into();
    let ran = pair.copy("-r batch @");
    ran.ends_with(1);
    for number in 1..=FILES {
        let named =
            ran.said().lines().filter(|line| line.contains(&format!("bcmr: batch/{number:02}: "))).count();
        assert_eq!(named, usize::from(EXIST.contains(&number)), "file {number}: {}", ran.said());
    }
    let after: Vec<_> =
        EXIST.map(|number| fs::read(pair.home(&format!("batch/{number:02}"))).unwrap()).into();
    assert!(before == after, "a file that exists was changed");
    assert_eq!(arrived(&pair), [1, 2, 4, 5, 6, 9, 10, 11, 12]);
    assert_eq!(fs::read_dir(pair.home("batch")).unwrap().count(), FILES, "something was left behind");
    // Forced, all arrive.
    pair.copy("-f -y -r batch @").succeeds();
    assert_eq!(arrived(&pair).len(), FILES);
}

/// rclone#8958: a retry that finds its own file must not take it for someone else's.
fn with_the_same_content_they_count_as_done(makes: Makes) {
    let pair = Pair::new(makes);
    batch(&pair, content);
    let modified = || fs::metadata(pair.home("batch/07")).unwrap().modified().unwrap();
    let before = modified();
    let ran = pair.copy("-r batch @");
    ran.succeeds().says("12 files").says("3 already there").keeps_quiet_about("bcmr: ");
    assert_eq!(arrived(&pair).len(), FILES);
    assert_eq!(before, modified(), "a file that was there was written again");
}

#[test]
#[ignore = "needs sshd: run by tests/run"]
fn by_the_public_server_files_with_other_content_are_refused_and_named_and_the_rest_arrives() {
    with_other_content_they_are_refused_and_named_and_the_rest_arrives(Makes::OursToPublic);
}

#[test]
#[ignore = "needs sshd: run by tests/run"]
fn by_our_server_files_with_other_content_are_refused_and_named_and_the_rest_arrives() {
    with_other_content_they_are_refused_and_named_and_the_rest_arrives(Makes::OursToOurs);
}

#[test]
#[ignore = "needs sshd: run by tests/run"]
fn rclone_8958_at_the_public_server_files_with_the_same_content_count_as_done() {
    with_the_same_content_they_count_as_done(Makes::OursToPublic);
}

#[test]
#[ignore = "needs sshd: run by tests/run"]
fn rclone_8958_at_our_server_files_with_the_same_content_count_as_done() {
    with_the_same_content_they_count_as_done(Makes::OursToOurs);
}

/// The public server repeats a refused block in its Error, and writes it to stderr too, as numbers.
#[test]
#[ignore = "needs sshd: run by tests/run"]
fn a_refused_block_of_the_public_server_does_not_flood_the_terminal() {
    let pair = Pair::new(Makes::OursToPublic);
    pair.there("f", "other");
    pair.here("f", noise(20_000_000, 1));
    let ran = pair.copy("--compress none f @");
    ran.ends_with(1).says("bcmr: f: ").says("already exists");
    assert!(ran.err.len() < 20_000, "{} bytes were said", ran.err.len());
}
