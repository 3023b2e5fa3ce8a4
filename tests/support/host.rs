//! A host of a test's own: a real sshd in a mount namespace whose /etc names one account, and where the server is
//! installed. The machine's own /etc and programs stay as they are. Needs root.

use std::fs;
use std::net::TcpListener;
use std::os::unix::fs::PermissionsExt;
use std::os::unix::process::CommandExt;
use std::path::{Path, PathBuf};
use std::process::{Child, Command, Output, Stdio};
use std::time::{Duration, Instant};

use rustix::process::{Pid, Signal, kill_process_group};
use tempfile::TempDir;

use crate::launch::{Launch, NOBODY, give};
use crate::sshd::{HOST, answers, program, said};
use crate::stream::PATIENCE;
use crate::{Site, binaries};

/// Where the server is installed on the host.
pub const INSTALLED: &str = "/usr/local/bin/bcmr-serve";

/// The account's name, whose uid is that of the account without rights.
pub const ACCOUNT: &str = "deploy";

/// The group by which sshd_config knows the accounts that only transfer files.
const GROUP: &str = "bcmr-upload";

/// A host about to be started.
#[derive(Debug)]
pub struct Setup {
    shell: String,
    key: String,
    global: Vec<String>,
    matched: Vec<String>,
    policy: String,
    before: Vec<String>,
}

impl Setup {
    /// A host under a policy, whose account has a login shell and nothing that is forced.
    #[must_use]
    pub fn new(policy: impl Into<String>) -> Self {
        Self {
            shell: INSTALLED.to_owned(),
            key: String::new(),
            global: Vec::new(),
            matched: Vec::new(),
            policy: policy.into(),
            before: Vec::new(),
        }
    }

    /// Gives the account another login shell than the server.
    #[must_use]
    pub fn shell(mut self, shell: &str) -> Self {
        shell.clone_into(&mut self.shell);
        self
    }

    /// Sets what stands before the account's key, as in `restrict,command="…"`.
    #[must_use]
    pub fn key(mut self, options: &str) -> Self {
        options.clone_into(&mut self.key);
        self
    }

    /// Adds a line to sshd_config.
    #[must_use]
    pub fn global(mut self, line: impl Into<String>) -> Self {
        self.global.push(line.into());
        self
    }

    /// Adds a line to the Match of the account's group.
    #[must_use]
    pub fn matched(mut self, line: impl Into<String>) -> Self {
        self.matched.push(line.into());
        self
    }

    /// Runs a line of shell on the host before sshd starts.
    #[must_use]
    pub fn before(mut self, line: impl Into<String>) -> Self {
        self.before.push(line.into());
        self
    }

    /// Starts the host. The account's home is the site's root; the whole site is given to it.
    #[must_use]
    pub fn start(self, site: &Site) -> Host {
        give(site.base());
        let dir = tempfile::Builder::new().prefix("bcmr-host-").tempdir().unwrap();
        let etc = dir.path().join("etc");
        let write = |name: &str, mode: u32, text: &str| {
            let path = etc.join(name);
            fs::create_dir_all(path.parent().unwrap()).unwrap();
            fs::write(&path, text).unwrap();
            fs::set_permissions(&path, fs::Permissions::from_mode(mode)).unwrap();
        };
        let home = site.root();
        let passwd = format!(
            "root:x:0:0::/:/bin/sh\nsshd:x:101:65534::/run/sshd:/bin/false\n{ACCOUNT}:x:{NOBODY}:{NOBODY}::{}:{}\n",
            home.display(),
            self.shell
        );
        write("passwd", 0o644, &passwd);
        write("group", 0o644, &format!("root:x:0:\nnogroup:x:{NOBODY}:\n{GROUP}:x:64900:{ACCOUNT}\n"));
        write("shadow", 0o600, &format!("root:*:19000::::::\nsshd:*:19000::::::\n{ACCOUNT}:*:19000::::::\n"));
        write("nsswitch.conf", 0o644, "passwd: files\ngroup: files\nshadow: files\nhosts: files\n");
        write("hosts", 0o644, "127.0.0.1 localhost\n");
        write("bcmr/policy.toml", 0o644, &self.policy);
        // Without its cache a loader looks in the usual places; with it, where else this machine has libraries.
        let _ = fs::copy("/etc/ld.so.cache", etc.join("ld.so.cache"));
        let path = |name: &str| dir.path().join(name).to_str().unwrap().to_owned();
        for key in ["host", "user"] {
            let made =
                Command::new("ssh-keygen").args(["-qt", "ed25519", "-N", "", "-f", &path(key)]).status();
            assert!(made.expect("ssh-keygen is not installed").success());
        }
        write("ssh/host", 0o600, &fs::read_to_string(path("host")).unwrap());
        let public = fs::read_to_string(path("user.pub")).unwrap();
        write(&format!("bcmr/keys/{ACCOUNT}"), 0o644, format!("{} {public}", self.key).trim_start());
        // Where sshd drops its privileges to; made at boot, which a container has not had.
        fs::create_dir_all("/run/sshd").unwrap();
        // Held until sshd is about to start, so that no other test is given the port.
        let held = TcpListener::bind("127.0.0.1:0").unwrap();
        let port = held.local_addr().unwrap().port();
        let fixed = [
            format!("Port {port}"),
            "ListenAddress 127.0.0.1\nHostKey /etc/ssh/host\nAuthorizedKeysFile /etc/bcmr/keys/%u".to_owned(),
            "UsePAM no\nUseDNS no\nPasswordAuthentication no\nPidFile none\nLogLevel VERBOSE".to_owned(),
        ];
        let mut config: Vec<String> = fixed.into_iter().chain(self.global).collect();
        if !self.matched.is_empty() {
            config.push(format!("Match Group {GROUP}"));
            config.extend(self.matched.iter().map(|line| format!("    {line}")));
            config.push("Match all".to_owned());
        }
        write("ssh/sshd_config", 0o644, &(config.join("\n") + "\n"));
        let client = format!(
            "Host {HOST} 127.0.0.1\nHostName 127.0.0.1\nPort {port}\nUser {ACCOUNT}\nIdentityFile {}\n\
             IdentitiesOnly yes\nStrictHostKeyChecking no\nUserKnownHostsFile /dev/null\nBatchMode yes\n\
             LogLevel ERROR\n",
            path("user")
        );
        fs::write(path("ssh_config"), client).unwrap();
        let tmpfs = |at: &str| format!("mount -t tmpfs -o mode=755 none {at}");
        let mut lines = vec![
            tmpfs("/usr/local"),
            format!("mkdir /usr/local/bin && cp {} {INSTALLED}", binaries::server().display()),
            format!("chmod 755 {INSTALLED}"),
            tmpfs("/etc"),
            format!("cp -a {}/. /etc", etc.display()),
        ];
        lines.extend(self.before);
        lines.push(format!("exec {} -D -e -f /etc/ssh/sshd_config", program()));
        let log = fs::File::create(path("log")).unwrap();
        drop(held);
        let child = Command::new("unshare")
            .args(["-m", "--propagation", "private", "sh", "-ec", &lines.join("\n")])
            .stdin(Stdio::null())
            .stdout(log.try_clone().unwrap())
            .stderr(log)
            .process_group(0)
            .spawn()
            .expect("unshare is not installed");
        let mut host = Host { dir, child };
        answers(&mut host.child, port, host.dir.path());
        host
    }
}

