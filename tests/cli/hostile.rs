//! A server that does what none should. Whatever it says, nothing outside the destination is touched, nothing
//! half-written is left, no text of its moves a cursor, and the exit code says that something went wrong.

use std::fs;
use std::time::Duration;

use bcmr_tests::client::Ran;
use bcmr_tests::disk::snapshot;
use bcmr_tests::{Client, Site};

use crate::victim;

/// Downloads the directory that the server lists; returns what stands below the destination then.
#[track_caller]
fn listed(names: &str) -> (Ran, Vec<String>) {
    let site = Site::new();
    // What a name that leads out could reach.
    let before = [snapshot(site.base()), snapshot(&site.outside())];
    let ran = victim(&site, &format!("lists {names}")).copy(["-r", ":d", "into"]);
    let into = snapshot(&site.outside().join("into")).paths().iter().map(|path| (*path).to_owned()).collect();
    let _ = fs::remove_dir_all(site.outside().join("into"));
    assert_eq!(before, [snapshot(site.base()), snapshot(&site.outside())], "something outside was touched");
    (ran, into)
}

#[test]
fn cve_2019_6111_listed_names_that_lead_out_are_refused_and_named() {
    let absolute = std::env::temp_dir().join(format!("bcmr-evil-{}", std::process::id()));
    for name in
        ["../x", "a/../../x", "..", "../", "/x", "a//b", "a/./b", ".", "''", absolute.to_str().unwrap()]
    {
        let (ran, into) = listed(&format!("good {name} sub/ sub/fine"));
        ran.ends_with(1).says("not safe").says("2 files");
        assert_eq!(into, ["good", "sub", "sub/fine"], "{name}");
        assert!(!absolute.exists());
    }
    let (ran, into) = listed("good sub/ sub/fine");
    ran.succeeds();
    assert_eq!(into, ["good", "sub", "sub/fine"]);
}

/// CVE-2024-12087 and its kind: the same name twice, once as what it is not.
#[test]
fn cve_2024_12087_a_name_listed_twice_leads_nowhere_else() {
    let (ran, into) = listed("a a/b a/ b/ b c/d d d");
    ran.ends_with(1).says("c/d").says("d: exists");
    // Whether "a" ends as a file or as a directory depends on which comes first.
    assert!(into.iter().all(|path| ["a", "a/b", "b", "d"].contains(&path.as_str())), "{into:?}");
}

/// CVE-2019-6111: asked for a file, the server says that it is a directory.
#[test]
fn cve_2019_6111_a_tree_that_was_not_asked_for_is_not_taken() {
    let site = Site::new();
    let before = site.everything();
    victim(&site, "lists a b").copy([":d", "into"]).ends_with(1).says("is a directory");
    assert_eq!(before, site.everything());
}

#[test]
fn cve_2019_6111_escape_sequences_in_names_are_shown_escaped() {
    let (ran, into) = listed(r"'a\e[31mb' '../\e]0;x'");
    ran.ends_with(1).says(r"\u{1b}]0;x");
    assert!(!ran.err.contains(&0x1b), "{:?}", ran.said());
    assert_eq!(into, ["a\x1b[31mb"]);
}

/// Downloads two files, the first of which the server serves badly.
#[track_caller]
fn got(how: &str, options: &[&str]) -> (Ran, Vec<String>) {
    let site = Site::new();
    let client = victim(&site, &format!("gets {how}"));
    let ran = client.args(["copy"]).args(options).args([":bad", ":good", "."]).run();
    assert!(!ran.err.contains(&0x1b), "{:?}", ran.said());
    let made = snapshot(&site.outside()).paths().iter().map(|path| (*path).to_owned()).collect();
    (ran, made)
}

#[test]
fn a_file_whose_hash_does_not_fit_is_not_published() {
    let (ran, made) = got("another-hash", &[]);
    ran.ends_with(1).says("bad: ").says("hashes differ").says("1 file, 4 B");
    assert_eq!(made, ["good"]);
}

#[test]
fn a_file_without_a_hash_is_published_only_where_that_was_agreed_to() {
    let (ran, made) = got("no-hash", &[]);
    ran.ends_with(1).says("bad: ");
    assert_eq!(made, ["good"]);
    let (ran, made) = got("no-hash", &["--fast"]);
    ran.succeeds();
    assert_eq!(made, ["bad", "good"]);
}

#[test]
fn a_hash_that_is_told_is_checked_also_where_none_was_asked_for() {
    let (ran, made) = got("another-hash", &["--fast"]);
    ran.ends_with(1).says("bad: ");
    assert_eq!(made, ["good"]);
}

#[test]
fn a_compressed_block_that_was_not_agreed_on_fails_its_file_only() {
    let (ran, made) = got("codec-not-agreed", &[]);
    ran.ends_with(1).says("bad: ").says("not negotiated").says("1 file, 4 B");
    assert_eq!(made, ["good"]);
}

#[test]
fn an_error_in_the_middle_fails_its_file_only_and_is_one_harmless_line() {
    let (ran, made) = got("half-then-error", &[]);
    ran.ends_with(1).says("bad: ").says(r"\u{1b}[31m broke\nbcmr: all is well").says("1 file, 4 B");
    assert_eq!(made, ["good"]);
}

