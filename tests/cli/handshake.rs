//! A remote side that is no server, or none for us.

use std::fs;
use std::time::Duration;

use bcmr_tests::client::Ran;
use bcmr_tests::{Client, Site};

/// Uploads and downloads by way of a line of shell that leads to no session: both must end in the same way, at
/// once, and leave nothing.
#[track_caller]
fn no_session(via: &str, code: i32, says: &[&str]) -> Ran {
    let site = Site::new();
    fs::write(site.outside().join("f"), "f").unwrap();
    let before = site.everything();
    let run = |args: [&str; 2]| Client::ours().via(via).within(&site.outside()).copy(args);
    let (up, down) = (run(["f", ":x"]), run([":x", "y"]));
    for ran in [&up, &down] {
        ran.ends_with(code).keeps_quiet_about("panicked").keeps_quiet_about("on the wire");
        for text in says {
            ran.says(text);
        }
        assert!(!ran.err.contains(&0x1b), "{:?}", ran.said());
        assert!(ran.took < Duration::from_secs(20), "{via}: {:?}", ran.took);
    }
    assert_eq!(before, site.everything());
    up
}

fn fake(how: &str) -> String {
    format!("exec {} greets {how}", bcmr_tests::client::quoted(&bcmr_tests::binaries::tool("fake-server")))
}

/// rustup#498, rsync#1015: quoted, the cause named, at once, however much it is.
#[test]
fn rustup_498_text_before_the_protocol_is_quoted_and_its_cause_named() {
    for lines in ["1", "25000"] {
        let quote = r"You are being watched. \u{1b}[31mHave a nice day.";
        let ran = no_session(&fake(&format!("noise {lines}")), 74, &[quote, ".bashrc"]);
        assert!(ran.err.len() < 2000, "{} bytes were said", ran.err.len());
    }
    // Short ones, which begin as a frame's length would.
    let serve = bcmr_tests::client::serve(&std::env::temp_dir());
    for text in ["x", "ok", "ok.", "hello"] {
        no_session(&format!("printf {text}; {serve}"), 74, &[text, ".bashrc"]);
        no_session(&format!("printf {text}"), 74, &[text, ".bashrc"]);
    }
}

#[test]
fn a_command_that_is_no_server_is_said_to_be_none() {
    no_session("true", 74, &["ended (exit 0) before it spoke the protocol"]);
    no_session("echo 'no such account' >&2; exit 3", 74, &["exit 3", "no such account"]);
    no_session("kill -9 $$", 74, &["before it spoke the protocol"]);
    no_session("exec 0<&- 1>&-; exec sleep 3600", 74, &["before it spoke the protocol"]);
    no_session("no-such-program", 74, &["no-such-program"]);
}

#[test]
fn a_refusal_before_the_session_keeps_its_words_and_its_meaning() {
    no_session(&fake("error 'draining, come back \u{1b}[2J' 75"), 75, &[r"draining, come back \u{1b}[2J"]);
    no_session(&fake("error 'policy refused' 78"), 77, &["policy refused"]);
    no_session(&fake("error 'something else' 70"), 74, &["something else"]);
    no_session(&fake("nothing 126"), 77, &["refused to serve"]);
    no_session(&fake("nothing 75"), 75, &["refused to serve"]);
    no_session(&fake("error-and-stay 'not you'"), 74, &["not you"]);
}

#[test]
fn a_server_of_another_protocol_is_not_used() {
    no_session(&fake("version 3"), 74, &["version 3"]);
    no_session(&fake("reply"), 74, &["before Welcome"]);
}

/// The real server's own refusal, over a real root that is none.
#[test]
fn a_root_that_cannot_be_opened_is_told() {
    let serve = bcmr_tests::client::serve(std::path::Path::new("/no/such/root"));
    no_session(&serve, 77, &["the server's root cannot be opened"]);
}
