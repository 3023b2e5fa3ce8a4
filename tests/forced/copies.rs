//! By each way our client copies as anywhere, and the public client 0.7.2 as far as it can without a shell.

use std::collections::BTreeMap;
use std::fs;
use std::path::Path;

use bcmr_tests::client::Ran;
use bcmr_tests::content::{noise, text};
use bcmr_tests::host::Setup;
use bcmr_tests::sshd::HOST;
use bcmr_tests::{Client, Host, Site};
use tempfile::TempDir;

use crate::hosts::{WAYS, Way, site};

const MIB: usize = 1024 * 1024;

/// The files below a directory, by name, with the hash of each.
fn hashes(top: &Path) -> BTreeMap<String, String> {
    fn walk(top: &Path, dir: &Path, found: &mut BTreeMap<String, String>) {
        for entry in fs::read_dir(dir).unwrap() {
            let path = entry.unwrap().path();
            if path.is_dir() {
                walk(top, &path, found);
            } else {
                let name = path.strip_prefix(top).unwrap().to_str().unwrap().to_owned();
                found.insert(name, blake3::hash(&fs::read(&path).unwrap()).to_hex().to_string());
            }
        }
    }
    let mut found = BTreeMap::new();
    walk(top, top, &mut found);
    assert!(!found.is_empty(), "{} holds nothing", top.display());
    found
}

/// A tree to be copied.
fn local() -> TempDir {
    let local = tempfile::tempdir().unwrap();
    let write = |name: &str, content: Vec<u8>| {
        let path = local.path().join(name);
        fs::create_dir_all(path.parent().unwrap()).unwrap();
        fs::write(path, content).unwrap();
    };
    write("tree/a", text(100_000));
    write("tree/deep/er/b", noise(5 * MIB + 1, 1));
    write("tree/deep/it's here", noise(1000, 2));
    write("tree/empty", Vec::new());
    for number in 0..100 {
        write(&format!("tree/many/{number}"), format!("content of {number}").into_bytes());
    }
    write("one", noise(3 * MIB, 3));
    write("two", text(MIB));
    local
}

#[track_caller]
fn copy(client: Client, host: &Host, dir: &Path, args: &[&str]) -> Ran {
    let client = client.arg("--ssh-config").arg(host.client_config()).within(dir);
    let ran = client.copy(args.iter().map(|arg| arg.replace('@', &format!("{HOST}:"))));
    ran.keeps_quiet_about("falling back");
    ran
}

fn each_way(check: impl Fn(Way, &Host, &Site, &Path)) {
    for way in WAYS {
        let (site, local) = (site(), local());
        let host = way.start(&site);
        check(way, &host, &site, local.path());
    }
}

#[test]
#[ignore = "needs root and sshd: run by tests/run"]
fn our_client_copies_files_and_trees_both_ways() {
    each_way(|way, host, site, local| {
        let copy = |args: &[&str]| copy(Client::ours(), host, local, args);
        copy(&["one", "two", "@"]).succeeds();
        copy(&["-r", "tree", "@tree"]).succeeds();
        copy(&["-P", "3", "-r", "tree", "@d/tree"]).succeeds();
        for name in ["tree", "d/tree"] {
            assert_eq!(hashes(&site.path(name)), hashes(&local.join("tree")), "{way:?} {name}");
        }
        for name in ["one", "two"] {
            assert!(site.read(name) == fs::read(local.join(name)).unwrap(), "{way:?} {name}");
        }
        copy(&["@one", "back-one"]).succeeds();
        assert!(fs::read(local.join("back-one")).unwrap() == site.read("one"), "{way:?}");
        copy(&["-r", "@tree", "back"]).succeeds();
        assert_eq!(hashes(&local.join("back")), hashes(&site.path("tree")), "{way:?}");
        // And no further: what is there stays, what is outside is not to be had.
        fs::write(local.join("one"), "other").unwrap();
        copy(&["one", "@one"]).ends_with(1);
        let secret = format!("@{}", site.outside().join("secret").display());
        assert_ne!(copy(&[&secret, "stolen"]).code, 0);
        assert_ne!(copy(&["two", &format!("@{}", site.outside().join("two").display())]).code, 0);
        assert!(!local.join("stolen").exists() && !site.outside().join("two").exists(), "{way:?}");
    });
}

#[test]
#[ignore = "needs root, sshd and the public client: run by tests/run"]
fn the_public_client_uploads_files_and_trees_and_checks_them() {
    each_way(|way, host, site, local| {
        let copy = |args: &[&str]| copy(Client::public(), host, local, args);
        copy(&["one", "@one"]).succeeds();
        site.dir("into");
        fs::set_permissions(site.path("into"), std::os::unix::fs::PermissionsExt::from_mode(0o777)).unwrap();
        copy(&["one", "two", "@into/"]).succeeds();
        copy(&["-r", "tree", "@tree"]).succeeds();
        for name in ["one", "into/one", "into/two"] {
            let same = local.join(name.rsplit('/').next().unwrap());
            assert!(site.read(name) == fs::read(same).unwrap(), "{way:?} {name}");
        }
        assert_eq!(hashes(&site.path("tree")), hashes(&local.join("tree")), "{way:?}");
        let check = |args: &[&str]| {
            let client = Client::public().arg("--ssh-config").arg(host.client_config()).within(local);
            client.arg("check").args(args.iter().map(|arg| arg.replace('@', &format!("{HOST}:")))).run()
        };
        check(&["-r", "tree", "@"]).succeeds();
        fs::write(local.join("tree/a"), "changed").unwrap();
        assert_ne!(check(&["-r", "tree", "@"]).code, 0, "{way:?}");
        // And no further.
        let outside = site.outside().join("two");
        assert_ne!(copy(&["two", &format!("@{}", outside.display())]).code, 0, "{way:?}");
        assert!(!outside.exists(), "{way:?}");
    });
}

/// What README.md says that it cannot do there; it says so itself, and leaves nothing.
#[test]
#[ignore = "needs root, sshd and the public client: run by tests/run"]
fn what_the_public_client_needs_a_shell_for_fails_and_leaves_nothing() {
    let (site, local) = (site(), local());
    let host: Host = Setup::start(WAYS[0].setup(&site), &site);
    let before = site.everything();
    for args in [&["@f", "down"][..], &["-f", "-y", "one", "@f"], &["-p", "one", "@kept"]] {
        let client = Client::public().arg("--ssh-config").arg(host.client_config()).within(local.path());
        let ran = client.copy(args.iter().map(|arg| arg.replace('@', &format!("{HOST}:"))));
        assert_ne!(ran.code, 0, "{args:?}: {}", ran.said());
    }
    assert!(!local.path().join("down").exists());
    assert_eq!(site.everything(), before);
}
