//! The command line.

use std::ffi::OsString;
use std::path::PathBuf;

use clap::{Args, CommandFactory, FromArgMatches, Parser, Subcommand, ValueEnum};

/// A hardened file-transfer server that sshd starts
#[derive(Debug, Parser)]
#[command(name = "bcmr-serve", version, args_conflicts_with_subcommands = true)]
pub(crate) struct CommandLine {
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
    /// Tell whether this host can serve, and how well: exit code 0 fully, 1 with less, 2 not
    Doctor(DoctorArgs),
    /// Show the sessions that live on this host
    Sessions(SessionsArgs),
    /// Make the state directories that an account's profiles name; only root may
    Provision(ProvisionArgs),
    /// Look at, check or empty the stores of an account's blocks
    Cas(CasArgs),
    /// Show what an account published and still stands
    Quota(QuotaArgs),
    /// Clear away what killed sessions left below a directory
    Sweep(SweepArgs),
}

/// How to serve.
#[derive(Debug, Default, Args)]
pub(crate) struct ServeArgs {
    /// Serve under this profile of the policy; without it, serve the account's own files
    #[arg(long, value_name = "NAME")]
    pub(crate) profile: Option<String>,
    /// Read the policy from this file, which root must own [default: /etc/bcmr/policy.toml]
    #[arg(long, value_name = "FILE", requires = "profile")]
    pub(crate) policy: Option<PathBuf>,
    /// Record the session under this name, for telling keys apart; it grants nothing
    #[arg(long, value_name = "LABEL", requires = "profile", value_parser = label)]
    pub(crate) label: Option<String>,
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

/// What to look at.
#[derive(Debug, Args)]
pub(crate) struct DoctorArgs {
    /// Look at what this account is served; only root may
    #[arg(long, value_name = "NAME")]
    pub(crate) account: Option<String>,
    /// Print JSON
    #[arg(long)]
    pub(crate) json: bool,
}

/// How to show the sessions.
#[derive(Debug, Args)]
pub(crate) struct SessionsArgs {
    /// Print JSON
    #[arg(long)]
    pub(crate) json: bool,
}

/// For whom to make state directories.
#[derive(Debug, Args)]
pub(crate) struct ProvisionArgs {
    /// The account
    #[arg(long, value_name = "NAME")]
    pub(crate) account: String,
}

/// What to do with stores.
#[derive(Debug, Args)]
pub(crate) struct CasArgs {
    /// What to do
    #[arg(value_enum)]
    pub(crate) command: CasCommand,
    /// Act as this account; only root may
    #[arg(long, value_name = "NAME")]
    pub(crate) account: Option<String>,
    /// Print JSON
    #[arg(long)]
    pub(crate) json: bool,
}

/// What to do with a store.
#[derive(Clone, Copy, Debug, ValueEnum)]
pub(crate) enum CasCommand {
    /// Count its blocks
    Stat,
    /// Read every block, and remove those that are damaged
    Verify,
    /// Remove the least recently used until it is below its cap
    Gc,
    /// Remove every block
    Clear,
}

/// What to do with ledgers.
#[derive(Debug, Args)]
pub(crate) struct QuotaArgs {
    /// What to do
    #[arg(value_enum)]
    pub(crate) command: QuotaCommand,
    /// Act as this account; only root may
    #[arg(long, value_name = "NAME")]
    pub(crate) account: Option<String>,
    /// Print JSON
    #[arg(long)]
    pub(crate) json: bool,
}

/// What to do with a ledger.
#[derive(Clone, Copy, Debug, ValueEnum)]
pub(crate) enum QuotaCommand {
    /// Show what it says
    Show,
    /// Look at every file first, and strike what is gone
    Rescan,
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

/// Reads a command line, whose first word is the program's name; `version` is what `--version` prints after that.
///
/// # Errors
/// clap's, which also stand for help and version; to be printed with their own `print`.
pub(crate) fn parse(
    words: impl IntoIterator<Item = OsString>,
    version: &'static str,
) -> Result<Command, clap::Error> {
    let matches = CommandLine::command().version(version).try_get_matches_from(words)?;
    let line = CommandLine::from_arg_matches(&matches)?;
    Ok(line.command.unwrap_or(Command::Serve(line.serve)))
}

/// Bytes of a label or of a profile's name, where a client may have written it.
const PLAIN: usize = 64;

/// Whether a word is `[A-Za-z0-9._-]{1,64}`, which means the same with and without a shell around it.
pub(crate) fn is_plain(word: &str) -> bool {
    let plain = |b: u8| b.is_ascii_alphanumeric() || matches!(b, b'.' | b'_' | b'-');
    !word.is_empty() && word.len() <= PLAIN && word.bytes().all(plain)
}

fn label(text: &str) -> Result<String, String> {
    if is_plain(text) {
        Ok(text.to_owned())
    } else {
        Err(format!("1 to {PLAIN} letters, digits, dots, underscores and hyphens are a label"))
    }
}
