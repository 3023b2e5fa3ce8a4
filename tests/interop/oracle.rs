//! The same words to our server and to the public one, by pipes. Where both do the same, that is checked; where
//! they differ, each one's own way is.

use std::fs;
use std::path::{Path, PathBuf};
use std::process::{Child, Command, Stdio};

use bcmr_tests::client::peer;
use bcmr_tests::content::noise;
use bcmr_tests::stream::Patient;
use bcmr_tests::{Reply, Site, binaries};
use bcmr_wire::frame::{FrameReader, FrameWriter};
use bcmr_wire::{Caps, Message};

/// A server being talked to.
struct Talk {
    child: Child,
    to: Option<FrameWriter<Patient>>,
    from: FrameReader<Patient>,
}

impl Talk {
    fn with(program: PathBuf, root: &Path, caps: Caps) -> Self {
        let mut child = Command::new(program)
            .args(["serve", "--root"])
            .arg(root)
            .env("BCMR_CAS_DIR", root.parent().unwrap().join("store"))
            .stdin(Stdio::piped())
            .stdout(Stdio::piped())
            .stderr(Stdio::null())
            .spawn()
            .unwrap();
        let to = FrameWriter::new(Patient::new(child.stdin.take().unwrap().into()));
        let from = FrameReader::new(Patient::new(child.stdout.take().unwrap().into()));
        let mut talk = Self { child, to: Some(to), from };
        let welcome = talk.ask(&Message::Hello { version: 2, caps });
        assert!(welcome.starts_with("Welcome"), "{welcome}");
        talk
    }

    fn say(&mut self, message: &Message<'_>) {
        let to = self.to.as_mut().unwrap();
        to.push(message).and_then(|()| to.flush()).unwrap();
    }

    /// A reply in few words, without what may differ between any two runs.
    fn reply(&mut self) -> String {
        let Some(header) = self.from.header().unwrap() else { return "end".to_owned() };
        match Reply::new(&self.from.message(header).unwrap()) {
            Reply::Error { .. } => "Error".to_owned(),
            Reply::Stat { size, is_dir: false, .. } => format!("file of {size}"),
            Reply::Stat { is_dir: true, .. } => "directory".to_owned(),
            Reply::Data { payload } => format!("{} B", payload.len()),
            Reply::List(entries) => {
                let shown = |e: &bcmr_tests::reply::Entry| {
                    if e.is_dir { format!("{}/", e.path) } else { format!("{}={}", e.path, e.size) }
                };
                format!("List {}", entries.iter().map(shown).collect::<Vec<_>>().join(" "))
            }
            other => format!("{other:?}"),
        }
    }

    fn ask(&mut self, message: &Message<'_>) -> String {
        self.say(message);
        self.reply()
    }

    /// A Get's blocks, added up, since each server cuts them as it likes, and its end.
    fn get(&mut self, message: &Message<'_>) -> String {
        self.say(message);
        let mut bytes = 0;
        loop {
            let reply = self.reply();
            match reply.strip_suffix(" B") {
                Some(block) => bytes += block.parse::<usize>().unwrap(),
                None => return format!("{bytes} B, {reply}"),
            }
        }
    }

    /// Says nothing more: all replies that still come, and the exit code.
    fn rest(&mut self) -> String {
        self.to = None;
        let mut replies = Vec::new();
        while replies.last().is_none_or(|last| last != "end") {
            replies.push(self.reply());
        }
        format!("{}, {}", replies.join(", "), self.child.wait().unwrap().code().unwrap())
    }

    /// A Put, whole: all replies up to that to the Stat of `f` which comes after it.
    fn put(&mut self, path: &str, size: u64, overwrite: bool, blocks: &[&[u8]]) -> String {
        self.say(&Message::Put { path, size, offset: 0, overwrite });
        for payload in blocks {
            self.say(&Message::Data { payload });
        }
        self.say(&Message::Done);
        self.say(&Message::Stat { path: "f" });
        let mut replies = Vec::new();
        loop {
            let reply = self.reply();
            if reply.starts_with("file of") || replies.len() > 20 {
                return replies.join(", ");
            }
            replies.push(reply);
        }
    }
}

