use std::process::Command;

/// The command given with --via, as the person would type it.
pub(super) fn command(text: &str) -> Command {
    let mut command = Command::new("sh");
    command.args(["-c", text]);
    command
}
