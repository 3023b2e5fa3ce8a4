//! What the state directory says of itself, and what the environment says of it in personal mode.

use std::fs;
use std::os::unix::fs::{PermissionsExt, symlink};
use std::path::Path;

use bcmr_tests::content::{hex, noise};
use bcmr_tests::disk::snapshot;
use bcmr_tests::policy::Profile;
use bcmr_tests::{Launch, Policy, Reply, Server, Site};
use bcmr_wire::{Caps, Message};
use rustix::fs::{CWD, FileType, Mode, mknodat};

use crate::scene::{MIB, Scene};

/// A file that says a format, and how it is made.
type Written = (&'static str, fn(&Path));

/// Checks that a server serves, and stores nothing.
#[track_caller]
fn serves_without(launch: Launch, site: &Site, what: &str) {
    let mut server = launch.start();
    let agreed = server.greet(Caps(0xff).without(Caps::SYNC));
    assert!(!agreed.has(Caps::DEDUP), "{what}: dedup is offered");
    let content = noise(5 * MIB, 1);
    assert_eq!(server.put("f", &content, true).ok(), Some(&*hex(&content)), "{what}");
    assert!(site.read("f") == content, "{what}");
    server.finish();
}

/// Checks that nobody is served: one Error, nothing read, exit 78.
#[track_caller]
pub(crate) fn refuses(mut server: Server, told: &str) {
    let reply = server.reply();
    assert_eq!(reply.error(), told);
    assert_eq!(server.from.next_reply(), None);
    assert_eq!(server.exit_code(), 78, "{}", server.stderr());
}

fn private(path: &Path) {
    fs::create_dir_all(path).unwrap();
    fs::set_permissions(path, fs::Permissions::from_mode(0o700)).unwrap();
}

#[test]
fn a_newer_format_is_left_alone_and_served_without() {
    let formats: [Written; 7] = [
        ("2", |file| fs::write(file, "2\n").unwrap()),
        ("the greatest", |file| fs::write(file, u64::MAX.to_string()).unwrap()),
        ("beyond numbers", |file| fs::write(file, "99999999999999999999999999").unwrap()),
        ("no number", |file| fs::write(file, "one").unwrap()),
        ("0", |file| fs::write(file, "0").unwrap()),
        ("a FIFO", |file| mknodat(CWD, file, FileType::Fifo, Mode::from_raw_mode(0o600), 0).unwrap()),
        ("a link", |file| symlink("elsewhere", file).unwrap()),
    ];
    for (what, write) in formats {
        let scene = Scene::new(64);
        private(&scene.state());
        // With everything in it that this server would know.
        scene.upload("g", &noise(5 * MIB, 2));
        fs::remove_file(scene.state().join("format")).unwrap();
        write(&scene.state().join("format"));
        let before = snapshot(&scene.state());
        serves_without(scene.launch(), &scene.site, what);
        assert_eq!(snapshot(&scene.state()), before, "{what}");
    }
}

#[test]
fn the_format_is_written_once_and_known_again() {
    let scene = Scene::new(64);
    let content = noise(5 * MIB, 1);
    scene.upload("f", &content);
    assert_eq!(fs::read_to_string(scene.state().join("format")).unwrap(), "1\n");
    assert_eq!(scene.upload("f", &content), [0; 0]);
    // A start that was cut short after the file was made.
    fs::write(scene.state().join("format"), "").unwrap();
    assert_eq!(scene.upload("f", &content), [0; 0]);
    assert_eq!(fs::read_to_string(scene.state().join("format")).unwrap(), "1\n");
}

#[test]
#[ignore = "needs root to write a policy: run by tests/run"]
fn a_profile_with_quotas_serves_nobody_where_they_cannot_be_held() {
    let told = "policy refused; ask the administrator";
    for key in ["account_quota = \"1GiB\"", "max_entries = 10", "max_sessions = 2"] {
        let (key, value) = key.split_once(" = ").unwrap();
        let site = Site::new();
        let state = site.base().join("state");
        let policy = Policy::of(&Profile::new(&site).key(key, value));
        let start = || policy.launch().start();
        // Missing.
        refuses(start(), told);
        assert!(!state.exists(), "{key}: it was made");
        // Not a directory; someone else's, who may not be trusted with it.
        fs::write(&state, "").unwrap();
        refuses(start(), told);
        fs::remove_file(&state).unwrap();
        // Newer.
        private(&state);
        fs::write(state.join("format"), "2").unwrap();
        let before = snapshot(&state);
        refuses(start(), told);
        assert_eq!(snapshot(&state), before, "{key}");
        // The twin.
        fs::write(state.join("format"), "1").unwrap();
        let mut server = start().hello(Caps::NONE);
        assert!(matches!(server.ask(&Message::Stat { path: "" }), Reply::Stat { .. }), "{key}");
        server.finish();
        // And without the key nothing of it matters.
        fs::write(state.join("format"), "2").unwrap();
        serves_without(Policy::of(&Profile::new(&site).key("overwrite", true)).launch(), &site, key);
    }
}

#[test]
#[ignore = "needs root to act as another account: run by tests/run"]
fn a_state_directory_that_is_another_accounts_is_not_used() {
    let site = Site::new();
    let state = site.base().join("state");
    private(&state);
    fs::set_permissions(&state, fs::Permissions::from_mode(0o777)).unwrap();
    fs::set_permissions(site.base(), fs::Permissions::from_mode(0o755)).unwrap();
    bcmr_tests::launch::give(&site.root());
    let policy = Policy::of(&Profile::new(&site).key("overwrite", true));
    serves_without(policy.launch().without_rights(), &site, "someone else's");
    assert_eq!(fs::read_dir(&state).unwrap().count(), 0);
    let policy = Policy::of(&Profile::new(&site).key("account_quota", "\"1GiB\""));
    refuses(policy.launch().without_rights().start(), "policy refused; ask the administrator");
}

#[test]
fn bcmr_cas_dir_says_where_the_store_is_and_one_that_cannot_be_opened_turns_it_off() {
    let site = Site::new();
    site.outside_file("file", "");
    let file = site.outside().join("file");
    for dir in [Path::new("/dev/null"), Path::new("/dev/null/below"), Path::new("/proc/nowhere"), &file] {
        let launch = Launch::new(site.root()).env("BCMR_CAS_DIR", dir);
        serves_without(launch, &site, &dir.display().to_string());
    }
    // A directory that is missing is made, private.
    let dir = site.outside().join("store");
    let mut server = crate::scene::greeted(Launch::new(site.root()).env("BCMR_CAS_DIR", &dir));
    crate::scene::upload(&mut server, "f", &noise(5 * MIB, 1));
    server.finish();
    assert_eq!(dir.metadata().unwrap().permissions().mode() & 0o7777, 0o700);
    // Without it, state is in XDG_STATE_HOME, or at home.
    for (name, value, there) in
        [("XDG_STATE_HOME", "xdg", "xdg/bcmr"), ("HOME", "home", "home/.local/state/bcmr")]
    {
        let base = site.outside().join(value);
        fs::create_dir(&base).unwrap();
        let launch =
            Launch::new(site.root()).env("BCMR_CAS_DIR", "").env("XDG_STATE_HOME", "").env(name, &base);
        crate::scene::greeted(launch).finish();
        assert!(site.outside().join(there).join("format").is_file(), "{name}");
    }
}

#[test]
fn bcmr_cas_cap_mb_that_is_no_number_serves_nobody() {
    let scene = Scene::new(64);
    for cap in ["x", "-1", "", "1.5", "18446744073709551616", "1 "] {
        let launch = Launch::new(scene.site.root()).env("BCMR_CAS_DIR", scene.state());
        refuses(launch.env("BCMR_CAS_CAP_MB", cap).start(), "the server is misconfigured");
    }
    assert!(!scene.state().exists());
    for cap in ["0", "1", "00064", "18446744073709551615"] {
        let launch = Launch::new(scene.site.root()).env("BCMR_CAS_DIR", scene.state());
        crate::scene::greeted(launch.env("BCMR_CAS_CAP_MB", cap)).finish();
    }
}
