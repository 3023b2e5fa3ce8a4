//! Every key of a profile does what it says. (`verbs` is in `profiles`, `sandbox` in `landlock`, `state` in
//! `secrecy`.)

use std::fs;
use std::os::unix::fs::PermissionsExt;
use std::time::{Duration, Instant};

use bcmr_tests::content::{noise, text};
use bcmr_tests::launch::NOBODY;
use bcmr_tests::policy::Profile;
use bcmr_tests::{Policy, Reply, Server, Site};
use bcmr_wire::message::Algo;
use bcmr_wire::{Caps, Message};

const EVERYTHING: Caps = Caps(0xff).without(Caps::SYNC);

fn site() -> Site {
    let site = Site::new();
    site.file("f", "inside");
    site
}

fn started(site: &Site, keys: &[(&str, &str)]) -> (Policy, Server) {
    let policy = Policy::of(&Profile::new(site).keys(keys));
    let server = policy.launch().start();
    (policy, server)
}

fn greeted(site: &Site, keys: &[(&str, &str)]) -> (Policy, Server) {
    let (policy, server) = started(site, keys);
    (policy, server.hello(EVERYTHING))
}

/// Whether a session is served; if not, that it is refused as it must be.
#[track_caller]
fn is_served(mut server: Server) -> bool {
    let mut hello = Vec::new();
    Message::Hello { version: 2, caps: Caps::NONE }.encode(&mut hello).unwrap();
    // It may be gone already.
    let _ = server.to.try_send_raw(&hello);
    let reply = server.reply();
    if matches!(reply, Reply::Welcome { .. }) {
        server.finish();
        return true;
    }
    assert_eq!(reply.error(), "policy refused; ask the administrator");
    assert_eq!(server.from.next_reply(), None);
    assert_eq!((server.exit_code(), server.stderr()), (78, String::new()));
    false
}

// ---- who

