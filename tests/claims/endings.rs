//! S16: a session ends with its client, with its time, and when it is told to, whatever it was doing; it leaves no
//! process, no stage and no lock, and the operator learns why it ended.

use std::fs;
use std::io::Read;
use std::os::fd::AsFd;
use std::thread::sleep;
use std::time::{Duration, Instant};

use bcmr_tests::content::{hex, noise};
use bcmr_tests::host::{ACCOUNT, INSTALLED, Setup};
use bcmr_tests::policy::{NAME, Profile};
use bcmr_tests::stream::PATIENCE;
use bcmr_tests::{Launch, Log, Policy, Server, Site};
use bcmr_wire::{Caps, Message};
use rustix::event::{PollFd, PollFlags, Timespec, poll};
use rustix::process::{Pid, Signal, kill_process};

const SECOND: Duration = Duration::from_secs(1);

/// A file that takes long to hash and costs nothing on disk.
const LONG: u64 = 200 << 30;

/// Entries of a directory that takes a while to list, and how often it is asked for.
const ENTRIES: usize = 20_000;
const LISTINGS: usize = 500;

/// What a session may be doing.
#[derive(Clone, Copy, PartialEq, Eq, Debug)]
enum State {
    Idle,
    MidPut,
    MidGet,
    Hashing,
    Listing,
}

use State::{Hashing, Idle, Listing, MidGet, MidPut};

const STATES: [State; 5] = [Idle, MidPut, MidGet, Hashing, Listing];

fn site() -> Site {
    let site = Site::new();
    site.file("f", "inside");
    site.file("g", noise(8 << 20, 2));
    site.sparse("long", LONG, &[]);
    let many = site.dir("many");
    for number in 0..ENTRIES {
        fs::File::create(many.join(format!("{number:05}"))).unwrap();
    }
    site
}

/// Takes what the server sends, and throws it away.
fn drain(server: &Server, time: Duration) {
    let until = Instant::now() + time;
    let mut stream = rustix::io::dup(server.from.stream().as_fd()).map(fs::File::from).unwrap();
    let mut bytes = vec![0; 1 << 20];
    while let Some(left) = until.checked_duration_since(Instant::now()) {
        let timeout = Timespec::try_from(left).unwrap();
        if poll(&mut [PollFd::new(&stream, PollFlags::IN)], Some(&timeout)) == Ok(1) {
            assert_ne!(stream.read(&mut bytes).unwrap(), 0, "the session has ended");
        }
    }
}

/// Brings a greeted session into a state.
fn into(server: &mut Server, state: State) {
    match state {
        Idle => {}
        MidPut => {
            server.send(&Message::Put { path: "new/f", size: 8 << 20, offset: 0, overwrite: false });
            server.to.content(&noise(4 << 20, 1));
        }
        MidGet => server.send(&Message::Get { path: "g", offset: 0 }),
        Hashing => server.send(&Message::Hash { path: "long", offset: 0, limit: None }),
        Listing => (0..LISTINGS).for_each(|_| server.send(&Message::List { path: "many" })),
    }
    if state == Listing {
        // So that it lists, and does not wait for room.
        drain(server, Duration::from_millis(300));
    } else {
        sleep(Duration::from_millis(200));
    }
}

/// A server under a profile, with a log, in a state.
struct Case {
    server: Server,
    log: Log,
    _policy: Policy,
}

impl Case {
    fn new(site: &Site, keys: &[(&str, &str)]) -> Self {
        let policy = Policy::of(&Profile::new(site).keys(keys));
        let log = Log::new();
        let server = log.seen_by(policy.launch()).start();
        Self { server, log, _policy: policy }
    }

    fn greeted(site: &Site, state: State) -> Self {
        let mut case = Self::new(site, &[]);
        case.server.greet(Caps::NONE);
        into(&mut case.server, state);
        case
    }

    /// The session ends by itself, in time, and the log says why.
    #[track_caller]
    fn ends(mut self, limit: Duration, why: &[&str], case: &str) {
        let status = self.server.ends_within(limit);
        assert_eq!(status.code(), Some(74), "{case}");
        let end = self.log.records().pop().unwrap();
        let told = why.iter().any(|why| end.contains(&format!("result=\"{why}\"")));
        assert!(end.contains(": end ") && told, "{case}: {end}");
    }
}

