//! The policy file as operators meet it: every key, and every mistake with its place.

#![allow(clippy::panic, clippy::unwrap_used, reason = "a test that cannot go on has failed")]

use std::path::Path;
use std::time::Duration;

use bcmr_policy::file::{CAS_KEYS, DIRECT_KEYS, Free, PROFILE_KEYS};
use bcmr_policy::sandbox::Level;
use bcmr_policy::{Account, Denied, Passwd, PolicyFile, Rules, Symlinks, Verb, View};

const WHOLE: &str = r#"version = 1

[personal]
allow = false

[profile.upload]
accounts      = ["deploy", 2001]
root          = "/srv/drop/%u"
verbs         = ["stat", "put"]
view          = "jail"
overwrite     = true
symlinks      = "never"
umask         = "027"
file_mode     = "0640"
dir_mode      = "0750"
max_file      = "20GiB"
max_transfer  = "200GiB"
max_entries   = 1000000
account_quota = "500GiB"
min_free      = "5%"
max_sessions  = 16
rate          = "100MiB/s"
idle          = "10m"
sandbox       = "available"
compression   = ["lz4"]
allow_root    = true
state         = "/var/lib/bcmr/%U"

[profile.upload.cas]
cap      = "4GiB"
min_free = "10%"

[profile.upload.direct]
ports     = "40000-40100"
address   = "ssh"
advertise = "203.0.113.7"
"#;

fn parse(text: &str) -> Result<PolicyFile, String> {
    PolicyFile::parse(text, Path::new("/p.toml")).map_err(|e| e.to_string())
}

fn account(uid: u32, name: &str) -> Account {
    let passwd = Passwd { name: name.to_owned(), home: format!("/home/{name}").into() };
    Account { uid, passwd: Some(passwd), logname: None }
}

fn rules(text: &str) -> Rules {
    parse(text).unwrap().rules("upload", &account(1000, "deploy")).unwrap()
}

fn minimal(more: &str) -> String {
    format!("version = 1\n[profile.upload]\naccounts = [\"*\"]\nroot = \"/r\"\nverbs = [\"get\"]\n{more}\n")
}

#[test]
fn every_key_is_read_and_has_its_meaning() {
    let rules = rules(WHOLE);
    assert_eq!(rules.root, Path::new("/srv/drop/deploy"));
    assert_eq!(rules.state, Path::new("/var/lib/bcmr/1000"));
    assert!(rules.verbs.has(Verb::Put) && rules.verbs.has(Verb::Stat) && !rules.verbs.has(Verb::Get));
    assert_eq!((rules.view, rules.symlinks), (View::Jail, Symlinks::Never));
    assert!(rules.overwrite && rules.allow_root);
    assert_eq!((rules.umask, rules.file_mode, rules.dir_mode), (Some(0o27), Some(0o640), Some(0o750)));
    assert_eq!((rules.max_file, rules.max_transfer), (Some(20 << 30), Some(200 << 30)));
    assert_eq!((rules.max_entries, rules.account_quota), (Some(1_000_000), Some(500 << 30)));
    assert_eq!((rules.min_free, rules.max_sessions), (Free::Percent(5), Some(16)));
    assert_eq!((rules.rate, rules.idle), (Some(100 << 20), Duration::from_secs(600)));
    assert_eq!(rules.sandbox, Level::Available);
    assert!(rules.compression.lz4 && !rules.compression.zstd);
    assert_eq!((rules.cas.cap, rules.cas.min_free), (4 << 30, Free::Percent(10)));
    let direct = rules.direct.unwrap();
    assert_eq!((direct.ports, direct.address), ((40000, 40100), None));
    assert_eq!(direct.advertise.unwrap().to_string(), "203.0.113.7");
    assert!(!parse(WHOLE).unwrap().personal);
}

#[test]
fn the_whole_example_sets_every_known_key() {
    // Otherwise the test above would not know of a key that nobody reads.
    let set = |key: &str| WHOLE.lines().any(|line| line.split('=').next().unwrap().trim() == key);
    let tables = ["cas", "direct"];
    for key in PROFILE_KEYS.into_iter().chain(CAS_KEYS).chain(DIRECT_KEYS) {
        assert!(tables.contains(&key) || set(key), "{key}");
    }
}

#[test]
fn defaults_are_the_careful_ones() {
    let rules = rules(&minimal(""));
    assert_eq!((rules.view, rules.symlinks, rules.sandbox), (View::Host, Symlinks::Inside, Level::Require));
    assert!(!rules.overwrite && !rules.allow_root && rules.direct.is_none());
    assert_eq!(rules.cas.cap, 2 << 30);
    assert!(parse(&minimal("")).unwrap().personal);
}

