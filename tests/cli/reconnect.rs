//! A link that is lost in the middle of a command: it goes on by itself, as far as it may.

use std::fs;
use std::path::Path;
use std::time::{Duration, Instant};

use bcmr_tests::client::quoted;
use bcmr_tests::content::noise;
use bcmr_tests::{Client, Site, binaries};

/// Bytes that pass before the link is lost.
const PASS: usize = 20 << 20;

/// A server whose first starts each end when so many bytes have come in, or gone out, as those of a link that is
/// lost; how often it was started is counted in a file.
fn lost_at_first(site: &Site, starts: u32, cut: Cut) -> String {
    let count = site.base().join("count");
    fs::write(&count, "0").unwrap();
    let serve = format!("{} --root {}", quoted(&binaries::server()), quoted(&site.root()));
    let cut = match cut {
        Cut::In => format!("{} | {serve}", pass(PASS)),
        Cut::Out => format!("{serve} | {}", pass(PASS)),
    };
    let count = quoted(&count);
    format!(
        "n=$(($(cat {count}) + 1)); echo $n > {count}; if [ $n -le {starts} ]; then {cut}; else exec {serve}; fi"
    )
}

/// Lets so many bytes through, and not one of them late.
fn pass(bytes: usize) -> String {
    format!("dd bs=64K count={bytes} iflag=count_bytes status=none")
}

#[derive(Clone, Copy)]
enum Cut {
    In,
    Out,
}

fn starts(site: &Site) -> u32 {
    fs::read_to_string(site.base().join("count")).unwrap().trim().parse().unwrap()
}

fn source(dir: &Path) -> Vec<u8> {
    let content = noise(64 << 20, 7);
    fs::write(dir.join("big"), &content).unwrap();
    fs::write(dir.join("after"), "small").unwrap();
    content
}

#[test]
fn a_link_that_is_lost_three_times_during_an_upload_loses_nothing_and_what_arrived_is_not_sent_again() {
    let site = Site::new();
    let content = source(&site.outside());
    let store = site.base().join("store");
    fs::create_dir(&store).unwrap();
    let client = Client::ours().retrying().via(lost_at_first(&site, 3, Cut::In)).within(&site.outside());
    let ran = client.env("BCMR_CAS_DIR", &store).copy(["--compress", "none", "big", "after", ":"]);
    ran.succeeds()
        .says("trying again in 1 s")
        .says("trying again in 4 s")
        .says("2 files")
        .says("were already there");
    assert_eq!(starts(&site), 4);
    assert!(site.read("big") == content && site.read("after") == b"small");
}

#[test]
fn a_link_that_is_lost_during_a_download_loses_nothing() {
    let site = Site::new();
    let content = source(&site.root());
    let client = Client::ours().retrying().via(lost_at_first(&site, 2, Cut::Out)).within(&site.outside());
    client.copy(["--compress", "none", ":big", ":after", "."]).succeeds().says("trying again in 2 s");
    assert!(fs::read(site.outside().join("big")).unwrap() == content);
    assert_eq!(fs::read(site.outside().join("after")).unwrap(), b"small");
    assert_eq!(bcmr_tests::disk::snapshot(&site.outside()).paths(), ["after", "big"]);
}

#[test]
fn a_link_that_is_lost_again_and_again_is_given_up_after_so_many_tries() {
    let site = Site::new();
    source(&site.outside());
    let client = Client::ours().retrying().via(lost_at_first(&site, 9, Cut::In)).within(&site.outside());
    let ran = client.args(["--retries", "2"]).copy(["--compress", "none", "big", ":"]);
    ran.ends_with(74).says("trying again in 2 s").says("copy -C --compress none big :");
    assert_eq!(starts(&site), 3);
    assert!(site.tree().paths().is_empty());
}

#[test]
fn a_server_that_refuses_when_it_is_asked_again_ends_the_command() {
    let site = Site::new();
    source(&site.outside());
    let count = site.base().join("count");
    let count = quoted(&count);
    let serve = format!("{} --root {}", quoted(&binaries::server()), quoted(&site.root()));
    let via = format!("if [ -e {count} ]; then exit 77; fi; touch {count}; {} | {serve}", pass(PASS));
    let client = Client::ours().retrying().via(via).within(&site.outside());
    client.copy(["--compress", "none", "big", ":"]).ends_with(77).says("trying again in 1 s");
}

