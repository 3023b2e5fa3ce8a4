//! A mirror, a dropbox, a shelf that is only added to, and a profile with everything: every verb, allowed and
//! refused, with the disk looked at both times.

use bcmr_tests::disk::Tree;
use bcmr_tests::policy::{EVERY_VERB, Profile};
use bcmr_tests::{Policy, Reply, Server, Site};
use bcmr_wire::{Caps, Message};

/// A profile, and what it allows: the names of [`requests`], in their order.
struct Kind {
    name: &'static str,
    keys: &'static [(&'static str, &'static str)],
    allows: &'static str,
}

const KINDS: [Kind; 5] = [
    Kind {
        name: "mirror",
        keys: &[("verbs", r#"["stat", "list", "hash", "get"]"#)],
        allows: "stat list hash get get-range",
    },
    Kind {
        name: "dropbox",
        keys: &[("verbs", r#"["put", "mkdir"]"#)],
        allows: "put put-below put-asking-to-overwrite mkdir",
    },
    // Without mkdir a Put makes no parents either.
    Kind { name: "slot", keys: &[("verbs", r#"["put"]"#)], allows: "put put-asking-to-overwrite" },
    Kind {
        name: "shelf",
        keys: &[("verbs", EVERY_VERB)],
        allows: "stat list hash get get-range resume put put-below put-asking-to-overwrite mkdir",
    },
    Kind {
        name: "full",
        keys: &[("verbs", EVERY_VERB), ("overwrite", "true")],
        allows: "stat list hash get get-range resume put put-below put-asking-to-overwrite mkdir overwrite append",
    },
];

/// A request that succeeds where nothing forbids it.
struct Asked {
    name: &'static str,
    /// What is to stand at a path afterwards, where that is another than before.
    makes: Option<(&'static str, Option<&'static [u8]>)>,
    ask: fn(&mut Server, &str) -> Reply,
    /// The path that is asked for, below the directory that is asked about.
    path: &'static str,
}

impl Asked {
    /// The word in `verbs` that it needs.
    fn verb(&self) -> &'static str {
        match self.name {
            "get-range" => "get",
            "put-below" | "put-asking-to-overwrite" | "overwrite" | "append" => "put",
            name => name,
        }
    }
}

const fn reads(name: &'static str, path: &'static str, ask: fn(&mut Server, &str) -> Reply) -> Asked {
    Asked { name, makes: None, ask, path }
}

const fn writes(
    name: &'static str,
    path: &'static str,
    content: Option<&'static [u8]>,
    ask: fn(&mut Server, &str) -> Reply,
) -> Asked {
    Asked { name, makes: Some((path, content)), ask, path }
}

fn append(server: &mut Server, path: &str) -> Reply {
    server.send(&Message::Put { path, size: 9, offset: 6, overwrite: true });
    server.send(&Message::Data { payload: b"abc" });
    server.send(&Message::Done);
    server.reply()
}

fn requests() -> [Asked; 12] {
    [
        reads("stat", "f", |s, path| s.ask(&Message::Stat { path })),
        reads("list", "", |s, path| s.ask(&Message::List { path })),
        reads("hash", "f", |s, path| s.ask(&Message::Hash { path, offset: 0, limit: None })),
        reads("get", "f", |s, path| {
            let got = s.get(path, 0);
            assert!(got.end.is_error() && got.content.is_empty() || got.content == b"inside", "{got:?}");
            got.end
        }),
        reads("get-range", "f", |s, path| {
            s.send(&Message::GetChunked { path, offset: 1, length: 2 });
            let got = s.from.got();
            assert!(got.end.is_error() && got.content.is_empty() || got.content == b"ns", "{got:?}");
            got.end
        }),
        reads("resume", "f", |s, path| s.ask(&Message::Resume { path })),
        writes("put", "new", Some(b"put"), |s, path| s.put(path, b"put", false)),
        writes("put-below", "a/b/new", Some(b"put"), |s, path| s.put(path, b"put", false)),
        // Clients ask for it where nothing stands, too.
        writes("put-asking-to-overwrite", "new2", Some(b"put"), |s, path| s.put(path, b"put", true)),
        writes("mkdir", "made/dir", None, |s, path| s.ask(&Message::Mkdir { path })),
        writes("overwrite", "f", Some(b"put"), |s, path| s.put(path, b"put", true)),
        writes("append", "f", Some(b"insideabc"), append),
    ]
}

fn site() -> Site {
    let site = Site::new();
    site.file("f", "inside");
    site.outside_file("f", "outside");
    site.link("out", site.outside());
    site
}

/// Whether the tree is the one before and what was asked for, and nothing else.
#[track_caller]
fn check_made(site: &Site, before: &Tree, made: Option<(&str, Option<&[u8]>)>, what: &str) {
    let after = site.everything();
    let Some((path, content)) = made else {
        assert_eq!(after, *before, "{what}");
        return;
    };
    match content {
        Some(content) => assert_eq!(site.read(path), content, "{what}"),
        None => assert!(site.path(path).is_dir(), "{what}"),
    }
    let whole = format!("root/{path}");
    let strange = |name: &&str| {
        let on_the_way = whole == **name || whole.starts_with(&format!("{name}/"));
        !on_the_way && after.get(name) != before.get(name)
    };
    let strange: Vec<_> = after.paths().into_iter().filter(strange).map(str::to_owned).collect();
    assert_eq!(strange, Vec::<String>::new(), "{what}");
    assert!(before.paths().iter().all(|name| after.get(name).is_some()), "{what}");
}

#[track_caller]
fn every_verb(kind: &Kind, start: fn(&Policy, &Site) -> Server) {
    let mut allowed = Vec::new();
    for request in requests() {
        let site = site();
        let policy = Policy::of(&Profile::new(&site).keys(kind.keys));
        let mut server = start(&policy, &site);
        let before = site.everything();
        let what = format!("{} under {}", request.name, kind.name);
        let reply = (request.ask)(&mut server, request.path);
        if reply.is_error() {
            check_made(&site, &before, None, &what);
        } else {
            allowed.push(request.name);
            check_made(&site, &before, request.makes, &what);
        }
        let before = site.everything();
        // Nothing is allowed outside. What the verb is refused for is the same there as inside, whether or not
        // something exists.
        let outside = site.outside().to_str().unwrap().to_owned();
        let places =
            [format!("{outside}/f"), format!("{outside}/absent"), "out/f".to_owned(), "out/g".to_owned()];
        let texts = places.map(|path| {
            let reply = (request.ask)(&mut server, &path);
            reply.error().replacen(&path, "P", 1)
        });
        assert!(texts[0] == texts[1] && texts[2] == texts[3], "{what}: {texts:?}");
        let denied = format!("this account may not {}", request.verb());
        if reply.is_error() && reply.error().ends_with(&denied) {
            let inside = reply.error().replacen(&format!("'{}'", request.path), "'P'", 1);
            assert!(texts.iter().all(|text| *text == inside), "{what}: {texts:?}");
        } else {
            // A link is not looked at where the request is refused for what it asks.
            let first = reply.is_error() && texts[2].ends_with("may not overwrite");
            assert!(texts[0].contains("escapes server root"), "{what}: {texts:?}");
            assert!(first || texts[2] == texts[0], "{what}: {texts:?}");
        }
        assert_eq!(site.everything(), before, "{what}, outside");
        server.finish();
    }
    assert_eq!(allowed, kind.allows.split_whitespace().collect::<Vec<_>>(), "{}", kind.name);
}

fn as_root(policy: &Policy, _site: &Site) -> Server {
    policy.launch().start().hello(Caps::PUT_OFFSET)
}

fn as_nobody(policy: &Policy, site: &Site) -> Server {
    policy.launch().unprivileged(site).start().hello(Caps::PUT_OFFSET)
}

#[test]
#[ignore = "needs root to write a policy: run by tests/run"]
fn a_profile_allows_an_account_exactly_its_verbs_and_leaves_the_disk_alone_otherwise() {
    KINDS.iter().for_each(|kind| every_verb(kind, as_nobody));
}

#[test]
#[ignore = "needs root to write a policy: run by tests/run"]
fn a_profile_allows_root_exactly_its_verbs_and_leaves_the_disk_alone_otherwise() {
    KINDS.iter().for_each(|kind| every_verb(kind, as_root));
}

#[test]
#[ignore = "needs root to write a policy: run by tests/run"]
fn a_verb_that_is_denied_is_denied_in_the_same_words_whatever_is_asked_for() {
    // The words must not tell whether something is there, inside or out.
    let site = site();
    let policy = Policy::of(&Profile::new(&site).keys(KINDS[1].keys));
    let mut server = policy.launch().start().hello(Caps::PUT_OFFSET);
    let outside = site.outside().to_str().unwrap().to_owned();
    let paths = ["f", "absent", "f/below", "..", "out", "out/f", "", "/", "/etc/passwd", &outside, "a\0b"];
    for ask in [
        |path| Message::Stat { path },
        |path| Message::List { path },
        |path| Message::Get { path, offset: 0 },
        |path| Message::GetChunked { path, offset: 0, length: 1 },
        |path| Message::Hash { path, offset: 0, limit: Some(1) },
        |path| Message::Resume { path },
    ] as [fn(&str) -> Message<'_>; 6]
    {
        let texts: Vec<_> = paths
            .iter()
            .map(|path| server.ask(&ask(path)).error().rsplit_once("': ").unwrap().1.to_owned())
            .collect();
        assert!(texts[0].starts_with("this account may not "), "{texts:?}");
        assert!(texts.iter().all(|text| *text == texts[0]), "{texts:?}");
    }
    server.finish();
}

#[test]
#[ignore = "needs root to write a policy: run by tests/run"]
fn a_refused_put_of_any_profile_passes_over_its_content_and_the_session_goes_on() {
    let site = site();
    let policy = Policy::of(&Profile::new(&site).keys(KINDS[0].keys));
    let before = site.everything();
    let mut server = policy.launch().start().hello(Caps::NONE);
    for path in ["new", "f", "a/b", "out/new"] {
        assert!(server.put(path, &[7; 3 << 20], true).error().contains("may not put"));
        assert_eq!(server.get("f", 0).content, b"inside");
    }
    assert_eq!(site.everything(), before);
    server.finish();
}
