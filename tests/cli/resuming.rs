//! `-C`: what is there already is left, and what was copied in part is finished. `-V`: what was copied is read again.

use std::fs;

use bcmr_tests::Site;
use bcmr_tests::client::{Ran, quoted, serve};
use bcmr_tests::content::noise;
use bcmr_tests::disk::snapshot;

use crate::client;

const MIB: usize = 1 << 20;
const RESUME: [&str; 3] = ["-C", "--compress", "none"];

/// MiB on the wire, as the summary tells them; 0 where they are fewer than one.
#[track_caller]
fn wire(ran: &Ran) -> f64 {
    let said = ran.said();
    let line = said.lines().find(|line| line.ends_with("on the wire")).unwrap_or_else(|| panic!("{said}"));
    match line.rsplit(", ").next().unwrap().split(' ').collect::<Vec<_>>()[..] {
        [number, "MiB", ..] => number.parse().unwrap(),
        _ => 0.0,
    }
}

/// Something of which the destination has the beginning, damaged or not.
fn in_part(damaged: bool) -> (Vec<u8>, Vec<u8>) {
    let whole = noise(12 * MIB, 5);
    let mut part = whole[..9 * MIB].to_vec();
    if damaged {
        part[100] ^= 1;
    }
    (whole, part)
}

#[test]
fn of_an_upload_that_is_there_in_part_the_rest_is_sent_where_it_may_be_replaced() {
    for strict in [&[][..], &["-s"]] {
        let site = Site::new();
        let (whole, part) = in_part(false);
        fs::write(site.outside().join("f"), &whole).unwrap();
        site.file("f", part);
        let ran = client(&site).arg("copy").args(RESUME).args(strict).args(["-f", "-y", "f", ":"]).run();
        ran.succeeds().says("1 file, 12.00 MiB (9.00 MiB were already there)");
        assert!(wire(&ran) > 2.9 && wire(&ran) < 3.2, "{}", ran.said());
        assert!(site.read("f") == whole);
        assert_eq!(site.tree().paths(), ["f"]);
    }
}

#[test]
fn of_a_download_that_is_here_in_part_the_rest_is_fetched_where_it_may_be_replaced() {
    for strict in [&[][..], &["-s"]] {
        let site = Site::new();
        let (whole, part) = in_part(false);
        site.file("f", &whole);
        fs::write(site.outside().join("f"), part).unwrap();
        let ran = client(&site).arg("copy").args(RESUME).args(strict).args(["-f", "-y", ":f", "."]).run();
        ran.succeeds().says("1 file, 12.00 MiB (9.00 MiB were already there)");
        assert!(wire(&ran) > 2.9 && wire(&ran) < 3.2, "{}", ran.said());
        assert!(fs::read(site.outside().join("f")).unwrap() == whole);
        assert_eq!(snapshot(&site.outside()).paths(), ["f"]);
    }
}

/// sb-mirror#14.
#[test]
fn sb_mirror_14_a_part_that_is_damaged_is_noticed_and_sent_again() {
    let site = Site::new();
    let (whole, part) = in_part(true);
    fs::write(site.outside().join("up"), &whole).unwrap();
    site.file("up", &part);
    site.file("down", &whole);
    fs::write(site.outside().join("down"), &part).unwrap();
    for paths in [["up", ":"], [":down", "."]] {
        let ran = client(&site).arg("copy").args(RESUME).args(["-f", "-y"]).args(paths).run();
        ran.succeeds().keeps_quiet_about("already there");
        assert!(wire(&ran) > 11.9, "{}", ran.said());
    }
    assert!(site.read("up") == whole && fs::read(site.outside().join("down")).unwrap() == whole);
}