#[test]
fn rsync_164_diskrsync_16_a_link_that_swallows_everything_ends_within_its_bound_and_a_slow_one_does_not() {
    let site = Site::new();
    source(&site.outside());
    let serve = format!("{} --root {}", quoted(&binaries::server()), quoted(&site.root()));
    // What comes after the first bytes is held, as are both streams.
    let begun = Instant::now();
    let via = format!("{} | {serve}; sleep 30", pass(PASS));
    let client = Client::ours().retrying().via(via).within(&site.outside());
    let ran = client.args(["--stall", "2"]).copy(["--compress", "none", "big", ":"]);
    ran.ends_with(74).says("no byte moved for 2 seconds").says("copy -C --compress none big :");
    assert!(begun.elapsed() < Duration::from_secs(20), "{:?}", begun.elapsed());
    // One that pauses for shorter than the bound, and takes longer than it in all.
    let pieces = format!("for i in 1 2 3 4; do {}; sleep 1; done", pass(8 << 20));
    let slow = format!("{{ {pieces}; cat; }} | {serve}");
    let begun = Instant::now();
    let client = Client::ours().retrying().via(slow).within(&site.outside());
    client.args(["--stall", "3"]).copy(["--compress", "none", "big", ":slow"]).succeeds();
    assert!(begun.elapsed() > Duration::from_secs(3), "{:?}", begun.elapsed());
}

/// What is in hand when a link is lost, is not in the queue of what was sent, and must not be forgotten.
#[test]
fn of_many_small_files_none_is_forgotten_however_often_the_link_is_lost() {
    let site = Site::new();
    let names: Vec<_> = (0..6000).map(|number| format!("d/{number:04}")).collect();
    fs::create_dir(site.outside().join("d")).unwrap();
    names.iter().for_each(|name| fs::write(site.outside().join(name), name).unwrap());
    let serve = format!("{} --root {}", quoted(&binaries::server()), quoted(&site.root()));
    for (options, to) in
        [(&[][..], "one"), (&["-P", "3"], "three"), (&["-f", "-y"], "forced"), (&["-C"], "looked")]
    {
        // Each of the first links ends somewhere else; so do those that are opened at once.
        let count = site.base().join(to);
        let told = quoted(&count);
        let via = format!(
            "echo >> {told}; n=$(wc -l < {told}); if [ $n -le 4 ]; then {} | {serve}; else exec {serve}; fi",
            "dd bs=64K count=$((n * 37000 + 11000)) iflag=count_bytes status=none"
        );
        let client = Client::ours().retrying().via(via).within(&site.outside());
        let ran = client.arg("copy").args(options).args(["-r", "d", &format!(":{to}")]).run();
        ran.succeeds().says("trying again in 1 s");
        for name in &names {
            assert!(site.read(&name.replace("d/", &format!("{to}/"))) == name.as_bytes(), "{name} to {to}");
        }
        assert!(starts_of(&count) >= 5, "no link was lost");
    }
}

fn starts_of(count: &Path) -> usize {
    fs::read_to_string(count).unwrap().lines().count()
}

#[test]
fn a_link_that_is_slower_than_min_rate_is_given_up_and_one_that_is_faster_is_not() {
    let site = Site::new();
    fs::write(site.outside().join("big"), noise(4 << 20, 7)).unwrap();
    let serve = format!("{} --root {}", quoted(&binaries::server()), quoted(&site.root()));
    // 20 KiB a second, after a megabyte.
    let slow = format!(
        "{{ {}; for i in $(seq 90); do {}; sleep 1; done; }} | {serve}",
        pass(1 << 20),
        pass(20 << 10)
    );
    let copy = |rate: &str| {
        let client = Client::ours().retrying().via(slow.clone()).within(&site.outside());
        client.args(["--min-rate", rate, "copy", "--compress", "none", "big", ":"]).start()
    };
    let (strict, lenient) = (copy("100KiB"), copy("2KiB"));
    let ran = strict.ends_within(Duration::from_secs(75));
    ran.ends_with(74).says("fewer than --min-rate").says("copy -C");
    assert!(ran.took > Duration::from_secs(25), "{:?}", ran.took);
    assert_eq!(lenient.said(), "", "the other one was given up, too");
    assert!(site.tree().paths().is_empty());
}
