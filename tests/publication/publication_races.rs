//! S6, S7: many sessions at one name.

use std::collections::HashSet;
use std::sync::atomic::{AtomicBool, AtomicUsize, Ordering};
use std::thread;

use bcmr_tests::content::{hex, noise};
use bcmr_tests::rungs::KINDS;
use bcmr_tests::{Reply, Server, Site};
use bcmr_wire::Message;

/// Sessions at once.
const SESSIONS: usize = 64;

/// Has every session do something at the same time.
fn all_at_once<T: Send>(servers: &mut [Server], act: impl Fn(usize, &mut Server) -> T + Sync) -> Vec<T> {
    thread::scope(|scope| {
        let act = &act;
        let started: Vec<_> =
            servers.iter_mut().enumerate().map(|(i, server)| scope.spawn(move || act(i, server))).collect();
        started.into_iter().map(|thread| thread.join().unwrap()).collect()
    })
}

fn content_of(session: usize) -> Vec<u8> {
    noise(20_000 + session, session as u64)
}

#[test]
fn s7_of_64_sessions_that_put_one_new_name_exactly_one_is_told_ok_and_its_bytes_stand() {
    for rung in KINDS {
        let site = Site::new();
        let mut servers: Vec<_> = (0..SESSIONS).map(|_| rung.server(&site)).collect();
        for round in 0..4 {
            // In a directory that all of them make, too.
            let name = format!("{round}/f");
            all_at_once(&mut servers, |i, server| {
                let content = content_of(i);
                let size = content.len() as u64;
                server.send(&Message::Put { path: &name, size, offset: 0, overwrite: false });
                server.to.content(&content);
            });
            let replies = all_at_once(&mut servers, |_, server| server.ask(&Message::Done));
            let winners: Vec<_> = (0..SESSIONS).filter(|i| !replies[*i].is_error()).collect();
            let [winner] = winners[..] else { panic!("{rung:?} {round}: {winners:?} were told Ok") };
            let content = content_of(winner);
            assert_eq!(replies[winner].ok(), Some(&*hex(&content)), "{rung:?}");
            assert!(site.read(&name) == content, "{rung:?} {round}");
            for reply in replies.iter().filter(|reply| reply.is_error()) {
                assert!(reply.error().contains("already exists"), "{rung:?} {reply:?}");
            }
        }
        servers.into_iter().for_each(Server::finish);
        assert_eq!(site.tree().paths(), ["0", "0/f", "1", "1/f", "2", "2/f", "3", "3/f"], "{rung:?}");
    }
}

#[test]
fn s6_while_64_sessions_replace_one_name_every_read_is_one_whole_version() {
    for rung in KINDS {
        let site = Site::new();
        site.file("f", content_of(SESSIONS));
        let hashes: HashSet<_> = (0..=SESSIONS).map(|i| hex(&content_of(i))).collect();
        let mut servers: Vec<_> = (0..SESSIONS).map(|_| rung.server(&site)).collect();
        let (done, reads) = (AtomicBool::new(false), AtomicUsize::new(0));
        let seen = thread::scope(|scope| {
            let readers: Vec<_> = (0..4)
                .map(|_| {
                    let (site, hashes, done, reads) = (&site, &hashes, &done, &reads);
                    scope.spawn(move || {
                        let mut server = Server::plain(site.root());
                        let mut seen = HashSet::new();
                        while !done.load(Ordering::Relaxed) {
                            let got = server.get("f", 0);
                            let hash = hex(&got.content);
                            assert_eq!(got.end, Reply::Ok { hash: Some(hash.clone()) }, "{rung:?}");
                            assert!(hashes.contains(&hash), "{rung:?}: {} bytes of a mix", got.content.len());
                            seen.insert(hash);
                            reads.fetch_add(1, Ordering::Relaxed);
                        }
                        server.finish();
                        seen
                    })
                })
                .collect();
            all_at_once(&mut servers, |i, server| {
                let content = content_of(i);
                for _ in 0..3 {
                    assert_eq!(server.put("f", &content, true).ok(), Some(&*hex(&content)), "{rung:?}");
                }
            });
            done.store(true, Ordering::Relaxed);
            readers.into_iter().flat_map(|reader| reader.join().unwrap()).collect::<HashSet<_>>()
        });
        servers.into_iter().for_each(Server::finish);
        assert!(hashes.contains(&hex(&site.read("f"))), "{rung:?}");
        assert_eq!(site.tree().paths(), ["f"], "{rung:?}");
        println!("{} reads saw {} versions", reads.into_inner(), seen.len());
        assert!(seen.len() > 1, "{rung:?}: the readers saw nothing change");
    }
}
