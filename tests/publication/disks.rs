//! The rungs that real file systems bear, seen in the calls of a session on each. Mounting them needs root, and
//! their tools: `tests/run` sees to both. What else must work there is in `verbs/file_systems.rs`.

use std::fs::{self, File};
use std::time::{Duration, Instant};

use bcmr_tests::content::{hex, noise};
use bcmr_tests::fuse::Fuse;
use bcmr_tests::{Launch, Reply, Server, Site};
use bcmr_wire::{Caps, Message};

use crate::ladder::{Kept, Published, Rungs, Staged, rungs_of};
use crate::trace::Trace;

/// What a session of a file system's root is started behind.
fn on(site: &Site, mount: &str, rules: &[&str], trace: &Trace) -> Launch {
    let launch = Launch::new(site.root());
    let launch = if mount.is_empty() {
        launch
    } else {
        launch.under(["unshare", "-m", "--propagation", "private"]).after_shell(mount)
    };
    launch.without(rules).under(trace.command())
}

/// Puts a new file, replaces it, and keeps a part of it, all flushed; the rungs on which that was done.
fn climb(site: &Site, mount: &str, rules: &[&str]) -> [Rungs; 3] {
    let trace = Trace::new();
    let mut server = on(site, mount, rules, &trace).start().hello(Caps::PUT_OFFSET | Caps::SYNC);
    let content = noise(300_000, 1);
    for (content, overwrite) in [(&content[..], false), (&content[..200_000], true)] {
        assert_eq!(server.put("f", content, overwrite).ok(), Some(&*hex(content)));
    }
    server.send(&Message::Put { path: "f", size: 150_004, offset: 150_000, overwrite: true });
    server.send(&Message::Data { payload: b"tail" });
    assert_eq!(server.ask(&Message::Done), Reply::Ok { hash: None });
    assert!(server.get("f", 0).content == [&content[..150_000], b"tail"].concat());
    assert_eq!(server.ask(&Message::List { path: "" }).paths().last(), Some(&"f"));
    server.finish();
    let rungs = rungs_of(&trace.calls(), "f");
    rungs.try_into().unwrap_or_else(|rungs| panic!("three Puts, and these rungs: {rungs:?}"))
}

/// What the three Puts use where a file without a name can be had.
fn unnamed(kept: Kept, flushes: &'static [&'static str]) -> [Rungs; 3] {
    let rungs = |published, kept| Rungs { staged: Staged::Unnamed, published, kept, flushes };
    [
        rungs(Published::LinkedByDescriptor, None),
        rungs(Published::LinkedThenRenamed, None),
        rungs(Published::LinkedThenRenamed, Some(kept)),
    ]
}

/// The same where it has a reserved name.
fn named(new: Published, kept: Kept) -> [Rungs; 3] {
    let rungs = |published, kept| Rungs { staged: Staged::Named, published, kept, flushes: FLUSHES };
    [rungs(new, None), rungs(Published::Renamed, None), rungs(Published::Renamed, Some(kept))]
}

const FLUSHES: &[&str] = &["file", "publish", "directory"];

/// Where a link is durable only after another flush of the file.
const FLUSHES_TWICE: &[&str] = &["file", "publish", "file", "directory"];

/// The line that makes a file system in a file and mounts it on the root.
fn disk(site: &Site, make: &str, size: u64) -> String {
    let image = site.base().join("image");
    File::create(&image).unwrap().set_len(size).unwrap();
    let (image, root) = (image.display().to_string(), site.root().display().to_string());
    // Standard output is the protocol's, and mkfs.btrfs talks however quiet it is told to be.
    format!("{make} {image} >&2 && mount -o loop {image} {root} && rm -rf {root}/lost+found")
}

#[test]
#[ignore = "needs root to mount a file system: run by tests/run"]
fn ext4_stages_without_a_name_and_has_the_kernel_copy_what_is_kept() {
    let site = Site::new();
    let mount = disk(&site, "mkfs.ext4 -q -F", 64 << 20);
    assert_eq!(climb(&site, &mount, &[]), unnamed(Kept::CopiedByKernel, FLUSHES));
}

#[test]
#[ignore = "needs root to mount a file system: run by tests/run"]
fn xfs_stages_without_a_name_and_shares_what_is_kept() {
    let site = Site::new();
    let mount = disk(&site, "mkfs.xfs -q -f -m reflink=1", 512 << 20);
    assert_eq!(climb(&site, &mount, &[]), unnamed(Kept::Shared, FLUSHES));
}

