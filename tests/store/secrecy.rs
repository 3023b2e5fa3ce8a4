//! S11: a hash tells nothing to who did not upload the block there, and brings nothing.

use std::fs;
use std::os::unix::fs::{PermissionsExt, chown};

use bcmr_tests::content::noise;
use bcmr_tests::launch::NOBODY;
use bcmr_tests::policy::Profile;
use bcmr_tests::{Policy, Server, Site};
use bcmr_wire::Message;
use bcmr_wire::limits::MAX_BLOCK;

use crate::scene::{MIB, Scene, announce, blocks, greeted, missing, part, upload};

/// Checks that announcing a content is answered as that of one which nobody has, and brings none of it.
#[track_caller]
fn learns_nothing(server: &mut Server, site: &Site, secret: &[u8]) {
    let count = blocks(secret).len();
    let unknown = noise(secret.len(), 77);
    let [told, of_unknown] = [secret, &unknown].map(|content| {
        let answer = announce(server, "probe", content);
        let end = server.ask(&Message::Done);
        assert!(end.error().contains("received 0"), "{end:?}");
        (missing(&answer, count), end.error().to_owned())
    });
    assert_eq!(told, of_unknown);
    assert_eq!(told.0, (0..count).collect::<Vec<_>>());
    // Nor of a block alone, or in other company.
    for block in blocks(secret) {
        let mixed = [block, &unknown[..MAX_BLOCK]].concat();
        let mixed = if block.len() == MAX_BLOCK { &mixed[..] } else { block };
        assert_eq!(missing(&announce(server, "probe", mixed), blocks(mixed).len()).first(), Some(&0));
        server.send(&Message::Done);
        assert!(server.reply().is_error());
    }
    assert!(!site.path("probe").exists());
}

#[test]
fn s11_another_root_of_the_same_account_learns_and_receives_nothing() {
    let (scene, other) = (Scene::new(64), Site::new());
    let secret = noise(9 * MIB, 1);
    scene.upload("secret", &secret);
    let mut server = greeted(scene.launch_at(&other.root()));
    learns_nothing(&mut server, &other, &secret);
    // Nor does what it uploads there help the first, or the other way round.
    let own = noise(9 * MIB, 2);
    upload(&mut server, "own", &own);
    assert_eq!(upload(&mut server, "own again", &own), [0; 0]);
    server.finish();
    let mut server = scene.server();
    learns_nothing(&mut server, &scene.site, &own);
    assert_eq!(upload(&mut server, "secret again", &secret), [0; 0]);
    server.finish();
    // A directory inside the root is another root, and one that took the root's name is, too.
    let inside = scene.site.dir("inside");
    let mut server = greeted(scene.launch_at(&inside));
    learns_nothing(&mut server, &scene.site, &secret);
    server.finish();
    fs::rename(scene.site.root(), scene.site.base().join("moved")).unwrap();
    fs::create_dir(scene.site.root()).unwrap();
    let mut server = scene.server();
    learns_nothing(&mut server, &scene.site, &secret);
    server.finish();
}

#[test]
#[ignore = "needs root to act as two accounts: run by tests/run"]
fn hyprstream_436_s11_another_account_of_the_same_root_learns_and_receives_nothing() {
    let site = Site::new();
    let open =
        |path: &std::path::Path, mode| fs::set_permissions(path, fs::Permissions::from_mode(mode)).unwrap();
    open(site.base(), 0o755);
    open(&site.root(), 0o777);
    let accounts = [NOBODY, 65_533];
    let state = |uid: u32| site.base().join(format!("state-{uid}"));
    for uid in accounts {
        fs::create_dir(state(uid)).unwrap();
        open(&state(uid), 0o700);
        chown(state(uid), Some(uid), Some(uid)).unwrap();
    }
    let pattern = format!("{:?}", site.base().join("state-%U").to_str().unwrap());
    let policy = Policy::of(&Profile::new(&site).key("state", pattern).key("overwrite", true));
    let server = |uid| greeted(policy.launch().by_account(uid));
    let secrets = accounts.map(|uid| noise(9 * MIB, u64::from(uid)));
    for (uid, secret) in accounts.iter().zip(&secrets) {
        let mut server = server(*uid);
        upload(&mut server, &format!("{uid}"), secret);
        server.finish();
    }
    for (uid, secret) in accounts.iter().zip(secrets.iter().rev()) {
        let mut server = server(*uid);
        learns_nothing(&mut server, &site, secret);
        server.finish();
    }
    // The twin: each its own.
    for (uid, secret) in accounts.iter().zip(&secrets) {
        let mut server = server(*uid);
        assert_eq!(upload(&mut server, &format!("{uid}-again"), secret), [0; 0]);
        server.finish();
        assert!(part(&state(*uid), &site.root()).join("cas").is_dir());
    }
}
