//! A profile whose every key is equal or stricter never permits more: neither by its judge nor by its sandbox.

use std::path::Path;

use bcmr_policy::sandbox::{Level, granted};
use bcmr_policy::{
    Account, Fence, Passwd, Permit, PolicyFile, Profile, Refusal, Rules, Symlinks, Usage, Verb, View, judge,
    request,
};
use proptest::collection::vec;
use proptest::option;
use proptest::prelude::*;
use proptest::sample::{select, subsequence};

const ROOT: &str = "/srv/drop";
const STATE: &str = "/srv/drop/state/bcmr";

/// The keys that can be stricter or not, as numbers: each goes with a line of the file.
#[derive(Clone, Debug)]
struct Keys {
    accounts: Vec<&'static str>,
    verbs: Vec<&'static str>,
    overwrite: bool,
    never: bool,
    max_file: Option<u64>,
    max_transfer: Option<u64>,
    max_entries: Option<u64>,
    account_quota: Option<u64>,
    min_free: u8,
    max_sessions: Option<u64>,
    rate: Option<u64>,
    idle: u64,
    sandbox: usize,
    compression: Vec<&'static str>,
    allow_root: bool,
    umask: u32,
    file_mode: u32,
    dir_mode: u32,
    jail: bool,
    direct: Option<(u16, u16)>,
}

const ACCOUNTS: [&str; 4] = ["\"deploy\"", "2001", "0", "\"other\""];
const VERBS: [&str; 7] = ["stat", "list", "hash", "get", "put", "mkdir", "resume"];
const CODECS: [&str; 2] = ["zstd", "lz4"];

fn keys() -> impl Strategy<Value = Keys> {
    let sets =
        (subsequence(&ACCOUNTS[..], 0..=4), subsequence(&VERBS[..], 0..=7), subsequence(&CODECS[..], 0..=2));
    let flags = (any::<bool>(), any::<bool>(), any::<bool>(), any::<bool>());
    let limits = vec(option::of(1u64..3000), 5);
    let modes = (0u32..0o1000, 0u32..0o1000, 0u32..0o1000);
    let rest =
        (0u8..100, option::of(1024u64..9999), 1u64..5000, 0usize..3, option::of((1u16..500, 500u16..999)));
    (sets, flags, limits, modes, rest).prop_map(|(sets, flags, limits, modes, rest)| Keys {
        accounts: sets.0,
        verbs: sets.1,
        compression: sets.2,
        overwrite: flags.0,
        never: flags.1,
        allow_root: flags.2,
        jail: flags.3,
        max_file: limits[0],
        max_transfer: limits[1],
        max_entries: limits[2],
        account_quota: limits[3],
        max_sessions: limits[4],
        umask: modes.0,
        file_mode: modes.1,
        dir_mode: modes.2,
        min_free: rest.0,
        rate: rest.1,
        idle: rest.2,
        sandbox: rest.3,
        direct: rest.4,
    })
}

/// The same, with nothing wider and anything narrower. Bits of `bits` say which.
fn stricter(keys: Keys) -> impl Strategy<Value = (Keys, Keys)> {
    let limits = vec(option::of(0.0f64..=1.0), 6);
    (Just(keys), vec(any::<bool>(), 20), limits, any::<[u32; 3]>(), 0usize..3, 0u8..100).prop_map(
        |(wide, flips, factors, bits, level, free)| {
            let fewer = |set: &[&'static str], from: usize| {
                set.iter().enumerate().filter(|(i, _)| !flips[from + i]).map(|(_, word)| *word).collect()
            };
            #[allow(
                clippy::cast_possible_truncation,
                clippy::cast_sign_loss,
                reason = "a share of a small number"
            )]
            let less = |limit: Option<u64>, i: usize| match (limit, factors[i]) {
                (None, factor) => factor.map(|factor| (factor * 3000.0) as u64 + 1),
                (Some(limit), factor) => {
                    Some((factor.unwrap_or(1.0) * limit as f64) as u64).map(|n| n.max(1))
                }
            };
            let narrow = Keys {
                accounts: fewer(&wide.accounts, 0),
                verbs: fewer(&wide.verbs, 4),
                compression: fewer(&wide.compression, 11),
                overwrite: wide.overwrite && flips[13],
                never: wide.never || flips[14],
                allow_root: wide.allow_root && flips[15],
                max_file: less(wide.max_file, 0),
                max_transfer: less(wide.max_transfer, 1),
                max_entries: less(wide.max_entries, 2),
                account_quota: less(wide.account_quota, 3),
                max_sessions: less(wide.max_sessions, 4),
                rate: less(wide.rate, 5)
                    .map(|rate| rate.max(1024))
                    .filter(|_| wide.rate.is_none_or(|r| r >= 1024)),
                umask: wide.umask | bits[0] & 0o777,
                file_mode: wide.file_mode & bits[1],
                dir_mode: wide.dir_mode & bits[2],
                min_free: wide.min_free.max(free),
                idle: (wide.idle / 2).max(1),
                sandbox: wide.sandbox.max(level),
                direct: wide.direct.filter(|_| flips[16]),
                jail: wide.jail,
            };
            (wide, narrow)
        },
    )
}

