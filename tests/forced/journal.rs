//! What a real journald has of the sessions of a real sshd, read back by its own program; and the same with syslog
//! alone, and with neither.

use std::collections::{BTreeMap, BTreeSet};
use std::fs;
use std::path::PathBuf;
use std::process::{Child, Command, Stdio};
use std::time::{Duration, Instant};

use bcmr_tests::host::INSTALLED;
use bcmr_tests::launch::NOBODY;
use bcmr_tests::policy::NAME;
use bcmr_tests::stream::PATIENCE;
use bcmr_tests::{Host, Log, Site};
use bcmr_wire::{Caps, Message};
use serde_json::Value;
use tempfile::TempDir;

use crate::hosts::{LABEL, WAYS, site};

/// Where distributions keep journald.
const JOURNALD: [&str; 2] = ["/lib/systemd/systemd-journald", "/usr/lib/systemd/systemd-journald"];

/// The table of docs/policy.md.
const MESSAGE_IDS: [(&str, &str); 7] = [
    ("start", "e636837f5489499f82aa780e9e45472d"),
    ("denied", "a75619dcc4b1488e9f1fea4c4505c411"),
    ("publish", "67587f9f1a5e411c8cd08d2cca114090"),
    ("get", "749c147d8b6f40608e7f78571f93f71c"),
    ("refused", "581232a59c5846c39128aa98564e4390"),
    ("failed", "ac23144e3e924233b4cf722d013a546e"),
    ("end", "cbdcaa0ed7a84a3fa9b629a0c580231d"),
];

/// Names that would end a record, begin one, name a field, or move a cursor.
const FORGERIES: [&str; 6] = [
    "a\nMESSAGE=forged",
    "a\nBCMR_PROFILE=root\n\nMESSAGE=another",
    "a\0\u{1}\u{0}\u{0}BCMR_UID",
    "\u{1b}[2J\u{1b}]0;owned\u{7}",
    "\" result=\"ok",
    "\u{202e}txt.exe\u{85}\u{2028}",
];

/// A journald of a test's own, in a mount namespace where /run is empty.
struct Journald {
    dir: TempDir,
    child: Child,
}

impl Journald {
    /// Starts it, and waits until it listens. Where a host sees `/run` of this, its records are taken.
    fn start() -> Self {
        let dir = tempfile::Builder::new().prefix("bcmr-journal-").tempdir().unwrap();
        let open = std::os::unix::fs::PermissionsExt::from_mode(0o755);
        fs::set_permissions(dir.path(), open).unwrap();
        let run = dir.path().join("run");
        fs::create_dir(&run).unwrap();
        let program =
            JOURNALD.iter().find(|path| PathBuf::from(path).exists()).expect("journald is not installed");
        // A machine's own id is what journald and journalctl name their files by.
        let line = format!(
            "mount --bind {run} /run && mkdir -p /run/systemd/journal /run/log/journal && \
             mount -t tmpfs none /var/log && mount -t tmpfs none /etc && mkdir /etc/systemd && \
             echo 0123456789abcdef0123456789abcdef > /etc/machine-id && \
             printf '[Journal]\\nStorage=volatile\\nRateLimitBurst=0\\nReadKMsg=no\\nAudit=no\\n\
             ForwardToSyslog=no\\nForwardToKMsg=no\\nForwardToWall=no\\n' > /etc/systemd/journald.conf && \
             exec {program}",
            run = run.display()
        );
        let log = fs::File::create(dir.path().join("stderr")).unwrap();
        let child = Command::new("unshare")
            .args(["-m", "--propagation", "private", "sh", "-ec", &line])
            .stdin(Stdio::null())
            .stdout(log.try_clone().unwrap())
            .stderr(log)
            .spawn()
            .expect("unshare is not installed");
        let mut journald = Self { dir, child };
        let deadline = Instant::now() + PATIENCE;
        while !journald.run().join("systemd/journal/socket").exists() {
            let ended = journald.child.try_wait().unwrap();
            let said = fs::read_to_string(journald.dir.path().join("stderr")).unwrap();
            assert!(ended.is_none() && Instant::now() < deadline, "journald does not start: {said}");
            std::thread::sleep(Duration::from_millis(10));
        }
        journald
    }

    fn run(&self) -> PathBuf {
        self.dir.path().join("run")
    }

    /// A line by which a host's `/run/systemd` is this journald's, as is its log.
    fn seen_by_host(&self) -> String {
        format!(
            "mount -t tmpfs -o mode=755 none /run && mkdir /run/sshd /run/systemd && \
                 mount --bind {}/systemd /run/systemd",
            self.run().display()
        )
    }

