//! System calls taken away, one by one, two by two and all together, as a kernel that has not got them answers
//! (ENOSYS) and as a container's filter does (EPERM). Simulated: the rest of the kernel is this one.

use bcmr_tests::content::{hex, noise};
use bcmr_tests::policy::Profile;
use bcmr_tests::{Launch, Log, Policy, Server, Site, binaries};
use bcmr_wire::{Caps, Message};

/// What can be taken away; what each is replaced by, if it is of use at all, stands beside it. `seccomp` is the last,
/// since taking calls away takes it.
const CALLS: [&str; 14] = [
    "openat2",                 // the walk, component by component
    "statx",                   // fstat and newfstatat
    "renameat2",               // a link from name to name
    "clone3",                  // clone
    "landlock_create_ruleset", // nothing: the sandbox's level decides
    "landlock_add_rule",       // the same
    "landlock_restrict_self",  // the same
    "copy_file_range",         // read and write
    "memfd_create",            // of no use
    "faccessat2",              // of no use
    "close_range",             // close, one by one
    "getrandom",               // /dev/urandom, opened before the sandbox
    "rseq",                    // of no use to musl
    "seccomp",                 // nothing: the sandbox's level decides
];

const LEVELS: [&str; 3] = ["require", "available", "best-effort"];

const ERRORS: [&str; 2] = ["ENOSYS", "EPERM"];

/// Whether a level serves on a kernel without these calls (docs/policy.md, "Sandbox levels").
fn permits(level: &str, taken: &[&str]) -> bool {
    let landlock = !taken.iter().any(|call| call.starts_with("landlock_"));
    let seccomp = !taken.contains(&"seccomp");
    match level {
        "require" => landlock && seccomp,
        "available" => seccomp,
        _ => true,
    }
}

const KEPT: usize = 3 << 20;

/// Asks for all that a session can do, and looks at the disk.
#[track_caller]
fn serves_everything(mut server: Server, site: &Site, case: &str) {
    let big = noise(KEPT + 1000, 7);
    server.greet(Caps::PUT_OFFSET);
    assert!(server.ask(&Message::Mkdir { path: "d/e" }).ok().is_none(), "{case}");
    assert_eq!(server.put("d/e/new", b"new", false).ok(), Some(&*hex(b"new")), "{case}");
    assert!(server.put("d/e/new", b"other", false).is_error(), "{case}");
    assert_eq!(server.put("old", b"replaced", true).ok(), Some(&*hex(b"replaced")), "{case}");
    let (size, offset) = (big.len() as u64, KEPT as u64);
    server.send(&Message::Put { path: "part", size, offset, overwrite: true });
    server.to.content(&big[KEPT..]);
    server.send(&Message::Done);
    assert!(!server.reply().is_error(), "{case}");
    let got = server.get("part", 0);
    assert!(got.content == big && !got.end.is_error(), "{case}");
    assert_eq!(server.get("link", 0).content, b"replaced", "{case}");
    assert_eq!(server.ask(&Message::Hash { path: "old", offset: 0, limit: None }).hash(), hex(b"replaced"));
    assert!(!server.ask(&Message::List { path: "d" }).is_error(), "{case}");
    assert!(!server.ask(&Message::Stat { path: "d/e/new" }).is_error(), "{case}");
    // And nothing more.
    for path in ["out/secret", "../outside/secret", "/etc/passwd"] {
        assert!(server.get(path, 0).end.is_error(), "{case}: {path}");
        assert!(server.put(path, b"x", true).is_error(), "{case}: {path}");
    }
    server.finish();
    assert_eq!(site.read("d/e/new"), b"new", "{case}");
    assert_eq!(site.read("old"), b"replaced", "{case}");
    assert!(site.read("part") == big, "{case}");
    assert_eq!(std::fs::read(site.outside().join("secret")).unwrap(), b"outside", "{case}");
    assert!(site.tree().stages().is_empty(), "{case}");
}

fn site() -> Site {
    let site = Site::new();
    site.file("old", "old");
    site.file("part", noise(KEPT + 1000, 7).get(..KEPT).unwrap());
    site.link("link", "old");
    site.link("out", site.outside());
    site.outside_file("secret", "outside");
    site
}

fn without(launch: Launch, taken: &[&str], error: &str) -> Launch {
    let rules: Vec<String> = taken.iter().map(|call| format!("{call}={error}")).collect();
    launch.without(&rules.iter().map(String::as_str).collect::<Vec<_>>())
}

#[track_caller]
fn each_level_does_what_it_says(taken: &[&str], levels: &[&str]) {
    assert!(binaries::is_static(&binaries::server()), "the server that ships is the one to be tried");
    for (error, level) in ERRORS.iter().flat_map(|error| levels.iter().map(move |level| (error, level))) {
        let case = format!("without {taken:?}, {error}, under {level}");
        let site = site();
        let profile = Profile::new(&site).key("overwrite", true).key("sandbox", format!("{level:?}"));
        let policy = Policy::of(&profile);
        let log = Log::new();
        let mut server = without(log.seen_by(policy.launch()), taken, error).start();
        if permits(level, taken) {
            serves_everything(server, &site, &case);
            let start = log.records().swap_remove(0);
            let landlock = !taken.iter().any(|call| call.starts_with("landlock_"));
            assert_eq!(start.contains("landlock on (ABI "), landlock, "{case}: {start}");
            assert_eq!(start.contains("seccomp on"), !taken.contains(&"seccomp"), "{case}: {start}");
        } else {
            assert_eq!(server.reply().error(), "policy refused; ask the administrator", "{case}");
            assert_eq!(server.exit_code(), 78, "{case}");
            assert!(log.only().contains(&format!(r"sandbox level \'{level}\'")), "{case}");
        }
    }
}

#[test]
#[ignore = "needs root to write a policy, and the static server: run by tests/run"]
fn without_any_one_call_each_level_serves_or_refuses_as_it_says() {
    each_level_does_what_it_says(&[], &LEVELS);
    for call in CALLS {
        each_level_does_what_it_says(&[call], &LEVELS);
    }
}

#[test]
#[ignore = "needs root to write a policy, and the static server: run by tests/run"]
fn without_all_of_them_each_level_serves_or_refuses_as_it_says() {
    let sandbox = |call: &&str| call.starts_with("landlock_") || *call == "seccomp";
    let rest: Vec<_> = CALLS.into_iter().filter(|call| !sandbox(call)).collect();
    let without_landlock: Vec<_> = CALLS.into_iter().filter(|call| *call != "seccomp").collect();
    for taken in [&rest[..], &without_landlock, &CALLS] {
        each_level_does_what_it_says(taken, &LEVELS);
    }
}

#[test]
#[ignore = "needs root to write a policy, and the static server: run by tests/run"]
fn without_any_two_calls_it_serves_wherever_its_level_permits() {
    for (i, first) in CALLS.into_iter().enumerate() {
        for second in &CALLS[i + 1..] {
            // The strictest that permits it, where most is forbidden to what would make do.
            let taken = [first, second];
            let level = LEVELS.into_iter().find(|level| permits(level, &taken)).unwrap();
            each_level_does_what_it_says(&taken, &[level]);
        }
    }
}