/// Nothing is left: no stage, nobody who has a file or a lock, and the name is free for whoever comes next.
#[track_caller]
fn leaves_nothing(site: &Site, case: &str) {
    assert_eq!(site.names(), ["f", "g", "long", "many"], "{case}");
    // A lock lives as long as a descriptor.
    let base = fs::canonicalize(site.base()).unwrap();
    for process in fs::read_dir("/proc").unwrap().flatten() {
        let open = fs::read_dir(process.path().join("fd"));
        for descriptor in open.into_iter().flatten().flatten() {
            let held = fs::read_link(descriptor.path()).is_ok_and(|path| path.starts_with(&base));
            assert!(
                !held,
                "{case}: {} holds {:?}",
                process.path().display(),
                fs::read_link(descriptor.path())
            );
        }
    }
    let mut server = Launch::new(site.root()).start().hello(Caps::NONE);
    assert_eq!(server.put("new/f", b"next", false).ok(), Some(&*hex(b"next")), "{case}");
    server.finish();
    fs::remove_dir_all(site.path("new")).unwrap();
}

#[test]
#[ignore = "needs root to see the log: run by tests/run"]
fn a_signal_ends_a_session_within_a_second_whatever_it_does() {
    let site = site();
    for state in STATES {
        for stopped in [false, true] {
            let case = Case::greeted(&site, state);
            if stopped {
                case.server.signal(Signal::STOP);
                sleep(Duration::from_millis(100));
            }
            case.server.signal(Signal::TERM);
            if stopped {
                case.server.signal(Signal::CONT);
            }
            case.ends(SECOND, &["told to end"], &format!("{state:?}, stopped: {stopped}"));
            leaves_nothing(&site, &format!("{state:?}, stopped: {stopped}"));
        }
    }
}

#[test]
#[ignore = "needs root to see the log: run by tests/run"]
fn borg_1593_a_client_that_is_gone_ends_a_session_within_5_seconds_whatever_it_does() {
    let site = site();
    for state in STATES {
        for stopped in [false, true] {
            let text = format!("{state:?}, stopped: {stopped}");
            let mut case = Case::greeted(&site, state);
            if stopped {
                case.server.signal(Signal::STOP);
                sleep(Duration::from_millis(100));
            }
            case.server.close_input();
            case.server.close_output();
            if stopped {
                sleep(Duration::from_millis(100));
                case.server.signal(Signal::CONT);
            }
            if state == Idle {
                // Nothing is left to do, and the end of the input says so: the session may be done first.
                let status = case.server.ends_within(5 * SECOND);
                assert!(matches!(status.code(), Some(0 | 74)), "{text}: {status:?}");
                assert!(case.log.records().pop().unwrap().contains(": end "), "{text}");
            } else {
                case.ends(5 * SECOND, &["the client is gone", "link lost"], &text);
            }
            leaves_nothing(&site, &text);
        }
    }
}

#[test]
#[ignore = "needs root and sshd: run by tests/run"]
fn affine_cortex_507_a_killed_ssh_ends_its_session_within_5_seconds_whatever_it_does() {
    let site = site();
    let policy = Profile::new(&site).key("accounts", format!("[{ACCOUNT:?}]")).key("allow_root", false);
    let host = Setup::new(policy.text())
        .matched(format!("ForceCommand {INSTALLED} --profile {NAME}"))
        .matched("DisableForwarding yes")
        .start(&site);
    for state in STATES {
        for stopped in [false, true] {
            let case = format!("{state:?}, stopped: {stopped}");
            let mut ssh = host.launch("bcmr-serve").start().hello(Caps::NONE);
            into(&mut ssh, state);
            let server = host.server();
            if stopped {
                kill_process(server, Signal::STOP).unwrap();
                sleep(Duration::from_millis(100));
            }
            ssh.signal(Signal::KILL);
            if stopped {
                sleep(Duration::from_millis(200));
                kill_process(server, Signal::CONT).unwrap();
            }
            gone_within(server, 5 * SECOND, &case);
            drop(ssh);
            leaves_nothing(&site, &case);
        }
    }
}

#[track_caller]
fn gone_within(server: Pid, limit: Duration, case: &str) {
    let until = Instant::now() + limit;
    // What has ended and waits for its parent has no program any more.
    let program = format!("/proc/{}/exe", server.as_raw_nonzero());
    while fs::read_link(&program).is_ok_and(|program| program.ends_with(INSTALLED.trim_start_matches('/'))) {
        assert!(Instant::now() < until, "{case}: the server still runs");
        sleep(Duration::from_millis(5));
    }
}

