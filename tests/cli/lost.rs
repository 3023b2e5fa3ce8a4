//! The link or the server goes in the middle.

use std::fs;
use std::path::Path;
use std::time::{Duration, Instant};

use bcmr_tests::client::{quoted, serve};
use bcmr_tests::content::noise;
use bcmr_tests::{Client, Site, binaries};
use rustix::process::{Pid, Signal, kill_process};

use crate::client;

const SIZE: u64 = 1 << 30;

/// A line of shell that serves, and writes down the server's process first.
fn serve_and_tell(site: &Site) -> (String, std::path::PathBuf) {
    let pid = site.base().join("pid");
    (format!("echo $$ > '{}'; {}", pid.display(), serve(&site.root())), pid)
}

/// Waits until the server has moved some megabytes; its process.
fn in_the_middle(pid: &Path) -> Pid {
    let deadline = Instant::now() + Duration::from_secs(20);
    loop {
        let read = |name: &str| fs::read_to_string(name).unwrap_or_default();
        let text = read(pid.to_str().unwrap());
        let io = read(&format!("/proc/{}/io", text.trim()));
        let moved =
            io.lines().find_map(|line| line.strip_prefix("rchar: ")).and_then(|n| n.parse::<u64>().ok());
        if moved.is_some_and(|moved| moved > 5_000_000) {
            return Pid::from_raw(text.trim().parse().unwrap()).unwrap();
        }
        assert!(Instant::now() < deadline, "the server moves nothing: {io:?}");
        std::thread::sleep(Duration::from_millis(1));
    }
}

#[test]
fn a_server_killed_in_the_middle_of_an_upload_is_a_lost_link_and_leaves_nothing() {
    for signal in [Signal::KILL, Signal::TERM] {
        let site = Site::new();
        fs::write(site.outside().join("first"), "first").unwrap();
        fs::File::create(site.outside().join("second")).unwrap().set_len(SIZE).unwrap();
        let (via, pid) = serve_and_tell(&site);
        let client = Client::ours().via(via).within(&site.outside());
        let running = client.args(["copy", "--compress", "none", "first", "second", ":"]).start();
        kill_process(in_the_middle(&pid), signal).unwrap();
        running.end().ends_with(74).says("connection was lost");
        assert_eq!(site.tree().paths(), ["first"], "a part of the second was published");
    }
}

#[test]
fn a_server_killed_in_the_middle_of_a_download_is_a_lost_link_and_leaves_nothing() {
    for signal in [Signal::KILL, Signal::TERM] {
        let site = Site::new();
        site.file("first", "first");
        site.sparse("second", SIZE, &[]);
        fs::write(site.outside().join("second"), "old").unwrap();
        let (via, pid) = serve_and_tell(&site);
        let client = Client::ours().via(via).within(&site.outside());
        let running =
            client.args(["copy", "--compress", "none", "-f", "-y", ":first", ":second", "."]).start();
        kill_process(in_the_middle(&pid), signal).unwrap();
        running.end().ends_with(74).says("connection was lost");
        assert_eq!(bcmr_tests::disk::snapshot(&site.outside()).paths(), ["first", "second"]);
        assert_eq!(fs::read(site.outside().join("second")).unwrap(), b"old");
    }
}

#[test]
fn a_client_killed_in_the_middle_leaves_nothing_on_either_side() {
    for (source, target) in [("big", ":"), (":big", ".")] {
        let site = Site::new();
        let side = if source.starts_with(':') { site.root() } else { site.outside() };
        fs::File::create(side.join("big")).unwrap().set_len(SIZE).unwrap();
        let before = [site.tree(), bcmr_tests::disk::snapshot(&site.outside())];
        let (via, pid) = serve_and_tell(&site);
        let client = Client::ours().via(via).within(&site.outside());
        let running = client.args(["copy", "--compress", "none", source, target]).start();
        let server = in_the_middle(&pid);
        kill_process(running.pid(), Signal::KILL).unwrap();
        let deadline = Instant::now() + Duration::from_secs(10);
        while Path::new(&format!("/proc/{}/io", server.as_raw_nonzero())).exists() {
            assert!(Instant::now() < deadline, "the server does not notice");
            std::thread::sleep(Duration::from_millis(5));
        }
        assert_eq!(running.end().code, -9);
        assert_eq!(before, [site.tree(), bcmr_tests::disk::snapshot(&site.outside())]);
    }
}

#[test]
fn what_was_refused_before_the_link_was_lost_is_still_named() {
    let site = Site::new();
    site.file("first", "other");
    fs::write(site.outside().join("first"), "first").unwrap();
    fs::File::create(site.outside().join("second")).unwrap().set_len(SIZE).unwrap();
    let (via, pid) = serve_and_tell(&site);
    let client = Client::ours().via(via).within(&site.outside());
    let running = client.args(["copy", "--compress", "none", "first", "second", ":"]).start();
    kill_process(in_the_middle(&pid), Signal::KILL).unwrap();
    running.end().ends_with(74).says("first: ").says("already exists").says("connection was lost");
}

/// bcmr 7d9b958: a server that says much on stderr.
#[test]
fn bcmr_7d9b958_a_megabyte_on_stderr_does_not_hold_the_transfer() {
    let site = Site::new();
    fs::create_dir(site.outside().join("d")).unwrap();
    for number in 0..50 {
        fs::write(site.outside().join(format!("d/{number}")), noise(200_000, number)).unwrap();
    }
    // Before; beside the transfer; and in its midst, the server doing nothing else. As lines, and as one.
    let chatter = "yes 'still alive' | head -c 1048576 >&2; head -c 1048576 /dev/zero | tr '\\0' x >&2";
    let serve = serve(&site.root());
    let chatty =
        format!("exec {} chatty {}", quoted(&binaries::tool("fake-server")), serve.replace("exec ", ""));
    for (via, to) in [
        (format!("{chatter}; {serve}"), ":before/"),
        (format!("({chatter}) & {serve}"), ":beside/"),
        (chatty, ":amidst/"),
    ] {
        let ran = Client::ours().via(via).within(&site.outside()).copy(["-r", "d", to]);
        ran.succeeds().says("50 files");
        assert!(ran.err.len() < 1_200_000, "{} bytes were said", ran.err.len());
    }
    for place in ["before", "beside", "amidst"] {
        assert_eq!(fs::read_dir(site.path(place).join("d")).unwrap().count(), 50);
    }
    client(&site).copy(["-r", ":beside/d", "back"]).succeeds();
}
