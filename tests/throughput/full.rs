//! Both directions full, an Error while content is sent, a reader that takes its time.

use std::fs::{self, File};
use std::os::unix::fs::FileExt;
use std::thread::sleep;
use std::time::{Duration, Instant};

use bcmr_tests::client::{Ran, quoted, serve};
use bcmr_tests::content::noise;
use bcmr_tests::{Client, Reply, Server, Site, binaries};
use bcmr_wire::Message;
use rustix::pipe::{fcntl_getpipe_size, fcntl_setpipe_size};

use crate::{MIB, fill, hashes, memory};

const PAGE: usize = 4096;
const GIB: u64 = 1 << 30;

/// More requests than the client lets wait for their replies, through pipes that hold a page, over one connection
/// and over several.
#[test]
fn more_files_than_may_wait_go_up_and_come_down_through_pipes_of_4_kib() {
    let site = Site::within(&memory());
    fill(&site.outside().join("d"), (0..10_000).map(|number| number % 40));
    let narrow = quoted(&binaries::tool("fake-server"));
    let serve = serve(&site.root()).replace("exec ", "");
    let through = || Client::ours().via(format!("exec {narrow} narrow {serve}")).within(&site.outside());
    for connections in ["1", "3"] {
        let (there, back) = (format!("there{connections}"), format!("back{connections}"));
        through().copy(["-r", "-P", connections, "d", &format!(":{there}")]).succeeds();
        through().copy(["-r", "-P", connections, &format!(":{there}"), &back]).succeeds();
        let here = hashes(&site.outside().join("d"));
        assert!(here.len() == 10_000 && here == hashes(&site.path(&there)));
        assert!(here == hashes(&site.outside().join(back)));
    }
}

/// Content both ways at the same time, each more than pipes and buffers hold. The server serves one request after
/// another, so the way to it stands full while it answers; who writes and reads at once gets everything.
#[test]
fn content_both_ways_through_pipes_of_4_kib_arrives_whole() {
    let site = Site::new();
    let content = noise(5 * MIB, 1);
    site.file("down", &content);
    let server = &mut narrow_server(&site);
    let (to, from) = (&mut server.to, &mut server.from);
    std::thread::scope(|scope| {
        scope.spawn(|| {
            for round in 0..8 {
                to.send(&Message::Get { path: "down", offset: 0 });
                to.put(&format!("up{round}"), &content, false);
                to.send(&Message::List { path: "" });
            }
        });
        for _ in 0..8 {
            let got = from.got();
            assert!(got.content == content && got.end == Reply::Ok { hash: Some(hex(&content)) });
            assert_eq!(from.reply(), Reply::Ok { hash: Some(hex(&content)) });
            assert!(!from.reply().entries().is_empty());
        }
    });
    assert!((0..8).all(|round| site.read(&format!("up{round}")) == content));
}

/// Nobody reads while everything is asked for: the server waits, and has lost nothing when somebody does.
#[test]
fn a_reader_that_takes_its_time_gets_every_byte() {
    let site = Site::new();
    let content = noise(3 * MIB, 2);
    site.file("f", &content);
    let mut server = narrow_server(&site);
    for _ in 0..8 {
        server.send(&Message::Get { path: "f", offset: 0 });
    }
    sleep(Duration::from_millis(300));
    for _ in 0..8 {
        sleep(Duration::from_millis(50));
        assert!(server.from.got().content == content);
    }
    server.finish();
}

fn hex(content: &[u8]) -> String {
    bcmr_tests::content::hex(content)
}

/// A server between two pipes of a page.
fn narrow_server(site: &Site) -> Server {
    let server = Server::plain(site.root());
    for pipe in [fcntl_setpipe_size(server.to.stream(), PAGE), fcntl_setpipe_size(server.from.stream(), PAGE)]
    {
        pipe.unwrap();
    }
    assert_eq!(fcntl_getpipe_size(server.to.stream()), Ok(PAGE));
    server
}

/// Uploads `big`, a GiB of zeros with one byte in its midst, and a file after it, to a server that cannot write;
/// then what the client said of it.
fn a_gib_that_cannot_be_stored(options: &[&str]) -> Ran {
    let site = Site::new();
    let big = File::create(site.outside().join("big")).unwrap();
    big.set_len(GIB).unwrap();
    big.write_all_at(b"x", GIB / 16).unwrap();
    fs::write(site.outside().join("empty"), "").unwrap();
    let without = quoted(&binaries::tool("without"));
    let via = format!("exec {without} pwrite64=EIO -- {}", serve(&site.root()).replace("exec ", ""));
    let client = Client::ours().via(via).within(&site.outside()).args(["copy", "--compress", "none"]);
    let ran = client.args(options).args(["big", "empty", ":"]).run();
    assert_eq!(site.tree().paths(), ["empty"]);
    ran
}

#[test]
fn an_error_in_the_middle_of_a_gib_ends_its_upload() {
    for options in [&[][..], &["-P", "2"], &["-f", "-y"]] {
        let ran = a_gib_that_cannot_be_stored(options);
        ran.ends_with(1).says("big: ").says("1 file, 0 B");
        let said = ran.said();
        let wire = said.lines().last().unwrap().rsplit(", ").next().unwrap();
        // 64 MiB until the Error, and what pipes and buffers hold.
        let mib: f64 = wire.strip_suffix(" MiB on the wire").unwrap().parse().unwrap();
        assert!(mib < 96.0, "{said}");
    }
}

/// The server says no, and takes nothing for a while: whoever first sent the rest would be late.
#[test]
fn an_error_in_the_middle_of_a_gib_is_shown_within_a_second() {
    let site = Site::new();
    File::create(site.outside().join("bad")).unwrap().set_len(GIB).unwrap();
    let client = Client::ours().to_fake("puts refused-then-slow").within(&site.outside());
    let running = client.args(["copy", "--compress", "none", "bad", ":"]).start();
    let mut since = Instant::now();
    while !running.said().contains("bad: no room") {
        if !running.said().contains("refused\n") {
            since = Instant::now();
        }
        assert!(since.elapsed() < Duration::from_secs(1), "a second later it said: {}", running.said());
        sleep(Duration::from_millis(5));
    }
    running.end().ends_with(1);
}
