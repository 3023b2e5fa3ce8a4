//! The command line.

use std::ffi::OsString;
use std::path::PathBuf;

use clap::{Args, CommandFactory, FromArgMatches, Parser, Subcommand, ValueEnum};
use clap_complete::Shell;
use regex_lite::Regex;

/// Copy files and trees to and from machines that run bcmr-serve
#[derive(Debug, Parser)]
#[command(name = "bcmr", version, arg_required_else_help = true, args_override_self = true)]
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
    /// List what is in directories on a server
    Ls(LsArgs),
    /// Say what stands at paths on a server
    Stat(RemoteArgs),
    /// Sum up the sizes of files on a server
    Du(RemoteArgs),
    /// Print the BLAKE3 hashes of files on a server
    Hash(RemoteArgs),
    /// Make directories on a server, with their parents
    Mkdir(RemoteArgs),
    /// Compare files with their copies, on either side
    Check(CheckArgs),
    /// Say whether and how a server can be reached, and what it allows
    Doctor(DoctorArgs),
    /// Print a script that completes bcmr's command lines in a shell
    Completions(CompletionsArgs),
    /// Find out what compressing files is worth, and on which links
    Probe(ProbeArgs),
    /// Start the server, bcmr-serve, which is a package of its own; what the public client asks a machine for
    #[command(disable_help_flag = true)]
    Serve(ServeArgs),
    /// Not there: says what to do instead
    #[command(hide = true, aliases = ["mv", "rename"])]
    Move(NotThereArgs),
    /// Not there: says what to do instead
    #[command(hide = true, aliases = ["rm", "delete"])]
    Remove(NotThereArgs),
}

/// Whatever comes with a command that is not there.
#[derive(Debug, Args)]
pub(crate) struct NotThereArgs {
    #[arg(trailing_var_arg = true, allow_hyphen_values = true, hide = true)]
    pub(crate) rest: Vec<OsString>,
}

#[derive(Debug, Args)]
pub(crate) struct CompletionsArgs {
    #[arg(value_enum)]
    pub(crate) shell: Shell,
}

/// How the server is reached.
#[derive(Debug, Args)]
#[command(next_help_heading = "Connection")]
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
    /// When the link is lost, try this often to go on, after 1, 2, 4 and so on up to 60 seconds
    #[arg(long, value_name = "N", default_value_t = 8, global = true)]
    pub(crate) retries: u32,
    /// When the link is lost, end
    #[arg(long, overrides_with = "retries", global = true)]
    pub(crate) no_retry: bool,
    /// Take the link for lost when no byte has moved for so many seconds; 0 for never
    #[arg(long, value_name = "SECONDS", default_value_t = 300, global = true)]
    pub(crate) stall: u64,
    /// Take the link for lost when it moves content at less than this for 30 seconds: 10KiB, 1MiB
    #[arg(long, value_name = "RATE", value_parser = rate, global = true)]
    pub(crate) min_rate: Option<u64>,
    /// Read defaults from this file instead of ~/.config/bcmr/config.toml
    #[arg(long, value_name = "FILE", global = true)]
    pub(crate) config: Option<PathBuf>,
    /// Start this on the remote machine instead of bcmr-serve
    #[arg(long, value_name = "COMMAND", global = true)]
    pub(crate) remote_command: Option<String>,
}

#[derive(Debug, Args)]
pub(crate) struct LsArgs {
    #[command(flatten)]
    pub(crate) remote: RemoteArgs,
    /// List what is in the directories below as well
    #[arg(short, long)]
    pub(crate) recursive: bool,
}

#[derive(Debug, Args)]
pub(crate) struct RemoteArgs {
    #[arg(
        required = true,
        value_name = "PATH",
        help = "[user@]host:path, [host]:path or scp://user@host:port/path"
    )]
    pub(crate) paths: Vec<OsString>,
    /// Print JSON, one object per line
    #[arg(long)]
    pub(crate) json: bool,
}

#[derive(Debug, Args)]
pub(crate) struct CheckArgs {
    #[arg(required = true, num_args = 2.., value_name = "PATH", help = "Sources, then where their copies are, as for copy")]
    pub(crate) paths: Vec<OsString>,
    /// Compare directories with all they hold
    #[arg(short, long)]
    pub(crate) recursive: bool,
    /// Compare the content by BLAKE3, not sizes and times
    #[arg(short, long)]
    pub(crate) strict: bool,
}