#[test]
#[ignore = "needs root to write a policy: run by tests/run"]
fn accounts_lists_by_name_and_number_and_nobody_else_is_served() {
    let uid = NOBODY.to_string();
    for (accounts, nobody, root) in [
        (r#"["nobody"]"#, true, false),
        (&*format!("[{uid}]"), true, false),
        (r#"["root", 0]"#, false, true),
        (r#"["*"]"#, true, true),
        (r#"["nobody", "root"]"#, true, true),
        (r#"["nob", "nobodyx", "Nobody", 65533]"#, false, false),
        ("[]", false, false),
        // A number in quotes is a name.
        (&*format!("[\"{uid}\"]"), false, false),
    ] {
        let site = site();
        let policy = Policy::of(&Profile::new(&site).key("accounts", accounts));
        assert_eq!(is_served(policy.launch().start()), root, "root by {accounts}");
        // LOGNAME is the client's word.
        let launch = policy.launch().env("LOGNAME", "root").unprivileged(&site);
        assert_eq!(is_served(launch.start()), nobody, "nobody by {accounts}");
    }
}

#[test]
#[ignore = "needs root to write a policy: run by tests/run"]
fn allow_root_is_asked_of_root_alone() {
    let site = site();
    for (allow, root) in [("false", false), ("true", true)] {
        let policy = Policy::of(&Profile::new(&site).key("allow_root", allow));
        assert_eq!(is_served(policy.launch().start()), root);
        assert!(is_served(policy.launch().unprivileged(&site).start()));
    }
    let silent = Profile::new(&site).text().replace("allow_root = true\n", "");
    assert!(!is_served(Policy::new(silent).launch().start()));
}

#[test]
#[ignore = "needs root to write a policy: run by tests/run"]
fn root_is_expanded_for_the_real_account() {
    let site = site();
    let quoted = |text: String| format!("{text:?}");
    for (root, dir) in
        [("%u", "nobody".to_owned()), ("%U", NOBODY.to_string()), ("%u%%%U", format!("nobody%{NOBODY}"))]
    {
        site.file(&format!("{dir}/mine"), "mine");
        let key = quoted(format!("{}/{root}", site.root().display()));
        let policy = Policy::of(&Profile::new(&site).key("root", key));
        let launch = policy.launch().env("LOGNAME", "root").env("HOME", site.root());
        let mut server = launch.unprivileged(&site).start().hello(Caps::NONE);
        assert_eq!(server.get("mine", 0).content, b"mine", "{root}");
        server.finish();
    }
}

// ---- what

#[test]
#[ignore = "needs root to write a policy: run by tests/run"]
fn overwrite_false_leaves_every_existing_file_as_it_is() {
    let site = site();
    let before = site.everything();
    let (_policy, mut server) = greeted(&site, &[]);
    assert!(server.put("f", b"put", true).error().contains("already exists"));
    server.send(&Message::Put { path: "f", size: 9, offset: 6, overwrite: true });
    assert!(server.reply().error().contains("may not overwrite"));
    assert_eq!(site.everything(), before);
    server.finish();
    let (_policy, mut server) = greeted(&site, &[("overwrite", "true")]);
    assert!(server.put("f", b"put", false).error().contains("already exists"));
    assert_eq!(site.everything(), before);
    assert!(server.put("f", b"put", true).ok().is_some());
    assert_eq!(site.read("f"), b"put");
    server.finish();
}

#[test]
#[ignore = "needs root to write a policy: run by tests/run"]
fn symlinks_never_refuses_any_link_on_the_way_and_lists_none() {
    let site = site();
    site.file("d/f", "inside");
    for (name, target) in
        [("l", "f"), ("ld", "d"), ("out", "../outside"), ("dangling", "absent"), ("d/up", "..")]
    {
        site.link(name, target);
    }
    let paths = ["l", "ld", "ld/f", "ld/new", "out", "out/x", "dangling", "dangling/x", "d/up/f"];
    for rules in [&[][..], &["openat2=ENOSYS"]] {
        let before = site.everything();
        let policy =
            Policy::of(&Profile::new(&site).keys(&[("symlinks", r#""never""#), ("overwrite", "true")]));
        let mut server = policy.launch().without(rules).start().hello(EVERYTHING);
        for path in paths {
            for request in [
                Message::Stat { path },
                Message::List { path },
                Message::Get { path, offset: 0 },
                Message::Hash { path, offset: 0, limit: None },
                Message::Resume { path },
                Message::Mkdir { path },
                Message::Put { path, size: 1, offset: 0, overwrite: true },
            ] {
                let reply = server.ask(&request);
                assert!(reply.error().contains("a symbolic link is on the way"), "{request:?}: {reply:?}");
            }
        }
        assert_eq!(server.ask(&Message::List { path: "" }).paths(), ["d", "d/f", "f"]);
        assert_eq!(server.get("d/f", 0).content, b"inside");
        assert_eq!(site.everything(), before);
        server.finish();
    }
    let (_policy, mut server) = greeted(&site, &[("symlinks", r#""inside""#)]);
    for path in ["l", "ld/f", "d/up/f"] {
        assert_eq!(server.get(path, 0).content, b"inside", "{path}");
    }
    assert!(server.ask(&Message::Stat { path: "out" }).error().contains("escapes server root"));
    server.finish();
}

#[test]
#[ignore = "needs root to write a policy: run by tests/run"]
fn view_says_whose_absolute_paths_are_meant() {
    let site = site();
    let (_policy, mut server) = greeted(&site, &[("view", r#""host""#)]);
    assert_eq!(server.get(&site.host("f"), 0).content, b"inside");
    assert!(server.ask(&Message::Stat { path: "/f" }).error().contains("escapes server root"));
    server.finish();
    let before = site.everything();
    let (_policy, mut server) = greeted(&site, &[("view", r#""jail""#)]);
    for path in ["/f", "f", "//f/", "/./f"] {
        assert_eq!(server.get(path, 0).content, b"inside", "{path}");
    }
    // The host's path means nothing here.
    let reply = server.ask(&Message::Stat { path: &site.host("f") });
    assert!(reply.error().contains("no such file"), "{reply:?}");
    assert_eq!(server.ask(&Message::List { path: "/" }).paths(), ["f"]);
    assert!(server.ask(&Message::Stat { path: "/../f" }).error().contains("escapes server root"));
    assert_eq!(site.everything(), before);
    assert!(server.put("/etc/passwd", b"x", false).ok().is_some());
    assert_eq!(site.read("etc/passwd"), b"x");
    server.finish();
}

#[test]
#[ignore = "needs root to write a policy: run by tests/run"]
fn umask_and_modes_decide_what_new_files_and_directories_get() {
    let mode = |site: &Site, name: &str| fs::metadata(site.path(name)).unwrap().permissions().mode() & 0o7777;
    for (keys, file, dir) in [
        (&[("umask", r#""027""#)][..], 0o640, 0o750),
        (&[("umask", r#""077""#)], 0o600, 0o700),
        (&[("umask", r#""000""#)], 0o666, 0o777),
        (&[("umask", r#""077""#), ("file_mode", r#""0604""#), ("dir_mode", r#""0705""#)], 0o604, 0o705),
        (&[("umask", r#""027""#), ("file_mode", r#""0604""#)], 0o604, 0o750),
        (&[("umask", r#""027""#), ("dir_mode", r#""0705""#)], 0o640, 0o705),
    ] {
        let site = site();
        site.chmod("f", 0o631);
        let (_policy, mut server) = greeted(&site, &[keys, &[("overwrite", "true")]].concat());
        assert!(server.put("a/b/new", b"x", false).ok().is_some());
        assert!(!server.ask(&Message::Mkdir { path: "m/n" }).is_error());
        // What is replaced keeps its own.
        assert!(server.put("f", b"x", true).ok().is_some());
        assert_eq!((mode(&site, "a/b/new"), mode(&site, "f")), (file, 0o631), "{keys:?}");
        assert_eq!(["a", "a/b", "m", "m/n"].map(|name| mode(&site, name)), [dir; 4], "{keys:?}");
        server.finish();
    }
    // The account's own umask, where the profile has none.
    let site = site();
    let policy = Policy::of(&Profile::new(&site));
    let mut server = policy.launch().after_shell("umask 037").start().hello(EVERYTHING);
    assert!(server.put("new", b"x", false).ok().is_some());
    assert_eq!(mode(&site, "new"), 0o640);
    server.finish();
}

// ---- how much

#[test]
#[ignore = "needs root to write a policy: run by tests/run"]
fn max_file_refuses_at_the_put_frame() {
    let site = site();
    let (_policy, mut server) = greeted(&site, &[("max_file", r#""4KiB""#), ("overwrite", "true")]);
    assert!(server.put("fits", &[1; 4096], false).ok().is_some());
    let before = site.everything();
    for (size, offset) in [(4097, 0), (u64::MAX, 0), (4097, 6), (1 << 40, (1 << 40) - 1)] {
        // Not a byte of it is sent.
        server.send(&Message::Put { path: "f", size, offset, overwrite: true });
        let reply = server.reply();
        assert!(reply.error().contains("larger than the 4096 allowed"), "{size}: {reply:?}");
        server.send(&Message::Done);
    }
    // Nor does it help to declare less.
    server.send(&Message::Put { path: "lie", size: 10, offset: 0, overwrite: false });
    server.send(&Message::Data { payload: &[1; 5000] });
    assert!(server.reply().error().contains("past the declared size"));
    server.send(&Message::Done);
    assert_eq!(site.everything(), before);
    // It is not about what is read.
    site.file("large", noise(10_000, 1));
    assert_eq!(server.get("large", 0).content.len(), 10_000);
    server.finish();
}

#[test]
#[ignore = "needs root to write a policy: run by tests/run"]
fn max_transfer_counts_both_ways_and_as_decoded() {
    let site = site();
    site.file("large", noise(60 << 10, 1));
    site.file("small", "x");
    let keys = [("max_transfer", r#""100KiB""#), ("overwrite", "true")];
    let refused = |reply: &Reply| reply.error().contains("more than one session may move");

    let (_policy, mut server) = greeted(&site, &keys);
    assert_eq!(server.get("large", 0).content.len(), 60 << 10);
    // 40 KiB are left: not for this, either way.
    assert!(refused(&server.get("large", 0).end));
    server.send(&Message::GetChunked { path: "large", offset: 0, length: (40 << 10) + 1 });
    assert!(refused(&server.reply()));
    let before = site.everything();
    assert!(refused(&server.put("new", &[1; (40 << 10) + 1], false)));
    assert_eq!(site.everything(), before);
    // What was refused was not counted; compressed content counts as what it is.
    let content = text(40 << 10);
    let coded = zstd::bulk::compress(&content, 3).unwrap();
    assert!(coded.len() < 4096);
    server.send(&Message::Put { path: "new", size: 40 << 10, offset: 0, overwrite: false });
    server.send(&Message::DataCompressed { algo: Algo::Zstd, original_size: 40 << 10, payload: &coded });
    assert!(server.ask(&Message::Done).ok().is_some());
    assert!(refused(&server.get("small", 0).end));
    assert!(refused(&server.put("one", b"x", false)));
    // What moves no content goes on; so does an empty file.
    assert!(matches!(server.ask(&Message::Stat { path: "small" }), Reply::Stat { size: 1, .. }));
    assert!(server.put("empty", b"", false).ok().is_some());
    server.finish();

    // A part of a Put that fails has moved, too.
    let (_policy, mut server) = greeted(&site, &keys);
    server.send(&Message::Put { path: "short", size: 100 << 10, offset: 0, overwrite: false });
    server.send(&Message::Data { payload: &[1; 60 << 10] });
    assert!(server.ask(&Message::Done).error().contains("declared"));
    assert!(refused(&server.put("again", &[1; (40 << 10) + 1], false)));
    server.finish();
    // A new session begins anew.
    let (_policy, mut server) = greeted(&site, &keys);
    assert_eq!(server.get("large", 0).content.len(), 60 << 10);
    server.finish();
}

#[test]
#[ignore = "needs root to mount a small file system: run by tests/run"]
fn min_free_keeps_room_on_the_file_system() {
    for (min_free, fits, too_much) in [(r#""8MiB""#, 20 << 20, 8 << 20), (r#""50%""#, 12 << 20, 6 << 20)] {
        let site = Site::new();
        let policy = Policy::of(&Profile::new(&site).key("min_free", min_free).key("overwrite", true));
        let mount = format!("mount -t tmpfs -o size=32m,mode=755 none {}", site.root().display());
        let launch = policy.launch().under(["unshare", "-m", "--propagation", "private"]).after_shell(&mount);
        let mut server = launch.start().hello(EVERYTHING);
        let content = noise(fits, 1);
        assert!(server.put("fits", &content, false).ok().is_some(), "{min_free}");
        // Refused at the Put frame.
        server.send(&Message::Put { path: "more", size: too_much, offset: 0, overwrite: false });
        let reply = server.reply();
        assert!(reply.error().contains("beyond what it keeps free"), "{min_free}: {reply:?}");
        server.send(&Message::Done);
        assert!(server.put("little", &[1; 1 << 20], false).ok().is_some(), "{min_free}");
        // The old file needs its room until the new one is whole.
        assert!(server.put("fits", &content, true).error().contains("keeps free"), "{min_free}");
        assert_eq!(server.ask(&Message::List { path: "" }).paths(), ["fits", "little"]);
        server.finish();
    }
}

#[test]
#[ignore = "needs root to mount a small file system: run by tests/run"]
fn min_free_is_looked_at_again_while_a_put_goes_on() {
    // Another session takes the room away that was there at the beginning.
    let site = Site::new();
    let policy = Policy::of(&Profile::new(&site).key("min_free", r#""16MiB""#));
    let mount = format!("mount -t tmpfs -o size=96m,mode=755 none {}", site.root().display());
    let launch = policy.launch().under(["unshare", "-m", "--propagation", "private"]).after_shell(&mount);
    let mut server = launch.start().hello(EVERYTHING);
    server.send(&Message::Put { path: "new", size: 40 << 20, offset: 0, overwrite: false });
    let content = noise(40 << 20, 1);
    server.to.content(&content[..8 << 20]);
    server.from.stays_silent(Duration::from_millis(100));
    let seen = format!("/proc/{}/root{}/other", server.pid().as_raw_nonzero(), site.root().display());
    fs::write(&seen, noise(70 << 20, 2)).unwrap();
    server.to.content(&content[8 << 20..]);
    server.send(&Message::Done);
    let reply = server.reply();
    assert!(reply.error().contains("keeps free"), "{reply:?}");
    assert_eq!(server.ask(&Message::List { path: "" }).paths(), ["other"]);
    server.finish();
}

#[test]
#[ignore = "needs root to write a policy: run by tests/run"]
fn rate_is_a_lower_bound_on_time_both_ways_together() {
    let site = site();
    let content = noise(256 << 10, 1);
    site.file("large", &content);
    let (_policy, mut server) = greeted(&site, &[("rate", r#""512KiB/s""#)]);
    let begun = Instant::now();
    assert!(server.put("new", &content, false).ok().is_some());
    assert_eq!(server.get("large", 0).content, content);
    // One second less the burst.
    let took = begun.elapsed();
    assert!(took >= Duration::from_millis(850), "{took:?}");
    assert!(took < Duration::from_secs(20), "{took:?}");
    server.finish();
    // Without a rate it is much faster.
    let (_policy, mut server) = greeted(&site, &[]);
    let begun = Instant::now();
    assert_eq!(server.get("large", 0).content, content);
    assert!(begun.elapsed() < Duration::from_millis(400));
    server.finish();
}

#[test]
#[ignore = "needs root to write a policy: run by tests/run"]
fn idle_ends_a_session_that_waits_for_its_client_and_no_other() {
    let site = site();
    let before = site.everything();
    let (_policy, mut server) = greeted(&site, &[("idle", r#""1s""#)]);
    // One that asks now and then goes on for longer than that.
    for _ in 0..5 {
        std::thread::sleep(Duration::from_millis(400));
        assert!(matches!(server.ask(&Message::Stat { path: "f" }), Reply::Stat { .. }));
    }
    server.send(&Message::Put { path: "a/new", size: 2, offset: 0, overwrite: false });
    server.send(&Message::Data { payload: b"x" });
    let begun = Instant::now();
    assert_eq!(server.ends_within(Duration::from_secs(10)).code(), Some(74));
    assert!(begun.elapsed() >= Duration::from_millis(900), "{:?}", begun.elapsed());
    assert_eq!(site.everything(), before);
}

#[test]
#[ignore = "needs root to write a policy: run by tests/run"]
fn compression_says_which_codecs_may_be_agreed_on() {
    let both = Caps::LZ4 | Caps::ZSTD;
    for (key, agreed) in [
        ("[]", Caps::NONE),
        (r#"["lz4"]"#, Caps::LZ4),
        (r#"["zstd"]"#, Caps::ZSTD),
        (r#"["zstd", "lz4"]"#, both),
    ] {
        let site = site();
        site.file("text", text(1 << 20));
        let (_policy, mut server) = started(&site, &[("compression", key)]);
        let caps = server.greet(both);
        assert_eq!(caps, agreed, "{key}");
        let got = server.get("text", 0);
        let coded = got.blocks.iter().filter(|block| matches!(block, Reply::DataCompressed { .. })).count();
        assert_eq!(coded > 0, agreed != Caps::NONE, "{key}");
        assert_eq!(got.content, text(1 << 20));
        // What was not agreed on is refused.
        let coded = zstd::bulk::compress(&[1; 100], 3).unwrap();
        server.send(&Message::Put { path: "new", size: 100, offset: 0, overwrite: false });
        server.send(&Message::DataCompressed { algo: Algo::Zstd, original_size: 100, payload: &coded });
        let reply = server.ask(&Message::Done);
        assert_eq!(reply.is_error(), !agreed.has(Caps::ZSTD), "{key}: {reply:?}");
        assert_eq!(site.path("new").exists(), agreed.has(Caps::ZSTD));
        server.finish();
    }
}
