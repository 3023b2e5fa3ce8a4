//! The commands that ask a server, and what copy says it would do.

use std::fs;

use bcmr_tests::{Client, Site};
use serde_json::Value;

fn site() -> Site {
    let site = Site::new();
    site.file("d/a.c", "int a;");
    site.file("d/sub/b.o", [7; 1000]);
    site.file("d/.git/config", "git");
    site.dir("empty");
    site
}

fn client(site: &Site) -> Client {
    Client::ours().to_root(&site.root()).within(&site.outside())
}

#[test]
fn ls_shows_what_is_in_a_directory_and_r_all_that_is_below() {
    let site = site();
    let ran = client(&site).args(["ls", ":d"]).run();
    ran.succeeds();
    let printed = ran.printed();
    let names: Vec<_> =
        printed.lines().map(|line| line.split_whitespace().last().unwrap().to_owned()).collect();
    assert_eq!(names, [".git/", "a.c", "sub/"]);
    let ran = client(&site).args(["ls", "-r", "--json", ":d"]).run();
    let entries: Vec<Value> = ran.printed().lines().map(|line| serde_json::from_str(line).unwrap()).collect();
    let find = |path: &str| entries.iter().find(|entry| entry["path"] == path).unwrap();
    assert_eq!((&find("sub/b.o")["size"], &find("sub/b.o")["kind"]), (&1000.into(), &"file".into()));
    assert_eq!(entries.len(), 5);
    // A file is itself, and what is not there is an error.
    assert!(client(&site).args(["ls", ":d/a.c"]).run().printed().ends_with("d/a.c\n"));
    client(&site).args(["ls", ":absent"]).run().ends_with(1).says("absent").says("no such file");
    client(&site).args(["ls", "local"]).run().ends_with(2).says("is local");
}

#[test]
fn stat_du_and_hash_say_what_is_there() {
    let site = site();
    let ran = client(&site).args(["stat", "--json", ":d/a.c", ":empty"]).run();
    let lines: Vec<Value> = ran.printed().lines().map(|line| serde_json::from_str(line).unwrap()).collect();
    assert_eq!((&lines[0]["size"], &lines[1]["kind"]), (&6.into(), &"directory".into()));
    let ran = client(&site).args(["du", "--json", ":d"]).run();
    let sum: Value = serde_json::from_str(ran.printed().trim()).unwrap();
    assert_eq!((&sum["bytes"], &sum["files"]), (&1009.into(), &3.into()));
    let ran = client(&site).args(["hash", ":d/a.c"]).run();
    assert_eq!(ran.printed(), format!("{}  d/a.c\n", blake3::hash(b"int a;").to_hex()));
    client(&site).args(["hash", ":d"]).run().ends_with(1).says("d");
}

#[test]
fn mkdir_makes_directories_with_their_parents() {
    let site = site();
    client(&site).args(["mkdir", ":new/er/est", ":empty"]).run().succeeds();
    assert!(site.path("new/er/est").is_dir());
    client(&site).args(["mkdir", ":d/a.c"]).run().ends_with(1).says("d/a.c");
}

#[test]
fn check_finds_what_is_missing_shorter_older_and_other() {
    let site = site();
    let here = |name: &str| site.outside().join(name);
    client(&site).args(["copy", "-r", ":d", "."]).run().succeeds();
    client(&site).args(["check", "-r", ":d", "."]).run().succeeds().says("3 as their sources are, 0 not");
    client(&site).args(["check", "-r", "--strict", ":d", "."]).run().succeeds();
    // The other way round the copies there are older than what was downloaded, which strict does not mind.
    client(&site).args(["check", "-r", "--strict", "d", ":"]).run().succeeds();
    fs::write(here("d/a.c"), "int b;").unwrap();
    client(&site).args(["check", "-r", ":d", "."]).run().succeeds();
    let ran = client(&site).args(["check", "-r", "--strict", ":d", "."]).run();
    assert_eq!(ran.ends_with(1).printed(), "./d/a.c: the content differs\n");
    fs::write(here("d/a.c"), "int").unwrap();
    fs::remove_file(here("d/sub/b.o")).unwrap();
    let ran = client(&site).args(["check", "-r", ":d", "."]).run();
    ran.ends_with(1).says("1 as their sources are, 2 not");
    assert!(
        ran.printed().contains("3 bytes here, 6 there") && ran.printed().contains("d/sub/b.o"),
        "{}",
        ran.printed()
    );
    let old = fs::File::options().write(true).open(here("d/.git/config")).unwrap();
    old.set_modified(std::time::UNIX_EPOCH).unwrap();
    client(&site).args(["check", ":d/.git/config", "d/.git/config"]).run().ends_with(1);
}