impl Drop for Talk {
    fn drop(&mut self) {
        self.to = None;
        let _ = self.child.kill();
        let _ = self.child.wait();
    }
}

/// A tree with a bit of everything that both servers can be asked for without harm.
fn site() -> Site {
    let site = Site::new();
    site.file("f", "hello world");
    site.file("d/a", "a");
    site.file("d/a-x", "ax");
    site.file("d/a0/z", "z");
    site.dir("d/empty");
    site.link("d/link", "a");
    site.file("big", noise(5_000_000, 1));
    site
}

/// What a question is answered with, by ours and by the public server, each on a tree of its own.
fn both(caps: Caps, question: impl Fn(&mut Talk, &Site) -> String) -> [String; 2] {
    [binaries::server(), peer()].map(|program| {
        let site = site();
        let mut talk = Talk::with(program, &site.root(), caps);
        question(&mut talk, &site)
    })
}

/// Checks that both answer alike, and not all questions with the same.
#[track_caller]
fn alike<Q: std::fmt::Debug>(questions: &[Q], ask: impl Fn(&mut Talk, &Q) -> String) {
    let mut answers = Vec::new();
    for question in questions {
        let [ours, public] = both(Caps::NONE, |talk, _| ask(talk, question));
        assert_eq!(ours, public, "{question:?}: ours on the left, the public server's on the right");
        answers.push(ours);
    }
    answers.dedup();
    assert!(answers.len() > 1, "{answers:?}");
}

/// Checks in which way they differ.
#[track_caller]
fn apart(ours: &str, public: &str, question: impl Fn(&mut Talk, &Site) -> String) {
    assert_eq!(both(Caps::NONE, question), [ours, public], "ours first, then the public server's");
}

#[test]
#[ignore = "needs the public bcmr: run by tests/run"]
fn stat_is_answered_alike() {
    let inside = ["f", "d", "d/", "", ".", "./d", "d//a", "d/link"];
    let refused = ["absent", "f/x", "../x", "d/../f", "/", "/etc"];
    alike(&[inside.as_slice(), &refused].concat(), |talk, path| talk.ask(&Message::Stat { path }));
}

#[test]
#[ignore = "needs the public bcmr: run by tests/run"]
fn list_is_answered_alike_in_the_same_order() {
    alike(&["d", "", "d/empty", "f", "absent", "../x"], |talk, path| talk.ask(&Message::List { path }));
}

#[test]
#[ignore = "needs the public bcmr: run by tests/run"]
fn an_entry_that_cannot_be_served_is_left_out_where_the_public_server_fails_the_listing() {
    let list = |talk: &mut Talk| talk.ask(&Message::List { path: "d" });
    let rest = "List a=1 a-x=2 a0/ a0/z=1 empty/ link=1";
    type Spoil = fn(&Site);
    let spoils: [Spoil; 4] = [
        |site| drop(site.link("d/dangling", "nowhere")),
        |site| drop(site.link("d/loop", ".")),
        |site| drop(site.link("d/out", "/")),
        |site| drop(site.fifo("d/fifo")),
    ];
    for spoil in spoils {
        apart(rest, "Error", |talk, site| {
            spoil(site);
            list(talk)
        });
    }
    // The control: a link inside is an entry to both.
    apart(
        &rest.replace("link", "in/ in/z=1 link"),
        &rest.replace("link", "in/ in/z=1 link"),
        |talk, site| {
            site.link("d/in", "a0");
            list(talk)
        },
    );
}