#[test]
#[ignore = "needs root to see the log: run by tests/run"]
fn oferchen_rsync_5723_a_session_that_is_stopped_goes_on_in_every_state() {
    let site = site();
    let stop = |server: &Server| {
        server.signal(Signal::STOP);
        sleep(Duration::from_millis(100));
        server.signal(Signal::CONT);
    };
    for state in STATES {
        let mut case = Case::new(&site, &[]);
        let server = &mut case.server;
        server.greet(Caps::NONE);
        stop(server);
        match state {
            Idle => {}
            MidPut => {
                into(server, state);
                stop(server);
                let rest = noise(4 << 20, 1);
                server.to.content(&rest);
                server.send(&Message::Done);
                assert_eq!(server.reply().ok(), Some(&*hex(&[&rest[..], &rest].concat())));
                assert_eq!(fs::read(site.path("new/f")).unwrap().len(), 8 << 20);
                fs::remove_dir_all(site.path("new")).unwrap();
            }
            MidGet => {
                into(server, state);
                stop(server);
                assert!(server.from.got().content == noise(8 << 20, 2));
            }
            Hashing => {
                let limit = Some(1 << 28);
                server.send(&Message::Hash { path: "long", offset: 0, limit });
                stop(server);
                let _ = server.reply().hash();
            }
            Listing => {
                server.send(&Message::List { path: "many" });
                stop(server);
                assert_eq!(server.reply().entries().len(), ENTRIES);
            }
        }
        stop(server);
        assert_eq!(server.get("f", 0).content, b"inside", "{state:?}");
        case.server.finish();
        let end = case.log.records().pop().unwrap();
        assert!(end.contains("result=\"done\""), "{state:?}: {end}");
        leaves_nothing(&site, &format!("{state:?}"));
    }
}

#[test]
#[ignore = "needs root to see the log: run by tests/run"]
fn a_client_that_keeps_a_session_waiting_for_longer_than_idle_ends_it_and_no_other_does() {
    let site = site();
    for state in [Idle, MidPut, MidGet] {
        let mut case = Case::new(&site, &[("idle", "\"1s\"")]);
        // So late that the server waits for it already, with the ten seconds of a Hello before it.
        sleep(Duration::from_millis(300));
        case.server.greet(Caps::NONE);
        into(&mut case.server, state);
        case.ends(5 * SECOND, &["idle for too long"], &format!("{state:?}"));
        leaves_nothing(&site, &format!("{state:?}"));
    }
    // The twins: a client that asks now and then, and a session that works for longer than that.
    let mut case = Case::new(&site, &[("idle", "\"1s\"")]);
    case.server.greet(Caps::NONE);
    for _ in 0..5 {
        sleep(Duration::from_millis(500));
        assert_eq!(case.server.get("f", 0).content, b"inside");
    }
    for state in [Hashing, Listing] {
        into(&mut case.server, state);
        match state {
            // Of the listings nothing is left unread, so that no time is the client's.
            Listing => drain(&case.server, 2 * SECOND),
            _ => {
                case.server.from.stays_silent(2 * SECOND);
                case.server.signal(Signal::TERM);
                case.ends(SECOND, &["told to end"], "hashing for longer than idle");
                case = Case::new(&site, &[("idle", "\"1s\"")]);
                case.server.greet(Caps::NONE);
            }
        }
    }
}

#[test]
#[ignore = "needs root to see the log: run by tests/run"]
fn a_client_that_says_no_hello_has_10_seconds_also_where_idle_is_shorter_or_it_dribbles() {
    let site = Site::new();
    let mut silent = Case::new(&site, &[("idle", "\"1s\"")]);
    let mut dribbling = Case::new(&site, &[]);
    let begun = Instant::now();
    // A Hello that never comes to its end.
    let mut hello = Vec::new();
    (Message::Hello { version: 2, caps: Caps::NONE }).encode(&mut hello).unwrap();
    for byte in &hello[..hello.len() - 1] {
        dribbling.server.to.send_raw(&[*byte]);
        sleep(Duration::from_millis(500));
    }
    for (name, case) in [("silent", &mut silent), ("dribbling", &mut dribbling)] {
        case.server.ends_within(PATIENCE.min(Duration::from_secs(15)));
        let took = begun.elapsed();
        assert!(took > Duration::from_secs(9) && took < Duration::from_secs(13), "{name}: {took:?}");
        let end = case.log.records().pop().unwrap();
        assert!(end.contains("result=\"no Hello in time\""), "{name}: {end}");
    }
}
