//! What each sandbox level makes of a kernel that lacks something (docs/policy.md, "Sandbox levels"). Older kernels
//! are made of this one by taking calls away; a kernel that lies is made by strace.

use std::time::Duration;

use bcmr_tests::policy::Profile;
use bcmr_tests::stream::PATIENCE;
use bcmr_tests::{Launch, Policy, Server, Site};
use bcmr_wire::{Caps, Message};

use crate::trace::{Trace, name};
use bcmr_tests::Log;

/// A kernel, by what it answers.
#[derive(Clone, Copy, Debug)]
enum Kernel {
    /// Without some calls.
    Lacks(&'static [&'static str]),
    /// Answers Landlock's calls as strace is told to.
    Lies(&'static [&'static str]),
}

use Kernel::{Lacks, Lies};

/// Before Linux 5.13; disabled at boot; a container whose filter knows no Landlock; one that fails on the way.
const WITHOUT_LANDLOCK: [Kernel; 6] = [
    Lacks(&["landlock_create_ruleset=ENOSYS"]),
    Lacks(&["landlock_create_ruleset=EOPNOTSUPP"]),
    Lacks(&["landlock_create_ruleset=EPERM"]),
    Lacks(&["landlock_create_ruleset=EINVAL"]),
    Lacks(&["landlock_add_rule=EPERM"]),
    Lacks(&["landlock_restrict_self=E2BIG"]),
];

/// Announces ABI 6, once or always, and then knows nothing of it.
const ANNOUNCES_WHAT_IT_HAS_NOT: [Kernel; 2] = [
    Lies(&["-e", "inject=landlock_create_ruleset:retval=6:when=1"]),
    Lies(&["-e", "inject=landlock_create_ruleset:retval=6:when=1+2"]),
];

/// Announces all that it has, and refuses the newest part of it: four times (for ABI 10 to 7) it answers EINVAL.
const HAS_LESS_THAN_IT_ANNOUNCES: Kernel =
    Lies(&["-e", "inject=landlock_create_ruleset:error=EINVAL:when=2..8+2"]);

/// No seccomp filters; none for this process; no way to give up privileges, without which there are none.
const WITHOUT_SECCOMP: [Kernel; 3] =
    [Lacks(&["seccomp=ENOSYS"]), Lacks(&["seccomp=EPERM"]), Lacks(&["seccomp=EINVAL"])];

/// A server under a level, on such a kernel, and the log that it writes to.
struct Case {
    server: Server,
    log: Log,
    _site: Site,
    _policy: Policy,
    _trace: Trace,
}

fn start(kernel: Kernel, level: &str) -> Case {
    let site = Site::new();
    site.file("f", "inside");
    let policy = Policy::of(&Profile::new(&site).key("sandbox", format!("{level:?}")));
    let (log, trace) = (Log::new(), Trace::new());
    let launch = log.seen_by(policy.launch());
    let launch = on(launch, kernel, &trace);
    Case { server: launch.start(), log, _site: site, _policy: policy, _trace: trace }
}

fn on(launch: Launch, kernel: Kernel, trace: &Trace) -> Launch {
    match kernel {
        Lacks(rules) => launch.without(rules),
        // What strace does not answer itself fails, too, but for the kernel that is only a little smaller.
        Lies(rules) if rules[1].contains("retval") => {
            launch.under(trace.command(rules)).without(&["landlock_create_ruleset=EINVAL"])
        }
        Lies(rules) => launch.under(trace.command(rules)),
    }
}

/// The session is served, and its start is recorded with these words.
#[track_caller]
fn serves(kernel: Kernel, level: &str, words: &[&str]) {
    let mut case = start(kernel, level);
    case.server.greet(Caps::NONE);
    assert_eq!(case.server.get("f", 0).content, b"inside");
    assert!(case.server.ask(&Message::Stat { path: "/etc/passwd" }).is_error());
    case.server.finish();
    let record = case.log.record();
    let all = [": start ", "profile=\"p\""].iter().chain(words).all(|word| record.contains(word));
    assert!(all, "{kernel:?} under {level}: {record}");
}

/// The session is refused before the first byte of it is read, and that is recorded with these words.
#[track_caller]
fn refuses(kernel: Kernel, level: &str, words: &[&str]) {
    let mut case = start(kernel, level);
    let reply = case.server.reply();
    assert_eq!(reply.error(), "policy refused; ask the administrator", "{kernel:?} under {level}");
    assert_eq!(case.server.from.next_reply(), None);
    assert_eq!(case.server.exit_code(), 78);
    assert_eq!(case.server.stderr(), "");
    let record = case.log.only();
    let all =
        [": denied ", &format!(r"sandbox level \'{level}\'")].iter().chain(words).all(|w| record.contains(w));
    assert!(all, "{kernel:?} under {level}: {record}");
}

#[test]
#[ignore = "needs root to write a policy: run by tests/run"]
fn a_whole_kernel_serves_under_every_level_with_all_that_it_has() {
    for level in ["require", "available", "best-effort"] {
        serves(Lacks(&[]), level, &["landlock on (ABI ", "seccomp on"]);
    }
}

#[test]
#[ignore = "needs root to write a policy: run by tests/run"]
fn openshell_584_without_landlock_require_refuses_and_the_others_serve_and_record_it() {
    for kernel in WITHOUT_LANDLOCK {
        refuses(kernel, "require", &["landlock off (", "seccomp on"]);
        serves(kernel, "available", &["landlock off (", "seccomp on"]);
        serves(kernel, "best-effort", &["landlock off (", "seccomp on"]);
    }
}

