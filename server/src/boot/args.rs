//! The command line.

use std::path::PathBuf;

use clap::{Args, Parser, Subcommand};

/// A hardened file-transfer server that sshd starts
#[derive(Debug, Parser)]
#[command(name = "bcmr-serve", version, args_conflicts_with_subcommands = true)]
struct CommandLine {
    #[command(subcommand)]
    command: Option<Command>,
    #[command(flatten)]
    serve: ServeArgs,
}

#[derive(Debug, Subcommand)]
enum Command {
    /// Serve protocol 2 on stdin and stdout; what is done without a command, too
    Serve(ServeArgs),
}

/// How to serve.
#[derive(Debug, Args)]
pub(crate) struct ServeArgs {
    /// Serve the files under this directory [default: the home directory]
    #[arg(long, value_name = "DIR")]
    pub(crate) root: Option<PathBuf>,
}

/// Reads the command line.
///
/// # Errors
/// clap's, which also stand for help and version; to be printed with their own `print`.
pub(crate) fn parse() -> Result<ServeArgs, clap::Error> {
    let line = CommandLine::try_parse()?;
    Ok(match line.command {
        Some(Command::Serve(args)) => args,
        None => line.serve,
    })
}
