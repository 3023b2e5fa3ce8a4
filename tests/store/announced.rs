//! Put with dedup, frame by frame (docs/wire-v2.md).

use std::fs;
use std::os::unix::fs::{MetadataExt, PermissionsExt};

use bcmr_tests::content::{hex, noise, text};
use bcmr_tests::{Reply, Server};
use bcmr_wire::limits::{MAX_BLOCK, MAX_BODY};
use bcmr_wire::message::Algo;
use bcmr_wire::{Caps, Message};

use crate::scene::{MIB, Scene, announce, hashes, missing, send, upload};

/// Checks that the session serves on, and takes an upload after all that.
#[track_caller]
fn serves_on(mut server: Server, scene: &Scene) {
    let content = noise(5 * MIB, 99);
    upload(&mut server, "after", &content);
    assert!(scene.site.read("after") == content);
    server.finish();
}

#[test]
fn the_second_upload_of_a_content_sends_no_block_and_arrives_whole() {
    let sizes = [1, MAX_BLOCK - 1, MAX_BLOCK, MAX_BLOCK + 1, 3 * MAX_BLOCK, 9 * MAX_BLOCK + 12_345];
    let scene = Scene::new(200);
    for size in sizes {
        let content = noise(size, size as u64);
        let all: Vec<_> = (0..size.div_ceil(MAX_BLOCK)).collect();
        assert_eq!(scene.upload("first", &content), all, "{size} bytes");
        assert_eq!(scene.upload("d/second", &content), [0; 0], "{size} bytes");
        assert!(
            scene.site.read("first") == content && scene.site.read("d/second") == content,
            "{size} bytes"
        );
    }
    scene.counts_what_is_there();
    scene.every_block_is_whole();
    let private = |path: &std::path::Path, mode| {
        assert_eq!(path.metadata().unwrap().permissions().mode() & 0o7777, mode, "{}", path.display());
    };
    private(&scene.state(), 0o700);
    private(&scene.part(), 0o700);
    private(&scene.blocks(), 0o700);
    fs::read_dir(scene.blocks()).unwrap().for_each(|block| private(&block.unwrap().path(), 0o600));
}

#[test]
fn an_empty_file_has_no_blocks() {
    let scene = Scene::new(8);
    assert_eq!(scene.upload("empty", &[]), [0; 0]);
    assert_eq!((scene.site.read("empty").len(), scene.count()), (0, 0));
}

#[test]
fn another_block_size_is_refused_in_the_words_that_clients_look_for() {
    let scene = Scene::new(8);
    let mut server = scene.server();
    for block_size in [0, 1, MAX_BLOCK as u32 - 1, MAX_BLOCK as u32 + 1, u32::MAX] {
        server.send(&Message::Put { path: "f", size: 5, offset: 0, overwrite: false });
        let reply = server.ask(&Message::HaveBlocks { block_size, hashes: &hashes(b"12345") });
        assert!(reply.error().contains("block_size") && reply.error().contains("CHUNK_SIZE"), "{reply:?}");
        // What is left of it is passed over.
        server.to.content(b"12345");
        server.send(&Message::Done);
    }
    assert_eq!(scene.site.names(), [""; 0]);
    serves_on(server, &scene);
}

#[test]
fn another_number_of_blocks_than_the_size_has_is_refused() {
    let scene = Scene::new(8);
    let mut server = scene.server();
    let block = MAX_BLOCK as u64;
    for (size, count) in [(0, 1), (1, 0), (1, 2), (block, 2), (block + 1, 1), (3 * block, 4), (3 * block, 2)]
    {
        server.send(&Message::Put { path: "f", size, offset: 0, overwrite: false });
        let hashes = vec![[1; 32]; count];
        let reply = server.ask(&Message::HaveBlocks { block_size: MAX_BLOCK as u32, hashes: &hashes });
        assert!(reply.error().contains("blocks were announced"), "{size} {count}: {reply:?}");
        server.send(&Message::Done);
    }
    assert_eq!(scene.site.names(), [""; 0]);
    serves_on(server, &scene);
}