#[derive(Debug, Args)]
pub(crate) struct DoctorArgs {
    #[arg(value_name = "HOST", help = "[user@]host, or ':' with --via")]
    pub(crate) host: String,
}

impl DoctorArgs {
    /// The host as a target, which has a colon.
    pub(crate) fn target(&self) -> String {
        if self.host.contains(':') { self.host.clone() } else { format!("{}:", self.host) }
    }
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
    /// Give downloads the times of modification of their sources; protocol 2 carries no more
    #[arg(short, long)]
    pub(crate) preserve: bool,
    /// Leave out what has this in its path below the source; may be given several times
    #[arg(short, long, value_name = "REGEX")]
    pub(crate) exclude: Vec<Regex>,
    /// Copy only files that have this in their path below the source; may be given several times
    #[arg(long, value_name = "REGEX")]
    pub(crate) include: Vec<Regex>,
    /// Find out first what is there: leave files of the same size and hash, and copy only the rest of one whose
    /// beginning is there, if -f allows replacing it
    #[arg(short = 'C', long)]
    pub(crate) resume: bool,
    /// With -C, hash a file as a whole when its rest was copied
    #[arg(short, long, requires = "resume")]
    pub(crate) strict: bool,
    /// When everything is copied, read it again on both sides and compare the hashes
    #[arg(short = 'V', long)]
    pub(crate) verify: bool,
    /// Leave out symbolic links, naming each, instead of following them; for uploads
    #[arg(long)]
    pub(crate) no_deref: bool,
    /// Say what would be copied, and change nothing
    #[arg(short = 'n', long)]
    pub(crate) dry_run: bool,
    /// Name every file that was copied
    #[arg(short, long, conflicts_with = "quiet")]
    pub(crate) verbose: bool,
    /// Move so much content a second at most, over all connections: 500KiB, 10MiB, 5MB
    #[arg(long, value_name = "RATE", value_parser = rate)]
    pub(crate) bandwidth_limit: Option<u64>,
    /// How progress is shown
    #[arg(long, value_enum, default_value_t = Progress::Auto, value_name = "HOW")]
    pub(crate) progress: Progress,
    /// Print what happens as JSON, one object per line, and nothing else
    #[arg(long)]
    pub(crate) json: bool,
    /// Where no bcmr server is found, end, instead of copying with scp
    #[arg(long)]
    pub(crate) no_fallback: bool,
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

/// How progress is shown.
#[derive(Clone, Copy, PartialEq, Eq, Debug, ValueEnum)]
pub(crate) enum Progress {
    /// A bar on a terminal that can show one, else nothing
    Auto,
    /// A bar
    Bar,
    /// A line every few seconds
    Plain,
    /// Nothing
    Off,
}

/// Bytes per second: a number, and perhaps a unit.
fn rate(text: &str) -> Result<u64, String> {
    let digits = text.find(|c: char| !c.is_ascii_digit()).unwrap_or(text.len());
    let (number, unit) = text.split_at(digits);
    let unit = match unit.trim_end_matches("/s") {
        "" | "B" => 1,
        "K" | "KiB" => 1 << 10,
        "M" | "MiB" => 1 << 20,
        "G" | "GiB" => 1 << 30,
        "KB" | "kB" => 1000,
        "MB" => 1_000_000,
        "GB" => 1_000_000_000,
        unit => return Err(format!("'{unit}' is no unit: KiB, MiB, GiB, KB, MB or GB")),
    };
    let rate = number.parse::<u64>().ok().and_then(|number| number.checked_mul(unit));
    rate.filter(|rate| *rate > 0).ok_or_else(|| "must be a number of bytes above 0".to_owned())
}

/// The command line as clap knows it; `version` is what `--version` prints after the program's name.
pub(crate) fn command(version: &'static str) -> clap::Command {
    Cli::command().version(version)
}

/// Reads a command line.
///
/// # Errors
/// clap's, which also stand for help and version; to be printed with their own `print`.
pub(crate) fn parse(version: &'static str, args: &[OsString]) -> Result<Cli, clap::Error> {
    Cli::from_arg_matches(&command(version).try_get_matches_from(args)?)
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
