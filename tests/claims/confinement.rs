//! S1: no verb reads, writes, creates, lists, stats or hashes anything outside the root, with an attacker who
//! swaps components as fast as they can.
//!
//! Sessions in personal mode run without Landlock here, so that the walk is proved alone; those under a profile
//! have everything. That Landlock holds alone, too, is what `sandbox` proves.

use std::fs;
use std::os::unix::fs::MetadataExt;
use std::path::{Path, PathBuf};
use std::thread;
use std::time::{Duration, Instant, SystemTime};

use bcmr_tests::content::hex;
use bcmr_tests::disk::{Tree, snapshot};
use bcmr_tests::policy::Profile;
use bcmr_tests::{Launch, Policy, Reply, Server, Site};
use bcmr_wire::{Caps, Message};

use crate::attack::{Attack, INSIDE, OUTSIDE, budget, meanwhile};

/// What taking Landlock away is called.
const NO_LANDLOCK: &str = "landlock_create_ruleset=ENOSYS";

/// Requests that went through, and that were refused, by kind.
#[derive(Debug, Default)]
struct Tally([(u64, u64); 7]);

const KINDS: [&str; 7] = ["get", "stat", "hash", "resume", "list", "put", "mkdir"];

impl Tally {
    fn count(&mut self, kind: &str, reply: &Reply) {
        let at = KINDS.iter().position(|known| *known == kind).unwrap();
        if reply.is_error() { self.0[at].1 += 1 } else { self.0[at].0 += 1 }
    }

    fn total(&self) -> u64 {
        self.0.iter().map(|(through, refused)| through + refused).sum()
    }

    /// A race that one side always wins shows nothing; neither does one of a few rounds.
    #[track_caller]
    fn is_a_race(&self, ran: Duration) {
        let each = ran.as_secs().clamp(1, 20);
        for (kind, (through, refused)) in KINDS.iter().zip(self.0) {
            assert!(through >= each && refused >= each, "{kind}: {through} through, {refused} refused");
        }
        assert!(self.total() >= 50 * ran.as_secs(), "only {} requests in {ran:?}", self.total());
    }

    fn shown(&self) -> String {
        let kinds = KINDS.iter().zip(self.0).map(|(kind, (yes, no))| format!("{kind} {yes}+{no}"));
        format!("{} requests (through+refused): {}", self.total(), kinds.collect::<Vec<_>>().join(", "))
    }
}

/// Everything that can be asked of the tree under attack, over and over.
#[track_caller]
fn work(server: &mut Server, name: &str, until: Instant) -> Tally {
    const FILES: [&str; 7] = ["d/f", "d/sub/f", "l/f", "e/sub/f", "f", "m/sub/f", "m/sub/l"];
    const DIRS: [&str; 4] = ["d", "e/sub", "m/sub", "l"];
    let mut tally = Tally::default();
    let inside = hex(INSIDE);
    for i in 0.. {
        if Instant::now() >= until {
            break;
        }
        for path in FILES {
            let got = server.get(path, 0);
            assert!(got.content.is_empty() || got.content == INSIDE, "{path}: {:?} came in", got.content);
            tally.count("get", &got.end);
        }
        let path = FILES[i % FILES.len()];
        let reply = server.ask(&Message::Stat { path });
        assert!(matches!(reply, Reply::Error { .. } | Reply::Stat { size: 6, .. }), "{path}: {reply:?}");
        tally.count("stat", &reply);
        let reply = server.ask(&Message::Hash { path, offset: 0, limit: None });
        assert!(reply.is_error() || reply.hash() == inside, "{path}: {reply:?}");
        tally.count("hash", &reply);
        let reply = server.ask(&Message::Resume { path });
        // What is absent at the moment has no bytes.
        let fair = matches!(reply, Reply::Error { .. } | Reply::Resume { size: 6 | 0, .. });
        assert!(fair, "{path}: {reply:?}");
        tally.count("resume", &reply);

        let dir = DIRS[i % DIRS.len()];
        let reply = server.put(&format!("{dir}/{name}-{}", i % 20), b"put", i % 2 == 0);
        tally.count("put", &reply);
        let reply = server.ask(&Message::Mkdir { path: &format!("{dir}/{name}-made-{}/x", i % 20) });
        tally.count("mkdir", &reply);
        // What is kept of the present file must not come from outside either.
        server.send(&Message::Put { path: "f", size: 6, offset: 5, overwrite: true });
        server.send(&Message::Data { payload: b"e" });
        server.send(&Message::Done);
        tally.count("put", &server.reply());
        if i % 4 == 0 {
            let reply = server.ask(&Message::List { path: DIRS[i / 4 % DIRS.len()] });
            if let Reply::List(entries) = &reply {
                let strange = |path: &str| path.split('/').any(|name| name == "secret");
                let out = entries.iter().find(|e| e.size == OUTSIDE.len() as u64 || strange(&e.path));
                assert!(out.is_none(), "{out:?} was listed");
            }
            tally.count("list", &reply);
        }
    }
    tally
}

