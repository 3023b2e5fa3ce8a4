//! S14: nothing in the environment, in SSH_ORIGINAL_COMMAND or in the protocol widens the profile.

use bcmr_tests::disk::snapshot;
use bcmr_tests::policy::Profile;
use bcmr_tests::{Launch, Policy, Reply, Server, Site, binaries};
use bcmr_wire::{Caps, Message};

use crate::trace::{Trace, name};

/// A place where every word of a client's points: another home, another root, another state, with a file that
/// must not be served.
fn elsewhere(site: &Site) -> String {
    site.outside_file("f", "outside");
    site.outside_file(".config/bcmr/policy.toml", "version = 1\n[personal]\nallow = true\n");
    site.outside().to_str().unwrap().to_owned()
}

/// What a client can have set: by AcceptEnv, by PAM, by `~/.ssh/environment`, or by the start-up files of a shell.
fn environment(site: &Site) -> Vec<(&'static str, String)> {
    let elsewhere = elsewhere(site);
    let below = |name: &str| format!("{elsewhere}/{name}");
    let commands = [
        "bcmr-serve --root / --profile full",
        "bcmr serve --root /",
        "bcmr-serve --profile full --policy /tmp/p.toml; touch owned",
    ];
    let mut all: Vec<_> = [
        "HOME",
        "PWD",
        "OLDPWD",
        "TMPDIR",
        "TEMP",
        "XDG_STATE_HOME",
        "XDG_CONFIG_HOME",
        "XDG_DATA_HOME",
        "XDG_CACHE_HOME",
        "XDG_RUNTIME_DIR",
        "BCMR_ROOT",
        "BCMR_CAS_DIR",
        "BCMR_STATE",
        "BCMR_HOME",
        "MAIL",
    ]
    .map(|name| (name, elsewhere.clone()))
    .to_vec();
    all.extend(
        ["XDG_CONFIG_DIRS", "BCMR_CONFIG", "BCMR_POLICY", "POLICY"]
            .map(|name| (name, below(".config/bcmr/policy.toml"))),
    );
    all.extend(commands.map(|command| ("SSH_ORIGINAL_COMMAND", command.to_owned())));
    all.extend(
        [
            ("LOGNAME", "root"),
            ("USER", "root"),
            ("UID", "0"),
            ("EUID", "0"),
            ("SUDO_USER", "root"),
            ("BCMR_PROFILE", "full"),
            ("BCMR_CAS_CAP_MB", "1048576"),
            ("BCMR_VERBS", "put,mkdir"),
            ("BCMR_SANDBOX", "off"),
            ("BCMR_LOG", "trace"),
            ("RUST_LOG", "trace"),
            ("RUST_BACKTRACE", "full"),
            ("RUST_LIB_BACKTRACE", "1"),
            ("RUST_MIN_STACK", "1"),
            ("GLIBC_TUNABLES", "glibc.malloc.check=3:glibc.rtld.nns=1"),
            ("MALLOC_CHECK_", "3"),
            ("MALLOC_PERTURB_", "165"),
            ("MALLOC_ARENA_MAX", "1000"),
            ("MALLOC_TRACE", "trace"),
            ("LD_DEBUG_OUTPUT", "debug"),
            ("SSH_CONNECTION", "../../x 1 2 3"),
            ("SSH_CLIENT", "../../x"),
            ("SSH_TTY", "/dev/tty"),
            ("SSH_USER_AUTH", "/etc/passwd"),
            ("SHELL", "/bin/sh"),
            ("PATH", "/tmp"),
            ("IFS", "/"),
            ("ENV", "/etc/passwd"),
            ("BASH_ENV", "/etc/passwd"),
            ("LANG", "../../../etc"),
            ("LC_ALL", "../../../etc"),
            ("LOCPATH", "/tmp"),
            ("NLSPATH", "/tmp/%N"),
            ("TZ", ":/etc/passwd"),
            ("TZDIR", "/tmp"),
            ("TERM", "../../etc/passwd"),
            ("COLUMNS", "1"),
            ("CLICOLOR_FORCE", "1"),
            ("NO_COLOR", "1"),
            ("JOURNAL_STREAM", "8:1"),
            ("NOTIFY_SOCKET", "/tmp/notify"),
            ("LISTEN_FDS", "1"),
            ("ZSTD_CLEVEL", "19"),
            ("ZSTD_NBTHREADS", "200"),
            ("GCONV_PATH", "/tmp"),
            ("HOSTALIASES", "/etc/passwd"),
            ("NIS_PATH", "/tmp"),
        ]
        .map(|(name, value)| (name, value.to_owned())),
    );
    if binaries::is_static(&binaries::server()) {
        // Else it is ld.so that reads these, before there is a server.
        let names =
            ["LD_PRELOAD", "LD_AUDIT", "LD_LIBRARY_PATH", "LD_DEBUG", "LD_SHOW_AUXV", "LD_ORIGIN_PATH"];
        all.extend(names.map(|name| (name, below("evil.so"))));
    } else {
        println!("LD_* is not tried: this build is linked dynamically; the one that ships is not");
    }
    all
}

