use std::os::unix::process::CommandExt;
use std::process::Command;

/// The command given with --via, as the person would type it.
pub(super) fn command(text: &str) -> Command {
    let mut command = Command::new("sh");
    command.args(["-c", text]);
    // What the shell starts is ended with it. (ssh stays in the terminal's group: it may have to ask there.)
    command.process_group(0);
    command
}