#[test]
fn an_announcement_out_of_place_is_an_error_and_the_session_lives() {
    let scene = Scene::new(8);
    let content = noise(5 * MIB, 1);
    let have = hashes(&content);
    let have = Message::HaveBlocks { block_size: MAX_BLOCK as u32, hashes: &have };
    let mut server = scene.server();
    let unexpected = "unexpected message HaveBlocks";
    assert!(server.ask(&have).error().contains(unexpected));
    // After content.
    server.send(&Message::Put { path: "f", size: content.len() as u64, offset: 0, overwrite: false });
    server.send(&Message::Data { payload: &content[..1] });
    assert!(server.ask(&have).error().contains(unexpected));
    server.send(&Message::Done);
    // Twice.
    assert_eq!(missing(&announce(&mut server, "f", &content), 2), [0, 1]);
    assert!(server.ask(&have).error().contains(unexpected));
    server.send(&Message::Done);
    // Behind an offset.
    scene.site.file("kept", "12345");
    server.send(&Message::Put { path: "kept", size: content.len() as u64, offset: 5, overwrite: true });
    assert!(server.ask(&have).error().contains(unexpected));
    server.send(&Message::Done);
    // Between Put and announcement.
    server.send(&Message::Put { path: "f", size: content.len() as u64, offset: 0, overwrite: false });
    assert!(server.ask(&Message::Stat { path: "kept" }).is_error());
    assert!(matches!(server.reply(), Reply::Stat { size: 5, .. }));
    assert!(server.ask(&have).error().contains(unexpected));
    assert_eq!(scene.site.names(), ["kept"]);
    serves_on(server, &scene);
}

#[test]
fn what_was_not_negotiated_is_refused() {
    let scene = Scene::new(8);
    let content = noise(5 * MIB, 1);
    let mut server = scene.launch().start().hello(Caps::NONE);
    let reply = announce(&mut server, "f", &content);
    assert!(reply.error().contains("CAP_DEDUP"), "{reply:?}");
    server.to.content(&content);
    server.send(&Message::Done);
    assert_eq!(server.put("g", b"whole", false).ok(), Some(&*hex(b"whole")));
    server.finish();
    assert_eq!((scene.site.names(), scene.count()), (vec!["g".to_owned()], 0));
}

#[test]
fn of_a_missing_hash_that_occurs_twice_both_blocks_come() {
    let scene = Scene::new(64);
    let (a, b) = (noise(MAX_BLOCK, 1), noise(MAX_BLOCK, 2));
    let content = [&*a, &*b, &*a, &*a].concat();
    assert_eq!(scene.upload("f", &content), [0, 1, 2, 3]);
    assert!(scene.site.read("f") == content);
    assert_eq!(scene.count(), 2);
    assert_eq!(scene.upload("g", &[&*b, &*a, &*b].concat()), [0; 0]);
    assert!(scene.site.read("g") == [&*b, &*a, &*b].concat());
    scene.counts_what_is_there();
}

#[test]
fn only_the_blocks_that_are_missing_come_whatever_their_order() {
    let scene = Scene::new(64);
    let old = noise(9 * MAX_BLOCK + 7, 1);
    scene.upload("old", &old);
    let mut new = old.clone();
    for index in [0, 3, 8] {
        new[index * MAX_BLOCK + 17] ^= 1;
    }
    assert_eq!(scene.upload("new", &new), [0, 3, 8]);
    assert!(scene.site.read("new") == new);
    // Compressed blocks are blocks, too.
    let lines = text(2 * MAX_BLOCK);
    let mut server = scene.server();
    assert_eq!(missing(&announce(&mut server, "text", &lines), 2), [0, 1]);
    for block in lines.chunks(MAX_BLOCK) {
        let payload = zstd::bulk::compress(block, 3).unwrap();
        server.send(&Message::DataCompressed { algo: Algo::Zstd, original_size: 4 << 20, payload: &payload });
    }
    assert_eq!(server.ask(&Message::Done).ok(), Some(&*hex(&lines)));
    server.finish();
    assert_eq!(scene.upload("text again", &lines), [0; 0]);
    assert!(scene.site.read("text again") == lines);
}

