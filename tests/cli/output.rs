//! What is printed.

use std::fs;

use bcmr_tests::Site;
use bcmr_tests::client::Ran;
use bcmr_tests::content::noise;

use crate::client;

fn site() -> Site {
    let site = Site::new();
    for number in 0..30 {
        fs::write(site.outside().join(number.to_string()), noise(300_000, number)).unwrap();
    }
    site
}

/// Lines only: nothing that moves a cursor, colours, or writes over what stands.
#[track_caller]
fn plain(ran: &Ran) {
    let said = ran.said();
    assert!(!said.chars().any(|c| c.is_control() && c != '\n'), "{said:?}");
    assert!(said.is_empty() || said.ends_with('\n'), "{said:?}");
    assert!(ran.out.is_empty(), "stdout is not for people: {:?}", String::from_utf8_lossy(&ran.out));
}

/// imessage-exporter#738.
#[test]
fn imessage_exporter_738_to_a_file_or_a_dumb_terminal_there_are_only_lines_and_one_summary() {
    for term in ["dumb", "xterm", ""] {
        let site = site();
        let ran = client(&site).env("TERM", term).copy(["-r", ".", ":there"]);
        plain(ran.succeeds());
        let said = ran.said();
        assert_eq!(said.lines().count(), 1, "{said}");
        assert!(said.starts_with("30 files, 8.58 MiB in ") && said.contains(" on the wire"), "{said}");
        // The same with a failure: its line, and the summary.
        let ran = client(&site).env("TERM", term).copy(["0", "no-such", ":there/again/"]);
        plain(ran.ends_with(1));
        let said = ran.said();
        assert_eq!(said.lines().filter(|line| line.contains("on the wire")).count(), 1, "{said}");
        assert_eq!(said.lines().count(), 2, "{said}");
    }
}

/// The same on a terminal that cannot move its cursor.
#[test]
fn imessage_exporter_738_on_a_dumb_terminal_nothing_is_drawn() {
    let site = site();
    let (mut person, program) = crate::asking::terminal();
    let mut child = std::process::Command::new(bcmr_tests::binaries::client())
        .args(["--via", &bcmr_tests::client::serve(&site.root()), "copy", "0", "1", ":there/"])
        .current_dir(site.outside())
        .env("TERM", "dumb")
        .stdin(program.try_clone().unwrap())
        .stderr(program)
        .spawn()
        .unwrap();
    let mut screen = Vec::new();
    let _ = std::io::Read::read_to_end(&mut person, &mut screen);
    assert!(child.wait().unwrap().success());
    let screen = String::from_utf8(screen).unwrap().replace("\r\n", "\n");
    assert!(screen.starts_with("2 files") && screen.lines().count() == 1, "{screen:?}");
    assert!(!screen.contains(['\r', '\x1b']), "{screen:?}");
}

#[test]
fn quiet_says_nothing_but_what_went_wrong() {
    let site = site();
    let ran = client(&site).copy(["-q", "0", ":there"]);
    assert_eq!(ran.succeeds().said(), "");
    let ran = client(&site).copy(["-q", "1", ":there"]);
    plain(ran.ends_with(1));
    assert_eq!(ran.said().lines().count(), 1, "{}", ran.said());
}

#[test]
fn the_summary_counts_files_bytes_and_bytes_on_the_wire() {
    let site = Site::new();
    fs::write(site.outside().join("text"), bcmr_tests::content::text(3 << 20)).unwrap();
    let said = client(&site).copy(["text", ":"]).succeeds().said();
    assert!(said.starts_with("1 file, 3.00 MiB in "), "{said}");
    let wire = said.rsplit(", ").next().unwrap().split(' ').next().unwrap().parse::<f64>().unwrap();
    assert!(said.contains("KiB on the wire") && wire < 1000.0, "{said}");
    let said = client(&site).copy(["--compress", "none", ":text", "back"]).succeeds().said();
    assert!(said.contains("3.00 MiB on the wire"), "{said}");
}

/// oferchen/rsync#7296: a name cannot pose as a line of its own.
#[test]
fn rsync_7296_a_name_with_a_line_break_stays_on_its_line() {
    let site = Site::new();
    for side in [site.root(), site.outside()] {
        fs::write(side.join("a\nFAKE ok\x1b[32m"), side.to_str().unwrap()).unwrap();
    }
    for args in [["-r", ".", ":"], ["-r", ":", "."]] {
        let ran = client(&site).copy(args);
        plain(ran.ends_with(1));
        assert!(ran.said().lines().all(|line| !line.starts_with("FAKE")), "{:?}", ran.said());
        ran.says(r"a\nFAKE ok\u{1b}[32m");
    }
}

#[test]
fn help_and_version_go_to_stdout_and_are_no_error() {
    for option in ["--help", "--version"] {
        let ran = bcmr_tests::Client::ours().arg(option).run();
        ran.succeeds();
        assert!(ran.err.is_empty() && !ran.out.is_empty());
    }
}

#[test]
fn output_that_cannot_be_written_is_an_error_whatever_the_command() {
    let site = site();
    site.file("f", "f");
    let serve = bcmr_tests::client::serve(&site.root());
    for args in [
        &["ls", ":"][..],
        &["stat", ":f"],
        &["du", ":f"],
        &["hash", ":f"],
        &["doctor", ":"],
        &["completions", "bash"],
        &["copy", "--json", "0", ":"],
    ] {
        for (to, code) in [("/dev/full", 1), ("/dev/null", 0)] {
            let _ = fs::remove_file(site.path("0"));
            let out = fs::File::options().write(true).open(to).unwrap();
            let mut command = std::process::Command::new(bcmr_tests::binaries::client());
            command.args(["--via", &serve]).args(args).current_dir(site.outside()).stdout(out);
            let output =
                command.env("BCMR_CAS_DIR", "/dev/null").env("XDG_CONFIG_HOME", "/").output().unwrap();
            let said = String::from_utf8_lossy(&output.stderr);
            assert_eq!(output.status.code(), Some(code), "{args:?} to {to}: {said}");
            assert_eq!(said.contains("cannot write output"), code == 1, "{args:?} to {to}: {said}");
        }
    }
}
