//! Limits of the process that a Put runs into: on the size of files, which cuts a write short first, and on the
//! number of processes.

use std::fs::{self, Permissions};
use std::os::unix::fs::{PermissionsExt, chown};

use bcmr_tests::content::{hex, noise};
use bcmr_tests::rungs::KINDS;
use bcmr_tests::{Reply, Site};
use bcmr_wire::{Caps, Message};

use crate::trace::{Call, Trace};

/// Bytes that a file may have, in blocks of 512 as ulimit counts them.
const BLOCKS: usize = 200;

#[test]
fn a_write_that_rlimit_fsize_cuts_short_is_one_error_and_a_smaller_file_is_published_after_it() {
    for rung in KINDS {
        let (site, trace) = (Site::new(), Trace::new());
        site.file("f", noise(150_000, 1));
        let before = site.everything();
        // Not for strace itself, whose own file may become larger.
        let launch = rung.launch(&site).under(trace.command()).after_shell(&format!("ulimit -f {BLOCKS}"));
        let mut server = launch.start().hello(Caps::PUT_OFFSET);
        for (path, overwrite) in [("f", true), ("new", false), ("a/new", false)] {
            let reply = server.put(path, &noise(1 << 20, 2), overwrite);
            assert!(reply.error().contains("larger than"), "{rung:?} {path}: {reply:?}");
            assert_eq!(site.everything(), before, "{rung:?} {path}");
        }
        // What is kept is too much already.
        server.send(&Message::Put { path: "f", size: 120_004, offset: 120_000, overwrite: true });
        server.send(&Message::Data { payload: b"tail" });
        let reply = server.ask(&Message::Done);
        assert!(reply.error().contains("larger than"), "{rung:?}: {reply:?}");
        assert_eq!(site.everything(), before, "{rung:?}");

        let fits = noise(BLOCKS * 512, 3);
        assert_eq!(server.put("f", &fits, true).ok(), Some(&*hex(&fits)), "{rung:?}");
        server.finish();
        assert!(site.read("f") == fits);
        assert_eq!(site.tree().paths(), ["f"], "{rung:?}");
        let calls = trace.calls();
        let writes: Vec<_> = calls.iter().filter(|call| call.name == "pwrite64").collect();
        // Arguments: descriptor, content, length, position.
        let asked = |call: &&&Call| call.args.rsplit(", ").nth(1).map(str::to_owned);
        let cut = |call: &&&Call| call.succeeded() && asked(call).as_ref() != Some(&call.result);
        assert_eq!(writes.iter().filter(cut).count(), 3, "{rung:?}: no write was cut short");
        assert!(writes.iter().any(|call| call.result.contains("EFBIG")));
    }
}

/// An account that nobody else has: whatever runs by it counts.
const COUNTED: u32 = 60_010;

#[test]
#[ignore = "needs root for an account whose processes can be counted: run by tests/run"]
fn with_rlimit_nproc_reached_a_session_puts_on_and_a_new_one_says_why_it_cannot_begin() {
    for rung in KINDS {
        let site = Site::new();
        fs::set_permissions(site.base(), Permissions::from_mode(0o755)).unwrap();
        let owned = [site.root(), site.file("f", "old")];
        owned.iter().for_each(|path| chown(path, Some(COUNTED), Some(COUNTED)).unwrap());
        let launch = |limit: &str| rung.launch(&site).under(["prlimit", limit]).by_account(COUNTED);
        // With a limit of two, the session's two threads reach it.
        let mut server = launch("--nproc=2:2").start().hello(Caps::NONE);
        let tasks = format!("/proc/{}/task", server.pid().as_raw_nonzero());
        assert_eq!(fs::read_dir(tasks).unwrap().count(), 2);
        for (path, overwrite) in [("f", true), ("new", false)] {
            let reply = server.put(path, b"new", overwrite);
            assert!(matches!(reply, Reply::Ok { .. }), "{rung:?} {path}: {reply:?}");
        }
        server.finish();
        assert_eq!((site.read("f"), site.tree().paths()), (b"new".to_vec(), vec!["f", "new"]));
        let before = site.everything();
        let mut server = launch("--nproc=1:1").start();
        let reply = server.reply();
        assert!(reply.error().contains("short of threads"), "{reply:?}");
        assert_eq!(server.from.next_reply(), None);
        assert_eq!(server.exit_code(), 75);
        assert_eq!(site.everything(), before);
    }
}
