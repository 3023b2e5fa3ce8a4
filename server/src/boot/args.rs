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

/// What to do.
#[derive(Debug, Subcommand)]
pub(crate) enum Command {
    /// Serve protocol 2 on stdin and stdout; what is done without a command, too
    Serve(ServeArgs),
    /// Check the policy file, and show what its profiles are for an account
    Check(CheckArgs),
    /// Clear away what killed sessions left below a directory
    Sweep(SweepArgs),
}

/// How to serve.
#[derive(Debug, Args)]
pub(crate) struct ServeArgs {
    /// Serve under this profile of the policy; without it, serve the account's own files
    #[arg(long, value_name = "NAME")]
    pub(crate) profile: Option<String>,
    /// Read the policy from this file, which root must own [default: /etc/bcmr/policy.toml]
    #[arg(long, value_name = "FILE", requires = "profile")]
    pub(crate) policy: Option<PathBuf>,
    /// Serve the files under this directory [default: the home directory]; a profile has a root of its own
    #[arg(long, value_name = "DIR")]
    pub(crate) root: Option<PathBuf>,
}

/// What to check.
#[derive(Debug, Args)]
pub(crate) struct CheckArgs {
    /// The policy file [default: /etc/bcmr/policy.toml]
    #[arg(long, value_name = "FILE")]
    pub(crate) policy: Option<PathBuf>,
    /// The account [default: the one that asks]
    #[arg(long, value_name = "NAME")]
    pub(crate) account: Option<String>,
}

/// What to sweep.
#[derive(Debug, Args)]
pub(crate) struct SweepArgs {
    /// Act as this account; only root may
    #[arg(long, value_name = "NAME")]
    pub(crate) account: Option<String>,
    /// The directory [default: the account's home]
    #[arg(value_name = "DIR")]
    pub(crate) dir: Option<PathBuf>,
}

/// Reads the command line.
///
/// # Errors
/// clap's, which also stand for help and version; to be printed with their own `print`.
pub(crate) fn parse() -> Result<Command, clap::Error> {
    let line = CommandLine::try_parse()?;
    Ok(line.command.unwrap_or(Command::Serve(line.serve)))
}