#[test]
#[ignore = "needs root to mount a file system: run by tests/run"]
fn btrfs_stages_without_a_name_shares_what_is_kept_and_is_flushed_again_after_the_link() {
    let site = Site::new();
    let mount = disk(&site, "mkfs.btrfs -q -f", 256 << 20);
    assert_eq!(climb(&site, &mount, &[]), unnamed(Kept::Shared, FLUSHES_TWICE));
}

#[test]
#[ignore = "needs root to mount a file system: run by tests/run"]
fn tmpfs_stages_without_a_name_and_a_full_one_cuts_a_write_short_and_keeps_the_old_file() {
    let site = Site::new();
    let mount = format!("mount -t tmpfs -o size=32m,mode=755 none {}", site.root().display());
    assert_eq!(climb(&site, &mount, &[]), unnamed(Kept::CopiedByKernel, FLUSHES));

    let trace = Trace::new();
    let mut server = on(&site, &mount, &[], &trace).start().hello(Caps::NONE);
    assert!(server.put("f", b"old", false).ok().is_some());
    server.send(&Message::Put { path: "f", size: 64 << 20, offset: 0, overwrite: true });
    // No multiple of a page, so that a write must end in the middle.
    let block = noise((1 << 20) - 100, 3);
    let begun = Instant::now();
    for _ in 0..36 {
        server.send(&Message::Data { payload: &block });
    }
    let reply = server.reply();
    assert!(reply.error().contains("no space left"), "{reply:?}");
    assert!(begun.elapsed() < Duration::from_secs(5), "{:?}", begun.elapsed());
    server.send(&Message::Done);
    assert_eq!(server.get("f", 0).content, b"old");
    server.finish();
    let calls = trace.calls();
    let written = |call: &crate::trace::Call| call.result.parse::<usize>().ok();
    let short =
        |call: &&crate::trace::Call| call.name == "pwrite64" && written(call).is_some_and(|n| n % 100 != 76);
    assert!(calls.iter().any(|c| c.name == "pwrite64" && c.result.contains("ENOSPC")));
    println!("writes cut short: {}", calls.iter().filter(short).count());
}

#[test]
#[ignore = "needs root to mount a file system: run by tests/run"]
fn an_overlay_climbs_as_its_kernel_lets_it() {
    let site = Site::new();
    let dirs = ["lower", "upper", "work"].map(|dir| {
        fs::create_dir(site.base().join(dir)).unwrap();
        format!("{dir}dir={}", site.base().join(dir).display())
    });
    let mount = format!("mount -t overlay -o {} overlay {}", dirs.join(","), site.root().display());
    let rungs = climb(&site, &mount, &[]);
    // Overlays know O_TMPFILE since Linux 6.3.
    let expected = match rungs[0].staged {
        Staged::Unnamed => unnamed(Kept::CopiedByKernel, FLUSHES),
        Staged::Named => named(Published::RenamedWithoutReplacing, Kept::CopiedByKernel),
    };
    assert_eq!(rungs, expected);
    assert!(rungs[0].staged == Staged::Unnamed || kernel() < (6, 3), "{rungs:?}");
}

/// The running kernel's version.
fn kernel() -> (u32, u32) {
    let release = fs::read_to_string("/proc/sys/kernel/osrelease").unwrap();
    let mut numbers = release.split(|c: char| !c.is_ascii_digit()).map(|n| n.parse().unwrap_or(0));
    (numbers.next().unwrap(), numbers.next().unwrap())
}

#[test]
#[ignore = "needs root to mount a file system: run by tests/run"]
fn listenarr_944_fuse_without_o_tmpfile_and_noreplace_links_from_name_to_name() {
    let site = Site::new();
    let root = site.root();
    let fuse = Fuse::mirror(&site.outside(), &root);
    let [new, replaced, appended] = climb(&site, "", &[]);
    let expected = named(Published::LinkedByName, Kept::CopiedByKernel);
    assert_eq!((&new, &replaced), (&expected[0], &expected[1]));
    // Kernels differ in who copies for a daemon that does not.
    assert!(matches!(appended.kept, Some(Kept::CopiedByKernel | Kept::CopiedByHand)), "{appended:?}");
    drop(fuse);
}

