//! What killed sessions left behind is swept by the next one that stages in the same directory, and nothing
//! else.

use std::fs::{self, File};
use std::os::unix::fs::PermissionsExt;
use std::path::PathBuf;
use std::time::Duration;

use bcmr_tests::content::noise;
use bcmr_tests::{Server, Site};
use bcmr_wire::Message;
use rustix::fs::{FlockOperation, flock};
use rustix::process::Signal;

use bcmr_tests::rungs::{KINDS, Rung};

/// A name that is reserved for stages.
fn reserved(last: char) -> String {
    format!(".bcmr-0123456789abcdef0123456789abcde{last}")
}

/// Puts a file into `dir`, which has the directory swept.
fn stage_in(site: &Site, dir: &str) {
    let mut server = Server::plain(site.root());
    assert!(server.put(&format!("{dir}/sweeping"), b"", true).ok().is_some());
    server.finish();
}

/// A server in the middle of a Put of `path`.
fn in_the_middle(rung: Rung, site: &Site, path: &str) -> Server {
    let mut server = rung.server(site);
    server.send(&Message::Put { path, size: 8, offset: 0, overwrite: true });
    server.send(&Message::Data { payload: b"half" });
    server.from.stays_silent(Duration::from_millis(50));
    server
}

#[test]
fn fluree_1620_restic_873_the_next_session_sweeps_the_dead_and_spares_the_live() {
    for rung in KINDS {
        let site = Site::new();
        site.file("d/f", "old");
        let mut live = in_the_middle(rung, &site, "d/live");
        for _ in 0..7 {
            let mut server = in_the_middle(rung, &site, "d/f");
            server.signal(Signal::KILL);
            server.ends_within(Duration::from_secs(5));
        }
        assert_eq!(site.read("d/f"), b"old");
        let left = site.tree().stages().len();
        assert!(if rung.is_named(&site) { left >= 2 } else { left == 0 }, "{rung:?}: {left}");

        stage_in(&site, "d");
        assert_eq!(site.tree().stages().len(), usize::from(rung.is_named(&site)), "{rung:?}");
        live.send(&Message::Data { payload: b"full" });
        assert!(live.ask(&Message::Done).ok().is_some());
        assert_eq!(site.read("d/live"), b"halffull");
        live.finish();
        assert!(site.tree().stages().is_empty());
    }
}

#[test]
fn rclone_6142_a_kill_at_any_moment_leaves_the_old_or_the_new_bytes() {
    let (old, new) = (noise(200_000, 1), noise(300_000, 2));
    for rung in KINDS {
        let site = Site::new();
        let path = site.file("d/f", &old);
        let mut put = Vec::new();
        let mut add = |message: Message<'_>| message.encode(&mut put).unwrap();
        add(Message::Put { path: "d/f", size: new.len() as u64, offset: 0, overwrite: true });
        add(Message::Data { payload: &new });
        add(Message::Done);
        let mut seen = [0, 0];
        for round in 0..40 {
            fs::write(&path, &old).unwrap();
            let mut server = rung.server(&site);
            server.to.send_raw(&put);
            std::thread::sleep(Duration::from_micros(round * 50));
            server.signal(Signal::KILL);
            server.ends_within(Duration::from_secs(5));
            let content = fs::read(&path).expect("the name is gone");
            assert!(content == old || content == new, "{rung:?}: a mix of {} bytes", content.len());
            seen[usize::from(content == new)] += 1;
        }
        assert!(seen[0] > 0, "{rung:?}: always too late");
        // What the kills left is swept.
        stage_in(&site, "d");
        assert_eq!(site.tree().paths(), ["d", "d/f", "d/sweeping"], "{rung:?}");
    }
}

#[test]
fn only_what_is_surely_a_dead_stage_of_ones_own_is_removed() {
    let site = Site::new();
    let in_d = |name: &str| format!("d/{name}");
    let dead = site.file(&in_d(&reserved('0')), "dead");
    // Published, and killed before its reserved name was taken away.
    let published = site.file(&in_d(&reserved('1')), "published");
    fs::hard_link(&published, site.path("d/name")).unwrap();
    // All that is not a stage, or not a dead one.
    let locked = File::open(site.file(&in_d(&reserved('2')), "alive")).unwrap();
    flock(&locked, FlockOperation::NonBlockingLockExclusive).unwrap();
    site.dir(&in_d(&reserved('3')));
    site.link(&in_d(&reserved('4')), "name");
    site.fifo(&in_d(&reserved('5')));
    let linked = site.file(&in_d(&reserved('6')), "with three names");
    fs::hard_link(&linked, site.path("d/one")).unwrap();
    fs::hard_link(&linked, site.path("d/two")).unwrap();
    let own = [
        ".bcmr-notes".to_owned(),
        reserved('A'),
        format!("{}0", reserved('7')),
        reserved('7')[..37].to_owned(),
        format!("{}.bak", reserved('8')),
        format!("x{}", reserved('9')),
    ];
    own.iter().for_each(|name| drop(site.file(&in_d(name), "someone's own")));
    site.file(&format!("d/below/{}", reserved('0')), "in another directory");
    let before = site.tree();

    stage_in(&site, "d");
    let after = site.tree();
    let gone: Vec<_> = before.paths().into_iter().filter(|path| after.get(path).is_none()).collect();
    assert_eq!(gone.iter().map(|path| site.path(path)).collect::<Vec<PathBuf>>(), [dead, published]);
    assert_eq!(site.read("d/name"), b"published");
    for path in before.paths().into_iter().filter(|path| !gone.contains(path) && *path != "d/name") {
        assert_eq!(after.get(path), before.get(path), "{path}");
    }
}

#[test]
fn where_others_can_exchange_names_a_dead_stage_is_emptied_and_left() {
    for mode in [0o777, 0o775] {
        let site = Site::new();
        let dead = format!("d/{}", reserved('0'));
        site.file(&dead, "dead");
        let published = format!("d/{}", reserved('1'));
        site.file(&published, "published");
        fs::hard_link(site.path(&published), site.path("d/name")).unwrap();
        site.chmod("d", mode);
        stage_in(&site, "d");
        assert_eq!(site.read(&dead), b"", "{mode:o}");
        assert_eq!(site.read("d/name"), b"published", "{mode:o}");
    }
    // The sticky bit keeps others from exchanging what is not theirs.
    let site = Site::new();
    let dead = format!("d/{}", reserved('0'));
    site.file(&dead, "dead");
    fs::set_permissions(site.path("d"), fs::Permissions::from_mode(0o1777)).unwrap();
    stage_in(&site, "d");
    assert!(!site.path(&dead).exists());
}

#[test]
fn a_directory_is_swept_before_it_is_staged_in_and_not_by_reading_it() {
    let site = Site::new();
    let dead = format!("d/{}", reserved('0'));
    site.file(&dead, "dead");
    let before = site.everything();
    let mut server = Server::plain(site.root());
    assert!(server.ask(&Message::List { path: "d" }).paths().is_empty());
    assert!(!server.ask(&Message::Stat { path: "d" }).is_error());
    assert!(!server.ask(&Message::Mkdir { path: "d" }).is_error());
    assert_eq!(site.everything(), before);
    server.send(&Message::Put { path: "d/f", size: 1, offset: 0, overwrite: false });
    server.from.stays_silent(Duration::from_millis(100));
    assert!(!site.path(&dead).exists());
    server.send(&Message::Data { payload: b"x" });
    assert!(server.ask(&Message::Done).ok().is_some());
    server.finish();
}