#[test]
fn what_may_not_be_replaced_is_not_finished_either() {
    let site = Site::new();
    let (whole, part) = in_part(false);
    fs::write(site.outside().join("up"), &whole).unwrap();
    site.file("up", &part);
    site.file("down", &whole);
    fs::write(site.outside().join("down"), &part).unwrap();
    let before = site.everything();
    for paths in [["up", ":"], [":down", "."]] {
        client(&site).arg("copy").args(RESUME).args(paths).run().ends_with(1).says("exists");
    }
    assert_eq!(before, site.everything());
}

/// A tree of which some is there: the same, of another content, and of the same size with another content.
fn tree(site: &Site) {
    for (name, there) in [("same", "1234"), ("other", "longer"), ("sized", "4321")] {
        fs::create_dir_all(site.outside().join("d")).unwrap();
        fs::write(site.outside().join("d").join(name), "1234").unwrap();
        site.file(&format!("d/{name}"), there);
    }
    fs::write(site.outside().join("d/new"), noise(MIB, 1)).unwrap();
    fs::write(site.outside().join("d/big"), noise(4 * MIB, 2)).unwrap();
    site.file("d/big", noise(4 * MIB, 2));
}

#[test]
fn of_a_tree_what_has_the_same_size_and_hash_is_left() {
    let site = Site::new();
    tree(&site);
    let ran = client(&site).arg("copy").args(RESUME).args(["-r", "d", ":"]).run();
    ran.ends_with(1).says("d/other: ").says("d/sized: ").says("3 files (2 already there)");
    assert!(wire(&ran) < 1.2, "{}", ran.said());
    assert_eq!(site.read("d/sized"), b"4321");
    // The same where it may be replaced.
    let ran = client(&site).arg("copy").args(RESUME).args(["-r", "-f", "-y", "d", ":"]).run();
    ran.succeeds().says("5 files (3 already there)");
    assert!(wire(&ran) < 1.0, "{}", ran.said());
    let here = snapshot(&site.outside().join("d"));
    assert_eq!(here.paths(), snapshot(&site.path("d")).paths());
    for name in here.paths() {
        assert!(site.read(&format!("d/{name}")) == fs::read(site.outside().join("d").join(name)).unwrap());
    }
    // Back, over several connections: all of it is here.
    let ran = client(&site).arg("copy").args(RESUME).args(["-r", "-P", "3", ":d", "."]).run();
    ran.succeeds().says("5 files (5 already there)");
}

/// A server whose file `a` is changed by another as soon as it is there, and that takes its time with what follows.
fn meddled(site: &Site) -> String {
    let (a, serve) = (quoted(&site.path("a")), serve(&site.root()));
    format!(
        "{{ dd bs=64K count=4M iflag=count_bytes status=none; \
         until [ -e {a} ]; do sleep 0.01; done; printf x >> {a}; cat; }} | {serve}"
    )
}

#[test]
fn verified_is_what_is_still_the_same_on_both_sides_in_the_end() {
    for (options, code) in [(&["-V"][..], 1), (&[], 0)] {
        let site = Site::new();
        fs::write(site.outside().join("a"), "small").unwrap();
        fs::write(site.outside().join("b"), noise(8 * MIB, 3)).unwrap();
        let client = bcmr_tests::Client::ours().via(meddled(&site)).within(&site.outside());
        let ran = client.args(["copy", "--compress", "none"]).args(options).args(["a", "b", ":"]).run();
        ran.ends_with(code);
        assert_eq!(site.read("a"), b"smallx");
        if code == 1 {
            ran.says("a: what stands on the server is not what stands here").says("1 file, 8.00 MiB");
        }
    }
    // And where nobody meddles.
    let site = Site::new();
    fs::write(site.outside().join("b"), noise(8 * MIB, 3)).unwrap();
    client(&site).copy(["-V", "b", ":"]).succeeds().says("1 file, 8.00 MiB");
    client(&site).copy(["-V", ":b", "c"]).succeeds().says("1 file, 8.00 MiB");
}

#[test]
fn strict_is_a_word_about_resuming() {
    let site = Site::new();
    client(&site).copy(["-s", "f", ":"]).ends_with(2).says("--resume");
}