#[test]
fn a_server_that_breaks_the_protocol_is_left_with_nothing_half_written() {
    for (how, says) in [
        ("half-then-end", "closed the connection"),
        ("block-too-long", "cannot be understood"),
        ("no-frame", "cannot be understood"),
        ("another-reply", "where it should not"),
    ] {
        let (ran, made) = got(how, &[]);
        ran.ends_with(74).says(says);
        assert!(made.is_empty(), "{how}: {made:?}");
    }
}

/// Uploads two files, the first of which the server treats badly.
fn put(how: &str, size: u64) -> Ran {
    let site = Site::new();
    let bad = fs::File::create(site.outside().join("bad")).unwrap();
    bad.set_len(size).unwrap();
    fs::write(site.outside().join("good"), "good").unwrap();
    let ran = victim(&site, &format!("puts {how}")).copy(["--compress", "none", "bad", "good", ":"]);
    assert!(!ran.err.contains(&0x1b), "{:?}", ran.said());
    ran
}

#[test]
fn an_upload_whose_hash_does_not_fit_or_is_not_told_counts_as_failed() {
    for how in ["another-hash", "no-hash"] {
        put(how, 100).ends_with(1).says("bad: ").says("1 file, 4 B");
    }
}

#[test]
fn text_of_a_refusal_is_one_harmless_line() {
    let ran = put("control-characters", 100);
    ran.ends_with(1).says(r"no\u{1b}[2J\nbcmr: 1 file copied").says("1 file, 4 B");
}

#[test]
fn a_reply_of_another_kind_ends_the_session() {
    put("another-reply", 100).ends_with(74).says("where it should not");
}

const GIB: u64 = 1 << 30;

/// Bytes on the wire as the summary tells them, in MiB.
#[track_caller]
fn wire(ran: &Ran) -> f64 {
    let said = ran.said();
    let line = said.lines().find(|line| line.ends_with("MiB on the wire"));
    let line = line.unwrap_or_else(|| panic!("no summary with MiB: {said}"));
    line.rsplit(", ").next().unwrap().split(' ').next().unwrap().parse().unwrap()
}

#[test]
fn an_error_in_the_middle_of_a_large_upload_ends_it_and_the_next_file_goes_on() {
    let ran = put("refused-by-ours", GIB);
    ran.ends_with(1).says("bad: no room").says("1 file, 4 B");
    // 8 MiB until the Error, and what the pipe holds.
    assert!(wire(&ran) < 32.0, "{}", ran.said());
}

#[test]
fn after_the_error_of_another_server_the_rest_goes_on_a_new_connection() {
    // One that repeats the block, and two that take no byte more.
    for how in ["refused-at-length", "stuck-then-refused", "stuck-then-talkative"] {
        let ran = put(how, GIB);
        ran.ends_with(1).says("bad: ").says("1 file, 4 B");
        assert!(wire(&ran) < 32.0 && ran.took < Duration::from_secs(20), "{:?}: {}", ran.took, ran.said());
    }
}

/// The same where the command given with --via is a shell that waits for the server: ending the shell does not
/// end the server, but nobody listening to it does.
#[test]
fn a_server_behind_a_shell_that_goes_on_talking_does_not_hold_the_client() {
    let site = Site::new();
    fs::File::create(site.outside().join("bad")).unwrap().set_len(GIB).unwrap();
    let fake = bcmr_tests::client::quoted(&bcmr_tests::binaries::tool("fake-server"));
    let via = format!("{fake} puts stuck-then-talkative; true");
    let ran = Client::ours().via(via).within(&site.outside()).copy(["--compress", "none", "bad", ":"]);
    ran.ends_with(1).says("bad: no room");
}

#[test]
fn a_server_that_ends_in_the_middle_of_an_upload_is_a_lost_link() {
    put("end", GIB).ends_with(74).says("connection was lost");
}

#[test]
fn capabilities_that_were_not_asked_for_are_not_used() {
    let site = Site::new();
    fs::write(site.outside().join("f"), bcmr_tests::content::text(100_000)).unwrap();
    let ran = victim(&site, "greets all-capabilities").copy(["--compress", "none", "f", ":"]);
    ran.ends_with(1).says("f: no").says("KiB on the wire");
}

/// CVE-2019-6111: asked for what a star stands for, the server lists more.
#[test]
fn cve_2019_6111_of_what_is_listed_only_what_was_asked_for_is_taken() {
    for (asked, listed, made) in [
        (":d/*.c", "a.c evil.sh .bashrc sub/ sub/x.c .c", &["a.c"][..]),
        (":d/*.c", "evil.sh .bashrc", &[]),
        (":d/*/*.c", "a.c sub/ sub/x.c sub/.x.c sub/deep/x.c", &["x.c"]),
        (":d/*", "a.c ../x /x .ssh/authorized_keys a//b ./y", &["a.c"]),
    ] {
        let site = Site::new();
        let before = snapshot(&site.root());
        let ran = victim(&site, &format!("lists {listed}")).copy([asked, "."]);
        ran.ends_with(i32::from(made.is_empty()));
        assert_eq!(snapshot(&site.outside()).paths(), made, "{asked} of {listed}");
        assert_eq!((before, snapshot(site.base()).paths().len()), (snapshot(&site.root()), 2 + made.len()));
    }
}

