//! S13: what a client says reaches no shell, no terminal and no log line as it is; the operator hears of every
//! start, every refusal, and every session that was not served; and a log that is stuck holds nothing up.

use std::fs;
use std::time::{Duration, Instant};

use bcmr_tests::policy::{NAME, Profile};
use bcmr_tests::{Launch, Policy, Reply, Server, Site};
use bcmr_wire::{Caps, Message};
use rustix::process::Signal;

use bcmr_tests::Log;

/// The parts of a record: priority and name, what happened, and the fields.
#[derive(Debug)]
struct Record {
    event: String,
    fields: Vec<(String, String)>,
}

impl Record {
    /// Parses a record, strictly: whatever does not belong is a failure, since it is how one would be forged.
    #[track_caller]
    fn parse(text: &str) -> Self {
        assert!(text.bytes().all(|b| (0x20..0x7f).contains(&b)), "{text:?}");
        let (head, rest) = text.split_once("]: ").unwrap();
        assert!(
            ["<84>", "<85>", "<86>"].iter().any(|p| head.starts_with(&format!("{p}bcmr-serve["))),
            "{text}"
        );
        let (event, mut rest) = rest.split_once(' ').unwrap();
        let mut fields = Vec::new();
        while !rest.is_empty() {
            let (name, value) = rest.split_once('=').unwrap();
            assert!(name.bytes().all(|b| b.is_ascii_lowercase()), "{text}");
            let Some(quoted) = value.strip_prefix('"') else {
                let end = value.find(' ').unwrap_or(value.len());
                assert!(value[..end].bytes().all(|b| b.is_ascii_hexdigit()), "{text}");
                fields.push((name.to_owned(), value[..end].to_owned()));
                rest = value[end..].trim_start();
                continue;
            };
            let mut escaped = false;
            let end = quoted.char_indices().find(|(_, c)| {
                let ends = *c == '"' && !escaped;
                escaped = *c == '\\' && !escaped;
                ends
            });
            let end = end.unwrap_or_else(|| panic!("a value without an end: {text}")).0;
            fields.push((name.to_owned(), quoted[..end].to_owned()));
            rest = &quoted[end + 1..];
            assert!(rest.is_empty() || rest.starts_with(' '), "{text}");
            rest = rest.trim_start();
        }
        Self { event: event.to_owned(), fields }
    }

    #[track_caller]
    fn field(&self, name: &str) -> &str {
        let found = self.fields.iter().find(|(known, _)| known == name);
        found.map_or_else(|| panic!("no field {name} in {self:?}"), |(_, value)| value)
    }
}

fn records(log: &Log) -> Vec<Record> {
    log.records().iter().map(|text| Record::parse(text)).collect()
}

fn site() -> Site {
    let site = Site::new();
    site.file("f", "inside");
    site
}

