//! S12: what is damaged, or was planted in the store, is never served, never followed, never fatal.

use std::fs::{self, File, OpenOptions};
use std::os::unix::fs::{FileExt, PermissionsExt, symlink};
use std::os::unix::net::UnixListener;
use std::path::Path;

use bcmr_tests::content::noise;
use bcmr_wire::limits::MAX_BLOCK;
use rustix::fs::{CWD, FileType, Mode, mknodat};

use crate::scene::{MIB, Scene, blocks, upload};

/// Something that takes a block's place, and whether it can be repaired without a hand.
type Damage = (&'static str, fn(&Path, &Path), bool);

/// Something that stands in the way, made in the root's part of the state.
type Way = (&'static str, fn(&Path, &Path));

const DAMAGES: &[Damage] = &[
    ("a bit at the front", |block, _| flip(block, 0), true),
    ("a bit in the middle", |block, _| flip(block, 1_000_001), true),
    ("a bit at the end", |block, _| flip(block, fs::metadata(block).unwrap().len() - 1), true),
    ("a byte too few", |block, _| cut(block, |len| len - 1), true),
    ("half of it", |block, _| cut(block, |len| len / 2), true),
    ("nothing", |block, _| cut(block, |_| 0), true),
    ("a hole at the end", |block, _| cut(block, |len| len + 1), true),
    ("far too much", |block, _| cut(block, |_| 1 << 40), true),
    ("another block", |block, other| assert!(fs::copy(other.join("other"), block).unwrap() > 0), true),
    // It leads to the very content, and is none the less not what the server put there.
    ("a link to the block", |block, other| link(block, &other.join("good")), true),
    ("a link to nowhere", |block, other| link(block, &other.join("absent")), true),
    ("a FIFO", |block, _| fifo(block), true),
    ("a socket", |block, _| drop(UnixListener::bind(replaced(block)).unwrap()), true),
    ("a directory", |block, _| fs::create_dir(replaced(block)).unwrap(), false),
    (
        "a directory with something in it",
        |block, _| fs::create_dir_all(replaced(block).join("x")).unwrap(),
        false,
    ),
];

fn replaced(block: &Path) -> &Path {
    fs::remove_file(block).unwrap();
    block
}

fn flip(block: &Path, at: u64) {
    let file = OpenOptions::new().read(true).write(true).open(block).unwrap();
    let mut byte = [0];
    file.read_exact_at(&mut byte, at).unwrap();
    file.write_all_at(&[byte[0] ^ 0x10], at).unwrap();
}

fn cut(block: &Path, len: fn(u64) -> u64) {
    let file = OpenOptions::new().write(true).open(block).unwrap();
    file.set_len(len(file.metadata().unwrap().len())).unwrap();
}

fn link(block: &Path, target: &Path) {
    symlink(target, replaced(block)).unwrap();
}

fn fifo(block: &Path) {
    mknodat(CWD, replaced(block), FileType::Fifo, Mode::from_raw_mode(0o600), 0).unwrap();
}

#[test]
fn desync_37_doltlite_841_s12_a_damaged_block_is_missing_and_removed_and_repaired_by_the_next_upload() {
    let content = noise(2 * MAX_BLOCK + 2_000_003, 1);
    for (what, damage, repaired) in DAMAGES {
        for index in [1, 2] {
            let scene = Scene::new(64);
            scene.upload("first", &content);
            let block = blocks(&content)[index];
            fs::copy(scene.block(block), scene.site.outside().join("good")).unwrap();
            fs::copy(scene.block(blocks(&content)[0]), scene.site.outside().join("other")).unwrap();
            let outside = bcmr_tests::disk::snapshot(&scene.site.outside());
            damage(&scene.block(block), &scene.site.outside());
            assert_eq!(scene.upload("second", &content), [index], "{what}");
            assert!(scene.site.read("second") == content, "{what}");
            let again = if *repaired { vec![] } else { vec![index] };
            assert_eq!(scene.upload("third", &content), again, "{what}");
            assert!(scene.site.read("third") == content, "{what}");
            assert_eq!(bcmr_tests::disk::snapshot(&scene.site.outside()), outside, "{what}");
            if *repaired {
                assert!(fs::symlink_metadata(scene.block(block)).unwrap().is_file(), "{what}");
                assert!(fs::read(scene.block(block)).unwrap() == block, "{what}");
                assert!(!scene.site.outside().join("absent").exists());
            }
        }
    }
}

#[test]
fn a_damaged_block_is_removed_also_where_the_upload_that_met_it_comes_to_nothing() {
    let scene = Scene::new(64);
    let content = noise(2 * MAX_BLOCK, 1);
    scene.upload("f", &content);
    flip(&scene.block(blocks(&content)[1]), 7);
    let mut server = scene.server();
    let answer = crate::scene::announce(&mut server, "g", &content);
    assert_eq!(crate::scene::missing(&answer, 2), [1]);
    server.close_input();
    assert_eq!(server.exit_code(), 74);
    assert_eq!(scene.count(), 1);
    scene.counts_what_is_there();
}

#[test]
fn what_is_no_block_is_left_alone_and_fails_nothing() {
    let scene = Scene::new(16);
    scene.upload("f", &noise(5 * MIB, 1));
    let store = scene.blocks();
    let upper = blake3::hash(b"x").to_hex().to_string().to_uppercase();
    fs::write(store.join("README"), "not a block").unwrap();
    fs::write(store.join(upper), "not a block").unwrap();
    fs::write(store.join("a"), "not a block").unwrap();
    File::create(store.join("caf\u{e9}")).unwrap();
    fs::create_dir(store.join("dir")).unwrap();
    symlink("/etc/passwd", store.join("link")).unwrap();
    mknodat(CWD, store.join("fifo"), FileType::Fifo, Mode::from_raw_mode(0o600), 0).unwrap();
    let mut server = scene.server();
    for seed in 2..8 {
        let content = noise(9 * MIB, seed);
        upload(&mut server, "g", &content);
        assert!(scene.site.read("g") == content);
    }
    let newest = noise(9 * MIB, 7);
    assert_eq!(upload(&mut server, "g", &newest), [0; 0]);
    server.finish();
    assert_eq!(fs::read(store.join("README")).unwrap(), b"not a block");
    assert!(store.join("dir").is_dir() && store.join("fifo").exists());
}

/// Where something stands in the way of the store itself there is none, and everything else is as ever.
#[test]
fn what_stands_in_the_way_of_the_store_is_not_followed() {
    let content = noise(5 * MIB, 1);
    let ways: [Way; 6] = [
        ("cas, a link", |part, outside| symlink(outside, part.join("cas")).unwrap()),
        ("cas, a file", |part, _| fs::write(part.join("cas"), "").unwrap()),
        ("usage, a link", |part, outside| symlink(outside.join("usage"), part.join("usage")).unwrap()),
        ("usage, a directory", |part, _| fs::create_dir(part.join("usage")).unwrap()),
        ("alive, a FIFO", |part, _| {
            mknodat(CWD, part.join("alive"), FileType::Fifo, Mode::from_raw_mode(0o600), 0).unwrap();
        }),
        ("the root's part, a link", |part, outside| {
            fs::remove_dir(part).unwrap();
            symlink(outside, part).unwrap();
        }),
    ];
    for (what, stand) in ways {
        let scene = Scene::new(64);
        fs::create_dir(scene.state()).unwrap();
        fs::set_permissions(scene.state(), fs::Permissions::from_mode(0o700)).unwrap();
        fs::create_dir(scene.part()).unwrap();
        stand(&scene.part(), &scene.site.outside());
        let mut server = scene.launch().start();
        let agreed = server.greet(bcmr_wire::Caps::DEDUP);
        assert!(!agreed.has(bcmr_wire::Caps::DEDUP), "{what}");
        assert!(!server.put("f", &content, false).is_error(), "{what}");
        server.finish();
        assert!(scene.site.read("f") == content, "{what}");
        assert_eq!(fs::read_dir(scene.site.outside()).unwrap().count(), 0, "{what}");
    }
}
