//! Every call by which a Put touches the file system fails once, in every way in which it may: one reply, which
//! names the cause; the session alive; the disk as promised.

use std::fmt;
use std::fs;
use std::sync::atomic::{AtomicUsize, Ordering};

use bcmr_tests::rungs::Rung;
use bcmr_tests::{Reply, Server, Site};
use bcmr_wire::Message;

use crate::budget::sweep;
use crate::scene::{Act, Scene};
use crate::trace::{Call, Trace, error, hex, injecting};

/// An error, and the words for it.
const ERRORS: [(&str, &str); 6] = [
    ("EIO", "input/output error"),
    ("ENOSPC", "no space left"),
    ("EDQUOT", "quota"),
    ("EINTR", "(never told)"),
    ("EPERM", "permission denied"),
    ("EOPNOTSUPP", "does not support"),
];

/// Calls on the file system.
pub(crate) const CALLS: [&str; 25] = [
    "openat",
    "openat2",
    "newfstatat",
    "mkdirat",
    "pwrite64",
    "ftruncate",
    "pread64",
    "lseek",
    "copy_file_range",
    "ioctl",
    "fsync",
    "fdatasync",
    "fchmod",
    "fgetxattr",
    "flistxattr",
    "fsetxattr",
    "fremovexattr",
    "linkat",
    "renameat",
    "renameat2",
    "unlinkat",
    "flock",
    "fstatfs",
    "getdents64",
    "close",
];

