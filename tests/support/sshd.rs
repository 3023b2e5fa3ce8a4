//! A real sshd for one test: a free port on the loopback, its own keys, accounts' files untouched.

use std::fs;
use std::net::{TcpListener, TcpStream};
use std::os::unix::fs::symlink;
use std::os::unix::process::CommandExt;
use std::path::{Path, PathBuf};
use std::process::{Child, Command, Stdio};
use std::time::{Duration, Instant};

use rustix::process::{Pid, Signal, geteuid, kill_process_group};
use tempfile::TempDir;

use crate::binaries;
use crate::client::peer;
use crate::stream::PATIENCE;

/// The host's name in [`Sshd::client_config`]. More than one letter, since the public client takes those for
/// drives.
pub const HOST: &str = "remote";

/// Where sshd is on Debian; elsewhere it is looked up.
const SSHD: &str = "/usr/sbin/sshd";

/// A running sshd. It ends, with all sessions, when the value goes.
#[derive(Debug)]
pub struct Sshd {
    dir: TempDir,
    child: Child,
}

impl Sshd {
    /// An sshd whose users find these programs under these names, and the system's.
    ///
    /// Logins are of the account that runs the test, in a home directory of the test's own. The forced command
    /// only goes there before it does what was asked.
    #[must_use]
    pub fn start(programs: &[(&str, PathBuf)]) -> Self {
        Self::with(programs, &[])
    }

    /// The same with further lines of sshd_config, which go before all others: the first of a kind holds, but
    /// for MaxStartups, of which it is the last.
    #[must_use]
    pub fn with(programs: &[(&str, PathBuf)], first: &[&str]) -> Self {
        let dir = tempfile::Builder::new().prefix("bcmr-sshd-").tempdir().unwrap();
        let path = |name: &str| dir.path().join(name).to_str().unwrap().to_owned();
        for name in ["home", "bin"] {
            fs::create_dir(path(name)).unwrap();
        }
        for (name, program) in programs {
            symlink(program, dir.path().join("bin").join(name)).unwrap();
        }
        for key in ["host", "user"] {
            let made =
                Command::new("ssh-keygen").args(["-qt", "ed25519", "-N", "", "-f", &path(key)]).status();
            assert!(made.expect("ssh-keygen is not installed").success());
        }
        if geteuid().is_root() {
            // Where Debian's sshd drops its privileges to; made at boot, which a container has not had.
            fs::create_dir_all("/run/sshd").unwrap();
        }
        // Held until sshd is about to start, so that no other test is given the port.
        let held = TcpListener::bind("127.0.0.1:0").unwrap();
        let port = held.local_addr().unwrap().port();
        let server = [
            first.join("\n"),
            format!("Port {port}"),
            "ListenAddress 127.0.0.1".to_owned(),
            format!("HostKey {}", path("host")),
            format!("AuthorizedKeysFile {}", path("user.pub")),
            "StrictModes no\nUsePAM no\nUseDNS no\nPasswordAuthentication no".to_owned(),
            "PermitRootLogin yes\nMaxSessions 100\nPidFile none".to_owned(),
            if first.iter().any(|line| line.starts_with("MaxStartups")) { "" } else { "MaxStartups 100" }
                .to_owned(),
            format!("Subsystem sftp {}", sftp_server()),
            format!(
                "SetEnv PATH={}:/usr/local/bin:/usr/bin:/bin HOME={} BCMR_CAS_DIR={}",
                path("bin"),
                path("home"),
                path("store")
            ),
            r#"ForceCommand cd "$HOME" && eval "$SSH_ORIGINAL_COMMAND""#.to_owned(),
        ];
        fs::write(path("sshd_config"), server.join("\n") + "\n").unwrap();
        let client = [
            format!("Host {HOST} 127.0.0.1"),
            format!("HostName 127.0.0.1\nPort {port}\nIdentityFile {}\nIdentitiesOnly yes", path("user")),
            "StrictHostKeyChecking no\nUserKnownHostsFile /dev/null\nLogLevel ERROR".to_owned(),
        ];
        fs::write(path("ssh_config"), client.join("\n") + "\n").unwrap();
        let log = fs::File::create(path("log")).unwrap();
        drop(held);
        let child = Command::new(program())
            .args(["-D", "-e", "-f", &path("sshd_config")])
            .stdin(Stdio::null())
            .stderr(log)
            .process_group(0)
            .spawn()
            .expect("sshd is not installed");
        let mut sshd = Self { dir, child };
        answers(&mut sshd.child, port, sshd.dir.path());
        sshd
    }

    /// One whose users find our server, as `bcmr-serve`.
    #[must_use]
    pub fn ours() -> Self {
        Self::start(&[("bcmr-serve", binaries::server())])
    }

    /// One whose users find our server under the public one's name.
    #[must_use]
    pub fn ours_as_public() -> Self {
        Self::start(&[("bcmr", binaries::server())])
    }

    /// One whose users find the public server.
    #[must_use]
    pub fn public() -> Self {
        Self::start(&[("bcmr", peer())])
    }

    /// A configuration file for ssh that knows the host.
    #[must_use]
    pub fn client_config(&self) -> PathBuf {
        self.dir.path().join("ssh_config")
    }

    /// The home directory that logins find themselves in.
    #[must_use]
    pub fn home(&self) -> PathBuf {
        self.dir.path().join("home")
    }

    /// Where logins find the programs.
    #[must_use]
    pub fn bin(&self) -> PathBuf {
        self.dir.path().join("bin")
    }

    /// What sshd has said so far.
    #[must_use]
    pub fn log(&self) -> String {
        said(self.dir.path())
    }
}

/// sshd itself.
pub(crate) fn program() -> &'static str {
    if Path::new(SSHD).exists() { SSHD } else { "sshd" }
}

/// Waits until an sshd answers, whose log is in a directory.
pub(crate) fn answers(sshd: &mut Child, port: u16, dir: &Path) {
    let deadline = Instant::now() + PATIENCE;
    while TcpStream::connect(("127.0.0.1", port)).is_err() {
        let ended = sshd.try_wait().unwrap();
        assert!(ended.is_none() && Instant::now() < deadline, "sshd does not start: {}", said(dir));
        std::thread::sleep(Duration::from_millis(5));
    }
}

/// What an sshd has said so far.
pub(crate) fn said(dir: &Path) -> String {
    fs::read_to_string(dir.join("log")).unwrap_or_default()
}

/// Where distributions keep the program; the one built into sshd cannot be reached by way of a forced command.
#[must_use]
pub fn sftp_server() -> &'static str {
    let places =
        ["/usr/lib/openssh/sftp-server", "/usr/libexec/openssh/sftp-server", "/usr/lib/ssh/sftp-server"];
    places.into_iter().find(|place| Path::new(place).exists()).unwrap_or(places[0])
}

impl Drop for Sshd {
    fn drop(&mut self) {
        // sshd makes each connection's process the leader of a group of its own once it has a user; those end
        // with their connections, whose clients have ended before.
        let _ = kill_process_group(Pid::from_child(&self.child), Signal::KILL);
        let _ = self.child.wait();
    }
}
