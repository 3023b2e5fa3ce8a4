//! A source that changes while it is copied: it is sent once more, and named where it changes again. No mix is
//! published.

use std::fs::{self, File};
use std::io::Write;
use std::os::unix::fs::FileExt;
use std::sync::Arc;
use std::sync::atomic::{AtomicBool, Ordering};
use std::time::{Duration, Instant};

use bcmr_tests::client::{Ran, quoted, serve};
use bcmr_tests::{Client, Site, binaries};

const SIZE: u64 = 64 << 20;

/// Uploads a file that is changed when some of it has been read; the server is let go on only then.
fn changed(change: impl FnOnce(&File)) -> (Ran, Site) {
    changed_in(Site::new(), change)
}

fn changed_in(site: Site, change: impl FnOnce(&File)) -> (Ran, Site) {
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

/// What is there is what the source has become, and nothing else.
#[track_caller]
fn arrived(ran: &Ran, site: &Site) {
    ran.succeeds().says("2 files");
    assert_eq!(site.tree().paths(), ["source", "z-other"]);
    assert!(site.read("source") == fs::read(site.outside().join("source")).unwrap());
}

#[test]
fn a_source_that_shrinks_is_sent_once_more() {
    let (ran, site) = changed(|source| source.set_len(SIZE / 2).unwrap());
    arrived(&ran, &site);
}

#[test]
fn a_source_that_grows_is_sent_once_more() {
    let (ran, site) = changed(|mut source| {
        let _ = std::io::Seek::seek(&mut source, std::io::SeekFrom::End(0)).unwrap();
        source.write_all(b"more").unwrap();
    });
    arrived(&ran, &site);
}

#[test]
fn a_source_that_is_written_to_is_sent_once_more() {
    let (ran, site) = changed(|source| {
        source.write_all_at(b"new beginning", 0).unwrap();
        source.write_all_at(b"new end", SIZE - 7).unwrap();
    });
    arrived(&ran, &site);
}

#[test]
fn a_source_that_another_takes_the_place_of_is_sent_once_more() {
    let site = Site::new();
    let path = site.outside().join("source");
    let (ran, site) = changed_in(site, |_| {
        fs::write(path.with_file_name("new"), "another").unwrap();
        fs::rename(path.with_file_name("new"), &path).unwrap();
    });
    arrived(&ran, &site);
    assert_eq!(site.read("source"), b"another");
}

#[test]
fn a_source_that_changes_again_and_again_is_named_and_not_published() {
    let done = Arc::new(AtomicBool::new(false));
    let mut writer = None;
    let (ran, site) = changed(|source| {
        let (source, done) = (source.try_clone().unwrap(), Arc::clone(&done));
        writer = Some(std::thread::spawn(move || {
            for number in 0_u64.. {
                if done.load(Ordering::Relaxed) {
                    return;
                }
                source.write_all_at(&number.to_le_bytes(), 0).unwrap();
                std::thread::sleep(Duration::from_millis(1));
            }
        }));
    });
    done.store(true, Ordering::Relaxed);
    writer.unwrap().join().unwrap();
    ran.ends_with(1).says("source: ").says("changed while").says("1 file,");
    assert_eq!(site.tree().paths(), ["z-other"]);
}

/// The control: the same, unchanged, arrives.
#[test]
fn a_source_that_stays_as_it_is_arrives_over_the_same_slow_link() {
    let (ran, site) = changed(|_| ());
    arrived(&ran, &site);
}
