//! S6, S8: a kill right before any system call leaves the old version or the new one, and nothing that anybody
//! sees; what it leaves besides is swept.

use std::collections::BTreeSet;
use std::fmt;
use std::os::unix::process::ExitStatusExt;
use std::sync::atomic::{AtomicUsize, Ordering};
use std::time::Duration;

use bcmr_tests::rungs::KINDS;
use bcmr_tests::{Reply, Site};
use rustix::process::Signal;

use crate::budget::sweep;
use crate::scene::{Act, Scene};
use crate::trace::{Call, Trace, hex, injecting_into};

/// A Put, and the call before which it is killed.
struct Point {
    scene: Scene,
    call: String,
    nth: usize,
    /// Whether the thread that makes the call is not the one that serves.
    beside: bool,
    /// Whether the call comes after the Hello.
    greeted: bool,
}

impl fmt::Display for Point {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        let Self { scene, call, nth, .. } = self;
        write!(f, "{scene}: killed at {call} {nth}")
    }
}

/// How a session ended.
struct Run {
    /// Whether the client was told that the file is published.
    told_ok: bool,
    killed: bool,
}

/// Runs a session to its end, by way of a command.
fn run(scene: &Scene, site: &Site, command: Vec<String>) -> Run {
    let mut server = scene.launch(site, command).start();
    // A server that was killed takes none of it.
    let _ = server.to.try_send_raw(&scene.session());
    server.close_input();
    let mut told_ok = false;
    while let Some(reply) = server.from.next_reply() {
        assert!(!reply.is_error(), "{reply:?}");
        told_ok |= matches!(reply, Reply::Ok { .. });
    }
    let status = server.ends_within(Duration::from_secs(60));
    let killed = status.signal() == Some(Signal::KILL.as_raw());
    assert!(killed || status.success(), "{status:?}");
    Run { told_ok, killed }
}

/// Every call that a session makes which is left alone, in each of its threads.
fn points(scene: Scene) -> Vec<Point> {
    let (site, trace) = (scene.site(), Trace::new());
    let ended = run(&scene, &site, trace.command());
    assert!(ended.told_ok && !ended.killed, "{scene}");
    scene.check_after_the_end(&site, true);
    let calls = trace.calls();
    let serving = calls[0].thread;
    let hello = hex(&scene.session()[..6]);
    let is_hello = |call: &Call| call.thread == serving && call.name == "read" && call.args.contains(&hello);
    let hello = calls.iter().position(is_hello).expect("no Hello was read");
    let point = |(at, call): (usize, &Call)| Point {
        scene,
        call: call.name.clone(),
        nth: call.nth,
        beside: call.thread != serving,
        greeted: at >= hello,
    };
    // The first is the execve that strace makes itself.
    let mut points: Vec<_> = calls.iter().enumerate().skip(1).map(point).collect();
    // strace counts in each thread: what the second one does at its n-th call is what the first does at its own.
    let own: BTreeSet<_> = points.iter().filter(|p| !p.beside).map(|p| (p.call.clone(), p.nth)).collect();
    points.retain(|p| !p.beside || !own.contains(&(p.call.clone(), p.nth)));
    points
}

fn sweep_scenes(what: &str, scenes: Vec<Scene>) {
    let points: Vec<_> = scenes.into_iter().flat_map(points).collect();
    let (killed, published) = (AtomicUsize::new(0), AtomicUsize::new(0));
    // What happens after the Hello first: it is where files change.
    sweep(
        what,
        points,
        |point| u32::from(!point.greeted),
        |point| {
            let site = point.scene.site();
            let threads: &[&str] =
                if point.beside { &["-f", "-o", "/dev/null"] } else { &["-o", "/dev/null"] };
            let ended =
                run(&point.scene, &site, injecting_into(threads, &point.call, "signal=KILL", point.nth));
            point.scene.check_after_the_end(&site, ended.told_ok);
            killed.fetch_add(usize::from(ended.killed), Ordering::Relaxed);
            published.fetch_add(usize::from(ended.told_ok), Ordering::Relaxed);
        },
    );
    let (killed, published) = (killed.into_inner(), published.into_inner());
    println!("{what}: {killed} were killed, {published} after their Ok was read");
    assert!(killed > 0, "nothing was killed");
}

#[test]
fn s6_s8_a_put_killed_before_any_call_leaves_old_or_new_bytes_and_what_it_left_is_swept() {
    sweep_scenes("kill sweep of Put", Scene::all());
}

#[test]
fn s8_in_a_directory_that_others_may_write_a_killed_puts_stage_is_emptied_and_seen_by_nobody() {
    let scene = |rung| Scene { act: Act::Replace, sync: false, rung, shared: true };
    sweep_scenes("kill sweep of Put in a shared directory", KINDS.map(scene).to_vec());
}
