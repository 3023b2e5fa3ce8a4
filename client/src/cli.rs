//! The command line.

use std::ffi::OsString;
use std::path::PathBuf;

use clap::{Args, CommandFactory, FromArgMatches, Parser, Subcommand, ValueEnum};

/// Copy files and trees to and from machines that run bcmr-serve
#[derive(Debug, Parser)]
#[command(name = "bcmr", version, arg_required_else_help = true)]
pub(crate) struct Cli {
    #[command(subcommand)]
    pub(crate) command: Command,
    #[command(flatten)]
    pub(crate) connection: ConnectionArgs,
}

#[derive(Debug, Subcommand)]
pub(crate) enum Command {
    /// Copy files or directories to or from a server
    Copy(CopyArgs),
    /// Find out what compressing files is worth, and on which links
    Probe(ProbeArgs),
    /// Start the server, bcmr-serve, which is a package of its own; what the public client asks a machine for
    #[command(disable_help_flag = true)]
    Serve(ServeArgs),
}

/// How the server is reached.
#[derive(Debug, Args)]
pub(crate) struct ConnectionArgs {
    /// Use this OpenSSH configuration file instead of the user's
    #[arg(long, value_name = "FILE", global = true)]
    pub(crate) ssh_config: Option<PathBuf>,
    /// Connect to this port; a port in scp://host:port/ comes first
    #[arg(long, value_name = "PORT", global = true)]
    pub(crate) ssh_port: Option<u16>,
    /// Offer this key; may be given several times
    #[arg(long, value_name = "FILE", global = true)]
    pub(crate) ssh_identity: Vec<PathBuf>,
    /// Connect through this host, or these, separated by commas
    #[arg(long, value_name = "HOST", global = true)]
    pub(crate) ssh_jump: Option<String>,
    /// The cipher of ssh: AES-GCM where nothing else is configured and the processor has AES, or as ssh chooses
    #[arg(long, value_enum, default_value_t = Cipher::Auto, value_name = "CHOICE", global = true)]
    pub(crate) ssh_cipher: Cipher,
    /// Talk to this local command instead of ssh; its paths are written ':path'
    #[arg(long, value_name = "COMMAND", global = true)]
    pub(crate) via: Option<String>,
    /// Start this on the remote machine instead of bcmr-serve
    #[arg(long, value_name = "COMMAND", global = true)]
    pub(crate) remote_command: Option<String>,
}

#[derive(Debug, Args)]
pub(crate) struct ProbeArgs {
    /// Files to try the codecs on; nothing is sent
    #[arg(required = true, value_name = "FILE")]
    pub(crate) files: Vec<PathBuf>,
}

#[derive(Debug, Args)]
pub(crate) struct ServeArgs {
    /// Arguments of bcmr-serve
    #[arg(trailing_var_arg = true, allow_hyphen_values = true, value_name = "ARG")]
    pub(crate) args: Vec<OsString>,
}

#[derive(Debug, Args)]
pub(crate) struct CopyArgs {
    // Not a doc comment, in which the brackets would be links.
    #[arg(
        required = true,
        num_args = 2..,
        value_name = "PATH",
        help = "Sources, then the destination: [user@]host:path, [host]:path, scp://user@host:port/path, or a local \
                path"
    )]
    pub(crate) paths: Vec<OsString>,
    /// Copy directories with all they hold
    #[arg(short, long)]
    pub(crate) recursive: bool,
    /// Replace files that exist; asks first, unless -y is given
    #[arg(short, long)]
    pub(crate) force: bool,
    /// Do not ask
    #[arg(short, long)]
    pub(crate) yes: bool,
    /// Show no progress and no summary, only errors
    #[arg(short, long)]
    pub(crate) quiet: bool,
    /// Compress blocks on the way, where that makes them smaller
    #[arg(long, value_enum, default_value_t = Compress::Auto, value_name = "CODEC")]
    pub(crate) compress: Compress,
    /// Let the server send without computing a hash; downloads are then not checked against one
    #[arg(long)]
    pub(crate) fast: bool,
    /// Copy over this many connections at once [default: 1, or 2 for many files and much data]
    #[arg(short = 'P', long, value_name = "N", value_parser = clap::value_parser!(u8).range(1..=32))]
    pub(crate) parallel: Option<u8>,
    /// Have every file flushed to disk before it counts as copied
    #[arg(long)]
    pub(crate) sync: bool,
}

/// Reads the process's command line; `version` is what `--version` prints after the program's name.
///
/// # Errors
/// clap's, which also stand for help and version; to be printed with their own `print`.
pub(crate) fn parse(version: &'static str) -> Result<Cli, clap::Error> {
    Cli::from_arg_matches(&Cli::command().version(version).try_get_matches()?)
}

/// Who chooses the cipher of ssh.
#[derive(Clone, Copy, PartialEq, Eq, Debug, ValueEnum)]
pub(crate) enum Cipher {
    /// AES-GCM first, where the configuration leaves it to ssh and the processor has AES instructions
    Auto,
    /// ssh, as it is configured
    Keep,
}

/// A codec, or the choice of one.
#[derive(Clone, Copy, PartialEq, Eq, Debug, ValueEnum)]
pub(crate) enum Compress {
    /// Zstd, else LZ4, as the server can
    Auto,
    /// Zstd, or none
    Zstd,
    /// LZ4, or none
    Lz4,
    /// None
    None,
}
