//! bcmr: copies files and trees to and from machines that run bcmr-serve, over ssh.

mod ask;
mod cli;
mod copy;
mod exchange;
mod exit;
mod pending;
mod plan;
mod probe;
mod pulse;
mod queue;
mod schedule;
mod serve;
mod target;
mod transport;
mod ui;
mod version;

use std::process::ExitCode;

use cli::Command;

fn main() -> ExitCode {
    let cli = match cli::parse(version::text()) {
        Ok(cli) => cli,
        Err(usage) => {
            let _ = usage.print();
            return if usage.use_stderr() { exit::Exit::Usage } else { exit::Exit::Done }.into();
        }
    };
    match cli.command {
        Command::Copy(args) => copy::run(&args, &cli.connection).into(),
        Command::Ls(args) => ask::ls(&args, &cli.connection).into(),
        Command::Stat(args) => ask::stat(&args, &cli.connection).into(),
        Command::Du(args) => ask::du(&args, &cli.connection).into(),
        Command::Hash(args) => ask::hash(&args, &cli.connection).into(),
        Command::Mkdir(args) => ask::mkdir(&args, &cli.connection).into(),
        Command::Check(args) => copy::check::run(&args, &cli.connection).into(),
        Command::Doctor(args) => ask::doctor(&args, &cli.connection).into(),
        Command::Probe(args) => probe::run(&args.files).into(),
        Command::Serve(args) => serve::run(&args.args).into(),
    }
}