/// The narrow profile: a mirror.
fn mirror(site: &Site) -> Policy {
    site.file("f", "inside");
    Policy::of(
        &Profile::new(site).key("verbs", r#"["stat", "list", "get"]"#).key("max_transfer", r#""1KiB""#),
    )
}

/// Checks that a session is the mirror's and no more.
#[track_caller]
fn is_the_mirror(mut server: Server, site: &Site, what: &str) {
    let before = site.everything();
    server.greet(Caps(0xff));
    assert_eq!(server.get("f", 0).content, b"inside", "{what}");
    assert_eq!(server.ask(&Message::List { path: "" }).paths(), ["f"], "{what}");
    let outside = site.outside().join("f");
    for path in ["/etc/passwd", "../outside/f", outside.to_str().unwrap(), "~/f", "$HOME/f"] {
        assert!(server.ask(&Message::Stat { path }).is_error(), "{what}: {path}");
        assert!(server.get(path, 0).end.is_error(), "{what}: {path}");
    }
    assert!(server.put("new", b"x", true).error().contains("may not put"), "{what}");
    assert!(server.ask(&Message::Mkdir { path: "new" }).error().contains("may not mkdir"), "{what}");
    assert!(server.ask(&Message::Resume { path: "f" }).error().contains("may not resume"), "{what}");
    assert_eq!(server.stderr(), "", "{what}");
    server.finish();
    assert_eq!(site.everything(), before, "{what}");
}

#[test]
#[ignore = "needs root to write a policy: run by tests/run"]
fn borg_4093_no_variable_of_the_environment_widens_a_profile() {
    let site = Site::new();
    let policy = mirror(&site);
    is_the_mirror(policy.launch().start(), &site, "with nothing set");
    let variables = environment(&site);
    for (name, value) in &variables {
        is_the_mirror(policy.launch().env(name, value).start(), &site, &format!("{name}={value}"));
    }
    // And all of them at once, for an account without rights.
    let launch = variables.iter().fold(policy.launch(), |launch, (name, value)| launch.env(name, value));
    is_the_mirror(launch.unprivileged(&site).start(), &site, "everything set");
}

#[test]
#[ignore = "needs root to write a policy: run by tests/run"]
fn borg_4093_no_root_or_command_in_the_clients_words_widens_a_profile() {
    let site = Site::new();
    let policy = mirror(&site);
    let elsewhere = elsewhere(&site);
    for words in [&["--root", "/"][..], &["--root", &elsewhere], &["--root=/"]] {
        is_the_mirror(policy.launch_with("p", words).start(), &site, &format!("{words:?}"));
    }
    // Said twice, or said as a command of its own, nothing is served at all.
    for words in [
        &["--profile", "p", "--profile", "full"][..],
        &["--profile", "p", "serve"],
        &["--profile", "p", "--policy", "/a", "--policy", "/b"],
        &["--root", "/", "--policy", "/tmp/p.toml"],
        &["--profile", "p", "--", "--root", "/"],
        &["--profile", "p", "--root", ""],
        &["--sandbox", "off"],
        &["serve", "--profile", "p", "extra"],
    ] {
        let mut server = Launch::with_args(words).start();
        assert_eq!(server.from.next_reply(), None, "{words:?}");
        assert_eq!(server.exit_code(), 64, "{words:?}");
    }
}

#[test]
#[ignore = "needs root to write a policy: run by tests/run"]
fn borg_4093_no_flag_or_frame_of_the_protocol_widens_a_profile() {
    let site = Site::new();
    let policy = mirror(&site);
    let before = site.everything();
    for caps in (0..=u8::MAX).map(Caps) {
        let mut server = policy.launch().start();
        let agreed = server.greet(caps);
        // Dedup, direct connections and sealing are not the profile's to give.
        assert_eq!(
            agreed.without(Caps::LZ4 | Caps::ZSTD | Caps::FAST | Caps::SYNC | Caps::PUT_OFFSET),
            Caps::NONE
        );
        assert_eq!(agreed & caps, agreed, "{caps:?}: more than was asked for");
        if caps.0 % 51 == 0 {
            for frame in [
                Message::OpenDirectChannel,
                Message::AuthHello { mac: [0; 32] },
                Message::Hello { version: 2, caps: Caps(0xff) },
                Message::Welcome { version: 2, caps: Caps(0xff) },
                Message::Truncate { path: "f", size: 0 },
                Message::PutChunked { path: "f", offset: 0, length: 1 },
                Message::HaveBlocks { block_size: 1, hashes: &[[0; 32]] },
                Message::Put { path: "f", size: 7, offset: 6, overwrite: true },
                Message::Data { payload: b"x" },
                Message::Done,
                Message::Mkdir { path: "new" },
            ] {
                server.send(&frame);
            }
            server.send(&Message::Stat { path: "f" });
            while !matches!(server.reply(), Reply::Stat { size: 6, .. }) {}
        }
        server.finish();
    }
    assert_eq!(site.everything(), before);
    // Nor do many sessions at once share what one may move.
    site.file("large", [1; 1000]);
    let mut servers: Vec<_> = (0..3).map(|_| policy.launch().start().hello(Caps::NONE)).collect();
    for server in &mut servers {
        assert_eq!(server.get("large", 0).content.len(), 1000);
        assert!(server.get("large", 0).end.is_error());
    }
}

#[test]
#[ignore = "needs root to write a policy: run by tests/run"]
fn a_session_opens_no_file_that_the_environment_names() {
    let site = Site::new();
    let policy = mirror(&site);
    let trace = Trace::new();
    let variables = environment(&site);
    // For the server alone; strace has an environment, too.
    let set: Vec<_> = variables.iter().map(|(name, value)| format!("{name}={value}")).collect();
    let words: Vec<_> = set.iter().flat_map(|set| ["-E", set]).collect();
    policy.launch().under(trace.command(&words)).start().hello(Caps::NONE).finish();
    let opened: Vec<_> = trace
        .calls()
        .into_iter()
        .filter(|call| {
            name(call).starts_with("open") || name(call) == "connect" || name(call).starts_with("exec")
        })
        .collect();
    assert!(opened.iter().any(|call| call.contains("policy.toml")), "{opened:#?}");
    let elsewhere = site.outside().to_str().unwrap().to_owned();
    let named = |call: &&String| call.contains(&elsewhere) || call.contains("/tmp/p.toml");
    let strange: Vec<_> = opened.iter().filter(|call| !call.starts_with("exec")).filter(named).collect();
    assert!(strange.is_empty(), "{strange:#?}");
    // One program is executed: the server, by strace.
    assert_eq!(opened.iter().filter(|call| call.starts_with("exec")).count(), 1, "{opened:#?}");
}

#[test]
fn in_personal_mode_the_environment_chooses_among_the_accounts_own_files_and_no_more() {
    let site = Site::new();
    site.file("f", "inside");
    let before = snapshot(&site.outside());
    let root = site.root();
    let start = |launch: Launch| launch.unprivileged(&site).start().hello(Caps::NONE);
    // --root is the account's own word, and stronger than HOME.
    let mut server =
        start(Launch::new(&root).env("HOME", site.outside()).env("SSH_ORIGINAL_COMMAND", "serve --root /"));
    assert_eq!(server.get("f", 0).content, b"inside");
    assert!(server.ask(&Message::Stat { path: "/etc/passwd" }).is_error());
    server.finish();
    // What the account may not read it may not read by way of the server.
    site.file("secret", "not even for its owner");
    site.chmod("secret", 0o000);
    let mut server = start(Launch::new(&root));
    assert!(server.get("secret", 0).end.error().contains("permission denied"));
    server.finish();
    assert_eq!(snapshot(&site.outside()).paths(), before.paths());
}