#[test]
#[ignore = "needs the public bcmr: run by tests/run"]
fn hash_is_answered_alike() {
    let whole = [("f", 0, None), ("big", 0, None), ("big", 4_194_304, None), ("d/link", 0, None)];
    let parts =
        [("f", 6, None), ("f", 0, Some(5)), ("f", 0, Some(0)), ("f", 6, Some(u64::MAX)), ("f", 100, None)];
    let refused = [("absent", 0, None), ("d", 0, None), ("../x", 0, None), ("f", u64::MAX, None)];
    alike(&[whole.as_slice(), &parts, &refused].concat(), |talk, &(path, offset, limit)| {
        talk.ask(&Message::Hash { path, offset, limit })
    });
}

#[test]
#[ignore = "needs the public bcmr: run by tests/run"]
fn get_is_answered_alike() {
    let whole = [("f", 0), ("big", 0), ("big", 1), ("f", 6), ("f", 11), ("f", 12), ("d/link", 0)];
    let refused = [("absent", 0), ("d", 0), ("../x", 0), ("f", u64::MAX)];
    alike(&[whole.as_slice(), &refused].concat(), |talk, &(path, offset)| {
        talk.get(&Message::Get { path, offset })
    });
    let ranges = [("f", 0, 11), ("f", 3, 4), ("f", 3, 40), ("f", 11, 0), ("f", 0, 0), ("f", 20, 1)];
    alike(&ranges, |talk, &(path, offset, length)| talk.get(&Message::GetChunked { path, offset, length }));
    let fast = both(Caps::FAST, |talk, _| talk.get(&Message::Get { path: "f", offset: 0 }));
    assert_eq!(fast, ["11 B, Ok { hash: None }"; 2]);
}