#[test]
#[ignore = "needs root to write a policy: run by tests/run"]
fn a_kernel_that_announces_a_landlock_that_it_has_not_is_no_better_than_one_without() {
    for kernel in ANNOUNCES_WHAT_IT_HAS_NOT {
        refuses(kernel, "require", &["landlock off ("]);
        serves(kernel, "available", &["landlock off (", "seccomp on"]);
        serves(kernel, "best-effort", &["landlock off (", "seccomp on"]);
    }
}

#[test]
#[ignore = "needs root to write a policy: run by tests/run"]
fn a_kernel_that_has_less_than_it_announces_is_stepped_down_to_what_works() {
    let words = ["landlock stepped down (ABI ", " was announced, ABI 6 worked)"];
    refuses(HAS_LESS_THAN_IT_ANNOUNCES, "require", &words);
    serves(HAS_LESS_THAN_IT_ANNOUNCES, "available", &words);
    serves(HAS_LESS_THAN_IT_ANNOUNCES, "best-effort", &words);
}

#[test]
#[ignore = "needs root to write a policy: run by tests/run"]
fn an_older_landlock_serves_under_every_level_and_names_what_it_lacks() {
    // The version is answered by strace; this kernel knows all that an older one does.
    let absent = [
        (1, "without truncating, TCP, device ioctls, signals and abstract sockets, named sockets, UDP"),
        (3, "without TCP, device ioctls, signals and abstract sockets, named sockets, UDP"),
        (6, "without named sockets, UDP"),
    ];
    for (abi, lacks) in absent {
        let site = Site::new();
        site.file("f", "inside");
        let policy = Policy::of(&Profile::new(&site).key("overwrite", true));
        let (log, trace) = (Log::new(), Trace::new());
        let answer = format!("inject=landlock_create_ruleset:retval={abi}:when=1");
        let launch = log.seen_by(policy.launch()).under(trace.command(&["-e", &answer]));
        let mut server = launch.start().hello(Caps::NONE);
        assert_eq!(server.get("f", 0).content, b"inside", "ABI {abi}");
        assert!(server.put("d/g", b"put", false).ok().is_some(), "ABI {abi}");
        assert!(server.put("f", b"put", true).ok().is_some(), "ABI {abi}");
        server.finish();
        let record = log.records().swap_remove(0);
        assert!(record.contains(&format!("landlock on (ABI {abi}, {lacks})")), "{record}");
    }
}

#[test]
#[ignore = "needs root to write a policy: run by tests/run"]
fn without_seccomp_only_best_effort_serves() {
    for kernel in WITHOUT_SECCOMP {
        refuses(kernel, "require", &["seccomp off ("]);
        refuses(kernel, "available", &["seccomp off ("]);
        serves(kernel, "best-effort", &["landlock on (ABI ", "seccomp off ("]);
    }
}

#[test]
#[ignore = "needs root to write a policy: run by tests/run"]
fn with_neither_best_effort_serves_by_the_walk_alone() {
    let neither = Lacks(&["landlock_create_ruleset=ENOSYS", "seccomp=ENOSYS"]);
    refuses(neither, "require", &["landlock off (", "seccomp off ("]);
    refuses(neither, "available", &["landlock off (", "seccomp off ("]);
    serves(neither, "best-effort", &["landlock off (", "seccomp off ("]);
}

#[test]
#[ignore = "needs root to see the log: run by tests/run"]
fn personal_mode_serves_with_what_there_is_and_records_it() {
    for (kernel, words) in [
        (Lacks(&[]), "landlock on (ABI "),
        (WITHOUT_LANDLOCK[0], "landlock off ("),
        (WITHOUT_SECCOMP[0], "seccomp off ("),
    ] {
        let site = Site::new();
        let (log, trace) = (Log::new(), Trace::new());
        let launch = on(log.seen_by(Launch::new(site.root())), kernel, &trace);
        launch.start().hello(Caps::NONE).finish();
        let record = log.record();
        assert!(record.contains(words) && record.contains("profile=\"personal\""), "{kernel:?}: {record}");
    }
}

#[test]
#[ignore = "needs root to write a policy: run by tests/run"]
fn a_session_that_is_refused_for_its_sandbox_never_reads() {
    let trace = Trace::new();
    let site = Site::new();
    let policy = Policy::of(&Profile::new(&site));
    let launch = policy.launch().under(trace.command(&[])).without(WITHOUT_LANDLOCK[0].rules());
    let mut server = launch.start();
    // Ready to be read, and more than a pipe takes at once.
    server.to.send(&Message::Hello { version: 2, caps: Caps::NONE });
    assert!(server.reply().is_error());
    assert_eq!(server.ends_within(PATIENCE.min(Duration::from_secs(20))).code(), Some(78));
    let input = trace.calls().into_iter().find(|call| call.starts_with("fcntl(0<pipe:[")).unwrap();
    let input = input.split(['<', '>']).nth(1).unwrap().to_owned();
    let reads: Vec<_> = trace
        .calls()
        .into_iter()
        .filter(|call| matches!(name(call), "read" | "readv" | "splice") && call.contains(&input))
        .collect();
    assert_eq!(reads, Vec::<String>::new());
}

impl Kernel {
    fn rules(self) -> &'static [&'static str] {
        match self {
            Lacks(rules) | Lies(rules) => rules,
        }
    }
}