    /// The records that match, in the order in which they came.
    fn records(&self, matches: &[&str]) -> Vec<BTreeMap<String, String>> {
        let output = Command::new("journalctl")
            .args(["--no-pager", "--quiet", "--output", "json", "--directory"])
            .arg(self.run().join("log/journal/0123456789abcdef0123456789abcdef"))
            .args(matches)
            .output()
            .expect("journalctl is not installed");
        assert!(output.status.success(), "{output:?}");
        let text = String::from_utf8(output.stdout).unwrap();
        let record = |line: &str| -> BTreeMap<String, String> {
            let fields: BTreeMap<String, Value> = serde_json::from_str(line).unwrap();
            // A value that is no plain text would come as numbers: none of ours is.
            fields
                .into_iter()
                .map(|(name, value)| (name, value.as_str().map_or_else(|| value.to_string(), str::to_owned)))
                .collect()
        };
        text.lines().map(record).collect()
    }

    /// The same, once there are so many: journald writes when it gets to it.
    #[track_caller]
    fn wait_for(&self, count: usize, matches: &[&str]) -> Vec<BTreeMap<String, String>> {
        let deadline = Instant::now() + Duration::from_secs(20);
        loop {
            let records = self.records(matches);
            if records.len() >= count {
                assert_eq!(records.len(), count, "{matches:?}: {records:?}");
                return records;
            }
            assert!(Instant::now() < deadline, "{matches:?}: {count} records were due: {records:?}");
            std::thread::sleep(Duration::from_millis(50));
        }
    }
}

impl Drop for Journald {
    fn drop(&mut self) {
        let _ = self.child.kill();
        let _ = self.child.wait();
    }
}

/// One session in which all happens that is recorded; its id.
fn session(host: &Host) -> String {
    let mut server = host.launch("bcmr-serve").start().hello(Caps::NONE);
    assert!(server.put("d/new", b"content", false).ok().is_some());
    assert_eq!(server.get("f", 2).content, b"side");
    assert!(server.ask(&Message::Stat { path: "../x" }).is_error());
    for path in FORGERIES {
        assert!(server.ask(&Message::Stat { path: &format!("../{path}") }).is_error());
    }
    // Allowed, and what the host cannot do: a file system that is full, for the account that has no more of it.
    assert!(server.put("tiny/f", &[1; 1 << 20], false).is_error());
    let id = server.from.session().unwrap().to_owned();
    assert_eq!(server.stderr(), "");
    server.finish();
    // And one that nobody serves.
    assert_eq!(host.ssh(&[], &["id\nMESSAGE=forged"]).status.code(), Some(126));
    id
}

/// A line by which a directory of the root is a file system with hardly any room.
fn tiny(site: &Site) -> String {
    site.dir("tiny");
    format!("mount -t tmpfs -o size=16k,uid={NOBODY},gid={NOBODY},mode=755 none {}", site.host("tiny"))
}

#[test]
#[ignore = "needs root, sshd and journald: run by tests/run"]
fn a_real_journald_has_every_event_and_gives_it_back_by_field() {
    let site = site();
    let journald = Journald::start();
    let host = WAYS[0].setup(&site).before(tiny(&site)).before(journald.seen_by_host()).start(&site);
    let id = session(&host);

    let of_session = journald.wait_for(4 + 1 + FORGERIES.len() + 1, &[&format!("BCMR_SESSION={id}")]);
    let expected = |event: &str| MESSAGE_IDS.iter().find(|(name, _)| *name == event).unwrap().1;
    let mut events: Vec<_> = of_session.iter().map(|record| &*record["MESSAGE_ID"]).collect();
    events.dedup();
    assert_eq!(
        events,
        ["start", "publish", "get", "refused", "failed", "end"].map(expected),
        "{of_session:?}"
    );
    for record in &of_session {
        let context = ["BCMR_PROFILE", "BCMR_LABEL", "BCMR_UID", "BCMR_PEER", "SYSLOG_IDENTIFIER", "_UID"]
            .map(|name| &*record[name]);
        let uid = NOBODY.to_string();
        assert_eq!(context, [NAME, LABEL, &uid, "127.0.0.1", "bcmr-serve", &uid], "{record:?}");
        assert!(record["_EXE"].ends_with(INSTALLED), "{record:?}");
    }
    // No field beside those that are ours and those that journald itself adds.
    let ours: BTreeSet<_> = of_session
        .iter()
        .flat_map(BTreeMap::keys)
        .filter(|name| !name.starts_with('_') && !name.starts_with("SYSLOG_"))
        .map(|name| name.trim_start_matches("BCMR_"))
        .collect();
    let known = "BYTES FAILURES HASH LABEL LOSSES MESSAGE MESSAGE_ID PATH PEER PRIORITY PROFILE PUBLISHED REASON \
                 REFUSALS RESULT SANDBOX SENT SESSION STATE UID VERB";
    assert_eq!(ours, known.split_whitespace().collect());

    // Each by its own fields.
    let one = |event: &str, more: &[&str]| {
        let id = format!("MESSAGE_ID={}", expected(event));
        let matches: Vec<_> = [&*id, "BCMR_PROFILE=p"].into_iter().chain(more.iter().copied()).collect();
        journald.wait_for(1, &matches).remove(0)
    };
    let put = one("publish", &["BCMR_VERB=put", "BCMR_PATH=d/new", "BCMR_RESULT=ok"]);
    let hash = blake3::hash(b"content").to_hex().to_string();
    assert_eq!((&*put["BCMR_BYTES"], &put["BCMR_HASH"], &*put["PRIORITY"]), ("7", &hash, "6"));
    let get = one("get", &["BCMR_VERB=get", "BCMR_PATH=f", "BCMR_RESULT=ok", &format!("BCMR_LABEL={LABEL}")]);
    assert_eq!(get["BCMR_BYTES"], "4");
    let refused = one("refused", &["BCMR_PATH=../x", "BCMR_RESULT=refused", "BCMR_VERB=stat", "PRIORITY=4"]);
    assert!(refused["BCMR_REASON"].starts_with("path escapes"), "{refused:?}");
    let failed = one("failed", &["BCMR_PATH=tiny/f", "BCMR_RESULT=failed", "BCMR_VERB=put"]);
    assert!(failed["BCMR_REASON"].contains("No space left"), "{failed:?}");
    let start = one("start", &["BCMR_PEER=127.0.0.1"]);
    assert!(start["BCMR_SANDBOX"].contains("landlock on (ABI "), "{start:?}");
    let end = one("end", &["BCMR_RESULT=done", "BCMR_LOSSES=0", "BCMR_PUBLISHED=1", "BCMR_SENT=1"]);
    let refusals = (1 + FORGERIES.len()).to_string();
    assert_eq!((&*end["BCMR_REFUSALS"], &*end["BCMR_FAILURES"]), (&*refusals, "1"));
    let denied = one("denied", &[&format!("BCMR_UID={NOBODY}")]);
    assert_eq!(denied["BCMR_REASON"], "not a bcmr request: id\\nMESSAGE=forged");
    assert_ne!(denied["BCMR_SESSION"], id);

    // A path is its own record's, escaped, and nobody else's.
    for path in FORGERIES {
        let path = format!("BCMR_PATH={}", format!("../{path}").escape_default());
        assert_eq!(one("refused", &[&path])["BCMR_SESSION"], id);
    }
    for forged in ["MESSAGE=forged", "BCMR_PROFILE=root", "MESSAGE=another"] {
        assert_eq!(journald.records(&[forged]).len(), 0, "{forged}");
    }
}

