//! An upload that was cut and is repeated sends what the store did not keep, and the client says what was there.

use std::fs;
use std::path::Path;
use std::time::{Duration, Instant};

use bcmr_tests::Client;
use bcmr_tests::client::{Ran, Running};
use bcmr_tests::content::noise;
use rustix::process::{Pid, Signal, kill_process};

use crate::scene::{MIB, Scene, blocks};

/// The amount before these words in what the client says, in bytes: "61.44 KiB on the wire".
#[track_caller]
pub(crate) fn amount(ran: &Ran, words: &str) -> f64 {
    let said = ran.said();
    let (before, _) = said.split_once(words).unwrap_or_else(|| panic!("it did not say {words:?}: {said}"));
    let mut last = before.split_whitespace().rev();
    let (unit, number) = (last.next().unwrap(), last.next().unwrap().trim_start_matches('('));
    let factor = match unit {
        "B" => 1.0,
        "KiB" => 1024.0,
        "MiB" => 1024.0 * 1024.0,
        "GiB" => 1024.0 * 1024.0 * 1024.0,
        other => panic!("what is a {other}? {said}"),
    };
    number.parse::<f64>().unwrap() * factor
}

/// Bytes that the client says were there before; 0 where it says nothing of it.
#[track_caller]
pub(crate) fn present(ran: &Ran) -> f64 {
    if ran.said().contains("were already there") { amount(ran, " were already there") } else { 0.0 }
}

fn client(scene: &Scene) -> Client {
    Client::ours().to_root(&scene.site.root()).env("BCMR_CAS_DIR", scene.state())
}

fn start(scene: &Scene, file: &Path) -> Running {
    client(scene).args(["copy", "--compress", "none", "-f", "-y"]).arg(file).arg(":f").start()
}

/// The processes that a process has started.
fn children(of: Pid) -> Vec<Pid> {
    let path = format!("/proc/{0}/task/{0}/children", of.as_raw_nonzero());
    let text = fs::read_to_string(path).unwrap_or_default();
    text.split_whitespace().filter_map(|pid| Pid::from_raw(pid.parse().unwrap())).collect()
}

#[test]
fn a_repeated_upload_of_64_mib_puts_less_than_a_thousandth_on_the_wire() {
    let scene = Scene::new(0);
    let content = noise(64 * MIB, 1);
    let file = scene.site.outside_file("f", &content);
    let first = start(&scene, &file).end();
    first.succeeds().keeps_quiet_about("already there");
    assert!(amount(&first, " on the wire") >= content.len() as f64);
    let again = client(&scene).copy([file.as_os_str(), ":another name".as_ref()]);
    again.succeeds().says("(64.00 MiB were already there)");
    let wire = amount(&again, " on the wire");
    println!("{wire} bytes on the wire for {} of content", content.len());
    assert!(wire <= content.len() as f64 / 1000.0, "{}", again.said());
    assert!(scene.site.read("another name") == content);
}

#[test]
fn files_below_16_mib_are_not_announced_and_those_from_there_on_are() {
    for (len, stored) in [(16 * MIB - 1, 0), (16 * MIB, 4)] {
        let scene = Scene::new(0);
        let file = scene.site.outside_file("f", noise(len, 1));
        start(&scene, &file).end().succeeds();
        assert_eq!(scene.count(), stored, "{len} bytes");
    }
}

#[test]
fn an_upload_that_was_cut_anywhere_sends_only_what_the_store_did_not_keep_when_it_is_repeated() {
    let content = noise(64 * MIB, 1);
    let mut kept_some = 0;
    for (round, (client_dies, server_dies)) in
        [(true, false), (false, true), (true, true)].into_iter().cycle().take(9).enumerate()
    {
        let scene = Scene::new(0);
        let file = scene.site.outside_file("f", &content);
        let running = start(&scene, &file);
        // Cut when so much is there.
        let deadline = Instant::now() + Duration::from_secs(30);
        while scene.count() < 1 + round * 3 / 2 && Instant::now() < deadline {
            std::thread::sleep(Duration::from_micros(200));
        }
        let servers = if server_dies { children(running.pid()) } else { Vec::new() };
        assert!(!server_dies || !servers.is_empty(), "the client has no server");
        for server in servers {
            let _ = kill_process(server, Signal::KILL);
        }
        if client_dies {
            drop(running);
        } else {
            // It may try again by itself, which is a repetition, too.
            let _ = running.end();
        }
        settle(&scene);
        let kept = blocks(&content).iter().filter(|block| scene.block(block).exists()).count();
        kept_some += usize::from(kept > 0 && kept < 16);
        let again = start(&scene, &file).end();
        again.succeeds();
        assert!(scene.site.read("f") == content);
        let expected = (kept * 4 * MIB) as f64;
        assert!(
            (present(&again) - expected).abs() < 1.0,
            "{kept} blocks were kept, and it said: {}",
            again.said()
        );
        let wire = amount(&again, " on the wire");
        assert!(wire <= content.len() as f64 - expected + 65_536.0, "{kept} were kept: {}", again.said());
    }
    println!("{kept_some} of 9 uploads were cut with some blocks kept");
    assert!(kept_some >= 3, "{kept_some}");
}

/// Waits until the session that was cut has ended: it stores what it received first.
fn settle(scene: &Scene) {
    let deadline = Instant::now() + Duration::from_secs(20);
    let alive = fs::File::open(scene.part().join("alive")).unwrap();
    while rustix::fs::flock(&alive, rustix::fs::FlockOperation::NonBlockingLockExclusive).is_err() {
        assert!(Instant::now() < deadline, "the session that was cut still lives");
        std::thread::sleep(Duration::from_millis(2));
    }
}
