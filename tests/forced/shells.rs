//! What stands around the forced command: login shells and their start-up files, sshd's own rc file, sshd's own sftp.
//! Where a test says "a fact about sshd", it shows what the server cannot prevent, and so what an operator must not
//! leave out.

use std::fs;
use std::os::unix::fs::{PermissionsExt, chown};
use std::path::Path;
use std::process::Output;

use bcmr_tests::host::{INSTALLED, Setup};
use bcmr_tests::launch::NOBODY;
use bcmr_tests::policy::{NAME, Profile};
use bcmr_tests::sshd::{HOST, sftp_server};
use bcmr_tests::{Host, Site};
use bcmr_wire::{Caps, Message};

use crate::hosts::{SHELL, WAYS, forced, plain, policy, site};

const ONLY_BCMR: &str = "bcmr-serve: this account serves bcmr transfers only\n";

/// What a shell or sshd reads at a login, each of which leaves a line in a file.
fn plant(site: &Site) -> impl Fn() -> Vec<String> + use<> {
    let mark = site.base().join("marks");
    for name in [".bashrc", ".bash_profile", ".profile", ".ssh/rc", ".ssh/environment"] {
        let path = site.file(name, format!("echo {name} >> {}\n", mark.display()));
        fs::set_permissions(path, fs::Permissions::from_mode(0o755)).unwrap();
    }
    fs::write(&mark, "").unwrap();
    chown(&mark, Some(NOBODY), Some(NOBODY)).unwrap();
    move || {
        let text = fs::read_to_string(&mark).unwrap();
        fs::write(&mark, "").unwrap();
        let mut names: Vec<_> = text.lines().map(str::to_owned).collect();
        names.dedup();
        names
    }
}

/// Runs a command, and nothing, as a client that hopes for a shell.
fn log_in(host: &Host) -> [Output; 2] {
    [host.ssh(&[], &["id"]), host.ssh(&["-T"], &[])]
}

#[test]
#[ignore = "needs root and sshd: run by tests/run"]
fn a_start_up_file_or_rc_runs_only_through_a_shell_and_never_through_the_server() {
    for way in WAYS {
        let site = site();
        let marks = plant(&site);
        let host = way.start(&site);
        let outputs = log_in(&host);
        assert_eq!(outputs.map(|output| output.status.code()), [Some(126), Some(0)], "{way:?}");
        let mut server = host.launch("bcmr-serve").start().hello(Caps::NONE);
        assert_eq!(server.get("f", 0).content, b"inside");
        server.finish();
        // A fact about sshd and bash: the forced command is started through the login shell, which reads its own
        // start-up file first. ~/.ssh/rc is not read under ForceCommand, nor under `restrict`.
        let expected: &[&str] = if way.has_a_shell() { &[".bashrc"] } else { &[] };
        assert_eq!(marks(), expected, "{way:?}: {}", host.log());
    }
}

#[test]
#[ignore = "needs root and sshd: run by tests/run"]
fn a_key_that_is_not_restricted_runs_rc_through_a_shell_and_not_through_the_server() {
    let key = format!("command=\"{}\"", forced());
    for (shell, expected) in [(SHELL, vec![".bashrc", ".ssh/rc", ".bashrc"]), (INSTALLED, vec![])] {
        let site = site();
        let marks = plant(&site);
        let host = plain(&site, shell).key(&key).start(&site);
        let mut server = host.launch("bcmr-serve").start().hello(Caps::NONE);
        assert_eq!(server.get("f", 0).content, b"inside");
        // sshd has the login shell run rc, and the server says what it says to any shell command.
        assert_eq!(server.stderr(), if shell == INSTALLED { ONLY_BCMR } else { "" });
        server.finish();
        assert_eq!(marks(), expected, "{shell}");
    }
}

#[test]
#[ignore = "needs root and sshd: run by tests/run"]
fn no_upload_plants_what_the_next_login_would_run() {
    for way in WAYS {
        let site = site();
        site.dir(".ssh");
        let host = way.start(&site);
        let before = site.everything();
        let mut server = host.launch("bcmr-serve").start().hello(Caps::NONE);
        for path in
            [".bashrc", ".bash_profile", ".profile", ".ssh/rc", ".ssh/authorized_keys", ".ssh/environment"]
        {
            let absolute = site.host(path);
            for path in [path, &absolute] {
                let refused = server.put(path, b"echo planted", false);
                assert!(refused.error().contains("begin with a dot"), "{way:?} {path}: {refused:?}");
            }
        }
        assert!(server.ask(&Message::Mkdir { path: ".config" }).is_error());
        assert_eq!(site.everything(), before, "{way:?}");
        assert!(server.put("bashrc", b"a name like any other", false).ok().is_some(), "{way:?}");
        server.finish();
    }
}