#[test]
#[ignore = "needs root and sshd: run by tests/run"]
fn without_a_journal_syslog_has_the_same_events() {
    let site = site();
    let log = Log::new();
    let line = format!("mount -t tmpfs -o mode=755 none /run && mkdir /run/sshd; {}", log.mount());
    let host = WAYS[0].setup(&site).before(tiny(&site)).before(line).start(&site);
    // The socket holds few records at a time; somebody reads them meanwhile, as a syslog does.
    let (id, mut records) = std::thread::scope(|scope| {
        let session = scope.spawn(|| session(&host));
        let mut records = Vec::new();
        while !session.is_finished() {
            records.extend(log.records());
        }
        (session.join().unwrap(), records)
    });
    records.extend(log.records());
    let events = |session: bool| -> Vec<&str> {
        let ours = records.iter().filter(|record| record.contains(&format!("session={id}")) == session);
        ours.map(|record| record.split("]: ").nth(1).unwrap().split(' ').next().unwrap()).collect()
    };
    let mut of_session = events(true);
    of_session.dedup();
    assert_eq!(of_session, ["start", "publish", "get", "refused", "failed", "end"], "{records:?}");
    assert_eq!(events(false), ["denied"], "{records:?}");
    assert!(
        records.iter().all(|record| record.bytes().all(|byte| (0x20..0x7f).contains(&byte))),
        "{records:?}"
    );
}

#[test]
#[ignore = "needs root and sshd: run by tests/run"]
fn with_neither_sessions_go_on_as_ever() {
    let site = site();
    // /dev is the machine's: what stands there is hidden, not removed.
    let line = "mount -t tmpfs -o mode=755 none /run && mkdir /run/sshd && \
                { ! [ -e /dev/log ] || mount --bind /dev/null /dev/log; }";
    let host = WAYS[0].setup(&site).before(tiny(&site)).before(line).start(&site);
    session(&host);
    assert_eq!(site.read("d/new"), b"content");
}

#[test]
#[ignore = "needs root, sshd and journald: run by tests/run"]
fn a_journald_that_ends_during_a_session_takes_nothing_with_it() {
    let site = site();
    let journald = Journald::start();
    let host = WAYS[0].setup(&site).before(journald.seen_by_host()).start(&site);
    let mut server = host.launch("bcmr-serve").start().hello(Caps::NONE);
    assert_eq!(server.get("f", 0).content, b"inside");
    drop(journald);
    for _ in 0..100 {
        assert_eq!(server.get("f", 0).content, b"inside");
        assert!(server.ask(&Message::Stat { path: "../x" }).is_error());
    }
    assert_eq!(server.stderr(), "");
    server.finish();
}