#[test]
#[ignore = "needs root to mount a file system: run by tests/run"]
fn fuse_that_refuses_links_as_well_replaces_and_refuses_new_names_with_the_reason() {
    let site = Site::new();
    fs::write(site.outside().join("f"), "old").unwrap();
    let root = site.root();
    let fuse = Fuse::mirror(&site.outside(), &root);
    let trace = Trace::new();
    let mut server: Server = on(&site, "", &["linkat=EPERM"], &trace).start().hello(Caps::NONE);
    let reply = server.put("a/new", b"new", false);
    assert!(reply.error().contains("only by overwriting"), "{reply:?}");
    assert_eq!(site.tree().paths(), ["f"]);
    assert!(server.put("f", b"new", true).ok().is_some());
    server.finish();
    assert_eq!((site.read("f"), site.tree().paths()), (b"new".to_vec(), vec!["f"]));
    let rungs = rungs_of(&trace.calls(), "f");
    let expected =
        Rungs { staged: Staged::Named, published: Published::Renamed, kept: None, flushes: &["publish"] };
    assert_eq!(rungs, [expected]);
    drop(fuse);
}

#[test]
#[ignore = "needs root to mount a file system: run by tests/run"]
fn ext4_that_is_read_only_is_one_error_and_no_rung_is_reached() {
    let site = Site::new();
    let root = site.root().display().to_string();
    let mount = disk(&site, "mkfs.ext4 -q -F", 64 << 20);
    let mount = format!("{mount} && printf old > {root}/f && mount -o remount,ro {root}");
    let trace = Trace::new();
    let mut server = on(&site, &mount, &[], &trace).start().hello(Caps::PUT_OFFSET | Caps::SYNC);
    for (path, overwrite) in [("f", true), ("new", false), ("a/new", false)] {
        let reply = server.put(path, b"new", overwrite);
        assert!(reply.error().contains("read-only"), "{path}: {reply:?}");
    }
    assert_eq!(server.get("f", 0).content, b"old");
    assert_eq!(server.ask(&Message::List { path: "" }).paths(), ["f"]);
    server.finish();
    let calls = trace.calls();
    assert!(calls.iter().any(|c| c.args.contains("O_TMPFILE") && c.result.contains("EROFS")));
    assert_eq!(rungs_of(&calls, "f"), []);
}

#[test]
fn a_session_finds_out_once_what_a_file_system_bears() {
    for (rules, trials, tmpfiles, noreplaces) in [
        (&[][..], 1, 6, 0),
        (&["tmpfile=EOPNOTSUPP"], 0, 1, 5),
        (&["tmpfile=EOPNOTSUPP", "renameat2=EINVAL"], 0, 1, 1),
    ] {
        let (site, trace) = (Site::new(), Trace::new());
        let mut server = on(&site, "", rules, &trace).start().hello(Caps::NONE);
        for name in ["a", "b", "d/c", "d/d", "e/e"] {
            assert!(server.put(name, b"content", false).ok().is_some());
        }
        server.finish();
        let calls = trace.calls();
        let count = |is: &dyn Fn(&crate::trace::Call) -> bool| calls.iter().filter(|call| is(call)).count();
        let trial = |c: &crate::trace::Call| {
            c.name == "linkat" && c.args.contains("AT_EMPTY_PATH") && c.names(".bcmr-")
        };
        assert_eq!(count(&trial), trials, "{rules:?}");
        assert_eq!(count(&|c| c.args.contains("O_TMPFILE")), tmpfiles, "{rules:?}");
        assert_eq!(count(&|c| c.name == "renameat2"), noreplaces, "{rules:?}");
    }
}

#[test]
fn without_sync_nothing_is_flushed_and_with_it_everything_in_its_order() {
    for (caps, flushes) in [(Caps::NONE, &["publish"][..]), (Caps::SYNC, FLUSHES)] {
        for rules in [&[][..], &["tmpfile=EOPNOTSUPP"], &["tmpfile=EINVAL", "renameat2=EINVAL"]] {
            let (site, trace) = (Site::new(), Trace::new());
            site.file("f", "old");
            let mut server = on(&site, "", rules, &trace).start().hello(caps);
            for (name, overwrite) in [("f", true), ("f", true), ("new/f", false)] {
                assert!(server.put(name, b"content", overwrite).ok().is_some());
            }
            server.finish();
            let rungs = rungs_of(&trace.calls(), "f");
            assert_eq!(rungs.len(), 3, "{rungs:?}");
            assert!(rungs[..2].iter().all(|rungs| rungs.flushes == flushes), "{rules:?} {rungs:?}");
            // The directory that was made for it is durable, too.
            let mut with_parent = flushes.to_vec();
            if caps == Caps::SYNC {
                with_parent.push("directory");
            }
            assert_eq!(rungs[2].flushes, with_parent, "{rules:?}");
        }
    }
}
