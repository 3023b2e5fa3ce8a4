//! How a server is started: by whom, under what, on which streams.

use std::ffi::{OsStr, OsString};
use std::fs;
use std::os::fd::OwnedFd;
use std::os::unix::fs::{PermissionsExt, chown};
use std::os::unix::net::UnixStream;
use std::os::unix::process::CommandExt;
use std::path::{Path, PathBuf};
use std::process::{Command, Stdio};

use rustix::process::geteuid;
use tempfile::TempDir;

use crate::binaries;
use crate::server::Server;
use crate::site::Site;

/// The account that tests take where they need one without root's rights; its name is `nobody`.
pub const NOBODY: u32 = 65_534;

/// A server about to be started.
#[derive(Debug)]
pub struct Launch {
    prefix: Vec<OsString>,
    program: PathBuf,
    args: Vec<OsString>,
    env: Vec<(OsString, OsString)>,
    uid: Option<u32>,
    socket: bool,
    /// Where a copy of the program is, if one had to be made.
    copy: Option<TempDir>,
}

impl Launch {
    /// A server of the given root.
    #[must_use]
    pub fn new(root: impl AsRef<Path>) -> Self {
        Self::with_args([OsStr::new("--root"), root.as_ref().as_os_str()])
    }

    /// A server with the given command line.
    #[must_use]
    pub fn with_args(args: impl IntoIterator<Item = impl Into<OsString>>) -> Self {
        Self::program(binaries::server(), args)
    }

    /// A server that is reached by way of a program.
    #[must_use]
    pub fn program(program: impl Into<PathBuf>, args: impl IntoIterator<Item = impl Into<OsString>>) -> Self {
        Self {
            prefix: Vec::new(),
            program: program.into(),
            args: args.into_iter().map(Into::into).collect(),
            env: Vec::new(),
            uid: None,
            socket: false,
            copy: None,
        }
    }

    /// Sets a variable of the server's environment.
    #[must_use]
    pub fn env(mut self, name: impl Into<OsString>, value: impl Into<OsString>) -> Self {
        self.env.push((name.into(), value.into()));
        self
    }

    /// Starts the server by way of another command, which ends in exec.
    #[must_use]
    pub fn under(mut self, command: impl IntoIterator<Item = impl Into<OsString>>) -> Self {
        self.prefix.extend(command.into_iter().map(Into::into));
        self
    }

    /// Starts the server after a line of shell.
    #[must_use]
    pub fn after_shell(self, line: &str) -> Self {
        self.under(["sh", "-c", &format!("{line}; exec \"$@\""), "sh"])
    }

    /// Takes system calls away, as `without` writes them: `["openat2=ENOSYS", "tmpfile=EOPNOTSUPP"]`.
    #[must_use]
    pub fn without(self, rules: &[&str]) -> Self {
        if rules.is_empty() {
            return self;
        }
        let tool = binaries::tool("without").into_os_string();
        let rules = rules.iter().map(OsString::from);
        self.under([tool].into_iter().chain(rules).chain([OsString::from("--")]))
    }

    /// Starts the server without root's rights, also where the tests have them: root may read and write what
    /// no permission bit allows. Gives the site to that account.
    #[must_use]
    pub fn unprivileged(self, site: &Site) -> Self {
        if geteuid().is_root() {
            give(site.base());
        }
        self.without_rights()
    }

    /// The same, where the account has what it needs already.
    #[must_use]
    pub fn without_rights(self) -> Self {
        self.by_account(NOBODY)
    }

    /// Starts the server as an account and the group of the same number, which only root can.
    #[must_use]
    pub fn by_account(mut self, uid: u32) -> Self {
        if geteuid().is_root() {
            self.uid = Some(uid);
            // The place where programs are built may be closed to others.
            let open = fs::Permissions::from_mode(0o755);
            let dir = tempfile::Builder::new().prefix("bcmr-").permissions(open).tempdir().unwrap();
            let copy = dir.path().join("bcmr-serve");
            if fs::hard_link(&self.program, &copy).is_err() {
                fs::copy(&self.program, &copy).unwrap();
            }
            (self.program, self.copy) = (copy, Some(dir));
        }
        self
    }

    /// Has an unprivileged server give root's rights away only here, after what was put before it so far.
    #[must_use]
    pub fn drops_rights(mut self) -> Self {
        let Some(uid) = self.uid.take().map(|uid| uid.to_string()) else { return self };
        self.under(["setpriv", "--reuid", &uid, "--regid", &uid, "--clear-groups", "--"])
    }

    /// Gives the server one non-blocking socket for both streams, where it has two pipes otherwise.
    #[must_use]
    pub const fn on_a_socket(mut self) -> Self {
        self.socket = true;
        self
    }

    /// The command that is run, for a test that wants other streams.
    #[must_use]
    pub fn command(&self) -> Command {
        let words: Vec<&OsStr> = self.prefix.iter().map(OsString::as_os_str).collect();
        let mut command = match words.split_first() {
            None => Command::new(&self.program),
            Some((first, rest)) => {
                let mut command = Command::new(first);
                command.args(rest).arg(&self.program);
                command
            }
        };
        // No store of blocks in the home directory of whoever runs the tests, unless a test says where.
        command
            .args(&self.args)
            .env("BCMR_CAS_DIR", "/dev/null")
            .envs(self.env.iter().map(|(name, value)| (name, value)));
        if let Some(uid) = self.uid {
            command.uid(uid).gid(uid);
        }
        command
    }

    /// Starts the server.
    #[must_use]
    pub fn start(self) -> Server {
        let mut command = self.command();
        let stderr = tempfile::tempfile().unwrap();
        command.stderr(stderr.try_clone().unwrap());
        if self.socket {
            let (ours, theirs) = UnixStream::pair().unwrap();
            theirs.set_nonblocking(true).unwrap();
            command.stdin(OwnedFd::from(theirs.try_clone().unwrap())).stdout(OwnedFd::from(theirs));
            let child = command.spawn().unwrap();
            // The command holds the server's end, without which the test would never see the stream's end.
            drop(command);
            return Server::new(child, ours.try_clone().unwrap().into(), ours.into(), stderr, self.copy);
        }
        let mut child = command.stdin(Stdio::piped()).stdout(Stdio::piped()).spawn().unwrap();
        let (to, from) = (child.stdin.take().unwrap(), child.stdout.take().unwrap());
        Server::new(child, to.into(), from.into(), stderr, self.copy)
    }
}

/// Gives a whole tree to the account without rights.
pub fn give(path: &Path) {
    let metadata = path.symlink_metadata().unwrap();
    if metadata.is_symlink() {
        return;
    }
    chown(path, Some(NOBODY), Some(NOBODY)).unwrap();
    if metadata.is_dir() {
        fs::read_dir(path).unwrap().for_each(|entry| give(&entry.unwrap().path()));
    }
}
