//! The streams that a session may run over: pipes of any size, sockets, files, or none.

use std::io::{Seek, Write};
use std::net::Shutdown;
use std::os::fd::AsFd;
use std::os::unix::net::UnixStream;
use std::process::Stdio;
use std::thread;
use std::time::{Duration, Instant};

use bcmr_tests::content::{hex, noise};
use bcmr_tests::{Launch, Reply, Server, Site};
use bcmr_wire::frame::FrameReader;
use bcmr_wire::{Caps, Message, Type};
use rustix::pipe::{fcntl_getpipe_size, fcntl_setpipe_size};

const STAT: Message<'_> = Message::Stat { path: "" };

fn encoded(message: &Message<'_>) -> Vec<u8> {
    let mut frame = Vec::new();
    message.encode(&mut frame).unwrap();
    frame
}

#[test]
fn pipes_of_one_page_carry_everything() {
    let site = Site::new();
    let content = noise(3_000_000, 5);
    let mut server = Server::greeted(site.root());
    for stream in [server.to.stream(), server.from.stream()] {
        // The server has asked for larger ones when it began.
        fcntl_setpipe_size(stream.as_fd(), 4096).unwrap();
        assert_eq!(fcntl_getpipe_size(stream.as_fd()).unwrap(), 4096);
    }
    assert_eq!(server.put("f", &content, false).ok(), Some(&*hex(&content)));
    assert!(server.get("f", 0).content == content);
    thread::scope(|scope| {
        let (to, from) = (&mut server.to, &mut server.from);
        scope.spawn(|| (0..3_000).for_each(|_| to.send(&STAT)));
        for reply in from.replies(3_000) {
            assert!(matches!(reply, Reply::Stat { .. }));
        }
    });
    for stream in [server.to.stream(), server.from.stream()] {
        assert_eq!(fcntl_getpipe_size(stream.as_fd()).unwrap(), 4096);
    }
    server.finish();
}

#[test]
fn pipes_that_cannot_be_enlarged_do() {
    let site = Site::new();
    let content = noise(3_000_000, 6);
    let mut server = Launch::new(site.root()).without(&["setpipe=EPERM"]).start().hello(Caps::NONE);
    assert_eq!(server.put("f", &content, false).ok(), Some(&*hex(&content)));
    assert!(server.get("f", 0).content == content);
    server.finish();
}

#[test]
fn one_non_blocking_socket_for_both_directions_does() {
    let site = Site::new();
    let content = noise(3_000_000, 7);
    let mut server = Launch::new(site.root()).on_a_socket().start().hello(Caps::NONE);
    assert_eq!(server.put("f", &content, false).ok(), Some(&*hex(&content)));
    // Slowly, so that the server has to wait for room.
    server.send(&Message::Get { path: "f", offset: 0 });
    thread::sleep(Duration::from_millis(200));
    assert!(server.from.got().content == content);
    assert!(matches!(server.ask(&STAT), Reply::Stat { .. }));
}

#[test]
fn a_socket_that_is_shut_down_for_writing_is_an_end_of_file_and_no_hang_up() {
    let site = Site::new();
    site.file("f", noise(3_000_000, 8));
    let mut server = Launch::new(site.root()).on_a_socket().start().hello(Caps::NONE);
    (0..100).for_each(|_| server.send(&Message::Get { path: "f", offset: 0 }));
    let ours = UnixStream::from(server.to.stream().as_fd().try_clone_to_owned().unwrap());
    ours.shutdown(Shutdown::Write).unwrap();
    // Long enough for a session to end that takes this for the end of its client.
    thread::sleep(Duration::from_secs(1));
    for _ in 0..100 {
        assert_eq!(server.from.got().content.len(), 3_000_000);
    }
    assert_eq!(server.from.next_reply(), None);
    assert_eq!(server.exit_code(), 0);
}

#[test]
fn requests_from_a_file_are_answered_into_a_file() {
    let site = Site::new();
    site.file("f", "content");
    let mut requests = tempfile::tempfile().unwrap();
    for message in [
        Message::Hello { version: 2, caps: Caps::NONE },
        Message::Get { path: "f", offset: 0 },
        Message::Put { path: "g", size: 0, offset: 0, overwrite: false },
        Message::Done,
    ] {
        requests.write_all(&encoded(&message)).unwrap();
    }
    requests.rewind().unwrap();
    let mut replies = tempfile::tempfile().unwrap();
    let mut command = Launch::new(site.root()).command();
    let status = command.stdin(requests).stdout(replies.try_clone().unwrap()).status().unwrap();
    assert_eq!(status.code(), Some(0));
    replies.rewind().unwrap();
    let mut frames = FrameReader::new(replies);
    let mut kinds = Vec::new();
    while let Some(header) = frames.header().unwrap() {
        frames.message(header).unwrap();
        kinds.push(header.kind);
    }
    assert_eq!(kinds, [Type::Welcome, Type::Data, Type::Ok, Type::Ok]);
    assert!(site.path("g").exists());
}

#[test]
fn a_server_without_its_streams_ends() {
    let site = Site::new();
    for (line, stdin) in [("exec <&-", Stdio::null()), ("exec >&-", Stdio::null()), (":", Stdio::null())] {
        let begun = Instant::now();
        let mut command = Launch::new(site.root()).after_shell(line).command();
        let status = command.stdin(stdin).stdout(Stdio::null()).status().unwrap();
        assert!(status.code().is_some() && begun.elapsed() < Duration::from_secs(5), "{line}: {status}");
    }
    assert!(site.tree().paths().is_empty());
}
