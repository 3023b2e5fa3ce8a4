//! What `doctor` says of a host, held against what a session does there, and what `sessions` shows.

use std::fs;
use std::os::unix::fs::PermissionsExt;
use std::process::{Output, Stdio};

use bcmr_tests::policy::{NAME, Policy, Profile};
use bcmr_tests::{Launch, Site};
use bcmr_wire::Caps;
use serde_json::Value;

use bcmr_tests::Log;

/// A host of its own: this policy at its place, this log or none, these system calls taken away.
struct Host<'a> {
    policy: &'a Policy,
    log: Option<&'a Log>,
    without: &'a [&'a str],
    more: &'a str,
}

impl Host<'_> {
    fn run(&self, words: &[&str]) -> Output {
        let line = format!(
            "mount -t tmpfs -o mode=755 none /etc && mkdir /etc/bcmr && cp {} /etc/bcmr/policy.toml && \
             echo root:x:0:0::/root: > /etc/passwd && echo nobody:x:65534:65534::/nonexistent: >> /etc/passwd && {}",
            self.policy.path().display(),
            self.more
        );
        let launch =
            Launch::with_args(words).under(["unshare", "-m", "--propagation", "private"]).after_shell(&line);
        let launch = match self.log {
            Some(log) => log.seen_by(launch),
            None => launch,
        };
        launch.without(self.without).command().stdin(Stdio::null()).output().unwrap()
    }

    /// The doctor's findings, and its verdict as it stands in all three places.
    #[track_caller]
    fn doctor(&self, verdict: &str) -> Vec<(String, String, String)> {
        let code = ["full", "degraded", "refuses"].iter().position(|word| *word == verdict);
        let output = self.run(&["doctor", "--json"]);
        let json: Value =
            serde_json::from_slice(&output.stdout).unwrap_or_else(|e| panic!("{e}: {output:?}"));
        let text = |value: &Value| value.as_str().unwrap().to_owned();
        let findings: Vec<_> = json["findings"]
            .as_array()
            .unwrap()
            .iter()
            .map(|finding| (text(&finding["about"]), text(&finding["grade"]), text(&finding["text"])))
            .collect();
        assert_eq!(json["verdict"], verdict, "{findings:#?}");
        assert_eq!(output.status.code(), code.map(|code| code.try_into().unwrap()), "{findings:#?}");
        let people = String::from_utf8(self.run(&["doctor"]).stdout).unwrap();
        assert!(people.lines().last().unwrap().ends_with(verdict), "{people}");
        findings
    }
}

#[track_caller]
fn has(findings: &[(String, String, String)], about: &str, grade: &str, text: &str) {
    let found = findings.iter().any(|(a, g, t)| a.starts_with(about) && g == grade && t.contains(text));
    assert!(found, "{about} {grade} {text}: {findings:#?}");
}

