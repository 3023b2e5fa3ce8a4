//! The system's ssh as a child: its configuration, keys, agent and jump hosts are the user's own.

use std::io::IsTerminal;
use std::process::Command;

use super::Server;
use crate::cli::ConnectionArgs;

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

/// What is to be run on the other side. Without `--root` the server serves the home directory.
pub(super) fn remote_command(args: &ConnectionArgs, server: Server, absolute: bool) -> String {
    let program = match (&args.remote_command, server) {
        (Some(given), _) => given,
        (None, Server::First) => "bcmr-serve",
        (None, Server::Public) => "bcmr serve",
    };
    format!("{program}{}", if absolute { " --root /" } else { "" })
}

/// The ssh command line. `--` keeps the host from being taken for an option.
pub(super) fn command(
    args: &ConnectionArgs,
    user: Option<&str>,
    host: &str,
    port: Option<u16>,
    asking: bool,
    remote: &str,
) -> Command {
    let mut command = Command::new("ssh");
    if let Some(config) = &args.ssh_config {
        command.arg("-F").arg(config);
    }
    if let Some(port) = port.or(args.ssh_port) {
        command.arg("-p").arg(port.to_string());
    }
    for identity in &args.ssh_identity {
        command.arg("-i").arg(identity);
    }
    if let Some(jump) = &args.ssh_jump {
        command.arg("-J").arg(jump);
    }
    if let Some(user) = user {
        command.arg("-l").arg(user);
    }
    command.args(["-T", "-x", "-a"]);
    for option in OPTIONS {
        command.args(["-o", option]);
    }
    if !asking || !someone_is_there() {
        command.args(["-o", "BatchMode=yes"]);
    }
    command.arg("--").arg(host).arg(remote);
    command
}

/// Whether ssh can ask someone for a password.
fn someone_is_there() -> bool {
    std::io::stdin().is_terminal() || std::io::stderr().is_terminal()
}
