//! This machine's disk: downloads land whole or not at all.

use std::fs;
use std::sync::atomic::{AtomicBool, Ordering};

use bcmr_tests::Site;
use bcmr_tests::content::noise;

use crate::client;

#[test]
fn a_reader_sees_the_old_file_or_the_new_one_and_nothing_between() {
    let site = Site::new();
    let versions = [noise(6_000_000, 1), noise(6_000_000, 2)];
    site.file("0", &versions[0]);
    site.file("1", &versions[1]);
    let here = site.outside().join("f");
    fs::write(&here, &versions[0]).unwrap();
    let (done, mut looks) = (AtomicBool::new(false), 0);
    std::thread::scope(|scope| {
        let reader = scope.spawn(|| {
            let mut looks = 0;
            while !done.load(Ordering::Relaxed) {
                let seen = fs::read(&here).unwrap();
                assert!(versions.contains(&seen), "a mix of {} bytes", seen.len());
                looks += 1;
            }
            looks
        });
        for round in 0..6 {
            client(&site).copy(["-f", "-y", &format!(":{}", (round + 1) % 2), "f"]).succeeds();
        }
        done.store(true, Ordering::Relaxed);
        looks = reader.join().unwrap();
    });
    assert!(looks > 6, "only {looks} looks");
    assert_eq!(fs::read_dir(site.outside()).unwrap().count(), 1, "something was left behind");
}

#[test]
fn a_download_appears_only_when_it_is_whole() {
    let site = Site::new();
    site.file("f", noise(30_000_000, 1));
    let here = site.outside().join("f");
    let running = client(&site).args(["copy", ":f", "."]).start();
    let mut seen = None;
    for _ in 0..100_000 {
        seen = fs::metadata(&here).ok();
        if seen.is_some() {
            break;
        }
        std::thread::sleep(std::time::Duration::from_micros(200));
    }
    assert_eq!(seen.map(|there| there.len()), Some(30_000_000));
    running.end().succeeds();
}

#[test]
fn overwrite_denied_leaves_old_bytes() {
    let site = Site::new();
    site.file("f", "new");
    site.file("g", "g");
    fs::write(site.outside().join("f"), "old").unwrap();
    let before = bcmr_tests::disk::snapshot(&site.outside()).get("f").cloned();
    client(&site).copy([":f", ":g", "."]).ends_with(1).says("f: exists").says("1 file,");
    let after = bcmr_tests::disk::snapshot(&site.outside());
    assert_eq!(before.as_ref(), after.get("f"));
    assert_eq!(after.paths(), ["f", "g"]);
    client(&site).copy(["-f", "-y", ":f", "."]).succeeds();
    assert_eq!(fs::read(site.outside().join("f")).unwrap(), b"new");
}

#[test]
fn a_link_or_a_directory_in_the_files_place_is_not_replaced() {
    let site = Site::new();
    site.file("f", "new");
    site.file("d", "new");
    site.outside_file("target", "old");
    std::os::unix::fs::symlink("target", site.outside().join("f")).unwrap();
    fs::create_dir_all(site.outside().join("into/d")).unwrap();
    let before = bcmr_tests::disk::snapshot(&site.outside());
    client(&site).copy(["-f", "-y", ":f", "."]).ends_with(1).says("symbolic link");
    client(&site).copy(["-f", "-y", ":d", "into"]).ends_with(1).says("into/d: ").says("directory");
    assert_eq!(before, bcmr_tests::disk::snapshot(&site.outside()));
}

/// Runs a download into a file system of 4 MiB that only this client sees; what it said, and then what was left
/// there.
fn on_a_small_disk(site: &Site, args: &[&str]) -> bcmr_tests::client::Ran {
    let script = r#"
        mount -t tmpfs -o size=4m none "$0" && cd "$0" && printf old > old && "$@" <&-
        code=$?; echo "left: $(ls -A | tr '\n' ' ')"; echo "old: $(cat old)"; exit $code"#;
    let dir = site.outside();
    let dir = dir.to_str().unwrap();
    client(site).under(["unshare", "--mount", "sh", "-c", script, dir]).arg("copy").args(args).run()
}

/// sftpgo#2276, on this side.
#[test]
#[ignore = "needs root: run by tests/run"]
fn sftpgo_2276_a_full_disk_here_is_said_at_once_with_the_file_and_nothing_is_left() {
    let site = Site::new();
    site.file("small", "small");
    site.file("large", noise(40_000_000, 1));
    site.file("old", noise(40_000_000, 2));
    let ran = on_a_small_disk(&site, &[":small", ":large", "."]);
    ran.ends_with(1).says("large: ").says("No space left").keeps_quiet_about("connection was lost");
    assert_eq!(String::from_utf8_lossy(&ran.out), "left: old small \nold: old\n");
    let ran = on_a_small_disk(&site, &["-f", "-y", ":old", "."]);
    ran.ends_with(1).says("old: ").says("No space left");
    assert_eq!(String::from_utf8_lossy(&ran.out), "left: old \nold: old\n");
    // The control: what fits is copied.
    let ran = on_a_small_disk(&site, &["-f", "-y", ":small", "."]);
    ran.succeeds();
    assert!(String::from_utf8_lossy(&ran.out).starts_with("left: old small"));
}