#[test]
#[ignore = "needs root to see the log: run by tests/run"]
fn a_start_and_each_refusal_are_one_record_each() {
    let site = site();
    let policy = Policy::of(&Profile::new(&site).key("verbs", r#"["stat", "put"]"#));
    let log = Log::new();
    let launch = log.seen_by(policy.launch()).env("SSH_CONNECTION", "192.0.2.7 4711 192.0.2.1 22");
    let mut server = launch.start().hello(Caps::NONE);
    for request in [
        Message::Stat { path: "../x" },
        Message::List { path: "" },
        Message::Get { path: "f", offset: 0 },
        Message::Put { path: ".bcmr-0123456789abcdef0123456789abcdef", size: 0, offset: 0, overwrite: false },
    ] {
        assert!(server.ask(&request).is_error());
    }
    // What merely fails is no refusal, and what goes well is none either.
    assert!(server.ask(&Message::Stat { path: "absent" }).is_error());
    assert!(!server.ask(&Message::Stat { path: "f" }).is_error());
    let session = server.from.session().unwrap().to_owned();
    server.finish();

    let records = records(&log);
    let events: Vec<_> = records.iter().map(|record| &*record.event).collect();
    assert_eq!(events, ["start", "refused", "refused", "refused", "refused", "end"], "{records:?}");
    assert!(records.iter().all(|record| record.field("session") == session), "{records:?}");
    assert_eq!((records[0].field("profile"), records[0].field("peer")), (NAME, "192.0.2.7"));
    assert!(records[0].field("sandbox").contains("landlock on (ABI "), "{records:?}");
    let refused = |i: usize| ["verb", "path", "reason"].map(|name| records[i].field(name));
    assert_eq!(refused(1)[..2], ["stat", "../x"]);
    assert!(refused(1)[2].starts_with("path escapes server root"));
    assert_eq!(refused(2), ["list", "", "this account may not list"]);
    assert_eq!(refused(3), ["get", "f", "this account may not get"]);
    assert_eq!(refused(4)[0], "put");
    let end =
        ["result", "published", "sent", "refusals", "failures", "losses"].map(|name| records[5].field(name));
    assert_eq!(end, ["done", "0", "0", "4", "0", "0"]);
}

/// Names that would end a record, begin one, move a cursor, or turn a line around.
const FORGERIES: [&str; 8] = [
    "../a\nFAKE ok",
    "../a\" event=\"x",
    "../a\r\n<85>bcmr-serve[1]: start session=0 profile=\"root\"",
    "../\u{1b}[2J\u{1b}]0;owned\u{7}",
    "../\u{202e}txt.exe",
    "../\\\"",
    "../\u{85}\u{2028}\u{0}",
    "../$(touch /tmp/owned)`id`;%n%s",
];

#[test]
#[ignore = "needs root to see the log: run by tests/run"]
fn oferchen_rsync_7296_no_path_ends_its_record_or_begins_another() {
    let site = site();
    let policy = Policy::of(&Profile::new(&site));
    let log = Log::new();
    let mut server = log.seen_by(policy.launch()).start().hello(Caps::NONE);
    for path in FORGERIES {
        let reply = server.ask(&Message::Stat { path });
        // What a terminal will show is escaped as well.
        let Reply::Error { message } = &reply else { panic!("{reply:?}") };
        assert!(
            !message.chars().any(|c| c.is_control() || ('\u{200e}'..='\u{202e}').contains(&c)),
            "{message:?}"
        );
    }
    let long = format!("../{}", "\u{1f980}\n".repeat(900));
    assert!(server.ask(&Message::Stat { path: &long }).is_error());
    assert_eq!(server.stderr(), "");
    server.finish();
    let records = records(&log);
    assert_eq!(records.len(), 1 + FORGERIES.len() + 1 + 1, "{records:?}");
    for (record, path) in records[1..].iter().zip(FORGERIES) {
        let names: Vec<_> = record.fields.iter().map(|(name, _)| &**name).collect();
        assert_eq!(names, ["session", "verb", "path", "result", "reason"], "{record:?}");
        assert_eq!(record.field("path"), path.escape_default().to_string());
    }
    assert!(records[1 + FORGERIES.len()].field("path").ends_with("..."));
}

#[test]
#[ignore = "needs root to see the log: run by tests/run"]
fn the_environment_of_a_client_is_as_harmless_in_the_log() {
    let site = site();
    let policy = Policy::of(&Profile::new(&site));
    let log = Log::new();
    let launch = log.seen_by(policy.launch());
    let launch = launch.env("SSH_CONNECTION", "1.2.3.4\"\nstart session=0 x 1 2").env("LOGNAME", "a\nFAKE");
    assert_eq!(launch.env("SSH_ORIGINAL_COMMAND", "a\nFAKE ok").start().exit_code(), 126);
    let record = Record::parse(&log.only());
    assert_eq!(record.event, "denied");
    assert!(record.field("peer").starts_with("1.2.3.4\\\"\\nstart"), "{record:?}");
    assert_eq!(record.field("reason"), "not a bcmr request: a\\nFAKE ok");
}

#[test]
#[ignore = "needs root to write a policy: run by tests/run"]
fn a_session_that_is_not_served_is_explained_to_the_operator_alone() {
    let site = site();
    let profile = Profile::new(&site);
    let nobody = profile.clone().key("accounts", r#"["no-such-account"]"#);
    let rootless = profile.clone().key("root", format!("{:?}", site.path("no-such-root").to_str().unwrap()));
    let cases: [(String, &str, String); 6] = [
        (profile.clone().key("max_flie", r#""1""#).text(), NAME, ":8:1: unknown key".to_owned()),
        (profile.clone().key("umask", r#""8""#).text(), NAME, ":8:9: umask".to_owned()),
        ("version = 1\n[profile.p\n".to_owned(), NAME, ":2:".to_owned()),
        (profile.text(), "other", r"there is no profile \'other\'".to_owned()),
        (nobody.text(), NAME, r"does not list this account".to_owned()),
        (rootless.text(), NAME, "no-such-root: No such file".to_owned()),
    ];
    for (text, name, why) in cases {
        let policy = Policy::new(&text);
        let log = Log::new();
        let mut server = log.seen_by(policy.launch_with(name, &[])).start();
        let reply = server.reply();
        assert_eq!(reply.error(), "policy refused; ask the administrator", "{text}");
        let session = server.from.session().unwrap().to_owned();
        assert_eq!(server.from.next_reply(), None);
        assert_eq!(server.exit_code(), 78);
        assert_eq!(server.stderr(), "", "{text}");
        let record = Record::parse(&log.only());
        assert_eq!((&*record.event, record.field("session")), ("denied", &*session));
        assert!(record.field("reason").contains(&why), "{why}: {record:?}");
        let names_the_file = record.field("reason").contains(policy.path().to_str().unwrap());
        assert!(names_the_file || why.contains("no-such-root"), "{record:?}");
    }
}

/// A log that nobody reads, or that is gone: records are lost, and sessions are not. A file is recorded as well
/// as a refusal, and is never folded.
#[track_caller]
fn goes_on(server: &mut Server, requests: usize) {
    let begun = Instant::now();
    for i in 0..requests {
        assert!(server.ask(&Message::Stat { path: &format!("../{i}") }).is_error());
        assert_eq!(server.get("f", 0).content, b"inside");
    }
    assert!(
        begun.elapsed() < Duration::from_secs(10),
        "the session waited for its log: {:?}",
        begun.elapsed()
    );
}

#[test]
#[ignore = "needs root to see the log: run by tests/run"]
fn a_log_that_nobody_reads_holds_nothing_up_and_what_is_lost_is_counted() {
    let site = site();
    let policy = Policy::of(&Profile::new(&site));
    let log = Log::new();
    let mut server = log.seen_by(policy.launch()).start().hello(Caps::NONE);
    for _ in 0..1000 {
        assert_eq!(server.get("f", 0).content, b"inside");
    }
    // Now someone reads; the next record tells what was lost.
    let came = std::iter::from_fn(|| log.next(Duration::from_secs(1))).count();
    assert!(came < 1001, "the socket held everything");
    assert!(server.ask(&Message::Stat { path: "../last" }).is_error());
    server.finish();
    let records = records(&log);
    let lost = (1001 - came).to_string();
    assert_eq!((records[0].field("path"), records[0].field("lost")), ("../last", &*lost));
    assert_eq!((&*records[1].event, records[1].field("losses")), ("end", &*lost));
}

#[test]
#[ignore = "needs root to see the log: run by tests/run"]
fn a_log_that_nobody_ever_reads_does_not_keep_a_session_from_ending() {
    let site = site();
    let policy = Policy::of(&Profile::new(&site));
    let log = Log::new();
    for signal in [None, Some(Signal::TERM)] {
        let mut server = log.seen_by(policy.launch()).start().hello(Caps::NONE);
        goes_on(&mut server, 200);
        let begun = Instant::now();
        match signal {
            None => server.finish(),
            Some(signal) => {
                server.signal(signal);
                server.ends_within(Duration::from_secs(1));
            }
        }
        assert!(begun.elapsed() < Duration::from_secs(1), "{signal:?}: {:?}", begun.elapsed());
    }
}

/// The socket takes eleven records or so; the rest wait in the server.
#[test]
#[ignore = "needs root to see the log: run by tests/run"]
fn a_log_that_reads_late_gets_every_record_in_order() {
    let site = site();
    let policy = Policy::of(&Profile::new(&site));
    let log = Log::new();
    let mut server = log.seen_by(policy.launch()).start().hello(Caps::NONE);
    for i in 0..100 {
        assert!(server.put(&format!("new-{i}"), b"content", false).ok().is_some());
    }
    // Neither the client nor anybody else says anything meanwhile.
    let came: Vec<_> =
        std::iter::from_fn(|| log.next(Duration::from_secs(1))).map(|r| Record::parse(&r)).collect();
    let paths: Vec<_> = came[1..].iter().map(|record| record.field("path").to_owned()).collect();
    assert_eq!(paths, (0..100).map(|i| format!("new-{i}")).collect::<Vec<_>>());
    server.finish();
    assert_eq!(Record::parse(&log.only()).field("losses"), "0");
}

#[test]
#[ignore = "needs root to see the log: run by tests/run"]
fn the_record_of_a_file_comes_within_a_second_whatever_the_client_does_next() {
    let site = site();
    let policy = Policy::of(&Profile::new(&site));
    let log = Log::new();
    let mut server = log.seen_by(policy.launch()).start().hello(Caps::NONE);
    assert_eq!(Record::parse(&log.record()).event, "start");
    for i in 0..3 {
        assert!(server.put(&format!("new-{i}"), b"content", false).ok().is_some());
        if i == 2 {
            // Now it waits for what never comes.
            server.send(&Message::Put { path: "half", size: 7, offset: 0, overwrite: false });
        }
        let record = log.next(Duration::from_secs(1)).expect("a record within a second");
        assert_eq!(Record::parse(&record).field("path"), format!("new-{i}"));
    }
    server.signal(Signal::KILL);
}

/// What was published before the end is recorded before it, however the session ends.
#[test]
#[ignore = "needs root to see the log: run by tests/run"]
fn a_session_that_ends_leaves_no_record_behind() {
    let site = site();
    let policy = Policy::of(&Profile::new(&site));
    for signal in [Signal::TERM, Signal::HUP] {
        let log = Log::new();
        let mut server = log.seen_by(policy.launch()).start().hello(Caps::NONE);
        for i in 0..9 {
            assert!(server.put(&format!("{signal:?}-{i}"), b"content", false).ok().is_some());
        }
        server.signal(signal);
        server.ends_within(Duration::from_secs(1));
        let events: Vec<_> = records(&log).into_iter().map(|record| record.event).collect();
        assert_eq!(events, [&["start"][..], &["publish"; 9], &["end"]].concat(), "{signal:?}");
    }
}

#[test]
#[ignore = "needs root to see the log: run by tests/run"]
fn a_flood_of_refusals_is_folded_and_its_number_told() {
    let site = site();
    let policy = Policy::of(&Profile::new(&site));
    let log = Log::new();
    let mut server = log.seen_by(policy.launch()).start().hello(Caps::NONE);
    let (mut seen, mut folded, mut all) = (0, 0, Vec::new());
    for i in 0..10_000 {
        assert!(server.ask(&Message::Stat { path: &format!("../{i}") }).is_error());
        // The socket holds few.
        if i % 5 == 0 {
            all.extend(records(&log));
        }
    }
    server.finish();
    all.extend(records(&log));
    for record in all {
        seen += u64::from(record.event == "refused");
        folded +=
            record.fields.iter().find(|(name, _)| name == "folded").map_or(0, |(_, n)| n.parse().unwrap());
        assert!(!record.fields.iter().any(|(name, _)| name == "lost"), "{record:?}");
    }
    assert_eq!(seen + folded, 10_000);
    // 20 a second, and no test machine needs a minute.
    assert!((20..1200).contains(&seen), "{seen}");
}

#[test]
#[ignore = "needs root to see the log: run by tests/run"]
fn under_a_profile_each_file_is_one_record_with_its_bytes_and_its_hash() {
    let site = site();
    let policy = Policy::of(&Profile::new(&site));
    let log = Log::new();
    let mut server = log.seen_by(policy.launch()).start().hello(Caps::NONE);
    assert!(server.put("new", b"content", false).ok().is_some());
    assert_eq!(server.get("f", 2).content, b"side");
    assert!(server.put("new", b"other", false).is_error());
    server.finish();
    let records = records(&log);
    let events: Vec<_> = records.iter().map(|record| &*record.event).collect();
    assert_eq!(events, ["start", "publish", "get", "end"], "{records:?}");
    let file =
        |i: usize| ["verb", "path", "bytes", "hash", "result"].map(|name| records[i].field(name).to_owned());
    let hash = |content: &[u8]| blake3::hash(content).to_hex().to_string();
    assert_eq!(file(1), ["put", "new", "7", &hash(b"content"), "ok"]);
    assert_eq!(file(2), ["get", "f", "4", &hash(b"side"), "ok"]);
    assert_eq!((records[3].field("published"), records[3].field("sent")), ("1", "1"));
}

#[test]
#[ignore = "needs root to see the log: run by tests/run"]
fn in_personal_mode_the_log_has_the_session_and_not_its_files() {
    let site = site();
    let log = Log::new();
    let mut server = log.seen_by(Launch::new(site.root())).start().hello(Caps::NONE);
    assert!(server.put("new", b"content", false).ok().is_some());
    server.finish();
    let records = records(&log);
    let events: Vec<_> = records.iter().map(|record| &*record.event).collect();
    assert_eq!(events, ["start", "end"], "{records:?}");
    assert_eq!(records[1].field("published"), "1");
}

#[test]
#[ignore = "needs root to see the log: run by tests/run"]
fn a_log_that_is_gone_or_was_never_there_holds_nothing_up() {
    let site = site();
    let policy = Policy::of(&Profile::new(&site));
    let log = Log::new();
    let mut server = log.seen_by(policy.launch()).start().hello(Caps::NONE);
    goes_on(&mut server, 10);
    drop(log);
    goes_on(&mut server, 1000);
    server.finish();
    // A socket that nobody listens on, and no /dev/log at all.
    let log = Log::new();
    fs::remove_file(log.path()).unwrap();
    let mut server = log.seen_by(policy.launch()).start().hello(Caps::NONE);
    goes_on(&mut server, 10);
    assert_eq!(server.stderr(), "");
    server.finish();
}

#[test]
fn no_word_of_a_client_reaches_a_shell_a_file_or_a_terminal() {
    // desync#351, CVE-2020-15778: as names they are names, whatever a shell would make of them.
    let site = site();
    let mut server = Launch::new(site.root()).start().hello(Caps::NONE);
    let names = [
        "$(touch owned)",
        "`touch owned`",
        "-oProxyCommand=touch owned",
        ";touch owned",
        "%n%s",
        "*",
        "~root",
    ];
    for name in names {
        assert!(server.put(name, b"x", false).ok().is_some(), "{name}");
        assert_eq!(site.read(name), b"x");
        assert!(server.ask(&Message::Get { path: &format!("{name}/\u{1b}[2J\n"), offset: 0 }).is_error());
    }
    assert!(!site.path("owned").exists());
    assert_eq!(server.stderr(), "");
    server.finish();
}
