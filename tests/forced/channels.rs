//! What ssh carries beside a command: ports, the agent, X11, a terminal, the environment.

use std::fs;
use std::net::TcpListener;
use std::path::Path;
use std::process::{Child, Command, Output, Stdio};
use std::time::{Duration, Instant};

use bcmr_tests::host::Setup;
use bcmr_tests::sshd::HOST;
use bcmr_tests::stream::PATIENCE;
use bcmr_tests::{Host, Launch, Server, Site};
use bcmr_wire::Caps;

use crate::hosts::{WAYS, forced, policy, site};

/// A host where the same is forced, and nothing is forbidden beside it: what the rest of the lines are for.
fn open_host(site: &Site) -> Host {
    Setup::new(policy(site))
        .matched(format!("ForceCommand {}", forced()))
        .global("X11Forwarding yes")
        .global("AllowAgentForwarding yes")
        .start(site)
}

fn closed_hosts() -> impl Iterator<Item = (crate::hosts::Way, Site, Host)> {
    WAYS.into_iter().map(|way| {
        let site = site();
        // Global lines that are more generous must not matter.
        let host =
            way.setup(&site).global("X11Forwarding yes").global("AllowAgentForwarding yes").start(&site);
        (way, site, host)
    })
}

fn said(output: &Output) -> String {
    String::from_utf8_lossy(&output.stderr).into_owned()
}

/// A session by an ssh that asks for something beside it, which is through its handshake.
fn session(host: &Host, options: &[&str], env: &[(&str, &Path)]) -> Server {
    let config = host.client_config().into_os_string();
    let words = ["-F".into(), config].into_iter().chain(options.iter().map(Into::into));
    let launch = Launch::program("ssh", words.chain([HOST.into(), "bcmr-serve".into()]));
    let launch = env.iter().fold(launch, |launch, (name, value)| launch.env(name, *value));
    launch.start().hello(Caps::NONE)
}

/// The names in the environment that the server was started with.
fn environment(host: &Host) -> Vec<String> {
    let environ = fs::read(format!("/proc/{}/environ", host.server().as_raw_nonzero())).unwrap();
    let names = environ.split(|byte| *byte == 0).filter_map(|pair| pair.split(|byte| *byte == b'=').next());
    names.map(|name| String::from_utf8_lossy(name).into_owned()).collect()
}

/// An agent without keys.
struct Agent(Child);

impl Agent {
    fn start(socket: &Path) -> Self {
        let mut command = Command::new("ssh-agent");
        command.arg("-D").arg("-a").arg(socket).stdin(Stdio::null()).stdout(Stdio::null());
        let agent = Self(command.spawn().expect("ssh-agent is not installed"));
        let begun = Instant::now();
        while !socket.exists() {
            assert!(begun.elapsed() < PATIENCE, "the agent does not start");
            std::thread::sleep(Duration::from_millis(5));
        }
        agent
    }
}

impl Drop for Agent {
    fn drop(&mut self) {
        let _ = self.0.kill();
        let _ = self.0.wait();
    }
}

#[test]
#[ignore = "needs root and sshd: run by tests/run"]
fn no_port_is_forwarded_either_way() {
    let listener = TcpListener::bind("127.0.0.1:0").unwrap();
    let target = listener.local_addr().unwrap().to_string();
    // Closes each connection at once, and counts them.
    let (arrived, arrivals) = std::sync::mpsc::channel();
    std::thread::spawn(move || listener.incoming().for_each(|_| arrived.send(()).unwrap_or_default()));
    let connected = || arrivals.try_recv().is_ok();
    let to_target = |host: &Host| host.tool("ssh").args(["-W", &target, HOST]).output().unwrap();
    let backwards = format!("0:{target}");
    let from_host =
        |host: &Host| host.ssh(&["-o", "ExitOnForwardFailure=yes", "-R", &backwards], &["bcmr-serve"]);

    let site = site();
    let open = open_host(&site);
    assert!(to_target(&open).status.success() && connected());
    assert_eq!(from_host(&open).status.code(), Some(0));
    for (way, _site, host) in closed_hosts() {
        let output = to_target(&host);
        assert!(
            !output.status.success() && said(&output).contains("stdio forwarding failed"),
            "{way:?}: {output:?}"
        );
        assert!(!connected(), "{way:?}");
        let output = from_host(&host);
        assert_eq!(output.status.code(), Some(255), "{way:?}: {output:?}");
        assert!(said(&output).contains("remote port forwarding failed"), "{way:?}: {output:?}");
    }
}

#[test]
#[ignore = "needs root, sshd and xauth: run by tests/run"]
fn no_agent_and_no_display_is_forwarded() {
    let dir = tempfile::tempdir().unwrap();
    let agent = dir.path().join("agent");
    let _agent = Agent::start(&agent);
    let wants = |host: &Host| {
        // -Y, as -X asks an X server that is not there.
        let mut server = session(
            host,
            &["-A", "-Y"],
            &[
                ("SSH_AUTH_SOCK", &agent),
                ("DISPLAY", Path::new(":77")),
                ("XAUTHORITY", &dir.path().join("x")),
            ],
        );
        let names = environment(host);
        assert_eq!(server.get("f", 0).content, b"inside");
        let said = server.stderr();
        server.finish();
        let has = |name: &str| names.iter().any(|known| known == name);
        (has("SSH_AUTH_SOCK"), has("DISPLAY"), said.contains("X11 forwarding request failed"))
    };
    let site = site();
    assert_eq!(wants(&open_host(&site)), (true, true, false));
    for (way, _site, host) in closed_hosts() {
        let (agent, display, told) = wants(&host);
        assert!(!agent && !display, "{way:?}: agent {agent}, display {display}");
        assert!(told, "{way:?}");
    }
}

