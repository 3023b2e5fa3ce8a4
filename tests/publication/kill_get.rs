//! The same for a download: the client publishes what it gets as the server does what it is sent.

use std::collections::{BTreeMap, BTreeSet};
use std::fmt;
use std::fs;
use std::io::{BufRead, BufReader};
use std::path::Path;
use std::process::{Child, Command, Stdio};
use std::sync::atomic::{AtomicUsize, Ordering};
use std::thread::sleep;
use std::time::{Duration, Instant};

use bcmr_tests::client::{quoted, serve};
use bcmr_tests::content::noise;
use bcmr_tests::disk::snapshot;
use bcmr_tests::rungs::{KINDS, Rung};
use bcmr_tests::{Client, Site, binaries};
use rustix::process::Pid;

use crate::budget::sweep;
use crate::trace::{Trace, strace};

/// Calls that change files. All are made by the thread that takes the replies.
const CHANGING: [&str; 9] =
    ["pwrite64", "ftruncate", "fchmod", "fsetxattr", "fsync", "linkat", "renameat", "renameat2", "unlinkat"];

/// A download.
#[derive(Clone, Copy)]
struct Scene {
    replaces: bool,
    sync: bool,
    rung: Rung,
}

impl fmt::Display for Scene {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        let Self { replaces, sync, rung } = self;
        write!(f, "Get replaces={replaces} sync={sync} without {:?}", rung.rules)
    }
}

/// A download and the call before which the client is killed.
struct Point {
    scene: Scene,
    call: String,
    nth: usize,
}

impl fmt::Display for Point {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        write!(f, "{}: killed at {} {}", self.scene, self.call, self.nth)
    }
}

fn old() -> Vec<u8> {
    noise(30_000, 1)
}

fn new() -> Vec<u8> {
    [noise(20_000, 2), vec![0; 8192]].concat()
}

/// A server's root with a file and one more, and a directory that may hold an older one.
fn site(scene: Scene) -> Site {
    let site = Site::new();
    site.file("f", new());
    site.file("other", "other");
    if scene.replaces {
        site.outside_file("d/f", old());
    } else {
        fs::create_dir(site.outside().join("d")).unwrap();
    }
    site
}

/// Attaches strace to a process that waits; returns when it holds all its threads.
fn attach(pid: Pid, args: &[&str]) -> Child {
    let pid = pid.as_raw_nonzero().to_string();
    let words = strace(&[&["-f", "-p", &pid], args].concat());
    let mut command = Command::new(&words[0]);
    let mut child = command.args(&words[1..]).stdin(Stdio::null()).stderr(Stdio::piped()).spawn().unwrap();
    let mut said = BufReader::new(child.stderr.take().unwrap());
    let mut line = String::new();
    said.read_line(&mut line).unwrap();
    assert!(line.contains("attached"), "strace: {line}");
    // Whatever else it says must find room.
    std::thread::spawn(move || std::io::copy(&mut said, &mut std::io::sink()));
    child
}

fn wait_for(path: &Path) {
    let deadline = Instant::now() + Duration::from_secs(20);
    while !path.exists() {
        assert!(Instant::now() < deadline, "{} does not come", path.display());
        sleep(Duration::from_millis(1));
    }
}

/// Downloads the file with strace attached before a word is said; the client's exit code.
fn run(scene: Scene, site: &Site, strace_args: &[&str]) -> i32 {
    let (ready, go) = (site.base().join("ready"), site.base().join("go"));
    let via = format!(
        "touch {}; while [ ! -e {} ]; do sleep 0.005; done; {}",
        quoted(&ready),
        quoted(&go),
        serve(&site.root())
    );
    let mut client = Client::ours().via(via).within(&site.outside()).arg("copy").arg("--quiet");
    if scene.replaces {
        client = client.args(["-f", "-y"]);
    }
    if scene.sync {
        client = client.arg("--sync");
    }
    if !scene.rung.rules.is_empty() {
        let tool = binaries::tool("without").into_os_string().into_string().unwrap();
        client = client.under([&[&*tool], scene.rung.rules, &["--"]].concat());
    }
    let running = client.args([":f", "d/f"]).start();
    wait_for(&ready);
    let mut tracer = attach(running.pid(), strace_args);
    fs::write(go, "").unwrap();
    let ran = running.end();
    tracer.wait().unwrap();
    assert!(matches!(ran.code, 0 | -9), "{}: {}", ran.code, ran.said());
    ran.code
}