impl Keys {
    /// The profile as an operator writes it.
    fn text(&self) -> String {
        let list =
            |words: &[&str]| words.iter().map(|word| format!("{word:?}")).collect::<Vec<_>>().join(", ");
        let mut lines = vec![
            format!("accounts = [{}]", self.accounts.join(", ")),
            format!("root = {ROOT:?}\nstate = {STATE:?}"),
            format!("verbs = [{}]", list(&self.verbs)),
            format!("compression = [{}]", list(&self.compression)),
            format!("overwrite = {}\nallow_root = {}", self.overwrite, self.allow_root),
            format!("symlinks = {:?}", if self.never { "never" } else { "inside" }),
            format!("view = {:?}", if self.jail { "jail" } else { "host" }),
            format!("umask = \"{:03o}\"\nfile_mode = \"{:03o}\"", self.umask, self.file_mode),
            format!("dir_mode = \"{:03o}\"", self.dir_mode),
            format!("min_free = \"{}%\"\nidle = \"{}s\"", self.min_free, self.idle),
            format!("sandbox = {:?}", Level::ALL[self.sandbox].name()),
        ];
        let limits = [
            ("max_file", self.max_file, true),
            ("max_transfer", self.max_transfer, true),
            ("account_quota", self.account_quota, true),
            ("max_entries", self.max_entries, false),
            ("max_sessions", self.max_sessions, false),
        ];
        for (key, limit, quoted) in limits {
            lines.extend(
                limit.map(|n| if quoted { format!("{key} = \"{n}B\"") } else { format!("{key} = {n}") }),
            );
        }
        lines.extend(self.rate.map(|rate| format!("rate = \"{rate}B/s\"")));
        lines.extend(self.direct.map(|(a, b)| format!("[profile.p.direct]\nports = \"{a}-{b}\"")));
        format!("version = 1\n[profile.p]\n{}\n", lines.join("\n"))
    }

    fn rules(&self, account: &Account) -> Option<Rules> {
        let text = self.text();
        let policy = PolicyFile::parse(&text, Path::new("/p.toml")).unwrap_or_else(|e| panic!("{e}\n{text}"));
        policy.rules("p", account).ok()
    }
}

/// As the server makes it of rules.
fn profile(rules: Rules) -> Profile {
    let fence = match rules.view {
        View::Host => Fence::host_view([ROOT]),
        View::Jail => Fence::jail_view(),
    };
    Profile { fence: fence.closing(ROOT, STATE), rules }
}

fn accounts() -> [Account; 4] {
    let named = |uid, name: &str| Account {
        uid,
        passwd: Some(Passwd { name: name.to_owned(), home: format!("/home/{name}").into() }),
        logname: None,
    };
    [named(2001, "deploy"), named(0, "root"), named(2002, "other"), named(2003, "stranger")]
}

/// What a verdict lets happen, in order of more: nothing; something; for a Put, also over a file.
fn weight<R>(verdict: &Result<Permit<R>, Refusal>, more: impl Fn(&R) -> u64) -> u64 {
    verdict.as_ref().map_or(0, |permit| 1 + more(permit.request()))
}

/// What is asked, and how much of it each profile lets happen.
fn weights(profile: &Profile, usage: Usage, path: &str, size: u64, offset: u64, overwrite: bool) -> Vec<u64> {
    let range = Some(size);
    vec![
        weight(&judge(profile, usage, path, request::Stat), |_| 0),
        weight(&judge(profile, usage, path, request::List), |_| 0),
        weight(&judge(profile, usage, path, request::Hash { offset, limit: range }), |_| 0),
        weight(&judge(profile, usage, path, request::Resume), |_| 0),
        weight(&judge(profile, usage, path, request::Mkdir), |_| 0),
        weight(&judge(profile, usage, path, request::Get::asked(offset, None)), |get| get.allowance / 2),
        weight(&judge(profile, usage, path, request::Get::asked(offset, range)), |get| get.allowance / 2),
        weight(&judge(profile, usage, path, request::Put { size, offset, overwrite }), |put| {
            put.overwrite.into()
        }),
    ]
}

const PATHS: [&str; 12] = [
    "",
    "a",
    "a/b",
    "/",
    "/srv/drop",
    "/srv/drop/a",
    "/etc/passwd",
    "../a",
    "state",
    "state/bcmr",
    "state/bcmr/x",
    ".bcmr-0123456789abcdef0123456789abcdef",
];