/// What nobody may touch: looked at before and after. A file that was read shows it in its atime, a directory
/// in which something was made, if only for a moment, in its ctime.
struct Untouched {
    dir: PathBuf,
    tree: Tree,
    times: Vec<(PathBuf, i64, i64)>,
}

impl Untouched {
    fn new(dir: PathBuf) -> Self {
        let tree = snapshot(&dir);
        // Before the last change: then any read is recorded, with relatime, too.
        for path in tree.paths().into_iter().map(|path| dir.join(path)).filter(|path| path.is_file()) {
            let old = SystemTime::UNIX_EPOCH + Duration::from_secs(1_000_000);
            fs::File::open(&path).unwrap().set_times(fs::FileTimes::new().set_accessed(old)).unwrap();
        }
        let times = Self::times(&dir, &tree);
        Self { dir, tree, times }
    }

    fn times(dir: &Path, tree: &Tree) -> Vec<(PathBuf, i64, i64)> {
        let paths = tree.paths().into_iter().map(|path| dir.join(path)).chain([dir.to_owned()]);
        let times = |path: PathBuf| {
            let metadata = path.symlink_metadata().unwrap();
            // Directories are read by the snapshot itself.
            let atime = if metadata.is_dir() { 0 } else { metadata.atime() };
            (path, atime, metadata.ctime() * 1_000_000_000 + metadata.ctime_nsec())
        };
        paths.map(times).collect()
    }

    #[track_caller]
    fn check(&self) {
        assert_eq!(Self::times(&self.dir, &self.tree), self.times, "something outside was touched");
        assert_eq!(snapshot(&self.dir), self.tree);
        // The positive control: reading it just now shows.
        let file = self.tree.paths().into_iter().map(|path| self.dir.join(path)).find(|path| path.is_file());
        let atime = |path: &Path| path.metadata().unwrap().atime();
        assert!(atime(&file.unwrap()) > 1_000_000, "this file system does not record reads");
    }
}

