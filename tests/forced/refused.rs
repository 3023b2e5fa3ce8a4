//! Whatever a client asks sshd for, it gets a transfer or one line; nothing runs, and nothing outside is touched.

use std::fs;
use std::process::Output;

use bcmr_tests::sshd::{HOST, sftp_server};
use bcmr_tests::{Host, Site};
use bcmr_wire::Caps;

use crate::hosts::{WAYS, Way, site};

/// The one line.
const ONLY_BCMR: &str = "bcmr-serve: this account serves bcmr transfers only\n";

fn stderr(output: &Output) -> String {
    String::from_utf8_lossy(&output.stderr).into_owned()
}

/// The allowed twin: the same account, by the same way, is served.
#[track_caller]
fn serves(host: &Host) {
    for command in ["bcmr-serve", "bcmr serve --root /"] {
        let mut server = host.launch(command).start().hello(Caps::NONE);
        assert_eq!(server.get("f", 0).content, b"inside", "{command}");
        assert!(server.get("/etc/passwd", 0).end.is_error());
        server.finish();
    }
}

fn each_way(check: impl Fn(Way, &Host, &Site)) {
    for way in WAYS {
        let site = site();
        let host = way.start(&site);
        let before = site.everything();
        check(way, &host, &site);
        assert_eq!(site.everything(), before, "{way:?}");
        serves(&host);
    }
}

#[test]
#[ignore = "needs root and sshd: run by tests/run"]
fn a_command_is_refused_in_one_line_and_nothing_runs() {
    each_way(|way, host, site| {
        let mark = site.outside().join("ran");
        for command in [
            "id".to_owned(),
            format!("touch {}", mark.display()),
            format!("bcmr-serve\ntouch {}", mark.display()),
            format!("test -d './x'; touch {}", mark.display()),
            "/usr/local/bin/bcmr-serve --profile other".to_owned(),
            "rsync --server . .".to_owned(),
        ] {
            let output = host.ssh(&[], &[&command]);
            assert_eq!(output.status.code(), Some(126), "{way:?} {command}: {output:?}");
            assert_eq!(
                (&*output.stdout, &*stderr(&output)),
                (&b""[..], ONLY_BCMR),
                "{way:?} {command}: {}",
                host.log()
            );
        }
        // The arguments of the one that is served are nobody's.
        let served = host.ssh(&[], &[&format!("bcmr-serve --root /; touch {}", mark.display())]);
        assert_eq!((served.status.code(), &*stderr(&served)), (Some(0), ""), "{way:?}");
    });
}

#[test]
#[ignore = "needs root and sshd: run by tests/run"]
fn scp_of_either_protocol_and_sftp_get_nothing_and_leave_nothing() {
    for (subsystem, ways) in [("internal-sftp", &WAYS[..]), (sftp_server(), &WAYS[..2])] {
        for &way in ways {
            let site = site();
            let host = way.setup(&site).global(format!("Subsystem sftp {subsystem}")).start(&site);
            let local = tempfile::tempdir().unwrap();
            fs::write(local.path().join("up"), "up").unwrap();
            let before = site.everything();
            let secret = format!("{HOST}:{}", site.outside().join("secret").display());
            let inside = format!("{HOST}:f");
            let there = format!("{HOST}:there");
            for words in [
                ["scp", "-O", "up", &there],
                ["scp", "-O", &inside, "down"],
                ["scp", "-O", &secret, "down"],
                ["scp", "-s", "up", &there],
                ["scp", "-s", &secret, "down"],
                ["sftp", "-q", &inside, "down"],
                ["sftp", "-q", &secret, "down"],
            ] {
                let output =
                    host.tool(words[0]).args(&words[1..]).current_dir(local.path()).output().unwrap();
                assert!(!output.status.success(), "{way:?} {subsystem} {words:?}: {output:?}");
                // Of what a subsystem says on stderr sshd passes nothing on.
                let told = stderr(&output).contains(ONLY_BCMR);
                assert!(told || words[1] != "-O", "{way:?} {subsystem} {words:?}: {output:?}");
            }
            assert!(!local.path().join("down").exists());
            assert_eq!(site.everything(), before, "{way:?}");
            serves(&host);
        }
    }
}

#[test]
#[ignore = "needs root and sshd: run by tests/run"]
fn scp_and_sftp_work_where_nothing_is_forced() {
    // The twin of the test before: what is refused there is what these programs do.
    let site = site();
    let host =
        crate::hosts::plain(&site, crate::hosts::SHELL).global("Subsystem sftp internal-sftp").start(&site);
    let local = tempfile::tempdir().unwrap();
    fs::write(local.path().join("up"), "up").unwrap();
    for (words, made) in [
        (["scp", "-O", "up", "remote:one"], site.path("one")),
        (["scp", "-s", "up", "remote:two"], site.path("two")),
        (["sftp", "-q", "remote:f", "down"], local.path().join("down")),
    ] {
        let output = host.tool(words[0]).args(&words[1..]).current_dir(local.path()).output().unwrap();
        assert!(output.status.success() && made.exists(), "{words:?}: {output:?}");
    }
}

#[test]
#[ignore = "needs root and sshd: run by tests/run"]
fn a_session_without_a_command_is_protocol_2_or_nothing() {
    for way in WAYS {
        let site = site();
        let host = way.start(&site);
        // A person at a shell: what is typed is no frame.
        let mut server = host.launch("bcmr-serve").start();
        server.to.send_raw(b"id\ntouch owned\n");
        assert!(server.reply().is_error(), "{way:?}");
        assert_eq!(server.exit_code(), 76, "{way:?}");
        let output = host.ssh(&["-T"], &[]);
        assert_eq!((output.status.code(), &*output.stdout, &*stderr(&output)), (Some(0), &b""[..], ""));
        assert_eq!(site.names(), ["f"]);
    }
}