#[test]
fn s11_a_block_under_anothers_hash_is_an_error_and_neither_published_nor_stored() {
    let scene = Scene::new(64);
    let (wanted, sent) = (noise(MAX_BLOCK, 1), noise(MAX_BLOCK, 2));
    let mut server = scene.server();
    assert_eq!(missing(&announce(&mut server, "f", &wanted), 1), [0]);
    let reply = server.ask(&Message::Data { payload: &sent });
    assert!(reply.error().contains("not what its hash announced"), "{reply:?}");
    server.send(&Message::Done);
    assert_eq!((scene.site.names(), scene.count()), (vec![], 0));
    // Neither under the one name nor under the other.
    for content in [&wanted, &sent] {
        assert_eq!(missing(&announce(&mut server, "f", content), 1), [0]);
        server.send(&Message::Done);
        assert!(server.reply().error().contains("declared 4194304 bytes, received 0"));
    }
    serves_on(server, &scene);
}

#[test]
fn blocks_that_are_announced_and_never_come_publish_and_store_nothing() {
    let scene = Scene::new(64);
    let content = noise(5 * MAX_BLOCK, 1);
    let mut server = scene.server();
    for _ in 0..3 {
        assert_eq!(missing(&announce(&mut server, "d/f", &content), 5), [0, 1, 2, 3, 4]);
        assert!(server.ask(&Message::Done).error().contains("declared 20971520 bytes, received 0"));
    }
    assert_eq!(missing(&announce(&mut server, "f", &content), 5), [0, 1, 2, 3, 4]);
    send(&mut server, &content, &[0]);
    server.close_input();
    assert_eq!(server.from.next_reply(), None);
    assert_eq!(server.exit_code(), 74);
    assert_eq!(scene.site.names(), [""; 0]);
    assert!(scene.count() <= 1);
    scene.counts_what_is_there();
}

#[test]
fn a_block_that_is_too_short_too_long_or_one_too_many_is_an_error() {
    let scene = Scene::new(64);
    let content = noise(MAX_BLOCK + 100, 1);
    let mut server = scene.server();
    let refused = |server: &mut Server, frames: &[&[u8]], why: &str| {
        assert_eq!(missing(&announce(server, "f", &content), 2), [0, 1]);
        frames.iter().for_each(|payload| server.send(&Message::Data { payload }));
        let reply = server.reply();
        assert!(reply.error().contains(why), "{reply:?}");
        server.send(&Message::Done);
        assert_eq!(scene.site.names(), [""; 0]);
    };
    refused(&mut server, &[&content[..MAX_BLOCK - 1]], "has 4194303 bytes, and must have 4194304");
    refused(
        &mut server,
        &[&content[..MAX_BLOCK / 2], &content[MAX_BLOCK / 2..MAX_BLOCK]],
        "must have 4194304",
    );
    refused(&mut server, &[&[]], "has 0 bytes");
    let scene_of = |last: &[u8], why: &str| {
        // The first block is good, and may be stored by this.
        let other = Scene::new(64);
        let mut server = other.server();
        assert_eq!(missing(&announce(&mut server, "f", &content), 2), [0, 1]);
        send(&mut server, &content, &[0]);
        server.send(&Message::Data { payload: last });
        assert!(server.reply().error().contains(why));
        server.send(&Message::Done);
        assert_eq!(other.site.names(), [""; 0]);
        serves_on(server, &other);
    };
    scene_of(&content[MAX_BLOCK..MAX_BLOCK + 99], "must have 100");
    scene_of(&noise(MAX_BLOCK, 3), "must have 100");
    // One more than is missing.
    assert_eq!(missing(&announce(&mut server, "f", &content), 2), [0, 1]);
    send(&mut server, &content, &[0, 1]);
    server.send(&Message::Data { payload: &[0] });
    assert!(server.reply().error().contains("past the declared size"));
    server.send(&Message::Done);
    assert_eq!(scene.site.names(), [""; 0]);
    serves_on(server, &scene);
}

