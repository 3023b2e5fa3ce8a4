//! Linux 5.10, as Debian 11 has it, really booted: no Landlock, and what came after openat2 is missing too.

use bcmr_tests::Reply;
use bcmr_tests::content::{hex, noise};
use bcmr_tests::policy::EVERY_VERB;
use bcmr_wire::frame::FrameReader;
use bcmr_wire::{Caps, Message};

use crate::machine::{Session, boot};

const SETUP: &str = "echo old > old; echo kept > part; echo secret > ../outside/secret; \
                     /bin/busybox ln -s ../outside out; /bin/busybox ln -s old link";

fn policy() -> String {
    let profile = |level: &str| {
        format!(
            "[profile.{level}]\naccounts = [\"root\"]\nallow_root = true\nroot = \"/srv/root\"\n\
             verbs = {EVERY_VERB}\noverwrite = true\nsandbox = {level:?}\n"
        )
    };
    format!("version = 1\n{}{}{}", profile("require"), profile("available"), profile("best-effort"))
}

/// All that a session can do, in one go.
fn requests() -> Vec<u8> {
    let big = noise(100_000, 1);
    let put = |path, offset, content: &[u8], overwrite| {
        let size = offset + content.len() as u64;
        let mut bytes = Vec::new();
        for message in [
            Message::Put { path, size, offset, overwrite },
            Message::Data { payload: content },
            Message::Done,
        ] {
            message.encode(&mut bytes).unwrap();
        }
        bytes
    };
    let one = |message: Message<'_>| {
        let mut bytes = Vec::new();
        message.encode(&mut bytes).unwrap();
        bytes
    };
    [
        one(Message::Hello { version: 2, caps: Caps::PUT_OFFSET }),
        one(Message::Mkdir { path: "d" }),
        put("d/new", 0, &big, false),
        put("d/new", 0, b"other", false),
        put("old", 0, b"replaced", true),
        put("part", 5, b"more", true),
        one(Message::Get { path: "link", offset: 0 }),
        one(Message::List { path: "d" }),
        one(Message::Hash { path: "part", offset: 0, limit: None }),
        one(Message::Get { path: "out/secret", offset: 0 }),
        put("out/new", 0, b"x", false),
        one(Message::Stat { path: "/proc/version" }),
    ]
    .concat()
}

fn replies(bytes: &[u8]) -> Vec<Reply> {
    let mut frames = FrameReader::new(bytes);
    let mut replies = Vec::new();
    while let Some(header) = frames.header().unwrap() {
        replies.push(Reply::new(&frames.message(header).unwrap()));
    }
    replies
}

#[test]
#[ignore = "needs qemu, busybox and a kernel: run by tests/run"]
fn on_5_10_available_serves_and_says_that_landlock_is_off_and_require_refuses() {
    let session =
        |name: &'static str, args: &str| Session { name, args: args.to_owned(), request: requests() };
    let said = boot(
        &policy(),
        SETUP,
        &[
            session("require", "--profile require"),
            session("available", "--profile available"),
            session("best-effort", "--profile best-effort"),
            session("personal", "--root /srv/root"),
        ],
    );
    assert!(said.text("uname").starts_with("5.10."), "{}", said.text("uname"));
    println!("booted Linux {}", said.text("uname").trim());

    // One Error, 78, nothing done; the operator hears why.
    let [refused] = &replies(said.bytes("require.out"))[..] else { panic!("one Error was due") };
    assert_eq!(refused.error(), "policy refused; ask the administrator");
    assert_eq!((&*said.text("require.code"), &*said.text("require.err")), ("78\n", ""));
    let log = said.text("require.log");
    assert!(log.contains(r"sandbox level \'require\'") && log.contains("landlock off ("), "{log}");
    assert!(!said.text("require.tree").contains("new"));

    for name in ["available", "best-effort", "personal"] {
        let replies = replies(said.bytes(&format!("{name}.out")));
        let log = said.text(&format!("{name}.log"));
        let [welcome, mkdir, put, clash, replaced, part, data, got, listed, hash, out, out_put, stat] =
            &replies[..]
        else {
            panic!("{name}: {replies:?}; {log}; {}", said.text(&format!("{name}.err")))
        };
        assert!(matches!(welcome, Reply::Welcome { version: 2, .. }), "{name}: {welcome:?}");
        assert!(!mkdir.is_error(), "{name}: {mkdir:?}");
        assert_eq!(put.ok(), Some(&*hex(&noise(100_000, 1))), "{name}: {put:?}");
        assert!(clash.error().contains("already exists"), "{name}: {clash:?}");
        assert_eq!(replaced.ok(), Some(&*hex(b"replaced")), "{name}");
        assert!(!part.is_error(), "{name}: {part:?}");
        assert!(matches!(data, Reply::Data { payload } if payload == b"replaced"), "{name}: {data:?}");
        assert!(!got.is_error() && !listed.is_error(), "{name}: {got:?} {listed:?}");
        assert_eq!(hash.hash(), hex(b"kept\nmore"), "{name}");
        assert!(
            out.is_error() && out_put.is_error() && stat.is_error(),
            "{name}: {out:?} {out_put:?} {stat:?}"
        );
        assert_eq!((&*said.text(&format!("{name}.code")), &*said.text(&format!("{name}.err"))), ("0\n", ""));
        assert!(log.contains("landlock off (") && log.contains("seccomp on"), "{name}: {log}");
        let tree = said.text(&format!("{name}.tree"));
        let mut files: Vec<_> = tree.lines().filter_map(|line| line.split("  ./").nth(1)).collect();
        files.sort_unstable();
        assert_eq!(files, ["outside/secret", "root/d/new", "root/old", "root/part"], "{name}");
    }
}
