//! What is found on the other side of an ssh connection, and what is said where it is not.

use std::fs;
use std::os::unix::fs::PermissionsExt;
use std::time::Duration;

use bcmr_tests::client::{Ran, peer};
use bcmr_tests::{Client, Sshd, binaries};
use tempfile::TempDir;

/// Uploads one file; the exit code and the words are what counts.
#[track_caller]
fn upload(sshd: &Sshd, options: &[&str]) -> Ran {
    let local = TempDir::new().unwrap();
    fs::write(local.path().join("f"), "content").unwrap();
    let copy = if options.contains(&"copy") { None } else { Some("copy") };
    Client::ours().over(sshd).within(local.path()).args(options).args(copy).args(["f", "remote:there"]).run()
}

fn arrived(sshd: &Sshd) -> bool {
    fs::read(sshd.home().join("there")).is_ok_and(|content| content == b"content")
}

#[test]
#[ignore = "needs sshd: run by tests/run"]
fn where_only_the_public_server_is_it_is_used_and_nothing_is_said_of_the_other() {
    let sshd = Sshd::public();
    upload(&sshd, &[]).succeeds().keeps_quiet_about("not found");
    assert!(arrived(&sshd));
}

#[test]
#[ignore = "needs sshd: run by tests/run"]
fn where_both_are_ours_is_used() {
    let sshd = Sshd::start(&[("bcmr-serve", binaries::server()), ("bcmr", peer())]);
    // The public server says on stderr that it found no destination; ours says nothing.
    upload(&sshd, &[]).succeeds().keeps_quiet_about("serve:");
    assert!(arrived(&sshd));
}

/// bcmr#41, bcmr#109: a PATH of the remote side that does not reach the program.
#[test]
#[ignore = "needs sshd: run by tests/run"]
fn bcmr_41_where_none_is_found_the_client_says_so_and_names_the_way_out() {
    let sshd = Sshd::start(&[]);
    let ran = upload(&sshd, &["copy", "--no-fallback"]);
    ran.ends_with(74).says("bcmr-serve").says("--remote-command").says("remote: ");
    assert!(!sshd.home().join("there").exists());
    // The way out is one.
    let command = binaries::server();
    upload(&sshd, &["--remote-command", command.to_str().unwrap()]).succeeds();
    assert!(arrived(&sshd));
}

#[test]
#[ignore = "needs sshd: run by tests/run"]
fn a_remote_command_that_is_named_is_the_only_one_tried() {
    let sshd = Sshd::ours();
    let ran = upload(&sshd, &["--remote-command", "no-such-server"]);
    ran.ends_with(74).says("no-such-server");
    assert!(!sshd.home().join("there").exists());
}

/// rustup#498, rsync#1015.
#[test]
#[ignore = "needs sshd: run by tests/run"]
fn rustup_498_a_start_up_file_that_prints_is_quoted_and_named_as_the_cause() {
    let sshd = Sshd::ours();
    // A wrapper stands for a start-up file, since which of those a shell reads depends on the shell.
    fs::write(
        sshd.bin().join("chatty"),
        "#!/bin/sh\necho 'Welcome to the machine'\nexec bcmr-serve \"$@\"\n",
    )
    .unwrap();
    fs::set_permissions(sshd.bin().join("chatty"), fs::Permissions::from_mode(0o755)).unwrap();
    let ran = upload(&sshd, &["--remote-command", "chatty"]);
    ran.ends_with(74).says("Welcome to the machine").says(".bashrc");
    assert!(!sshd.home().join("there").exists() && ran.took < Duration::from_secs(10), "{:?}", ran.took);
}

#[test]
#[ignore = "needs sshd: run by tests/run"]
fn a_host_that_cannot_be_reached_is_told_in_sshs_own_words() {
    let sshd = Sshd::ours();
    let mut refused = fs::read_to_string(sshd.client_config()).unwrap();
    refused = refused.replace("Port ", "Port 1 #");
    fs::write(sshd.client_config(), refused).unwrap();
    upload(&sshd, &[]).ends_with(74).says("ssh could not connect").says("Connection refused");
}

/// dockpanel#102: one exec for each connection, and nothing that a shell would have to understand.
#[test]
#[ignore = "needs sshd: run by tests/run"]
fn dockpanel_102_our_client_asks_for_one_command_and_no_shell() {
    let sshd = Sshd::ours();
    let config = sshd.client_config();
    let log = sshd.home().join("asked");
    fs::write(
        sshd.bin().join("bcmr-serve-logged"),
        format!("#!/bin/sh\necho \"$SSH_ORIGINAL_COMMAND\" >> {}\nexec bcmr-serve \"$@\"\n", log.display()),
    )
    .unwrap();
    fs::set_permissions(sshd.bin().join("bcmr-serve-logged"), fs::Permissions::from_mode(0o755)).unwrap();
    let local = TempDir::new().unwrap();
    fs::create_dir(local.path().join("d")).unwrap();
    fs::write(local.path().join("d/it's a name"), "content").unwrap();
    let copy = |args: [&str; 4]| {
        let client = Client::ours().arg("--ssh-config").arg(&config).within(local.path());
        client.args(["--remote-command", "bcmr-serve-logged"]).copy(args).succeeds();
    };
    copy(["-r", "-q", "d", "remote:new place/"]);
    copy(["-r", "-q", "remote:new place/d", "back"]);
    assert_eq!(fs::read_to_string(log).unwrap(), "bcmr-serve-logged\nbcmr-serve-logged\n");
    assert_eq!(fs::read(local.path().join("back/it's a name")).unwrap(), b"content");
}