/// A running host. Its sshd ends, with all sessions, when the value goes.
#[derive(Debug)]
pub struct Host {
    dir: TempDir,
    child: Child,
}

impl Host {
    /// A configuration file for ssh that knows the host as [`HOST`].
    #[must_use]
    pub fn client_config(&self) -> PathBuf {
        self.dir.path().join("ssh_config")
    }

    /// ssh, scp or sftp with that configuration, which gives up where a test would hang.
    #[must_use]
    pub fn tool(&self, tool: &str) -> Command {
        let mut command = Command::new("timeout");
        command.args(["-k", "5", "40", tool, "-F"]).arg(self.client_config()).stdin(Stdio::null());
        command
    }

    /// Runs ssh with these options, and then with the command; neither has it read anything.
    #[must_use]
    pub fn ssh(&self, options: &[&str], command: &[&str]) -> Output {
        self.tool("ssh").args(options).arg(HOST).args(command).output().unwrap()
    }

    /// A server on the host, reached by ssh; the process that the test has is ssh.
    #[must_use]
    pub fn launch(&self, command: &str) -> Launch {
        let config = self.client_config().into_os_string();
        Launch::program("ssh", ["-F".into(), config, HOST.into(), command.into()])
    }

    /// The servers that run now.
    #[must_use]
    pub fn servers(&self) -> Vec<Pid> {
        let mut found = Vec::new();
        let mut parents = vec![self.child.id()];
        while let Some(parent) = parents.pop() {
            let children = fs::read_to_string(format!("/proc/{parent}/task/{parent}/children"));
            for pid in children.unwrap_or_default().split_whitespace().map(|pid| pid.parse().unwrap()) {
                parents.push(pid);
                let program = fs::read_link(format!("/proc/{pid}/exe"));
                if program.is_ok_and(|program| program == Path::new(INSTALLED)) {
                    found.extend(Pid::from_raw(i32::try_from(pid).unwrap()));
                }
            }
        }
        found
    }

    /// The only server, as soon as it is there.
    #[must_use]
    #[track_caller]
    pub fn server(&self) -> Pid {
        let deadline = Instant::now() + PATIENCE;
        loop {
            if let [server] = self.servers()[..] {
                return server;
            }
            assert!(Instant::now() < deadline, "there is not one server: {:?}", self.servers());
            std::thread::sleep(Duration::from_millis(5));
        }
    }

    /// What sshd has said so far.
    #[must_use]
    pub fn log(&self) -> String {
        said(self.dir.path())
    }
}

impl Drop for Host {
    fn drop(&mut self) {
        // Sessions are groups of their own, and end with their clients, which have ended before.
        let _ = kill_process_group(Pid::from_child(&self.child), Signal::KILL);
        let _ = self.child.wait();
    }
}