/// What must come of a Put one of whose calls fails.
#[derive(Clone, Copy, PartialEq, Eq, Debug)]
enum Fate {
    /// There is another way, or nothing depends on it.
    Published,
    /// Nothing is published, for this reason.
    Fails(&'static str),
    /// The file is published, and may be lost with the power, for this reason.
    NotDurable(&'static str),
}

struct Point {
    scene: Scene,
    call: Call,
    errno: &'static str,
    fate: Fate,
}

impl fmt::Display for Point {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        let Self { scene, call: Call { name, args, nth, .. }, errno, fate } = self;
        write!(f, "{scene}: {errno} at {name} {nth} ({args}): {fate:?}")
    }
}

/// What must come of a Put whose call at `at` fails, of all those that it makes.
fn fate(scene: &Scene, calls: &[Call], at: usize, errno: &str, words: &'static str) -> Fate {
    let call = &calls[at];
    let is = |flag: &str| call.args.contains(flag);
    let first = |is_it: &dyn Fn(&Call) -> bool| calls.iter().position(is_it);
    // The call by which the name gets the file.
    let published = first(&|c| c.publishes(scene.name())).expect("nothing was published");
    let refused = matches!(errno, "EPERM" | "EOPNOTSUPP");
    let unless = |fine: bool| if fine { Fate::Published } else { Fate::Fails(words) };
    let flushing = if at > published { Fate::NotDurable(words) } else { Fate::Fails(words) };
    match &*call.name {
        // Interrupted calls are made again.
        _ if errno == "EINTR" => Fate::Published,
        // Filters that do not know it say EPERM; then each directory is opened from the one before.
        "openat2" => unless(errno == "EPERM"),
        "openat" if is("O_TMPFILE") => unless(errno == "EOPNOTSUPP"),
        "openat" if is("O_CREAT") || is("O_PATH") => Fate::Fails(words),
        // A directory, to be swept before, to be flushed after.
        "openat" if is("O_DIRECTORY") => {
            if at > published {
                flushing
            } else {
                Fate::Published
            }
        }
        // The present file: for its beginning, and for its attributes, which a handle for writing has, too.
        "openat" => {
            let reading = first(&|c| c.name == "openat" && !c.args.contains("O_DIRECTORY"));
            unless(scene.act != Act::Append || reading != Some(at))
        }
        "ioctl" | "copy_file_range" | "fstatfs" | "getdents64" | "flock" | "unlinkat" => Fate::Published,
        "fsync" if refused => Fate::Published,
        "fsync" | "fdatasync" => flushing,
        // A file system without attributes; one that has some and then has not is none.
        "fgetxattr" => unless(errno == "EOPNOTSUPP" && call.names("system.posix_acl_access")),
        "flistxattr" => unless(errno == "EOPNOTSUPP" && is("NULL")),
        "fremovexattr" => unless(errno == "EOPNOTSUPP"),
        "lseek" => unless(is("SEEK_HOLE") || errno == "EOPNOTSUPP"),
        "linkat" if scene.act == Act::New && is(", 0") && is_by_name(call) && refused => {
            Fate::Fails("only by overwriting")
        }
        // The trial with which a session finds out how a file without a name gets one.
        "linkat" => unless(refused && calls.get(at + 1).is_some_and(|c| c.name == "unlinkat")),
        "renameat2" => unless(refused),
        // The one with which a file system is asked whether all that was written is stored.
        "close" => unless(!calls[at - 1].args.contains("F_DUPFD_CLOEXEC")),
        _ => Fate::Fails(words),
    }
}

/// Whether a linkat links a name, and not a descriptor.
fn is_by_name(call: &Call) -> bool {
    !call.args.contains("AT_EMPTY_PATH") && !call.args.contains("AT_SYMLINK_FOLLOW")
}

/// A session with the Put, by way of a command: the reply to it. Checks that it is the only one and that the
/// session goes on: a second Put is published, and taken away again.
fn run(scene: &Scene, site: &Site, command: Vec<String>) -> Reply {
    let mut server: Server = scene.launch(site, command).start().hello(scene.caps());
    server.to.send_raw(&scene.put());
    let reply = server.reply();
    assert!(matches!(server.ask(&Message::Stat { path: "" }), Reply::Stat { is_dir: true, .. }));
    let second = server.put("second", b"second", false);
    assert!(matches!(second, Reply::Ok { .. }), "the second Put: {second:?}");
    server.finish();
    assert_eq!(site.read("second"), b"second");
    fs::remove_file(site.path("second")).unwrap();
    reply
}

/// The calls of the serving thread from its Welcome to its reply to the Put.
pub(crate) fn calls_of_the_put(scene: &Scene) -> Vec<Call> {
    let (site, trace) = (scene.site(), Trace::new());
    assert!(!run(scene, &site, trace.command()).is_error(), "{scene}");
    let mut calls = trace.calls();
    let serving = calls[0].thread;
    calls.retain(|call| call.thread == serving);
    let begins_with = |frame: [u8; 5]| {
        let frame = hex(&frame);
        calls.iter().position(|c| c.name == "write" && c.args.contains(&frame)).expect("a frame was due")
    };
    let welcome = begins_with([3, 0, 0, 0, 0x81]);
    let ok = begins_with(if scene.act == Act::Append { [2, 0, 0, 0, 0x82] } else { [70, 0, 0, 0, 0x82] });
    calls[welcome + 1..ok].to_vec()
}

fn points(scene: Scene) -> Vec<Point> {
    let calls = calls_of_the_put(&scene);
    let mut points = Vec::new();
    for (at, call) in calls.iter().enumerate().filter(|(_, call)| CALLS.contains(&&*call.name)) {
        for (errno, words) in ERRORS {
            // A kernel does not interrupt a look at what is cached, and nothing asks it again.
            if errno == "EINTR" && matches!(&*call.name, "newfstatat" | "close") {
                continue;
            }
            let fate = fate(&scene, &calls, at, errno, words);
            points.push(Point { scene, call: call.clone(), errno, fate });
        }
    }
    points
}

fn try_one(point: &Point) {
    let Point { scene, call, errno, fate } = point;
    let site = scene.site();
    let before = site.everything();
    let reply = run(scene, &site, injecting(&call.name, &error(errno), call.nth));
    let tree = site.tree();
    match fate {
        Fate::Published => {
            assert!(matches!(reply, Reply::Ok { .. }), "{reply:?}");
            assert!(call.name == "unlinkat" || tree.stages().is_empty(), "{tree:?}");
        }
        Fate::Fails(words) => {
            assert!(reply.error().contains(words), "{reply:?}");
            assert_eq!(site.everything(), before);
        }
        Fate::NotDurable(words) => {
            let error = reply.error();
            assert!(error.contains("published whole, but not durable"), "{error}");
            assert!(error.contains(words), "{error}");
            assert!(tree.stages().is_empty(), "{tree:?}");
        }
    }
    // Who is told that it is published finds it published.
    scene.check_after_the_end(&site, !matches!(fate, Fate::Fails(_)));
}

#[test]
fn each_call_of_a_put_that_fails_is_one_reply_with_the_cause_and_the_disk_as_promised() {
    let mut scenes = Scene::all();
    // What is done only where another call was refused.
    let rules: [(Act, bool, &[&str]); 3] = [
        // A file system of unknown kind may have errors left to tell when a file is closed.
        (Act::New, false, &["fstatfs=ENOSYS"]),
        (Act::New, true, &["fsync=EINVAL"]),
        (Act::Append, false, &["ficlone=EOPNOTSUPP", "copy_file_range=EXDEV"]),
    ];
    let scene = |(act, sync, rules)| Scene { act, sync, rung: Rung { rules, named: false }, shared: false };
    scenes.extend(rules.map(scene));
    let points: Vec<_> = scenes.into_iter().flat_map(points).collect();
    for name in CALLS {
        assert!(points.iter().any(|point| point.call.name == name), "no Put makes {name}");
    }
    let late = |point: &Point| point.call.name == "close" && point.fate != Fate::Published;
    assert!(points.iter().any(late), "no Put asks for errors that are told only when a file is closed");
    let counts = [const { AtomicUsize::new(0) }; 3];
    sweep(
        "fault sweep",
        points,
        |_| 0,
        |point| {
            try_one(point);
            let kind = match point.fate {
                Fate::Published => 0,
                Fate::Fails(_) => 1,
                Fate::NotDurable(_) => 2,
            };
            counts[kind].fetch_add(1, Ordering::Relaxed);
        },
    );
    let [published, failed, not_durable] = counts.map(AtomicUsize::into_inner);
    println!("fault sweep: {published} published all the same, {failed} failed, {not_durable} not durable");
}