#[test]
fn an_answer_to_nothing_is_no_answer_to_what_is_asked_next() {
    // The second Ok would be that of the next file, which has other content than it tells of.
    let (ran, made) = got("ok-twice", &[]);
    assert!([1, 74].contains(&ran.code), "{}: {}", ran.code, ran.said());
    assert_eq!(made, ["bad"]);
    ran.says("good: ");
    let ran = put("ok-twice", 100);
    assert!([1, 74].contains(&ran.code), "{}: {}", ran.code, ran.said());
    ran.says("good: ").keeps_quiet_about("2 files");
    // Before anything was asked.
    let (ran, made) = got("ok-first", &[]);
    ran.ends_with(74);
    assert_eq!(made, [""; 0]);
    put("ok-first", 100).ends_with(74);
}

/// What a terminal would be told to do by what the server says.
const HARM: [&[u8]; 4] = [b"\x1b[31m", b"\x1b]0;", b"\x1b[2J", "\u{9b}".as_bytes()];

#[track_caller]
fn harmless(shown: &[u8], how: &str) {
    for harm in HARM {
        let found = shown.windows(harm.len()).any(|window| window == harm);
        assert!(!found, "{how}: {}", String::from_utf8_lossy(shown).escape_debug());
    }
}

#[test]
fn no_text_of_a_server_reaches_a_terminal_as_it_is() {
    let mut drawn = false;
    let fake = bcmr_tests::client::quoted(&bcmr_tests::binaries::tool("fake-server"));
    let chatter = r"printf 'chat \033[31m \033]0;x\007 \302\233 \033[2J\n' >&2";
    let after = |scenario: &str| format!("{chatter}; {fake} {scenario}; {chatter}");
    let odd = "'c\u{9b}d' ".to_owned() + r"'a\e[31mb' 'q\e]0;x' '../\e[2J'";
    for (via, copy) in [
        (after("gets half-then-error"), &["copy", ":bad", ":good", "."][..]),
        (after(&format!("lists {odd}")), &["copy", "-v", "-r", ":d", "into"]),
        (after(&format!("lists {odd}")), &["copy", "-n", "-r", ":d", "into"]),
        (after(&format!("lists {odd}")), &["copy", "-r", "-P", "2", ":d", "into"]),
        (after("puts control-characters"), &["copy", "bad", ":"]),
        (after(r"greets error 'no \x1b[31m' 77").replace(r"\x1b", "\x1b"), &["copy", "bad", ":"]),
        (after("greets noise 3"), &["copy", "bad", ":"]),
        (format!("{chatter}; exit 1"), &["copy", "bad", ":"]),
        (after(&format!("lists {odd}")), &["ls", ":d"]),
        (after(&format!("lists {odd}")), &["ls", "--json", ":d"]),
        (after(&format!("lists {odd}")), &["check", "-r", ":d", "into"]),
    ] {
        for mode in [&[][..], &["--json"], &["--progress", "plain"], &["--progress", "bar"]] {
            if copy[0] != "copy" && !mode.is_empty() {
                continue;
            }
            let site = Site::new();
            fs::write(site.outside().join("bad"), "bad").unwrap();
            let how = format!("{copy:?} {mode:?}");
            let client = Client::ours().via(&via).within(&site.outside());
            let ran = client.args(copy.iter().chain(mode)).run();
            harmless(&ran.err, &how);
            harmless(&ran.out, &how);
            // It did go as far as to say something of the server's.
            let said = [ran.printed(), ran.said()].concat();
            assert!(said.contains("u{1b}") || said.contains(r"u001b"), "{how}: {said}");
        }
        if copy[0] == "copy" {
            let site = Site::new();
            fs::write(site.outside().join("bad"), "bad").unwrap();
            let screen = on_a_terminal(&site, &via, copy);
            harmless(&screen, &format!("{copy:?} on a terminal"));
            drawn |= screen.contains(&0x1b);
        }
    }
    // Where the server greets; before that there are no bars.
    assert!(drawn, "nothing was drawn");
}

/// What a terminal gets of a copy that shows bars on it.
fn on_a_terminal(site: &Site, via: &str, args: &[&str]) -> Vec<u8> {
    let (mut person, program) = crate::asking::terminal();
    let mut child = std::process::Command::new(bcmr_tests::binaries::client())
        .args(["--no-retry", "--via", via])
        .args(args)
        .current_dir(site.outside())
        .env("HOME", site.base())
        .env("TERM", "xterm")
        .stdin(program.try_clone().unwrap())
        .stdout(program.try_clone().unwrap())
        .stderr(program)
        .spawn()
        .unwrap();
    let mut screen = Vec::new();
    // Ends with EIO when the last of the program's descriptors is closed.
    let _ = std::io::Read::read_to_end(&mut person, &mut screen);
    child.wait().unwrap();
    screen
}