/// A host whose account has the server as login shell and nothing forced: sshd hands it the client's own words.
fn companion_alone(site: &Site) -> Setup {
    plain(site, INSTALLED)
}

#[test]
#[ignore = "needs root and sshd: run by tests/run"]
fn a_login_shell_alone_takes_no_words_of_the_client_but_those_of_a_profile_that_names_the_account() {
    let site = site();
    // A policy of the account's own making, in a place of its own.
    let own = Profile::new(&site).key("root", "\"/\"").text();
    site.file("policy.toml", own);
    let marks = plant(&site);
    let host = companion_alone(&site).global("AcceptEnv *").start(&site);
    let before = site.everything();
    let own_policy = site.host("policy.toml");
    for words in [
        "id".to_owned(),
        "bcmr-serve".to_owned(),
        INSTALLED.to_owned(),
        format!("{INSTALLED} serve --root /"),
        format!("{INSTALLED} --root /"),
        format!("{INSTALLED} --profile {NAME} --policy {own_policy}"),
        format!("{INSTALLED} --policy {own_policy} --profile {NAME}"),
        format!("{INSTALLED} --profile {NAME} --root /"),
        format!("{INSTALLED} check"),
        format!("{INSTALLED} sweep {}", site.outside().display()),
        format!("exec {INSTALLED} --profile {NAME}"),
        format!("{INSTALLED} --profile {NAME}; id"),
    ] {
        let output = host.ssh(&[], &[&words]);
        assert_eq!(output.status.code(), Some(126), "{words}: {output:?}");
        // Once for ~/.ssh/rc, which sshd has the login shell run, and once for the command.
        let said = String::from_utf8_lossy(&output.stderr).into_owned();
        assert_eq!((&*output.stdout, said), (&b""[..], ONLY_BCMR.repeat(2)), "{words}");
    }
    // No command is a login shell, with and without a terminal.
    for options in [["-T"], ["-tt"]] {
        let output = host.ssh(&options, &[]);
        assert_eq!(output.status.code(), Some(126), "{options:?}: {output:?}");
    }
    // Somebody else's profile, and none: an Error in a frame, and nothing of why.
    for profile in ["other", "no-such-profile"] {
        let mut server = host.launch(&format!("{INSTALLED} --profile {profile}")).start();
        assert_eq!(server.reply().error(), "policy refused; ask the administrator", "{profile}");
        assert_eq!(server.exit_code(), 78, "{profile}");
    }
    assert_eq!(site.everything(), before);
    assert_eq!(marks(), Vec::<String>::new());
    // The allowed twin: the profile that names the account, whatever the environment says was asked for.
    let mut server = host.launch(&format!("{INSTALLED} --profile {NAME}")).start().hello(Caps::NONE);
    assert_eq!(server.get("f", 0).content, b"inside");
    assert!(server.get("/etc/passwd", 0).end.is_error());
    server.finish();
}

#[test]
#[ignore = "needs root and sshd: run by tests/run"]
fn a_login_shell_alone_does_not_keep_sshds_own_sftp_out() {
    let get = |host: &Host, site: &Site, dir: &Path| {
        let secret = format!("{HOST}:{}", site.outside().join("secret").display());
        host.tool("sftp").args(["-q", &secret, "down"]).current_dir(dir).output().unwrap()
    };
    // A fact about sshd: internal-sftp starts no shell, so that a login shell guards nothing. ForceCommand does:
    // scp_of_either_protocol_and_sftp_get_nothing_and_leave_nothing.
    let site = site();
    let local = tempfile::tempdir().unwrap();
    let host = companion_alone(&site).global("Subsystem sftp internal-sftp").start(&site);
    let output = get(&host, &site, local.path());
    assert!(output.status.success(), "{output:?} {}", host.log());
    assert_eq!(fs::read(local.path().join("down")).unwrap(), b"outside");
    drop(host);
    // The separate program is started through the shell, which is the server, which does not.
    let local = tempfile::tempdir().unwrap();
    let host = companion_alone(&site).global(format!("Subsystem sftp {}", sftp_server())).start(&site);
    let output = get(&host, &site, local.path());
    assert!(!output.status.success() && !local.path().join("down").exists(), "{output:?}");
}

#[test]
#[ignore = "needs root and sshd: run by tests/run"]
fn no_shell_at_all_is_no_way_to_start_the_forced_command() {
    // A fact about sshd: an account without a shell has no forced command either.
    let site = site();
    let host = Setup::new(policy(&site))
        .shell("/usr/sbin/nologin")
        .matched(format!("ForceCommand {}", forced()))
        .start(&site);
    let output = host.ssh(&[], &["bcmr-serve"]);
    assert!(!output.status.success() && output.stdout.starts_with(b"This account"), "{output:?}");
}
