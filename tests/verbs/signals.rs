//! How a session ends that is told to, or whose client is gone, whatever it was doing.

use std::thread;
use std::time::{Duration, Instant};

use bcmr_tests::content::{hex, noise};
use bcmr_tests::{Server, Site};
use bcmr_wire::{Caps, Message};
use rustix::process::Signal;

use bcmr_tests::rungs::KINDS;

const SECOND: Duration = Duration::from_secs(1);

/// A file that takes long to hash and costs nothing on disk.
const LONG: u64 = 200 << 30;

/// Waits until the server has gone on to what it was asked last.
fn settle(server: &Server) {
    server.from.stays_silent(Duration::from_millis(100));
}

#[test]
fn tokio_2318_rsigma_164_a_signal_ends_an_idle_session_within_a_second() {
    let site = Site::new();
    for signal in [Signal::TERM, Signal::INT, Signal::HUP] {
        let fresh = Server::start(site.root());
        thread::sleep(Duration::from_millis(100));
        let greeted = Server::plain(site.root());
        for mut server in [fresh, greeted] {
            server.signal(signal);
            let status = server.ends_within(SECOND);
            // By itself, not killed, and not as if everything had been answered.
            assert_eq!(status.code(), Some(74), "{signal:?}");
        }
    }
}

#[test]
fn tokio_2318_a_signal_in_the_middle_of_a_put_leaves_nothing() {
    for rung in KINDS {
        let site = Site::new();
        site.file("d/f", "old");
        let before = site.everything();
        for (path, overwrite) in [("d/f", true), ("d/new", false), ("a/b/new", false)] {
            let mut server = rung.server(&site);
            server.send(&Message::Put { path, size: 8 << 20, offset: 0, overwrite });
            server.to.content(&noise(4 << 20, 1));
            settle(&server);
            assert_eq!(site.tree().stages().len(), usize::from(rung.is_named(&site)), "{rung:?}");
            server.signal(Signal::TERM);
            server.ends_within(SECOND);
            assert_eq!(site.everything(), before, "{rung:?} {path}");
        }
    }
}

#[test]
fn a_signal_while_the_kept_part_of_a_file_is_copied_leaves_nothing() {
    let rung = KINDS[1];
    let site = Site::new();
    let file = site.file("d/f", "");
    // Bytes on disk, which have to be copied one by one.
    let content = noise(1 << 20, 4).repeat(512);
    std::fs::write(&file, &content).unwrap();
    for copies in [&["copy_file_range=EPERM"][..], &[]] {
        let launch = rung.launch(&site).without(&["ficlone=EOPNOTSUPP"]).without(copies);
        let mut server = launch.start().hello(Caps::PUT_OFFSET);
        let (size, offset) = (1 << 30, content.len() as u64);
        server.send(&Message::Put { path: "d/f", size, offset, overwrite: true });
        let names = || file.parent().unwrap().read_dir().unwrap().count();
        let begun = Instant::now();
        while names() == 1 && begun.elapsed() < Duration::from_secs(10) {
            thread::sleep(Duration::from_millis(1));
        }
        server.signal(Signal::TERM);
        server.ends_within(SECOND);
        assert!(begun.elapsed() < Duration::from_secs(10), "no stage was seen");
        assert_eq!(names(), 1, "{copies:?}: the stage is still there");
    }
    assert_eq!(file.metadata().unwrap().len(), content.len() as u64);
}

#[test]
fn a_signal_ends_a_session_that_works_or_waits_for_room() {
    let site = Site::new();
    site.sparse("long", LONG, &[]);
    site.file("f", noise(8 << 20, 2));
    for request in [
        Message::Hash { path: "long", offset: 0, limit: None },
        Message::Get { path: "f", offset: 0 },
        Message::Get { path: "long", offset: 0 },
    ] {
        let mut server = Server::start(site.root()).hello(Caps::NONE);
        server.send(&request);
        thread::sleep(Duration::from_millis(100));
        server.signal(Signal::TERM);
        server.ends_within(SECOND);
    }
}

#[test]
fn affine_cortex_507_borg_1593_a_session_ends_with_its_client_whatever_it_does() {
    let site = Site::new();
    site.sparse("long", LONG, &[]);
    let requests = [
        vec![Message::Hash { path: "long", offset: 0, limit: None }],
        vec![Message::Get { path: "long", offset: 0 }],
        vec![
            Message::Put { path: "a/f", size: 9, offset: 0, overwrite: false },
            Message::Data { payload: b"abc" },
        ],
        // Asked long before, and never answered.
        vec![Message::Hash { path: "long", offset: 0, limit: None }; 3],
    ];
    for rung in KINDS {
        for request in &requests {
            let mut server = rung.server(&site);
            request.iter().for_each(|message| server.send(message));
            thread::sleep(Duration::from_millis(100));
            server.close_input();
            server.close_output();
            let status = server.ends_within(Duration::from_secs(5));
            assert_eq!(status.code(), Some(74));
        }
        assert_eq!(site.names(), ["long"]);
    }
}

#[test]
fn a_client_that_only_closes_its_output_gets_its_answer() {
    let site = Site::new();
    site.sparse("sparse", 256 << 20, &[(100 << 20, b"x")]);
    let mut server = Server::plain(site.root());
    server.send(&Message::Hash { path: "sparse", offset: 0, limit: None });
    server.close_input();
    let mut content = vec![0; 256 << 20];
    content[100 << 20] = b'x';
    assert_eq!(server.reply().hash(), hex(&content));
    server.finish();
}

#[test]
fn oferchen_rsync_5723_6566_a_session_that_is_stopped_goes_on_where_it_was() {
    let site = Site::new();
    let content = noise(12 << 20, 3);
    site.file("g", &content);
    let mut server = Server::plain(site.root());
    server.send(&Message::Put { path: "f", size: content.len() as u64, offset: 0, overwrite: false });
    let stop = |server: &Server| {
        server.signal(Signal::STOP);
        thread::sleep(Duration::from_millis(50));
        server.signal(Signal::CONT);
    };
    for block in content.chunks(1 << 20) {
        stop(&server);
        server.send(&Message::Data { payload: block });
    }
    stop(&server);
    assert_eq!(server.ask(&Message::Done).ok(), Some(&*hex(&content)));
    server.send(&Message::Get { path: "g", offset: 0 });
    stop(&server);
    assert!(server.from.got().content == content);
    stop(&server);
    server.finish();
}

#[test]
fn a_second_signal_changes_nothing() {
    let site = Site::new();
    let before = site.everything();
    for rung in KINDS {
        let mut server = rung.server(&site);
        server.send(&Message::Put { path: "f", size: 9, offset: 0, overwrite: false });
        settle(&server);
        (0..3).for_each(|_| server.signal(Signal::TERM));
        server.ends_within(SECOND);
        assert_eq!(site.everything(), before);
    }
}
