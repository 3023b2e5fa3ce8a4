//! A session that is stopped after any of its calls on files, and goes on when another has finished, changes nothing
//! that the other was promised; nor does the other's sweep take away what the stopped one holds.

use std::fmt;
use std::fs;
use std::thread::sleep;
use std::time::{Duration, Instant};

use bcmr_tests::content::noise;
use bcmr_tests::disk::Node;
use bcmr_tests::rungs::KINDS;
use bcmr_tests::{Reply, Server};
use rustix::process::{Signal, kill_process};

use crate::budget::sweep;
use crate::fault_sweep::{CALLS, calls_of_the_put};
use crate::scene::{Act, Scene};
use crate::trace::{Call, Trace, child_of, injecting_into};

struct Point {
    scene: Scene,
    call: Call,
    /// Whether the stopped session's file is published by then.
    published: bool,
}

impl fmt::Display for Point {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        let Self { scene, call: Call { name, nth, args, .. }, published } = self;
        write!(f, "{scene}: stopped after {name} {nth} ({args}), published: {published}")
    }
}

fn points(scene: Scene) -> Vec<Point> {
    let calls = calls_of_the_put(&scene);
    let published =
        calls.iter().position(|call| call.publishes(scene.name())).expect("nothing was published");
    let point = |(at, call): (usize, &Call)| Point { scene, call: call.clone(), published: at >= published };
    // How often a session reads and asks for memory depends on how its input comes.
    calls.iter().enumerate().filter(|(_, call)| CALLS.contains(&&*call.name)).map(point).collect()
}

/// Waits until strace has written that the process has stopped.
fn wait_until_stopped(trace: &Trace) {
    let deadline = Instant::now() + Duration::from_secs(20);
    while !fs::read_to_string(trace.path()).is_ok_and(|text| text.contains("stopped by SIGSTOP")) {
        assert!(Instant::now() < deadline, "the session does not stop");
        sleep(Duration::from_millis(1));
    }
}

fn try_one(point: &Point) {
    let Point { scene, call, published } = point;
    let (site, trace) = (scene.site(), Trace::new());
    let path = trace.path();
    let into = ["-o", path.to_str().unwrap()];
    let command = injecting_into(&into, &call.name, "signal=STOP", call.nth);
    let mut stopped = scene.launch(&site, command).start().hello(scene.caps());
    let process = child_of(stopped.pid()).expect("strace has no child");
    stopped.to.send_raw(&scene.put());
    wait_until_stopped(&trace);

    let may_replace = scene.act == Act::Replace;
    let theirs = noise(25_000, 7);
    let mut other = Server::plain(site.root());
    let reply = other.put(scene.path(), &theirs, may_replace);
    let promised = !reply.is_error();
    assert_eq!(promised, may_replace || !published, "{reply:?}");
    other.finish();
    // Its reserved name may be there still.
    let between = site.tree().get(scene.path()).map(|file| Node { links: 1, ..file.clone() });
    assert!(site.read(scene.path()) == if promised { theirs.clone() } else { scene.content() });

    kill_process(process, Signal::CONT).unwrap();
    let reply = stopped.reply();
    stopped.finish();
    let tree = site.tree();
    assert_eq!(tree.get(scene.path()).unwrap().links, 1);
    if may_replace {
        // Whoever publishes last is seen.
        assert!(matches!(reply, Reply::Ok { .. }), "{reply:?}");
        assert!(site.read(scene.path()) == if *published { theirs } else { scene.content() });
    } else {
        assert_eq!(reply.is_error(), promised, "{reply:?}");
        assert!(!promised || reply.error().contains("already exists"), "{reply:?}");
        assert_eq!(tree.get(scene.path()).cloned(), between);
    }
    // The other may have come by when a stage had no lock yet: then it was emptied, and another one taken.
    let left = tree.stages();
    let empty = |stage: &&std::path::PathBuf| tree.get(stage.to_str().unwrap()).unwrap().size == 0;
    assert!(left.is_empty() || (scene.shared && left.iter().all(|stage| empty(&stage))), "{tree:?}");
}

#[test]
fn s7_a_session_that_is_stopped_and_goes_on_after_another_changes_nothing_that_was_promised() {
    let mut scenes = Vec::new();
    for rung in KINDS {
        for (act, shared) in [(Act::New, false), (Act::Replace, false), (Act::Replace, true)] {
            scenes.push(Scene { act, sync: false, rung, shared });
        }
    }
    let points: Vec<_> = scenes.into_iter().flat_map(points).collect();
    sweep("freeze sweep", points, |_| 0, try_one);
}