/// Has the sessions work while the tree is attacked, and checks that all that came of it is inside.
#[track_caller]
fn race(site: &Site, attack: &Attack, sessions: Vec<Server>, sweep: &Launch) {
    let outside = Untouched::new(site.outside());
    let away = snapshot(&site.base().join("away"));
    let budget = budget();
    let until = Instant::now() + budget;
    let mut tallies = Vec::new();
    let attacks = meanwhile(
        || attack.once(),
        || {
            let one = |(i, mut server): (usize, Server)| {
                let tally = work(&mut server, &format!("put{i}"), until);
                server.finish();
                tally
            };
            tallies = thread::scope(|scope| {
                let sessions: Vec<_> = sessions.into_iter().enumerate().collect();
                let running: Vec<_> =
                    sessions.into_iter().map(|session| scope.spawn(move || one(session))).collect();
                running.into_iter().map(|thread| thread.join().unwrap()).collect()
            });
        },
    );
    for tally in &tallies {
        println!("{} exchanges of everything; {}", attacks, tally.shown());
        tally.is_a_race(budget);
    }
    outside.check();
    assert_eq!(snapshot(&site.base().join("away")), away);
    for file in ["d/f", "d/sub/f", "e/sub/f", "f", "m/sub/f", "s"] {
        assert_eq!(site.read(file), INSIDE, "{file}");
    }
    // What stands elsewhere at the moment is out of reach, Landlock says so, also for taking a stage back. It is the
    // next session's to clear, or a sweep's.
    let stages = site.tree().stages();
    assert!(stages.iter().all(|stage| stage.starts_with("m")), "{stages:?}");
    assert!(sweep.command().stdout(std::process::Stdio::null()).status().unwrap().success());
    assert!(site.tree().stages().is_empty(), "{stages:?}");
}

fn sweep(site: &Site) -> Launch {
    Launch::with_args([Path::new("sweep"), &site.root()])
}

/// Without FAST a Get reads and hashes, with it the content is spliced.
const CAPS: Caps = Caps::PUT_OFFSET;
const FAST: Caps = Caps(Caps::PUT_OFFSET.0 | Caps::FAST.0);

fn ordinary_personal(rules: &[&str]) {
    let site = Site::new();
    let attack = Attack::new(&site);
    let launch = Launch::new(site.root()).without(&[rules, &[NO_LANDLOCK]].concat()).unprivileged(&site);
    race(&site, &attack, vec![launch.start().hello(CAPS)], &sweep(&site).unprivileged(&site));
}