/// Checks what is left, and that the next download into the directory sweeps it.
#[track_caller]
fn check_after_the_end(scene: Scene, site: &Site, code: i32) {
    let dir = site.outside().join("d");
    let held = fs::read(dir.join("f")).ok();
    let before = scene.replaces.then(old);
    let is_new = held.as_deref() == Some(&*new());
    assert!(is_new || (held == before && code != 0), "exit {code}, and the name holds something else");
    let tree = snapshot(&dir);
    assert_eq!(tree.paths().len() - tree.stages().len(), usize::from(held.is_some()), "{tree:?}");

    Client::ours().to_root(&site.root()).within(&site.outside()).copy([":other", "d"]).succeeds();
    let after = snapshot(&dir);
    let expected: &[&str] = if held.is_some() { &["f", "other"] } else { &["other"] };
    assert_eq!(after.paths(), expected, "{after:?}");
    assert!(fs::read(dir.join("f")).ok() == held);
}

/// Every call that a download makes which is left alone.
fn points(scene: Scene) -> Vec<Point> {
    let (site, trace) = (site(scene), Trace::new());
    let path = trace.path();
    let code = run(scene, &site, &["-xx", "-o", path.to_str().unwrap()]);
    assert_eq!(code, 0, "{scene}");
    check_after_the_end(scene, &site, code);
    let calls = trace.calls();
    let mut threads: BTreeMap<&str, BTreeSet<u32>> = BTreeMap::new();
    for call in &calls {
        threads.entry(&call.name).or_default().insert(call.thread);
    }
    // strace counts in each thread. Were there two that change files, one would hide calls of the other.
    for name in CHANGING {
        assert!(threads.get(name).is_none_or(|threads| threads.len() == 1), "{name} in {threads:?}");
    }
    let publishing = ["linkat", "renameat", "renameat2"];
    assert!(publishing.iter().any(|name| threads.contains_key(name)), "{threads:?}");
    let points: BTreeSet<_> = calls.iter().map(|call| (call.name.clone(), call.nth)).collect();
    points.into_iter().map(|(call, nth)| Point { scene, call, nth }).collect()
}

#[test]
#[ignore = "needs root to attach strace to a running client: run by tests/run"]
fn s6_a_get_killed_before_any_call_leaves_old_or_new_bytes_here_and_what_it_left_is_swept() {
    let flags = [(false, false), (false, true), (true, false), (true, true)];
    let scenes =
        flags.into_iter().flat_map(|(replaces, sync)| KINDS.map(|rung| Scene { replaces, sync, rung }));
    let points: Vec<_> = scenes.flat_map(points).collect();
    let killed = AtomicUsize::new(0);
    let rank = |point: &Point| u32::from(!CHANGING.contains(&&*point.call));
    sweep("kill sweep of Get", points, rank, |point| {
        let site = site(point.scene);
        let trace = format!("trace={}", point.call);
        let inject = format!("inject={}:signal=KILL:when={}", point.call, point.nth);
        let code = run(point.scene, &site, &["-o", "/dev/null", "-e", &trace, "-e", &inject]);
        check_after_the_end(point.scene, &site, code);
        killed.fetch_add(usize::from(code != 0), Ordering::Relaxed);
    });
    let killed = killed.into_inner();
    println!("kill sweep of Get: {killed} were killed");
    assert!(killed > 0, "nothing was killed");
}