#[test]
fn a_mistake_is_named_with_its_line_column_and_what_would_be_right() {
    let cases: [(String, &str); 24] = [
        (minimal("max_flie = \"1\""), "/p.toml:6:1: unknown key 'max_flie'; did you mean 'max_file'?"),
        (minimal("  max_file = 5"), "/p.toml:6:14: max_file: must be a text in quotes, not integer"),
        (minimal("max_file = \"0\""), "/p.toml:6:12: max_file: 0 would allow nothing"),
        (minimal("overwrite = \"yes\""), "/p.toml:6:13: overwrite: must be true or false, not string"),
        (
            minimal("sandbox = \"on\""),
            "/p.toml:6:11: sandbox: \"on\" is none of \"best-effort\", \"available\", \"require\"",
        ),
        (minimal("umask = \"999\""), "/p.toml:6:9: umask: '999' is no mode"),
        (minimal("file_mode = \"4755\""), "/p.toml:6:13: file_mode: '4755' has set-id or sticky bits"),
        (minimal("min_free = \"100%\""), "/p.toml:6:12: min_free: '100%' is no share"),
        (minimal("max_entries = 0"), "/p.toml:6:15: max_entries: must be a whole number above 0"),
        (minimal("max_entries = -5"), "/p.toml:6:15: max_entries: must be a whole number above 0"),
        (
            minimal("compression = [\"gzip\"]"),
            "/p.toml:6:15: compression: \"gzip\" is none of \"zstd\", \"lz4\"",
        ),
        (minimal("state = \"var\""), "/p.toml:6:9: state: \"var\" is not absolute"),
        (minimal("state = \"/a/../b\""), "/p.toml:6:9: state: \"/a/../b\" has a '..'"),
        (minimal("state = \"/a/%x\""), "/p.toml:6:9: state: \"/a/%x\" has a '%' that stands for nothing"),
        (
            minimal("[profile.upload.cas]\ncup = \"1GiB\""),
            "/p.toml:7:1: unknown key 'cup'; did you mean 'cap'?",
        ),
        (minimal("[profile.upload.direct]\naddress = \"ssh\""), "/p.toml:6:17: 'direct' lacks 'ports'"),
        (
            minimal("[profile.upload.direct]\nports = \"2-1\""),
            "/p.toml:7:9: ports: '2-1' is no range of ports",
        ),
        (minimal("accounts = [\"a\"]"), "/p.toml:6:1: duplicate key"),
        (minimal("[profile.upload]\n"), "/p.toml:6:10: duplicate key"),
        (minimal("[profil.x]"), "/p.toml:6:2: unknown key 'profil'; did you mean 'profile'?"),
        ("version = 2\n".to_owned(), "/p.toml:1:11: version 2 is newer than this server knows (1)"),
        (String::new(), "/p.toml:1:1: 'version' is missing"),
        ("version = 1\n[profile.\"a b\"]\n".to_owned(), "/p.toml:2:10: a profile's name has letters"),
        (
            "version = 1\n[profile.x]\nroot = \"/r\"\n".to_owned(),
            "/p.toml:2:10: profile 'x' lacks 'accounts'",
        ),
    ];
    for (text, expected) in cases {
        let error = parse(&text).unwrap_err();
        assert!(error.starts_with(expected), "{error}\n  instead of\n{expected}");
    }
}

#[test]
fn columns_count_characters() {
    let error = parse(&minimal("state = \"/ü\" # ü\nü = 1")).unwrap_err();
    assert!(error.starts_with("/p.toml:7:1: "), "{error}");
}

#[test]
fn a_profile_is_for_the_accounts_that_it_lists() {
    let policy = parse(WHOLE).unwrap();
    assert!(policy.rules("upload", &account(1000, "deploy")).is_ok());
    assert!(policy.rules("upload", &account(2001, "other")).is_ok());
    let refused = policy.rules("upload", &account(2002, "other"));
    assert_eq!(refused.unwrap_err(), Denied::NotListed("upload".to_owned()));
    assert_eq!(
        policy.rules("down", &account(1000, "deploy")).unwrap_err(),
        Denied::NoProfile("down".to_owned())
    );
}

#[test]
fn a_name_in_the_environment_lists_nobody() {
    let policy = parse(WHOLE).unwrap();
    let forged = Account { uid: 2002, passwd: None, logname: Some("deploy".to_owned()) };
    assert_eq!(policy.rules("upload", &forged).unwrap_err(), Denied::NotListed("upload".to_owned()));
    let ldap = Account { uid: 2001, passwd: None, logname: Some("ldapper".to_owned()) };
    let rules = policy.rules("upload", &ldap).unwrap();
    assert_eq!((rules.root.to_str().unwrap(), rules.root_owner), ("/srv/drop/ldapper", Some(2001)));
}

#[test]
fn root_needs_leave() {
    let policy = parse(&minimal("")).unwrap();
    assert_eq!(policy.rules("upload", &account(0, "root")).unwrap_err(), Denied::Root("upload".to_owned()));
    let policy = parse(&minimal("allow_root = true")).unwrap();
    assert!(policy.rules("upload", &account(0, "root")).is_ok());
}

#[test]
fn what_is_shown_has_every_value_with_its_origin() {
    let shown = parse(WHOLE).unwrap().show(&account(1000, "deploy"));
    let line = |key: &str| {
        let found = shown.lines().find(|line| line.split_whitespace().next() == Some(key));
        found.unwrap_or_else(|| panic!("{key} is not in\n{shown}")).to_owned()
    };
    assert!(line("root").contains("/srv/drop/deploy") && line("root").ends_with("/p.toml:8"));
    assert!(line("cas.cap").contains("4GiB") && line("cas.cap").ends_with("/p.toml:30"));
    assert!(line("direct.ports").contains("40000-40100"));
    let shown = parse(&minimal("")).unwrap().show(&account(1000, "deploy"));
    assert!(shown.lines().any(|line| line.contains("idle") && line.ends_with("default")), "{shown}");
}
