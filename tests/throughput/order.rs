//! What failed is named in the order of what was to be copied.

use std::fs;

use bcmr_tests::client::Ran;
use bcmr_tests::{Client, Site};

use crate::fill;

/// The names that failures begin with.
fn named(ran: &Ran) -> Vec<String> {
    let said = ran.said();
    let failures = said.lines().filter_map(|line| line.strip_prefix("bcmr: ")?.split_once(": "));
    failures.map(|(name, _)| name.rsplit('/').next().unwrap().to_owned()).collect()
}

/// Every tenth of 500 files fails, those of each connection at its own time: sizes make one finish the last first.
fn every_tenth(up: bool) -> Ran {
    let site = Site::new();
    let (here, there) = (site.outside().join("d"), site.path("d"));
    let (from, to) = if up { (here, there) } else { (there, here) };
    fill(&from, (0..500).map(|n| if n < 20 { 3_000_000 } else { (n * 7919) % 9000 }));
    fs::create_dir(&to).unwrap();
    for number in (0..500).step_by(10) {
        fs::write(to.join(format!("{number:05}")), "another").unwrap();
    }
    let client = Client::ours().to_root(&site.root()).within(&site.outside());
    let args: [&str; 2] = if up { ["d", ":"] } else { [":d", "."] };
    client.args(["copy", "-r", "-P", "4"]).args(args).run()
}

#[test]
fn over_four_connections_failures_are_named_in_the_order_of_the_files() {
    let expected: Vec<_> = (0..500).step_by(10).map(|number| format!("{number:05}")).collect();
    for up in [true, false] {
        let ran = every_tenth(up);
        ran.ends_with(1).says("450 files");
        assert_eq!(named(&ran), expected, "up: {up}");
    }
}

/// Files that cannot be opened here are among those that the server refuses.
#[test]
fn failures_of_both_ends_are_one_order() {
    let site = Site::new();
    fs::create_dir(site.outside().join("d")).unwrap();
    for number in 0..60 {
        let path = site.outside().join(format!("d/{number:02}"));
        match number % 3 {
            0 => drop(std::os::unix::net::UnixListener::bind(&path).unwrap()),
            _ => fs::write(&path, format!("{number}")).unwrap(),
        }
        if number % 3 == 1 {
            site.file(&format!("d/{number:02}"), "another");
        }
    }
    let client = Client::ours().to_root(&site.root()).within(&site.outside());
    let ran = client.args(["copy", "-r", "-P", "3", "d", ":"]).run();
    ran.ends_with(1).says("20 files");
    let expected: Vec<_> = (0..60).filter(|n| n % 3 != 2).map(|number| format!("{number:02}")).collect();
    assert_eq!(named(&ran), expected);
}