#[test]
fn sparse_content_keeps_its_holes_on_its_way_through_the_store() {
    let scene = Scene::new(64);
    let mut content = vec![0; 8 * MAX_BLOCK + 100];
    content[2 * MAX_BLOCK + 5] = 1;
    content[5 * MAX_BLOCK - 1] = 1;
    for (name, sent) in [("first", (0..9).collect()), ("second", vec![])] {
        assert_eq!(scene.upload(name, &content), sent);
        assert!(scene.site.read(name) == content);
        let taken = scene.site.path(name).metadata().unwrap().blocks() * 512;
        assert!(taken <= 2 * MIB as u64, "{name}: {taken} bytes on disk");
    }
    scene.counts_what_is_there();
}

#[test]
fn a_put_that_is_refused_midway_leaves_the_session_as_it_was() {
    let scene = Scene::new(64);
    scene.site.file("taken", "old");
    let content = noise(3 * MAX_BLOCK, 1);
    let mut server = scene.server();
    // Everything is sent before the Error is read.
    let size = content.len() as u64;
    server.send(&Message::Put { path: "taken", size, offset: 0, overwrite: false });
    server.send(&Message::HaveBlocks { block_size: MAX_BLOCK as u32, hashes: &hashes(&content) });
    send(&mut server, &content, &[0, 1, 2]);
    server.send(&Message::Done);
    assert!(server.reply().is_error());
    assert_eq!(scene.site.read("taken"), b"old");
    assert_eq!(scene.count(), 0);
    serves_on(server, &scene);
}

#[test]
fn the_longest_announcement_fits_into_48_mib() {
    let scene = Scene::new(64);
    let content = noise(MAX_BLOCK, 1);
    scene.upload("one", &content);
    let count = (MAX_BODY - 8) / 32;
    let size = (count * MAX_BLOCK) as u64;
    let mut server = scene.server();
    let hash = hashes(&content)[0];
    // Every other one is there: of a file that would be 2 TiB, of which a byte is never sent.
    let mut list = vec![hash; 64];
    list.extend((64..count as u64).map(|i| *blake3::hash(&i.to_le_bytes()).as_bytes()));
    for _ in 0..2 {
        server.send(&Message::Put { path: "f", size, offset: 0, overwrite: false });
        let reply = server.ask(&Message::HaveBlocks { block_size: MAX_BLOCK as u32, hashes: &list });
        assert_eq!(missing(&reply, count).len(), count - 64);
        assert!(server.ask(&Message::Done).error().contains("received 268435456"));
    }
    let peak = server.peak_kib();
    println!("{count} hashes: {peak} KiB at its peak");
    assert!(peak < 48 * 1024, "{peak} KiB");
    serves_on(server, &scene);
}

#[test]
fn a_great_many_small_files_at_once_run_out_of_no_descriptor() {
    let scene = Scene::new(64);
    let mut server = scene.server();
    for i in 0..2000_u64 {
        let content = noise(40, i);
        server.send(&Message::Put { path: &format!("{i}"), size: 40, offset: 0, overwrite: false });
        server.send(&Message::HaveBlocks { block_size: MAX_BLOCK as u32, hashes: &hashes(&content) });
        server.send(&Message::Data { payload: &content });
        server.send(&Message::Done);
        assert_eq!(missing(&server.reply(), 1), [0], "{i}");
        assert_eq!(server.reply().ok(), Some(&*hex(&content)), "{i}");
    }
    server.finish();
    assert_eq!(scene.site.names().len(), 2000);
    scene.counts_what_is_there();
}
