//! Put with an offset: what is kept of the present file, and what it takes.

use std::os::unix::fs::MetadataExt;
use std::time::Duration;

use bcmr_tests::content::noise;
use bcmr_tests::{Launch, Reply, Server, Site};
use bcmr_wire::{Caps, Message};

use crate::put::{data, furnished};

/// A Put that keeps the first `offset` bytes.
const fn onto(path: &str, size: u64, offset: u64) -> Message<'_> {
    Message::Put { path, size, offset, overwrite: true }
}

#[test]
fn with_an_offset_the_first_bytes_are_kept_and_what_is_beyond_is_cut() {
    let site = Site::new();
    let old = noise(700_000, 3);
    for (offset, tail) in [(1, 0), (1, 5), (300_000, 100), (699_999, 1), (700_000, 0), (700_000, 300_000)] {
        site.file("f", &old);
        let tail = noise(tail, 4);
        let mut server = Server::start(site.root()).hello(Caps::PUT_OFFSET);
        server.send(&onto("f", (offset + tail.len()) as u64, offset as u64));
        server.to.content(&tail);
        assert_eq!(server.ask(&Message::Done).ok(), None, "no hash is known");
        assert!(site.read("f") == [&old[..offset], &tail].concat(), "{offset}");
        server.finish();
    }
    assert!(site.tree().stages().is_empty());
}

#[test]
fn the_present_file_stays_whole_and_visible_until_the_new_one_is_complete() {
    let (site, before) = furnished();
    let mut server = Server::start(site.root()).hello(Caps::PUT_OFFSET);
    server.send(&onto("f", 7, 4));
    server.send(&data(b"ab"));
    server.from.stays_silent(Duration::from_millis(100));
    let seen = site.everything();
    assert_eq!(seen.get("root/f"), before.get("root/f"));
    server.send(&data(b"c"));
    assert!(matches!(server.ask(&Message::Done), Reply::Ok { hash: None }));
    assert_eq!(site.read("f"), b"old abc");
    server.finish();
}

#[test]
fn with_an_offset_the_file_must_exist_be_long_enough_and_may_be_replaced() {
    let (site, _) = furnished();
    site.fifo("fifo");
    let before = site.everything();
    let mut server = Server::start(site.root()).hello(Caps::PUT_OFFSET);
    for request in [
        onto("absent", 10, 5),
        onto("no/where", 10, 5),
        onto("f", 20, 10),
        onto("f", u64::MAX, u64::MAX),
        onto("f", 4, 5),
        onto("f", 0, u64::MAX),
        onto("absent", 4, 5),
        onto("d", 10, 1),
        onto("fifo", 10, 1),
        Message::Put { path: "f", size: 10, offset: 9, overwrite: false },
    ] {
        let reply = server.ask(&request);
        assert!(reply.is_error(), "{request:?}: {reply:?}");
        server.send(&data(b"x"));
        server.send(&Message::Done);
    }
    server.finish();
    assert_eq!(site.everything(), before);
}

#[test]
fn an_offset_that_was_not_agreed_on_is_refused() {
    let (site, before) = furnished();
    let mut server = Server::start(site.root()).hello(Caps(0xff).without(Caps::PUT_OFFSET));
    let reply = server.ask(&onto("f", 10, 9));
    assert!(reply.error().contains("CAP_PUT_OFFSET"), "{reply:?}");
    server.send(&data(b"x"));
    server.send(&Message::Done);
    server.finish();
    assert_eq!(site.everything(), before);
}

#[test]
fn holes_in_what_is_kept_stay_holes() {
    let site = Site::new();
    let size = 64 << 20;
    site.sparse("f", size, &[(0, b"begin"), (32 << 20, b"middle")]);
    // Without the clone that some file systems make, and without the kernel's copy.
    for rules in [&["ficlone=EOPNOTSUPP"][..], &["ficlone=EOPNOTSUPP", "copy_file_range=ENOSYS"], &[]] {
        let mut server = Launch::new(site.root()).without(rules).start().hello(Caps::PUT_OFFSET);
        server.send(&onto("f", size + 3, size));
        server.send(&data(b"end"));
        assert_eq!(server.ask(&Message::Done).ok(), None);
        server.finish();
        let metadata = site.path("f").metadata().unwrap();
        assert_eq!(metadata.len(), size + 3);
        assert!(metadata.blocks() * 512 < 1 << 20, "{} bytes on disk", metadata.blocks() * 512);
        let content = site.read("f");
        assert!(content.starts_with(b"begin\0") && content.ends_with(b"\0end"));
        assert!(content[32 << 20..].starts_with(b"middle\0"));
    }
}

#[test]
fn rust_66760_copy_file_range_refused_after_part_still_gives_exact_bytes() {
    // Two runs of data of 64 KiB and 128 KiB, so that the second call can be told from the first by its length.
    let site = Site::new();
    let (a, b) = (noise(64 << 10, 5), noise(128 << 10, 6));
    let size = (1 << 20) + (128 << 10);
    let expected = {
        site.sparse("f", size, &[(0, &a), (1 << 20, &b)]);
        [site.read("f"), b"tail".to_vec()].concat()
    };
    let part = format!("copy_file_range:4&0xffffffff=={}", 128 << 10);
    for error in ["EXDEV", "EIO", "EPERM"] {
        for refused in ["copy_file_range", &part] {
            site.sparse("f", size, &[(0, &a), (1 << 20, &b)]);
            let rules = [&*format!("{refused}={error}"), "ficlone=EOPNOTSUPP"];
            let mut server = Launch::new(site.root()).without(&rules).start().hello(Caps::PUT_OFFSET);
            server.send(&onto("f", size + 4, size));
            server.send(&data(b"tail"));
            assert_eq!(server.ask(&Message::Done).ok(), None, "{rules:?}");
            assert!(site.read("f") == expected, "{rules:?}");
            server.finish();
        }
    }
    for error in ["EOPNOTSUPP", "EINVAL", "ENOSYS"] {
        site.sparse("f", size, &[(0, &a), (1 << 20, &b)]);
        let rules = [&*format!("copy_file_range={error}"), "ficlone=EINVAL"];
        let mut server = Launch::new(site.root()).without(&rules).start().hello(Caps::PUT_OFFSET);
        server.send(&onto("f", size + 4, size));
        server.send(&data(b"tail"));
        assert_eq!(server.ask(&Message::Done).ok(), None, "{rules:?}");
        assert!(site.read("f") == expected, "{rules:?}");
        server.finish();
    }
}
