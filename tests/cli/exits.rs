//! Each exit code of the client, from several causes.

use std::fs;
use std::os::unix::fs::PermissionsExt;
use std::time::{Duration, Instant};

use bcmr_tests::client::{Ran, quoted, serve};
use bcmr_tests::{Client, Site, binaries};
use rustix::process::{Signal, kill_process};

use crate::{client, victim};

fn site() -> Site {
    let site = Site::new();
    site.file("there", "there");
    site.outside_file("f", "f");
    site
}

#[test]
fn all_copied_is_0() {
    let site = site();
    std::os::unix::fs::symlink("f", site.outside().join("link")).unwrap();
    for args in [
        &["f", ":"][..],
        // It is there by now, with the same content.
        &["f", ":"],
        &[":there", "."],
        &["-n", "f", ":new"],
        &["--no-deref", "link", ":new"],
        &["-r", "--exclude", ".", ".", ":empty"],
    ] {
        client(&site).arg("copy").args(args).run().ends_with(0);
    }
    client(&site).args(["check", "f", ":"]).run().ends_with(0);
}

#[test]
fn some_failed_is_1() {
    let site = site();
    site.file("f", "other");
    fs::set_permissions(site.outside_file("closed", "c"), fs::Permissions::from_mode(0o000)).unwrap();
    for args in [
        &["absent", ":new"][..],
        &[":absent", "new"],
        &["f", ":"],
        &[":there", "f"],
        &[".", ":new"],
        &["/dev/null", ":new"],
        &["f", ":/no/such/place"],
        &[":there", "/dev/full/x"],
        &[":*.none", "."],
    ] {
        client(&site).arg("copy").args(args).run().ends_with(1);
    }
    client(&site).args(["check", "f", ":"]).run().ends_with(1);
    victim(&site, "gets another-hash").copy([":bad", "."]).ends_with(1);
    client(&site).unprivileged(site.base()).copy(["closed", ":new"]).ends_with(1).says("closed: ");
    assert_eq!(site.names().iter().filter(|name| *name == "new").count(), 0);
}

#[test]
fn a_wrong_command_line_is_2() {
    for args in [
        &[][..],
        &["copy"],
        &["copy", "f"],
        &["no-such-command"],
        &["copy", "--no-such-option", "f", "h:"],
        &["copy", "f", "g"],
        &["copy", "f", "-", "h:"],
        &["copy", "-P", "0", "f", "h:"],
        &["copy", "-P", "33", "f", "h:"],
        &["copy", "-s", "f", "h:"],
        &["copy", "-q", "-v", "f", "h:"],
        &["copy", "--exclude", "(", "f", "h:"],
        &["copy", "--ssh-port", "0x16", "f", "h:"],
        &["copy", "--stall", "-1", "f", "h:"],
        &["copy", "--min-rate", "0", "f", "h:"],
        &["copy", "-f", "f", "h:"],
        &["copy", "f", "h:~other/x"],
        &["completions", "tcsh"],
        &["rm", "h:f"],
        &["ls", "f"],
    ] {
        let ran = Client::ours().args(args).run();
        ran.ends_with(2);
        assert!(ran.out.is_empty() && !ran.err.is_empty(), "{args:?}");
    }
    Client::ours().arg("--version").run().ends_with(0);
}

#[test]
fn a_lost_connection_or_no_server_is_74() {
    let site = site();
    for via in [
        "exit 0",
        "exit 1",
        "exit 255",
        "kill -9 $$",
        "echo welcome to this machine; exit 0",
        "no-such-command",
    ] {
        Client::ours().via(via).within(&site.outside()).copy(["f", ":"]).ends_with(74);
        Client::ours().via(via).args(["ls", ":"]).run().ends_with(74);
        Client::ours().via(via).args(["doctor", ":"]).run().ends_with(74);
        Client::ours().via(via).within(&site.outside()).args(["check", "f", ":"]).run().ends_with(74);
    }
    for scenario in ["greets version 3", "greets reply", "gets half-then-end", "gets no-frame"] {
        victim(&site, scenario).copy([":bad", "."]).ends_with(74);
    }
    Client::ours().env("PATH", "/no/such").within(&site.outside()).copy(["f", "h:"]).ends_with(74);
    let cut = lost(&site, 12);
    let ran = Client::ours().via(&cut).within(&site.outside()).copy([":there", "."]);
    ran.ends_with(74).says("leaves it and copies the rest");
    // Nothing was to be copied.
    let ran = Client::ours().via(&cut).args(["hash", ":there"]).run();
    ran.ends_with(74).says("the same command may be tried again").keeps_quiet_about("cop");
}