#[test]
fn a_dry_run_names_what_would_be_copied_and_changes_nothing() {
    let site = site();
    fs::create_dir(site.outside().join("up")).unwrap();
    fs::write(site.outside().join("up/f"), "f").unwrap();
    let before = [site.tree(), bcmr_tests::disk::snapshot(&site.outside())];
    client(&site).copy(["-r", "-n", ":d", "."]).succeeds().says("would copy d/a.c -> ./d/a.c");
    client(&site).copy(["-r", "-n", "up", ":"]).succeeds().says("would copy up/f -> up/f");
    assert_eq!(before, [site.tree(), bcmr_tests::disk::snapshot(&site.outside())]);
}

#[test]
fn what_is_excluded_is_left_out_and_what_is_included_is_all_that_is_copied() {
    let site = site();
    client(&site)
        .copy(["-r", "-e", r"(^|/)\.git$", "--exclude", r"\.o$", ":d", "."])
        .succeeds()
        .says("1 file,");
    assert_eq!(bcmr_tests::disk::snapshot(&site.outside()).paths(), ["d", "d/a.c", "d/sub"]);
    client(&site).copy(["-r", "--include", r"\.o$", ":d", "o/"]).succeeds().says("1 file,");
    assert!(site.outside().join("o/d/sub/b.o").is_file() && !site.outside().join("o/d/a.c").exists());
    // Up, the same.
    client(&site).copy(["-r", "-e", r"a\.c", "d", ":up/"]).succeeds().says("0 files");
    client(&site).copy(["-r", "--include", r"\.c$", "-v", "d", ":c/"]).succeeds().says("d/a.c -> c/d/a.c");
    assert_eq!(fs::read(site.path("c/d/a.c")).unwrap(), b"int a;");
    client(&site).copy(["-e", "(", "d", ":"]).ends_with(2).says("open group");
}

#[test]
fn p_keeps_the_times_of_downloads_and_says_what_it_cannot_keep() {
    let site = site();
    let when = std::time::UNIX_EPOCH + std::time::Duration::from_secs(1_000_000_000);
    fs::File::options().write(true).open(site.path("d/a.c")).unwrap().set_modified(when).unwrap();
    client(&site).copy(["-p", ":d/a.c", "."]).succeeds().says("no modes");
    assert_eq!(fs::metadata(site.outside().join("a.c")).unwrap().modified().unwrap(), when);
    client(&site).copy([":d/a.c", "b.c"]).succeeds();
    assert_ne!(fs::metadata(site.outside().join("b.c")).unwrap().modified().unwrap(), when);
}

#[test]
fn a_rate_is_kept_in_either_direction() {
    let site = Site::new();
    site.file("f", vec![7; 3 << 20]);
    for (source, target) in [(":f", "."), ("f", ":up")] {
        let begun = std::time::Instant::now();
        client(&site).copy(["--bandwidth-limit", "1MiB/s", "--compress", "none", source, target]).succeeds();
        assert!(begun.elapsed() > std::time::Duration::from_millis(2500), "{source}: {:?}", begun.elapsed());
    }
    for rate in ["0", "1XB", "-1", "KiB", "99999999999999999999"] {
        client(&site).copy(["--bandwidth-limit", rate, "f", ":x"]).ends_with(2);
    }
}

#[test]
fn doctor_says_what_a_server_can_and_allows() {
    let site = site();
    let ran = client(&site).args(["doctor", ":"]).run();
    ran.succeeds();
    let text = ran.printed();
    assert!(text.contains("zstd") && text.contains("round trip"), "{text}");
    assert!(text.contains("allowed        stat, list, hash, get, put, mkdir\n"), "{text}");
    assert!(text.contains("not allowed    nothing\n"), "{text}");
    assert_eq!(site.tree().stages(), Vec::<String>::new());
    Client::ours().via("exit 78").args(["doctor", ":"]).run().ends_with(77);
}