fn ordinary_profile(rules: &[&str]) {
    let site = Site::new();
    let attack = Attack::new(&site);
    let policy = Policy::of(&Profile::new(&site).key("overwrite", true).key("view", r#""jail""#));
    let launch = policy.launch().without(rules).unprivileged(&site);
    race(&site, &attack, vec![launch.start().hello(FAST)], &sweep(&site).unprivileged(&site));
}

fn root(rules: &[&str]) {
    let site = Site::new();
    let attack = Attack::new(&site);
    let policy = Policy::of(&Profile::new(&site).key("overwrite", true));
    let personal = Launch::new(site.root()).without(&[rules, &[NO_LANDLOCK]].concat());
    let profile = policy.launch().without(rules);
    race(&site, &attack, vec![personal.start().hello(CAPS), profile.start().hello(FAST)], &sweep(&site));
}

#[test]
fn exchanged_components_never_lead_an_account_out_with_openat2() {
    ordinary_personal(&[]);
}

#[test]
fn exchanged_components_never_lead_an_account_out_without_openat2() {
    ordinary_personal(&["openat2=ENOSYS"]);
}

#[test]
fn exchanged_components_never_lead_an_account_out_with_openat2_forbidden() {
    ordinary_personal(&["openat2=EPERM"]);
}

#[test]
#[ignore = "needs root to write a policy: run by tests/run"]
fn exchanged_components_never_lead_a_profile_out_with_openat2() {
    ordinary_profile(&[]);
}

#[test]
#[ignore = "needs root to write a policy: run by tests/run"]
fn exchanged_components_never_lead_a_profile_out_without_openat2() {
    ordinary_profile(&["openat2=ENOSYS"]);
}

#[test]
#[ignore = "needs root to write a policy: run by tests/run"]
fn exchanged_components_never_lead_a_profile_out_with_openat2_forbidden() {
    ordinary_profile(&["openat2=EPERM"]);
}

#[test]
#[ignore = "needs root: run by tests/run"]
fn exchanged_components_never_lead_root_out_with_openat2() {
    root(&[]);
}

#[test]
#[ignore = "needs root: run by tests/run"]
fn exchanged_components_never_lead_root_out_without_openat2() {
    root(&["openat2=ENOSYS"]);
}

#[test]
#[ignore = "needs root: run by tests/run"]
fn exchanged_components_never_lead_root_out_with_openat2_forbidden() {
    root(&["openat2=EPERM"]);
}

// ---- mounts

/// Has a server see mounts of its own, made by a line of shell.
fn with_mounts(launch: Launch, line: &str) -> Launch {
    launch.under(["unshare", "-m", "--propagation", "private"]).after_shell(line)
}

#[test]
#[ignore = "needs root to mount: run by tests/run"]
fn cve_2015_2925_a_directory_moved_out_of_a_bind_mounted_root_is_no_way_out() {
    for landlock in [&[][..], &[NO_LANDLOCK]] {
        let site = Site::new();
        let attack = Attack::new(&site);
        let mount = site.base().join("mount");
        fs::create_dir(&mount).unwrap();
        let line = format!("mount --bind {} {}", site.root().display(), mount.display());
        let server = with_mounts(Launch::new(&mount), &line).without(landlock).start().hello(CAPS);
        race(&site, &attack, vec![server], &sweep(&site));
    }
}

#[test]
#[ignore = "needs root to mount: run by tests/run"]
fn a_bind_of_the_parent_that_comes_and_goes_never_leads_up_or_into_the_state() {
    let site = Site::new();
    site.outside_file("f", OUTSIDE);
    site.dir("b");
    let state = site.base().join("state-home/bcmr");
    fs::create_dir_all(&state).unwrap();
    fs::write(state.join("secret"), OUTSIDE).unwrap();
    fs::write(site.base().join("above"), OUTSIDE).unwrap();
    std::os::unix::fs::symlink("../above", site.outside().join("up")).unwrap();
    // The loop ends with the server, which the shell becomes.
    let line = format!(
        "(while kill -0 $$; do mount --bind {0} {1}; umount -l {1}; done) </dev/null >/dev/null 2>&1 &",
        site.base().display(),
        site.path("b").display()
    );
    let launch = with_mounts(Launch::new(site.root()), &format!("{line} :"));
    let launch = launch.env("XDG_STATE_HOME", site.base().join("state-home")).env("BCMR_CAS_DIR", "");
    let mut server = launch.start().hello(CAPS);
    let before = snapshot(&state);
    let until = Instant::now() + budget();
    let (mut seen, mut unseen) = (0, 0);
    while Instant::now() < until {
        // The positive control: what someone mounts inside is inside, while it is mounted.
        match server.get("b/outside/f", 0).end {
            Reply::Ok { .. } => seen += 1,
            _ => unseen += 1,
        }
        // Within the mount this leads to `above`; as a path, to `b/above`, where it may be read; never is it
        // what lies above the root.
        for path in ["b/..", "b/../../outside/f", "/../b"] {
            assert!(server.ask(&Message::Stat { path }).error().contains("escapes server root"));
        }
        for path in ["b/state-home/bcmr/secret", "b/state-home/bcmr/absent"] {
            let got = server.get(path, 0);
            assert!(got.end.is_error() && got.content.is_empty(), "{path}: {got:?}");
            assert!(server.ask(&Message::Stat { path }).is_error(), "{path}");
            assert!(server.ask(&Message::Hash { path, offset: 0, limit: None }).is_error(), "{path}");
        }
        // Only where it is mounted is there anything of which a byte could be kept.
        server.send(&Message::Put { path: "b/state-home/bcmr/secret", size: 7, offset: 6, overwrite: true });
        server.send(&Message::Done);
        assert!(server.reply().is_error());
        if let Reply::List(entries) = server.ask(&Message::List { path: "b" }) {
            assert!(entries.iter().all(|entry| !entry.path.ends_with("bcmr")), "{entries:?}");
        }
    }
    println!("{seen} seen through the mount, {unseen} without it");
    assert!(seen >= 20 && unseen >= 20, "the race was none: {seen} {unseen}");
    assert_eq!(snapshot(&state), before);
    server.finish();
}
