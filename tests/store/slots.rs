//! S10: max_sessions.

use std::fs;
use std::os::unix::fs::PermissionsExt;
use std::time::{Duration, Instant};

use bcmr_tests::policy::{NAME, Profile};
use bcmr_tests::{Client, Policy, Reply, Server, Site};
use bcmr_wire::{Caps, Message};
use rustix::process::Signal;

fn place(max: u64) -> (Site, Policy) {
    let site = Site::new();
    let state = site.base().join("state");
    fs::create_dir(&state).unwrap();
    fs::set_permissions(&state, fs::Permissions::from_mode(0o700)).unwrap();
    let policy = Policy::of(&Profile::new(&site).key("max_sessions", max));
    (site, policy)
}

fn serves(policy: &Policy) -> Server {
    let mut server = policy.launch().start().hello(Caps::NONE);
    assert!(matches!(server.ask(&Message::Stat { path: "" }), Reply::Stat { .. }));
    server
}

#[track_caller]
fn is_turned_away(policy: &Policy) {
    let mut server = policy.launch().start();
    assert_eq!(server.reply().error(), "too many sessions (8), try again");
    assert_eq!(server.from.next_reply(), None);
    assert_eq!(server.exit_code(), 75);
}

#[test]
#[ignore = "needs root to write a policy: run by tests/run"]
fn s10_the_ninth_of_eight_sessions_is_told_to_try_again_until_one_ends_in_whatever_way() {
    let (site, policy) = place(8);
    let mut eight: Vec<_> = (0..8).map(|_| serves(&policy)).collect();
    is_turned_away(&policy);
    is_turned_away(&policy);
    // Killed: free at once.
    let mut killed = eight.remove(3);
    killed.signal(Signal::KILL);
    killed.ends_within(Duration::from_secs(5));
    eight.push(serves(&policy));
    is_turned_away(&policy);
    // Stopped: it lives.
    eight[0].signal(Signal::STOP);
    is_turned_away(&policy);
    eight[0].signal(Signal::CONT);
    // Ended well, ended for what it said, ended by the hang-up of its output.
    eight.remove(0).finish();
    eight.push(serves(&policy));
    let mut rude = eight.remove(0);
    rude.to.send_raw(&[0; 4]);
    assert_eq!(rude.ends_by_violation(), "a frame of length 0");
    eight.push(serves(&policy));
    let mut gone = eight.remove(0);
    gone.close_output();
    gone.ends_within(Duration::from_secs(5));
    eight.push(serves(&policy));
    is_turned_away(&policy);
    assert_eq!(site.names(), [""; 0]);
    eight.into_iter().for_each(Server::finish);
    serves(&policy).finish();
}

#[test]
#[ignore = "needs root to write a policy: run by tests/run"]
fn the_client_of_a_session_too_many_ends_with_75_and_says_why() {
    let (site, policy) = place(1);
    site.outside_file("f", "content");
    let serve = policy.launch().command();
    let words: Vec<_> = std::iter::once(serve.get_program())
        .chain(serve.get_args())
        .map(|word| format!("'{}'", word.to_str().unwrap()))
        .collect();
    let copy = || {
        let client = Client::ours().via(format!("exec {}", words.join(" ")));
        client.copy([site.outside().join("f").to_str().unwrap(), ":f"])
    };
    let one = serves(&policy);
    copy().ends_with(75).says("too many sessions (1), try again");
    assert_eq!(site.names(), [""; 0]);
    one.finish();
    copy().succeeds();
    assert_eq!(site.read("f"), b"content");
    assert_eq!(NAME, "p");
}

#[test]
#[ignore = "needs root to write a policy: run by tests/run"]
fn of_many_that_start_at_once_never_more_than_eight_are_served() {
    let (_site, policy) = place(8);
    let until = Instant::now() + Duration::from_secs(2);
    while Instant::now() < until {
        let mut all: Vec<_> = (0..24).map(|_| policy.launch().start()).collect();
        all.iter_mut().for_each(|server| {
            // Who was turned away reads nothing any more.
            server.to.try_send_raw(&[3, 0, 0, 0, 1, 2, 0]);
        });
        let served = all.iter_mut().filter_map(|server| match server.reply() {
            Reply::Welcome { .. } => Some(()),
            other => {
                assert_eq!(other.error(), "too many sessions (8), try again");
                None
            }
        });
        assert_eq!(served.count(), 8);
    }
}