proptest! {
    #![proptest_config(ProptestConfig { cases: 4000, failure_persistence: None, ..ProptestConfig::default() })]

    #[test]
    fn a_profile_whose_every_key_is_equal_or_stricter_never_permits_more(
        (wide, narrow) in keys().prop_flat_map(stricter),
        moved in 0u64..4000,
        path in select(&PATHS[..]),
        size in 0u64..4000,
        offset in select(vec![0u64, 0, 1, 100, 3999]),
        overwrite in any::<bool>(),
    ) {
        for account in accounts() {
            let Some(narrow) = narrow.rules(&account) else { continue };
            // Whoever may use the narrow one may use the wide one.
            let wide = wide.rules(&account);
            prop_assert!(wide.is_some(), "{account:?}");
            let wide = wide.unwrap();
            no_more_by_their_own_words(&wide, &narrow)?;
            // The kernel's rights.
            let (wide_rights, narrow_rights) = (granted(&wide), granted(&narrow));
            prop_assert_eq!(narrow_rights.root & !wide_rights.root, 0);
            prop_assert_eq!(narrow_rights.state & !wide_rights.state, 0);
            let usage = Usage { moved };
            let (wide, narrow) = (profile(wide), profile(narrow));
            let wide = weights(&wide, usage, path, size, offset, overwrite);
            let narrow = weights(&narrow, usage, path, size, offset, overwrite);
            for (verb, (wide, narrow)) in wide.iter().zip(&narrow).enumerate() {
                prop_assert!(narrow <= wide, "request {verb} for {path:?}: {narrow} instead of at most {wide}");
            }
        }
    }
}

/// The keys that the judge does not read.
fn no_more_by_their_own_words(wide: &Rules, narrow: &Rules) -> Result<(), TestCaseError> {
    let within = |narrow: Option<u64>, wide: Option<u64>| wide.is_none_or(|w| narrow.is_some_and(|n| n <= w));
    prop_assert!(within(narrow.max_file, wide.max_file) && within(narrow.max_transfer, wide.max_transfer));
    prop_assert!(within(narrow.max_entries, wide.max_entries) && within(narrow.rate, wide.rate));
    prop_assert!(within(narrow.account_quota, wide.account_quota));
    prop_assert!(within(narrow.max_sessions, wide.max_sessions));
    prop_assert!(narrow.verbs.iter().all(|verb| wide.verbs.has(verb)));
    prop_assert!(narrow.symlinks == Symlinks::Never || wide.symlinks == Symlinks::Inside);
    prop_assert!(narrow.sandbox >= wide.sandbox && narrow.idle <= wide.idle);
    for total in [0, 1000, u64::MAX] {
        prop_assert!(narrow.min_free.of(total) >= wide.min_free.of(total));
    }
    let bits = |rules: &Rules| rules.file_mode.unwrap_or(0o666) | rules.dir_mode.unwrap_or(0o777) << 9;
    prop_assert_eq!(bits(narrow) & !bits(wide), 0);
    prop_assert_eq!(wide.umask.unwrap_or(0) & !narrow.umask.unwrap_or(0), 0);
    prop_assert!(
        (!narrow.compression.zstd || wide.compression.zstd)
            && (!narrow.compression.lz4 || wide.compression.lz4)
    );
    prop_assert!(narrow.direct.is_none() || wide.direct.is_some());
    Ok(())
}

#[test]
fn each_verb_that_is_added_adds_its_own_rights_and_no_others() {
    // The positive control: rights differ, and a mirror has none that changes anything.
    let with = |verbs: &[Verb], overwrite: bool| {
        let rules = Rules {
            verbs: verbs.iter().copied().collect(),
            overwrite,
            ..Rules::personal("/r".into(), "/s".into())
        };
        granted(&rules).root
    };
    let writing = with(&[Verb::Put, Verb::Mkdir], false) & !with(&[Verb::List], false);
    let mirror = with(&[Verb::Stat, Verb::List, Verb::Hash, Verb::Get, Verb::Resume], false);
    assert!(mirror != 0 && mirror & writing == 0, "{mirror:b} {writing:b}");
    assert_eq!(with(&[Verb::Stat], false), 0);
    // A dropbox cannot read what lies there, unless it may replace it.
    let reading = with(&[Verb::Get], false);
    assert_eq!(with(&[Verb::Put, Verb::Mkdir], false) & reading, 0);
    assert_eq!(with(&[Verb::Put], true) & reading, reading);
    assert!(
        with(&[Verb::Put, Verb::Mkdir], false) != with(&[Verb::Put], false) | with(&[Verb::Mkdir], false)
    );
}
