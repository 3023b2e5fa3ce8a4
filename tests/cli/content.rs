//! Content comes through as it is, by every codec, by the smallest pipes, with its holes.

use std::fs;
use std::os::unix::fs::{MetadataExt, PermissionsExt};

use bcmr_tests::client::{quoted, serve};
use bcmr_tests::content::{noise, text};
use bcmr_tests::{Client, Site, binaries};

use crate::client;

const MIB: usize = 1 << 20;

fn contents() -> Vec<(&'static str, Vec<u8>)> {
    vec![
        ("empty", Vec::new()),
        ("one", vec![1]),
        ("block - 1", noise(4 * MIB - 1, 1)),
        ("block", noise(4 * MIB, 2)),
        ("block + 1", noise(4 * MIB + 1, 3)),
        ("text", text(5 * MIB + 11)),
        ("mixed", [text(2 * MIB), noise(2 * MIB, 4), vec![0; MIB], text(999)].concat()),
    ]
}

#[test]
fn every_codec_and_option_brings_the_same_bytes_up_and_down() {
    for options in ["auto", "zstd", "lz4", "none"]
        .map(|codec| vec!["--compress", codec])
        .into_iter()
        .chain([vec!["--fast"], vec!["--sync"]])
    {
        let site = Site::new();
        fs::create_dir(site.outside().join("d")).unwrap();
        for (name, content) in contents() {
            fs::write(site.outside().join("d").join(name), content).unwrap();
        }
        client(&site).args(["copy"]).args(&options).args(["-r", "d", ":"]).run().succeeds();
        client(&site).args(["copy"]).args(&options).args(["-r", ":d", "back"]).run().succeeds();
        for (name, content) in contents() {
            assert!(site.read(&format!("d/{name}")) == content, "{options:?}: {name} went up changed");
            let back = fs::read(site.outside().join("back").join(name)).unwrap();
            assert!(back == content, "{options:?}: {name} came down changed");
        }
    }
}

#[test]
fn a_codec_makes_text_smaller_on_the_wire_and_none_does_not() {
    let site = Site::new();
    fs::write(site.outside().join("text"), text(4 * MIB)).unwrap();
    for (codec, unit) in [("zstd", "KiB on"), ("lz4", "KiB on"), ("auto", "KiB on"), ("none", "4.00 MiB on")]
    {
        client(&site).copy(["--compress", codec, "text", &format!(":{codec}")]).succeeds().says(unit);
    }
}

/// Both directions full at once: many requests, whose replies are as much again, through pipes that hold a page.
#[test]
fn two_full_pipes_of_4_kib_never_deadlock() {
    let site = Site::new();
    fs::create_dir(site.outside().join("d")).unwrap();
    for number in 0..2000 {
        fs::write(site.outside().join(format!("d/{number:04}-{}", "x".repeat(100))), noise(600, number))
            .unwrap();
    }
    fs::write(site.outside().join("d/big"), noise(9 * MIB, 1)).unwrap();
    let narrow = quoted(&binaries::tool("fake-server"));
    let serve = serve(&site.root()).replace("exec ", "");
    let through = || Client::ours().via(format!("exec {narrow} narrow {serve}")).within(&site.outside());
    through().copy(["-r", "d", ":"]).succeeds();
    through().copy(["-r", ":d", "back"]).succeeds();
    // Now each Put is refused, and each refusal is an Error.
    through().copy(["-r", "d", ":"]).succeeds().says("2001 already there");
    let [here, there, back] =
        [site.outside().join("d"), site.path("d"), site.outside().join("back")].map(|dir| {
            let mut files: Vec<_> = fs::read_dir(dir).unwrap().map(|e| e.unwrap().path()).collect();
            files.sort();
            files.iter().map(|file| blake3::hash(&fs::read(file).unwrap())).collect::<Vec<_>>()
        });
    assert!(here.len() == 2001 && here == there && here == back);
}

#[test]
fn holes_stay_holes_up_and_down() {
    let site = Site::new();
    let source =
        site.sparse("source", 256 << 20, &[(0, b"begin"), (100 << 20, b"middle"), ((256 << 20) - 3, b"end")]);
    let here = site.outside().join("source");
    fs::rename(source, &here).unwrap();
    client(&site).copy(["source", ":there"]).succeeds();
    client(&site).copy([":there", "back"]).succeeds();
    client(&site).copy(["--compress", "none", ":there", "raw"]).succeeds();
    let hash = |path: &std::path::Path| {
        let mut hasher = blake3::Hasher::new();
        hasher.update_reader(fs::File::open(path).unwrap()).unwrap();
        hasher.finalize()
    };
    for copy in [site.path("there"), site.outside().join("back"), site.outside().join("raw")] {
        let on_disk = fs::metadata(&copy).unwrap().blocks() * 512;
        assert!(on_disk < 1 << 20, "{} takes {on_disk} bytes", copy.display());
        assert_eq!(hash(&copy), hash(&here));
    }
}

/// phpseclib#291: a position of 32 bits somewhere, signed or not.
#[test]
#[ignore = "takes a minute in a debug build: run by tests/run"]
fn phpseclib_291_five_gib_with_holes_go_up_and_come_down() {
    let site = Site::new();
    let pieces: [(u64, &[u8]); 4] =
        [((1 << 31) - 2, b"2GiB"), ((1 << 32) - 2, b"4GiB"), (5_000_000_000, b"far"), ((5 << 30) - 1, b"!")];
    let source = site.sparse("source", 5 << 30, &pieces);
    fs::rename(source, site.outside().join("source")).unwrap();
    client(&site)
        .args(["copy", "source", ":there"])
        .start()
        .ends_within(std::time::Duration::from_secs(240))
        .succeeds();
    client(&site)
        .args(["copy", ":there", "back"])
        .start()
        .ends_within(std::time::Duration::from_secs(240))
        .succeeds();
    for copy in [site.path("there"), site.outside().join("back")] {
        let metadata = fs::metadata(&copy).unwrap();
        assert!(metadata.len() == 5 << 30 && metadata.blocks() * 512 < 1 << 20, "{metadata:?}");
        let file = fs::File::open(&copy).unwrap();
        for (offset, piece) in pieces {
            let mut read = vec![0; piece.len()];
            std::os::unix::fs::FileExt::read_exact_at(&file, &mut read, offset).unwrap();
            assert_eq!(read, piece, "at {offset} of {}", copy.display());
        }
    }
}

#[test]
fn cve_2026_35385_bits_that_lend_rights_do_not_come_along_in_either_direction() {
    let site = Site::new();
    site.file("down", "down");
    fs::write(site.outside().join("up"), "up").unwrap();
    let set_id = || fs::Permissions::from_mode(0o6755);
    fs::set_permissions(site.path("down"), set_id()).unwrap();
    fs::set_permissions(site.outside().join("up"), set_id()).unwrap();
    let client = || Client::ours().to_root(&site.root()).within(&site.outside());
    client().copy(["-p", ":down", "copy"]).succeeds();
    client().copy(["-p", "up", ":copy"]).succeeds();
    for copy in [site.outside().join("copy"), site.path("copy")] {
        let mode = fs::metadata(&copy).unwrap().permissions().mode();
        assert_eq!(mode & 0o7000, 0, "{}: {mode:o}", copy.display());
        assert!(!fs::read(copy).unwrap().is_empty());
    }
}