#[test]
#[ignore = "needs root and sshd: run by tests/run"]
fn no_terminal_is_given() {
    let site = site();
    let terminal = |host: &Host| {
        let output = host.ssh(&["-tt"], &["id"]);
        // Through a terminal the one line ends in a carriage return, and comes on the client's stdout.
        (output.status.code(), String::from_utf8_lossy(&output.stdout).into_owned(), said(&output))
    };
    let line = "bcmr-serve: this account serves bcmr transfers only";
    let (code, out, _) = terminal(&open_host(&site));
    assert_eq!((code, &*out), (Some(126), &*format!("{line}\r\n")));
    for (way, _site, host) in closed_hosts() {
        let (code, out, err) = terminal(&host);
        // ssh gives up by itself.
        assert_eq!((code, &*out), (Some(255), ""), "{way:?}");
        assert!(err.contains("PTY allocation request failed"), "{way:?}: {err}");
    }
}

/// What a client sends along where sshd takes everything, each of it of use to somebody: a loader, a shell, the
/// server's own configuration.
fn hostile_environment(site: &Site) -> Vec<(&'static str, String)> {
    let outside = site.outside().display().to_string();
    let script = site.path("planted.sh").display().to_string();
    vec![
        // Where bash takes itself for the first of its kind under sshd, it reads .bashrc instead.
        ("SHLVL", "5".to_owned()),
        ("BASH_ENV", script.clone()),
        ("ENV", script),
        ("BCMR_CAS_DIR", outside.clone()),
        ("BCMR_ROOT", outside.clone()),
        ("HOME", outside.clone()),
        ("XDG_STATE_HOME", outside.clone()),
        ("XDG_CONFIG_HOME", outside.clone()),
        ("LOGNAME", "root".to_owned()),
        ("USER", "root".to_owned()),
        ("SHELL", "/bin/sh".to_owned()),
        ("SSH_CONNECTION", "192.0.2.1 1 192.0.2.2 22".to_owned()),
        ("SSH_ORIGINAL_COMMAND", "id".to_owned()),
        ("LD_LIBRARY_PATH", outside.clone()),
        ("RUST_LOG", "trace".to_owned()),
        ("RUST_BACKTRACE", "full".to_owned()),
        ("TMPDIR", outside.clone()),
        ("TZ", format!(":{outside}/secret")),
        ("LOCPATH", outside.clone()),
        ("MALLOC_ARENA_MAX", "1".to_owned()),
        ("PATH", outside),
    ]
}

#[test]
#[ignore = "needs root and sshd: run by tests/run"]
fn whatever_environment_a_client_sends_the_profile_holds_and_nothing_runs() {
    for way in WAYS {
        let site = site();
        let mark = site.path("ran");
        site.file("planted.sh", format!("echo planted >> {}\n", mark.display()));
        let host = way.setup(&site).global("AcceptEnv *").start(&site);
        let before = site.everything();
        // SetEnv would not name what SendEnv does: they come from the client's environment.
        let env = hostile_environment(&site);
        let ssh = |command: &[&str]| -> Command {
            let mut ssh = host.tool("ssh");
            let words = ["-o", "SendEnv=*", HOST];
            // PATH is needed to find ssh itself.
            ssh.args(words).args(command).envs(env.iter().filter(|(n, _)| *n != "PATH").map(|(n, v)| (n, v)));
            ssh
        };
        let output = ssh(&["id"]).output().unwrap();
        assert_eq!(output.status.code(), Some(126), "{way:?}: {output:?}");
        // Without a command there is no original one, and the forged one comes through: refused as any other.
        let output = ssh(&["-T"]).output().unwrap();
        assert!(matches!(output.status.code(), Some(0 | 126)), "{way:?}: {output:?}");

        let words =
            ["-F".into(), host.client_config(), "-oSendEnv=*".into(), HOST.into(), "bcmr-serve".into()];
        let launch = Launch::program("ssh", words);
        let launch = env
            .iter()
            .filter(|(n, _)| *n != "PATH")
            .fold(launch, |launch, (name, value)| launch.env(*name, value));
        let mut server = launch.start().hello(Caps::NONE);
        assert!(environment(&host).contains(&"RUST_BACKTRACE".to_owned()), "{way:?}: nothing was sent");
        assert_eq!(server.get("f", 0).content, b"inside");
        assert!(server.get(site.outside().join("secret").to_str().unwrap(), 0).end.is_error());
        assert!(server.put("f", b"replaced", true).is_error());
        assert_eq!(server.stderr(), "");
        server.finish();
        if way.has_a_shell() {
            // A fact about shells, not about the server: bash runs what BASH_ENV names before the forced command.
            // So the login shell is the server, and AcceptEnv names what it must.
            assert!(fs::read_to_string(&mark).unwrap().lines().count() >= 3, "{way:?}");
            fs::remove_file(&mark).unwrap();
        }
        assert_eq!(site.everything(), before, "{way:?}");
    }
    // Of what nobody accepts nothing arrives.
    let site = site();
    let host = WAYS[0].start(&site);
    let words = ["-F".into(), host.client_config(), "-oSendEnv=*".into(), HOST.into(), "bcmr-serve".into()];
    let server = Launch::program("ssh", words).env("RUST_BACKTRACE", "full").start().hello(Caps::NONE);
    assert!(!environment(&host).contains(&"RUST_BACKTRACE".to_owned()));
    server.finish();
}
