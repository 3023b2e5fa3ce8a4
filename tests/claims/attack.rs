//! Someone who owns what is served, and exchanges its components as fast as the kernel lets them.

use std::fs;
use std::os::unix::fs::symlink;
use std::path::{Path, PathBuf};
use std::sync::atomic::{AtomicBool, AtomicU64, Ordering};
use std::thread;
use std::time::Duration;

use bcmr_tests::Site;
use rustix::fs::{CWD, RenameFlags, renameat_with};

/// The variable that says for how many seconds each race runs; `tests/run` sets it.
pub(crate) const SECONDS: &str = "BCMR_RACE_SECONDS";

/// How long each race runs where nobody says.
const FEW: u64 = 4;

pub(crate) fn budget() -> Duration {
    let seconds = std::env::var(SECONDS).ok().map(|text| text.parse().expect("a number of seconds"));
    Duration::from_secs(seconds.unwrap_or(FEW))
}

/// What each file inside holds, and each outside; told apart by content and by size.
pub(crate) const INSIDE: &[u8] = b"inside";
pub(crate) const OUTSIDE: &[u8] = b"outside";

/// Runs `attack` over and over while `work` runs; returns how often it did.
pub(crate) fn meanwhile(attack: impl Fn() + Sync, work: impl FnOnce()) -> u64 {
    /// Also where the work fails: the attack would go on for ever.
    struct Done<'a>(&'a AtomicBool);
    impl Drop for Done<'_> {
        fn drop(&mut self) {
            self.0.store(true, Ordering::Relaxed);
        }
    }
    let (done, attacks) = (AtomicBool::new(false), AtomicU64::new(0));
    thread::scope(|scope| {
        scope.spawn(|| {
            while !done.load(Ordering::Relaxed) {
                attack();
                attacks.fetch_add(1, Ordering::Relaxed);
            }
        });
        let _done = Done(&done);
        work();
    });
    attacks.into_inner()
}

/// The tree that is attacked.
///
/// | served | is in turn |
/// |---|---|
/// | `d` | a directory; a link to the outside (one atomic exchange) |
/// | `e` | a directory; absent; a link to the outside (step by step) |
/// | `f` | a file; a link to a file outside (one atomic exchange) |
/// | `m` | a directory; absent, while it stands in `away` (its parent is another then) |
/// | `l` | a link to `d/sub`, inside as long as `d` is |
pub(crate) struct Attack {
    root: PathBuf,
    outside: PathBuf,
    away: PathBuf,
}

impl Attack {
    pub(crate) fn new(site: &Site) -> Self {
        for file in ["d/f", "d/sub/f", "e/sub/f", "f", "m/sub/f", "s"] {
            site.file(file, INSIDE);
        }
        for file in ["f", "sub/f", "secret", "sub/secret"] {
            site.outside_file(file, OUTSIDE);
        }
        let away = site.base().join("away");
        fs::create_dir(&away).unwrap();
        fs::write(away.join("s"), OUTSIDE).unwrap();
        site.link("d-trap", site.outside());
        site.link("f-trap", site.outside().join("f"));
        site.link("l", "d/sub");
        // Inside, as text; in `away`, to the kernel, another file.
        site.link("m/sub/l", "../../s");
        Self { root: site.root(), outside: site.outside(), away }
    }

    /// One exchange of everything there and back.
    pub(crate) fn once(&self) {
        let at = |name: &str| self.root.join(name);
        exchange(&at("d"), &at("d-trap"));
        exchange(&at("f"), &at("f-trap"));
        fs::rename(at("m"), self.away.join("m")).unwrap();
        fs::rename(at("e"), at("e-aside")).unwrap();
        // The session may have made the directory again, in the moment in which it was missing.
        let _ = symlink(&self.outside, at("e"));
        put_back(&at("e-aside"), &at("e"));
        put_back(&self.away.join("m"), &at("m"));
        exchange(&at("f"), &at("f-trap"));
        exchange(&at("d"), &at("d-trap"));
    }
}

pub(crate) fn exchange(a: &Path, b: &Path) {
    renameat_with(CWD, a, CWD, b, RenameFlags::EXCHANGE).unwrap();
}

/// Moves a directory back to its name, over whatever has that by now.
fn put_back(from: &Path, to: &Path) {
    loop {
        let _ = fs::remove_file(to);
        let _ = fs::remove_dir_all(to);
        if fs::rename(from, to).is_ok() {
            return;
        }
    }
}