#[test]
#[ignore = "needs root for a policy at its place: run by tests/run"]
fn a_host_with_everything_is_full_and_one_that_lacks_something_says_what() {
    let site = Site::new();
    site.file("f", "inside");
    let state = site.base().join("state");
    fs::create_dir(&state).unwrap();
    fs::set_permissions(&state, fs::Permissions::from_mode(0o700)).unwrap();
    let before = site.everything();
    let policy = Policy::new(format!("{}[personal]\nallow = false\n", Profile::new(&site).text()));
    let log = Log::new();
    let host = |log, without, more| Host { policy: &policy, log, without, more };

    let findings = host(Some(&log), &[][..], "true").doctor("full");
    has(&findings, "p: sandbox", "full", "require: landlock on (ABI ");
    has(&findings, "p: root ", "full", "O_TMPFILE yes");
    has(&findings, "log", "full", "syslog");
    has(&findings, "policy", "full", "1 profiles, personal mode off");

    has(&host(None, &[], "true").doctor("degraded"), "log", "degraded", "nothing is recorded");
    let findings = host(Some(&log), &["landlock_create_ruleset=ENOSYS"], "true").doctor("refuses");
    has(&findings, "landlock", "degraded", "off");
    has(&findings, "p: sandbox", "refuses", "sandbox level 'require'");
    policy.write(Profile::new(&site).key("sandbox", r#""available""#).text() + "[personal]\nallow = false\n");
    let findings = host(Some(&log), &["landlock_create_ruleset=ENOSYS"], "true").doctor("degraded");
    has(&findings, "p: sandbox", "degraded", "available: landlock off");
    let without = ["openat2=ENOSYS", "tmpfile=EOPNOTSUPP", "renameat2=EINVAL"];
    let findings = host(Some(&log), &without, "true").doctor("full");
    has(&findings, "openat2", "full", "no (");
    has(&findings, "p: root ", "full", "O_TMPFILE no (");
    has(&findings, "p: root ", "full", "renameat2 no (");

    has(
        &host(Some(&log), &[], "touch /etc/bcmr/drain").doctor("refuses"),
        "drain",
        "refuses",
        "no session begins",
    );
    let findings = host(Some(&log), &[], "chmod g+w /etc/bcmr/policy.toml").doctor("refuses");
    has(&findings, "policy", "refuses", "/etc/bcmr/policy.toml");
    policy.write("version = 1\n[profile.p]\nverbz = []\n");
    has(&host(Some(&log), &[], "true").doctor("refuses"), "policy", "refuses", ":3:1: unknown key");
    policy.write(Profile::new(&site).key("accounts", r#"["nobody"]"#).text() + "[personal]\nallow = false\n");
    let findings = host(Some(&log), &[], "true").doctor("refuses");
    has(&findings, "p: account", "full", "not served");
    has(&findings, "account", "refuses", "served by nothing");
    assert_eq!(site.everything(), before, "what was tried is gone again");
    fs::remove_dir(&state).unwrap();
    policy.write(Profile::new(&site).text() + "[personal]\nallow = false\n");
    has(&host(Some(&log), &[], "true").doctor("degraded"), "p: state", "degraded", "no dedup");
    policy.write(Profile::new(&site).key("max_sessions", 3).text() + "[personal]\nallow = false\n");
    has(&host(Some(&log), &[], "true").doctor("refuses"), "p: state", "refuses", "provision");
}

#[test]
#[ignore = "needs root to become another account: run by tests/run"]
fn root_looks_as_the_account_and_nobody_else_may() {
    let site = Site::new();
    let policy = Policy::new(Profile::new(&site).text() + "[personal]\nallow = false\n");
    let host = Host { policy: &policy, log: None, without: &[], more: "true" };
    let output = host.run(&["doctor", "--account", "nobody"]);
    let text = String::from_utf8(output.stdout).unwrap();
    assert!(text.contains("nothing can be written in it: Permission denied"), "{text}");
    assert!(!String::from_utf8(host.run(&["doctor"]).stdout).unwrap().contains("can be written"));
    let output = host.run(&["doctor", "--account", "no-such-account"]);
    assert_eq!(output.status.code(), Some(64), "{output:?}");
    let output =
        Launch::with_args(["doctor", "--account", "root"]).unprivileged(&site).command().output().unwrap();
    assert_eq!(output.status.code(), Some(77), "{output:?}");
    assert!(String::from_utf8(output.stderr).unwrap().contains("only root may act as 'root'"));
}

#[test]
#[ignore = "needs root to write a policy: run by tests/run"]
fn live_sessions_are_shown_with_what_they_were_started_with() {
    let site = Site::new();
    let policy = Policy::of(&Profile::new(&site));
    let label = format!("test-{}", std::process::id());
    let launch =
        policy.launch_with(NAME, &["--label", &label]).env("SSH_CONNECTION", "192.0.2.9 1 192.0.2.1 22");
    let mut server = launch.start().hello(Caps::NONE);
    assert!(server.put("f", &[7; 5000], false).ok().is_some());
    let shown = || {
        let output = Launch::with_args(["sessions", "--json"]).command().output().unwrap();
        let sessions: Vec<Value> = serde_json::from_slice(&output.stdout).unwrap();
        sessions.into_iter().filter(|session| session["label"] == *label).collect::<Vec<_>>()
    };
    let live = shown();
    assert_eq!(live.len(), 1, "{live:?}");
    assert_eq!(live[0]["pid"], server.pid().as_raw_nonzero().get());
    assert_eq!(
        (&live[0]["profile"], &live[0]["uid"], &live[0]["peer"]),
        (&NAME.into(), &0.into(), &"192.0.2.9".into())
    );
    assert!(live[0]["read"].as_u64().unwrap() > 5000, "{live:?}");
    let table =
        String::from_utf8(Launch::with_args(["sessions"]).command().output().unwrap().stdout).unwrap();
    assert!(table.lines().any(|line| line.contains(&label) && line.contains("192.0.2.9")), "{table}");
    server.finish();
    assert!(shown().is_empty());
}