/// A Put's path, size, overwrite, and blocks.
type Put = (&'static str, u64, bool, &'static [&'static [u8]]);

#[test]
#[ignore = "needs the public bcmr: run by tests/run"]
fn a_put_that_succeeds_and_one_that_fails_at_its_done_are_answered_alike() {
    let puts: [Put; 8] = [
        ("new", 5, false, &[b"hello"]),
        ("new", 0, false, &[]),
        ("x/y/z", 5, false, &[b"he", b"llo"]),
        ("new/", 5, false, &[b"hello"]),
        ("d/a", 5, true, &[b"hello"]),
        ("d/link", 5, true, &[b"hello"]),
        ("new", 5, false, &[b"hell"]),
        ("new", 5, false, &[]),
    ];
    let question = |put: &Put| {
        let &(path, size, overwrite, blocks) = put;
        both(Caps::NONE, |talk, site| {
            let replies = talk.put(path, size, overwrite, blocks);
            let there = |path| fs::read(site.path(path)).ok();
            let link = site.path("d/link").is_symlink();
            format!("{replies}, {:?} {:?} {:?}, {link}", there("new"), there("d/a"), there("x/y/z"))
        })
    };
    for put in puts {
        let [ours, public] = question(&put);
        assert_eq!(ours, public, "{put:?}");
        // The one difference: the directory of a Put that failed.
        assert_eq!(ours.starts_with("Error"), put.3.concat().len() as u64 != put.1, "{put:?}: {ours}");
    }
}

#[test]
#[ignore = "needs the public bcmr: run by tests/run"]
fn a_refused_put_gets_one_error_where_the_public_server_answers_every_frame() {
    let puts: [Put; 8] = [
        ("f", 5, false, &[b"hello"]),
        ("f", 10, false, &[b"hello", b"hello"]),
        ("d", 5, true, &[b"hello"]),
        ("f/x", 5, false, &[b"hello"]),
        ("../x", 5, false, &[b"hello"]),
        ("", 5, false, &[b"hello"]),
        // Past the declared size: the frame that is, and all after it.
        ("new", 5, false, &[b"hello", b"!"]),
        ("new", 5, false, &[b"hello!", b"x", b"y"]),
    ];
    for put in puts {
        let (path, size, overwrite, blocks) = put;
        let within = if path == "new" { blocks.iter().take_while(|b| b.len() == 5).count() } else { 0 };
        let frames = if path == "new" { blocks.len() - within + 1 } else { blocks.len() + 2 };
        apart("Error, 11", &format!("{}, 11", vec!["Error"; frames].join(", ")), |talk, site| {
            let replies = talk.put(path, size, overwrite, blocks);
            assert!(!site.path("new").exists(), "{put:?}");
            format!("{replies}, {}", site.read("f").len())
        });
    }
}

#[test]
#[ignore = "needs the public bcmr: run by tests/run"]
fn mkdir_and_resume_are_answered_alike() {
    let dirs = ["n", "n/m/o", "n/", "d", "", "f", "f/x", "../x"];
    alike(&dirs, |talk, path| talk.ask(&Message::Mkdir { path }));
    let files = ["f", "big", "d/link", "absent", "absent/x", "d", "f/x", "../x"];
    alike(&files, |talk, path| talk.ask(&Message::Resume { path }));
}

#[test]
#[ignore = "needs the public bcmr: run by tests/run"]
fn a_frame_out_of_place_is_an_error_and_the_session_lives_on_both_sides() {
    let frames = [
        Message::Done,
        Message::Data { payload: b"x" },
        Message::HaveBlocks { block_size: 4 << 20, hashes: &[] },
        Message::Hello { version: 2, caps: Caps::NONE },
        Message::OpenDirectChannel,
    ];
    for frame in frames {
        apart("Error, file of 11", "Error, file of 11", |talk, _| {
            format!("{}, {}", talk.ask(&frame), talk.ask(&Message::Stat { path: "f" }))
        });
    }
}

#[test]
#[ignore = "needs the public bcmr: run by tests/run"]
fn a_visible_file_is_never_changed_in_place_where_the_public_server_does() {
    apart("Error, hello world", "Ok { hash: None }, \0\0\0", |talk, site| {
        let reply = talk.ask(&Message::Truncate { path: "f", size: 3 });
        format!("{reply}, {}", String::from_utf8(site.read("f")).unwrap())
    });
    apart("Error, hello world", "Ok { hash: None }, HEllo world", |talk, site| {
        talk.say(&Message::PutChunked { path: "f", offset: 0, length: 2 });
        talk.say(&Message::Data { payload: b"HE" });
        let reply = talk.ask(&Message::Done);
        format!("{reply}, {}", String::from_utf8(site.read("f")).unwrap())
    });
}

#[test]
#[ignore = "needs the public bcmr: run by tests/run"]
fn a_broken_frame_is_explained_once_where_the_public_server_ends_without_a_word() {
    let frames: [&[u8]; 4] = [
        &[0, 0, 0, 0],
        // 17 MiB, an unknown type, a Stat of "f" with a byte too much.
        &[0, 0, 0x10, 1, 0x03],
        &[1, 0, 0, 0, 0x33],
        &[7, 0, 0, 0, 0x03, 1, 0, 0, 0, b'f', 0],
    ];
    for frame in frames {
        apart("Error, end, 76", "end, 1", |talk, _| {
            let to = talk.to.as_mut().unwrap();
            to.push_encoded(frame).and_then(|()| to.flush()).unwrap();
            talk.rest()
        });
    }
}

#[test]
#[ignore = "needs the public bcmr: run by tests/run"]
fn a_link_cut_in_the_middle_is_no_good_end_where_it_is_to_the_public_server() {
    apart("end, 74", "end, 0", |talk, _| {
        let to = talk.to.as_mut().unwrap();
        to.push_encoded(&[5, 0]).and_then(|()| to.flush()).unwrap();
        talk.rest()
    });
    apart("end, 74, false", "Error, end, 0, false", |talk, site| {
        talk.say(&Message::Put { path: "new", size: 5, offset: 0, overwrite: false });
        talk.say(&Message::Data { payload: b"he" });
        format!("{}, {}", talk.rest(), site.path("new").exists())
    });
    // The control: between two frames it is a good one to both.
    apart("end, 0", "end, 0", |talk, _| talk.rest());
}