/// What a person types, in a directory with one source.
fn typed(sshd: &Sshd, args: &[&str]) -> (Ran, TempDir) {
    let local = TempDir::new().unwrap();
    fs::create_dir(local.path().join("d")).unwrap();
    for (name, content) in [("f", "content"), ("d/a", "a"), ("d/b c", "b")] {
        fs::write(local.path().join(name), content).unwrap();
    }
    let ran = Client::ours().over(sshd).within(local.path()).arg("copy").args(args).run();
    (ran, local)
}

#[test]
#[ignore = "needs sshd: run by tests/run"]
fn without_a_server_there_is_one_warning_and_scp_copies() {
    let sshd = Sshd::start(&[]);
    let (ran, _) = typed(&sshd, &["f", "remote:there"]);
    ran.succeeds()
        .says("no bcmr server was found")
        .says("copying with scp instead")
        .keeps_quiet_about("on the wire");
    assert_eq!(ran.said().matches("scp").count(), 1, "{}", ran.said());
    assert!(arrived(&sshd) && ran.out.is_empty());
    let (ran, _) = typed(&sshd, &["-r", "d", "remote:tree"]);
    ran.succeeds();
    assert_eq!(fs::read(sshd.home().join("tree/b c")).unwrap(), b"b");
    let (ran, local) = typed(&sshd, &["-r", "remote:tree", "remote:there", "."]);
    ran.succeeds();
    assert_eq!(fs::read(local.path().join("tree/a")).unwrap(), b"a");
    assert_eq!(fs::read(local.path().join("there")).unwrap(), b"content");
    let (ran, _) = typed(&sshd, &["no-such", "remote:x"]);
    ran.ends_with(1).says("no-such");
}

#[test]
#[ignore = "needs sshd: run by tests/run"]
fn scp_replaces_nothing_that_may_not_be_replaced() {
    let sshd = Sshd::start(&[]);
    fs::write(sshd.home().join("there"), "old").unwrap();
    fs::create_dir_all(sshd.home().join("dir with space/d")).unwrap();
    for args in [
        &["f", "remote:there"][..],
        &["-r", "d", "remote:dir with space"],
        &["-r", "d", "remote:dir with space/"],
        &["remote:there", "f"],
    ] {
        let (ran, local) = typed(&sshd, args);
        ran.ends_with(74).says("exists (replace it with -f -y)").keeps_quiet_about("copying with scp");
        assert_eq!(fs::read(local.path().join("f")).unwrap(), b"content");
    }
    assert_eq!(fs::read(sshd.home().join("there")).unwrap(), b"old");
    assert!(fs::read_dir(sshd.home().join("dir with space/d")).unwrap().next().is_none());
    let (ran, _) = typed(&sshd, &["-f", "-y", "f", "remote:there"]);
    ran.succeeds().says("copying with scp instead");
    assert!(arrived(&sshd));
    let (ran, _) = typed(&sshd, &["f", "remote:dir with space"]);
    ran.succeeds();
    assert_eq!(fs::read(sshd.home().join("dir with space/f")).unwrap(), b"content");
}

#[test]
#[ignore = "needs sshd: run by tests/run"]
fn scp_is_no_way_out_for_what_it_cannot_do_or_was_not_to_do() {
    let sshd = Sshd::start(&[]);
    for (args, says) in [
        (&["--verify", "f", "remote:there"][..], "does not know --verify"),
        (&["-e", "x", "-r", "d", "remote:there"], "does not know --exclude"),
        (&["-n", "f", "remote:there"], "does not know --dry-run"),
        (&["--no-fallback", "f", "remote:there"], "install bcmr-serve"),
    ] {
        let (ran, _) = typed(&sshd, args);
        ran.ends_with(74).says(says).keeps_quiet_about("copying with scp");
    }
    // A server that is there and refuses is not passed over, nor is one that nobody can log in to.
    fs::write(sshd.bin().join("bcmr-serve"), "#!/bin/sh\necho 'not today' >&2; exit 77\n").unwrap();
    fs::set_permissions(sshd.bin().join("bcmr-serve"), fs::Permissions::from_mode(0o755)).unwrap();
    let (ran, _) = typed(&sshd, &["f", "remote:there"]);
    ran.ends_with(77).says("not today").keeps_quiet_about("scp");
    let (ran, _) = typed(&sshd, &["f", "nobody@remote:there"]);
    ran.ends_with(74).keeps_quiet_about("scp");
    assert!(!sshd.home().join("there").exists());
}

#[test]
#[ignore = "needs sshd: run by tests/run"]
fn programs_are_told_that_scp_copied() {
    let sshd = Sshd::start(&[]);
    let (ran, _) = typed(&sshd, &["--json", "f", "remote:there"]);
    let lines: Vec<_> = ran.succeeds().printed().lines().map(str::to_owned).collect();
    assert!(
        lines.iter().any(|line| line.contains(r#""type":"warning""#) && line.contains("scp")),
        "{lines:?}"
    );
    assert!(lines.last().unwrap().contains(r#""fallback":"scp""#), "{lines:?}");
    assert!(arrived(&sshd));
}
