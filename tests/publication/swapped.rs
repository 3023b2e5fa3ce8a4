//! S8: a second account that may write the directory, and exchanges names in it as fast as the kernel lets it,
//! makes the sweep remove nothing that is not its own, and empty nothing either.

use std::fs::{self, File, Permissions};
use std::os::unix::fs::{FileExt, MetadataExt, PermissionsExt, chown};
use std::path::Path;
use std::sync::atomic::{AtomicBool, AtomicUsize, Ordering};
use std::thread;
use std::time::{Duration, Instant};

use bcmr_tests::rungs::KINDS;
use bcmr_tests::{Launch, Reply, Site, binaries};
use bcmr_wire::Caps;
use rustix::fs::{CWD, Gid, RenameFlags, Uid, renameat_with};
use rustix::process::geteuid;
use rustix::thread::{set_thread_gid, set_thread_groups, set_thread_uid};

/// The account that sweeps, which is the one that [`Launch::unprivileged`] takes.
const SWEEPS: u32 = 65_534;

/// The account that exchanges names, and the group by which it may.
const SWAPS: u32 = 60_002;
const GROUP: u32 = 60_001;

/// How long names are exchanged on each rung.
const TIME: Duration = Duration::from_secs(3);

fn reserved(last: char) -> String {
    format!("d/.bcmr-0123456789abcdef0123456789abcde{last}")
}

/// Exchanges two pairs of names until it is done; how often.
fn swap(dir: &Path, done: &AtomicBool) -> usize {
    set_thread_groups(&[]).unwrap();
    set_thread_gid(Gid::from_raw(GROUP)).unwrap();
    set_thread_uid(Uid::from_raw(SWAPS)).unwrap();
    let exchange = |a: &str, b: &str| {
        renameat_with(CWD, dir.join(a), CWD, dir.join(b), RenameFlags::EXCHANGE).unwrap();
    };
    let (dead, linked) = (reserved('0'), reserved('1'));
    let mut swaps = 0;
    while !done.load(Ordering::Relaxed) {
        exchange(&dead, "d/theirs");
        exchange(&linked, "d/roots");
        exchange(&dead, "d/theirs");
        exchange(&linked, "d/roots");
        swaps += 4;
    }
    swaps
}

/// A file of an account that everybody may write, so that nothing but its owner keeps a sweep from it.
fn file_of(site: &Site, name: &str, owner: u32) -> File {
    let path = site.file(name, name);
    fs::set_permissions(&path, Permissions::from_mode(0o666)).unwrap();
    chown(&path, Some(owner), Some(GROUP)).unwrap();
    File::options().read(true).write(true).open(path).unwrap()
}

#[test]
#[ignore = "needs root to be two accounts: run by tests/run"]
fn s8_while_another_account_exchanges_names_a_sweep_removes_nothing_that_is_not_its_own() {
    assert!(geteuid().is_root(), "two accounts are needed");
    for rung in KINDS {
        let site = Site::new();
        site.dir("d");
        // Gives everything to the account that sweeps; the rest is made after that.
        let _ = Launch::new(site.root()).unprivileged(&site);
        fs::set_permissions(site.base(), Permissions::from_mode(0o755)).unwrap();
        chown(site.path("d"), Some(SWEEPS), Some(GROUP)).unwrap();
        site.chmod("d", 0o775);
        let theirs = file_of(&site, "d/theirs", SWAPS);
        let roots = file_of(&site, "d/roots", 0);
        let dead = file_of(&site, &reserved('0'), SWEEPS);
        let second = file_of(&site, &reserved('1'), SWEEPS);
        let foreign = file_of(&site, &reserved('2'), SWAPS);
        let before = [&theirs, &roots, &foreign].map(attributes);

        let (done, emptied, sweeps) = (AtomicBool::new(false), AtomicUsize::new(0), AtomicUsize::new(0));
        let swaps = thread::scope(|scope| {
            let swapping = scope.spawn(|| swap(&site.root(), &done));
            let begun = Instant::now();
            while begun.elapsed() < TIME && !swapping.is_finished() {
                dead.write_all_at(b"dead", 0).unwrap();
                second.write_all_at(b"dead", 0).unwrap();
                if sweeps.fetch_add(1, Ordering::Relaxed).is_multiple_of(2) {
                    let launch = rung.launch(&site).without_rights();
                    let mut server = launch.start().hello(Caps::NONE);
                    let reply = server.put("d/f", b"content", true);
                    assert!(matches!(reply, Reply::Ok { .. }), "{reply:?}");
                    server.finish();
                } else {
                    // As root, who becomes the account first.
                    let mut command = std::process::Command::new(binaries::server());
                    let output = command.args(["sweep", "--account", "nobody"]).arg(site.root()).output();
                    let output = output.unwrap();
                    assert!(output.status.success(), "{output:?}");
                }
                for stage in [&dead, &second] {
                    emptied.fetch_add(usize::from(stage.metadata().unwrap().len() == 0), Ordering::Relaxed);
                }
            }
            done.store(true, Ordering::Relaxed);
            swapping.join().unwrap()
        });
        let (emptied, sweeps) = (emptied.into_inner(), sweeps.into_inner());
        println!("{rung:?}: {swaps} exchanges, {sweeps} sweeps, {emptied} stages emptied");
        assert!(swaps > 0 && sweeps > 3 && emptied > 0, "nothing was at stake");
        assert_eq!([&theirs, &roots, &foreign].map(attributes), before, "{rung:?}");
        // Nor is a name gone: not even those of its own stages, which could have been anybody's.
        let links = [&theirs, &roots, &dead, &second, &foreign].map(|file| file.metadata().unwrap().nlink());
        assert_eq!(links, [1; 5], "{rung:?}");
    }
}

/// What must stay as it is, and the content.
fn attributes(file: &File) -> (u64, u32, u32, Vec<u8>) {
    let stat = file.metadata().unwrap();
    let mut content = vec![0; usize::try_from(stat.len()).unwrap()];
    file.read_exact_at(&mut content, 0).unwrap();
    (stat.nlink(), stat.mode(), stat.uid(), content)
}
