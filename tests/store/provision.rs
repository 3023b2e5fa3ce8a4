//! `bcmr-serve provision`.

use std::fs;
use std::os::unix::fs::{MetadataExt, PermissionsExt, chown, symlink};
use std::path::Path;
use std::process::Output;

use bcmr_tests::disk::snapshot;
use bcmr_tests::launch::NOBODY;

use crate::host::Host;
use crate::scene::MIB;

const COMMAND: &str = "provision --account nobody";

#[track_caller]
fn fails(output: &Output, code: i32, why: &str) {
    let said = String::from_utf8_lossy(&output.stderr);
    assert_eq!(output.status.code(), Some(code), "{output:?}");
    assert!(said.contains(why), "{said}");
    assert_eq!(output.stdout, b"");
}

fn owner(path: &Path) -> (u32, u32, u32) {
    let metadata = path.symlink_metadata().unwrap();
    (metadata.uid(), metadata.gid(), metadata.mode() & 0o7777)
}

#[test]
#[ignore = "needs root to act for an account: run by tests/run"]
fn provision_makes_what_a_session_needs_and_a_second_time_changes_nothing() {
    let host = Host::new("account_quota = \"100MiB\"\nmax_sessions = 2");
    // Before: nobody is served.
    let mut server = host.policy.launch().without_rights().start();
    assert_eq!(server.reply().error(), "policy refused; ask the administrator");
    assert_eq!(server.exit_code(), 78);
    let state = host.state();
    assert_eq!(host.prints(COMMAND), format!("p: made {}\n", state.display()));
    assert_eq!(owner(&state), (NOBODY, NOBODY, 0o700));
    assert_eq!(owner(state.parent().unwrap()), (0, 0, 0o755));
    assert_eq!(host.upload("f", 5 * MIB, 1), [0, 1]);
    assert_eq!(host.upload("f", 5 * MIB, 1), [0; 0]);
    host.is_the_accounts();
    let before = snapshot(&state);
    assert_eq!(host.prints(COMMAND), format!("p: {} is there\n", state.display()));
    assert_eq!(snapshot(&state), before);
}

#[test]
#[ignore = "needs root to act for an account: run by tests/run"]
fn provision_gives_away_nothing_that_is_not_its_own() {
    let host = Host::new("");
    let state = host.state();
    let above = state.parent().unwrap();
    fs::create_dir(above).unwrap();
    // Someone else's.
    fs::create_dir(&state).unwrap();
    fails(&host.run(COMMAND), 74, "it belongs to uid 0");
    assert_eq!(owner(&state).0, 0);
    fs::remove_dir(&state).unwrap();
    // A link to something of root's; a file.
    let treasure = host.site.outside();
    symlink(&treasure, &state).unwrap();
    fails(&host.run(COMMAND), 74, "");
    fs::remove_file(&state).unwrap();
    fs::write(&state, "").unwrap();
    fails(&host.run(COMMAND), 74, "");
    assert_eq!((owner(&state).0, owner(&treasure).0), (0, 0));
    fs::remove_file(&state).unwrap();
    // A directory above that is a link.
    fs::remove_dir(above).unwrap();
    symlink(&treasure, above).unwrap();
    fails(&host.run(COMMAND), 74, "");
    assert_eq!(treasure.read_dir().unwrap().count(), 0);
    fs::remove_file(above).unwrap();
    // One that the account, or anybody, may change: right above, and further up.
    for (uid, mode) in [(NOBODY, 0o755), (0, 0o777), (0, 0o1777), (0, 0o775)] {
        for dir in [above, host.site.base()] {
            fs::create_dir_all(above).unwrap();
            chown(dir, Some(uid), None).unwrap();
            fs::set_permissions(dir, fs::Permissions::from_mode(mode)).unwrap();
            fails(&host.run(COMMAND), 74, "can be changed by others than root");
            assert!(!state.exists(), "{uid} {mode:o}");
            chown(dir, Some(0), None).unwrap();
            fs::set_permissions(dir, fs::Permissions::from_mode(0o755)).unwrap();
        }
    }
    // The twin.
    assert_eq!(host.prints(COMMAND), format!("p: made {}\n", state.display()));
    // One that the account made itself is as good.
    assert_eq!(owner(&state), (NOBODY, NOBODY, 0o700));
}

#[test]
#[ignore = "needs root to act for an account: run by tests/run"]
fn provision_says_what_it_cannot_do() {
    let host = Host::new("");
    fails(&host.run("provision --account absent"), 64, "passwd has no account 'absent'");
    fails(&host.run("provision --account other"), 78, "no profile lists 'other'");
    fails(&host.run_after(COMMAND, "rm /etc/bcmr/policy.toml"), 78, "there is no policy");
    // The place where programs are built may be closed to others.
    let copied = host.site.base().join("bcmr-serve");
    let line = format!(
        "cp \"$1\" {0}; shift; set -- setpriv --reuid 65534 --clear-groups {0} \"$@\"",
        copied.display()
    );
    fails(&host.run_after(COMMAND, &line), 77, "only root");
    assert!(!host.state().exists());
}