/// A server behind a link that ends when so many bytes have come in.
fn lost(site: &Site, bytes: usize) -> String {
    let serve = serve(&site.root()).replace("exec ", "");
    format!("dd bs=64K count={bytes} iflag=count_bytes status=none | {serve}")
}

#[test]
fn a_busy_server_is_75() {
    let site = site();
    Client::ours().via("exit 75").within(&site.outside()).copy(["f", ":"]).ends_with(75);
    Client::ours().via("exit 75").args(["stat", ":"]).run().ends_with(75);
    victim(&site, "greets error 'too many sessions' 75")
        .copy(["f", ":"])
        .ends_with(75)
        .says("too many sessions");
}

#[test]
fn a_refusal_to_serve_is_77() {
    let site = site();
    for code in [64, 77, 78, 126] {
        let via = format!("exit {code}");
        Client::ours().via(&via).within(&site.outside()).copy(["f", ":"]).ends_with(77);
        Client::ours().via(&via).args(["du", ":"]).run().ends_with(77);
        victim(&site, &format!("greets error 'not you' {code}"))
            .copy(["f", ":"])
            .ends_with(77)
            .says("not you");
    }
}

/// Sends a signal to a client whose link holds, once it tells that it moves content.
#[track_caller]
fn signalled(signal: Signal) -> (Ran, Site) {
    let site = site();
    fs::write(site.outside().join("big"), bcmr_tests::content::noise(32 << 20, 1)).unwrap();
    let fake = quoted(&binaries::tool("fake-server"));
    let never = quoted(&site.base().join("never"));
    let slow = format!("exec {fake} slow {never} {}", serve(&site.root()).replace("exec ", ""));
    let client = Client::ours().via(slow).within(&site.outside());
    let running = client.args(["copy", "--json", "--compress", "none", "f", "big", ":"]).start();
    let until = Instant::now() + Duration::from_secs(20);
    while !running.printed().contains("\"progress\"") {
        assert!(Instant::now() < until, "it does not begin");
        std::thread::sleep(Duration::from_millis(10));
    }
    kill_process(running.pid(), signal).unwrap();
    (running.ends_within(Duration::from_secs(20)), site)
}

#[track_caller]
fn ends(signal: Signal, code: i32) {
    let (ran, site) = signalled(signal);
    ran.ends_with(code);
    let printed = ran.printed();
    let last = printed.lines().last().unwrap();
    assert!(last.contains("interrupted") && last.contains("copy -C --json"), "{last}");
    assert!(last.contains(&format!("\"exit\":{code}")), "{last}");
    // The server, which is gone soon after, leaves nothing half-written.
    let until = Instant::now() + Duration::from_secs(20);
    while !site.tree().stages().is_empty() {
        assert!(Instant::now() < until, "{:?}", site.tree());
        std::thread::sleep(Duration::from_millis(10));
    }
    assert!(!site.path("big").exists());
}

#[test]
fn the_end_of_the_terminal_is_129() {
    ends(Signal::HUP, 129);
}

#[test]
fn ctrl_c_is_130() {
    ends(Signal::INT, 130);
}

#[test]
fn being_asked_to_end_is_143() {
    ends(Signal::TERM, 143);
}

#[test]
fn ctrl_c_ends_the_pause_before_another_try() {
    let site = site();
    let count = site.base().join("count");
    fs::File::create(site.outside().join("big")).unwrap().set_len(64 << 20).unwrap();
    let via = format!("echo >> {}; {}", quoted(&count), lost(&site, 1 << 20));
    let client = Client::ours().retrying().via(via).within(&site.outside());
    let running = client.args(["copy", "--compress", "none", "big", ":"]).start();
    let until = Instant::now() + Duration::from_secs(30);
    while !running.said().contains("trying again in 4 s") {
        assert!(Instant::now() < until, "{}", running.said());
        std::thread::sleep(Duration::from_millis(10));
    }
    let starts = fs::read_to_string(&count).unwrap();
    kill_process(running.pid(), Signal::INT).unwrap();
    running.ends_within(Duration::from_secs(6)).ends_with(130).says("interrupted");
    assert_eq!(starts, fs::read_to_string(&count).unwrap(), "it tried again");
}
