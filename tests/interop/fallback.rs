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
