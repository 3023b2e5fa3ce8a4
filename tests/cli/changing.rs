//! A source that changes while it is copied: its copy fails and is named, and no mix is published.

use std::fs::{self, File};
use std::io::Write;
use std::os::unix::fs::FileExt;
use std::time::{Duration, Instant};

use bcmr_tests::client::{Ran, quoted, serve};
use bcmr_tests::{Client, Site, binaries};

const SIZE: u64 = 64 << 20;

/// Uploads a file that is changed when some of it has been read; the server is let go on only then.
fn changed(change: impl FnOnce(&File)) -> (Ran, Site) {
    let site = Site::new();
    let path = site.outside().join("source");
    let source = File::create_new(&path).unwrap();
    (0..SIZE >> 20).for_each(|mib| source.write_all_at(&[7; 1 << 20], mib << 20).unwrap());
    fs::write(site.outside().join("z-other"), "other").unwrap();
    let go = site.base().join("go");
    let fake = quoted(&binaries::tool("fake-server"));
    let slow = format!("exec {fake} slow {} {}", quoted(&go), serve(&site.root()).replace("exec ", ""));
    let client = Client::ours().via(slow).within(&site.outside());
    let running = client.args(["copy", "--compress", "none", "source", "z-other", ":"]).start();
    let begun = Instant::now() + Duration::from_secs(20);
    while position(running.pid().as_raw_nonzero().get(), &path).is_none_or(|read| read < 3 << 20) {
        assert!(Instant::now() < begun, "the client does not begin");
        std::thread::sleep(Duration::from_millis(2));
    }
    change(&source);
    fs::write(go, "").unwrap();
    (running.end(), site)
}

/// How far a process has read in a file.
fn position(pid: i32, path: &std::path::Path) -> Option<u64> {
    let fds = fs::read_dir(format!("/proc/{pid}/fd")).ok()?;
    let fd = fds.flatten().find(|fd| fs::read_link(fd.path()).is_ok_and(|to| to == path))?;
    let info = fs::read_to_string(format!("/proc/{pid}/fdinfo/{}", fd.file_name().to_str()?)).ok()?;
    info.lines().find_map(|line| line.strip_prefix("pos:"))?.trim().parse().ok()
}

#[track_caller]
fn is_refused(ran: &Ran, site: &Site) {
    ran.ends_with(1).says("source: ").says("changed while").says("1 file,");
    assert_eq!(site.tree().paths(), ["z-other"]);
}

#[test]
fn a_source_that_shrinks_is_named_and_not_published() {
    let (ran, site) = changed(|source| source.set_len(SIZE / 2).unwrap());
    is_refused(&ran, &site);
}

#[test]
fn a_source_that_grows_is_named_and_not_published() {
    let (ran, site) = changed(|mut source| {
        let _ = std::io::Seek::seek(&mut source, std::io::SeekFrom::End(0)).unwrap();
        source.write_all(b"more").unwrap();
    });
    is_refused(&ran, &site);
}

#[test]
fn a_source_that_is_written_to_is_named_and_not_published() {
    let (ran, site) = changed(|source| {
        source.write_all_at(b"new beginning", 0).unwrap();
        source.write_all_at(b"new end", SIZE - 7).unwrap();
    });
    is_refused(&ran, &site);
}

/// The control: the same, unchanged, arrives.
#[test]
fn a_source_that_stays_as_it_is_arrives_over_the_same_slow_link() {
    let (ran, site) = changed(|_| ());
    ran.succeeds();
    assert_eq!(site.tree().paths(), ["source", "z-other"]);
    assert_eq!(site.read("source"), fs::read(site.outside().join("source")).unwrap());
}
