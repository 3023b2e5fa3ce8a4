//! The system's ssh as a child: its configuration, keys, agent and jump hosts are the user's own.

use std::ffi::OsString;
use std::io::IsTerminal;
use std::path::PathBuf;
use std::process::Command;

use super::{Server, cipher};
use crate::cli::{Cipher, ConnectionArgs};

/// Options that every connection gets. RemoteCommand of the user's configuration would take the place of ours;
/// ssh before 7.6 does not know it. The two ServerAlive values end a dead link after five minutes.
const OPTIONS: [&str; 7] = [
    "ClearAllForwardings=yes",
    "IgnoreUnknown=RemoteCommand",
    "RemoteCommand=none",
    "Compression=no",
    "ServerAliveInterval=15",
    "ServerAliveCountMax=20",
    "PermitLocalCommand=no",
];

/// The program on the other side.
pub(super) fn program(args: &ConnectionArgs, server: Server) -> &str {
    match (&args.remote_command, server) {
        (Some(given), _) => given,
        (None, Server::First) => "bcmr-serve",
        (None, Server::Public) => "bcmr serve",
    }
}

/// What is to be run on the other side. Without `--root` the server serves the home directory.
pub(super) fn remote_command(args: &ConnectionArgs, server: Server, absolute: bool) -> String {
    format!("{}{}", program(args, server), if absolute { " --root /" } else { "" })
}

/// Whom to connect to, and what is known about that.
#[derive(Debug)]
pub(super) struct Target {
    config: Option<PathBuf>,
    /// The options that choose port, keys, jump hosts and user; then `--` and the host, which keeps it from being
    /// taken for an option.
    address: Vec<OsString>,
    /// What goes into `-o Ciphers=`.
    ciphers: Option<String>,
}

impl Target {
    pub(super) fn new(args: &ConnectionArgs, user: Option<&str>, host: &str, port: Option<u16>) -> Self {
        let mut address: Vec<OsString> = Vec::new();
        let mut add = |option: &str, value: OsString| address.extend([option.into(), value]);
        if let Some(port) = port.or(args.ssh_port) {
            add("-p", port.to_string().into());
        }
        for identity in &args.ssh_identity {
            add("-i", identity.into());
        }
        if let Some(jump) = &args.ssh_jump {
            add("-J", jump.into());
        }
        if let Some(user) = user {
            add("-l", user.into());
        }
        address.extend(["--".into(), host.into()]);
        let ciphers = match args.ssh_cipher {
            Cipher::Auto => cipher::list(args.ssh_config.as_deref(), &address),
            Cipher::Keep => None,
        };
        Self { config: args.ssh_config.clone(), address, ciphers }
    }

    /// The ssh command line. `asking` is false where nobody must be asked for a password; `own` asks for a
    /// connection that is not shared with others.
    pub(super) fn command(&self, asking: bool, own: bool, remote: &str) -> Command {
        let mut command = Command::new("ssh");
        if let Some(config) = &self.config {
            command.arg("-F").arg(config);
        }
        command.args(["-T", "-x", "-a"]);
        for option in OPTIONS {
            command.args(["-o", option]);
        }
        if let Some(ciphers) = &self.ciphers {
            command.arg("-o").arg(format!("Ciphers={ciphers}"));
        }
        if own {
            command.args(["-o", "ControlMaster=no", "-o", "ControlPath=none"]);
        }
        if !asking || !someone_is_there() {
            command.args(["-o", "BatchMode=yes"]);
        }
        command.args(&self.address).arg(remote);
        command
    }
}

/// Whether ssh can ask someone for a password.
fn someone_is_there() -> bool {
    std::io::stdin().is_terminal() || std::io::stderr().is_terminal()
}
