//! bcmr: copies files and trees to and from machines that run bcmr-serve, over ssh.

mod ask;
mod cli;
mod completions;
mod config;
mod copy;
mod exchange;
mod exit;
mod interrupt;
mod output;
mod pending;
mod plan;
mod probe;
mod pulse;
mod queue;
mod rerun;
mod schedule;
mod serve;
mod target;
mod transport;
mod ui;
mod version;

use std::process::ExitCode;

use cli::Command;
use exit::Exit;

fn main() -> ExitCode {
    let args: Vec<_> = std::env::args_os().collect();
    let cli = match cli::parse(version::text(), &args) {
        Ok(cli) => cli,
        Err(usage) => {
            let _ = usage.print();
            return if usage.use_stderr() { Exit::Usage } else { Exit::Done }.into();
        }
    };
    let json = matches!(&cli.command, Command::Copy(args) if args.json);
    let cli = match config::apply(cli, &args) {
        Ok(cli) => cli,
        Err(fatal) => return copy::refuse(fatal, json).into(),
    };
    let exit = match cli.command {
        Command::Copy(args) => copy::run(&args, &cli.connection),
        Command::Ls(args) => ask::ls(&args, &cli.connection),
        Command::Stat(args) => ask::stat(&args, &cli.connection),
        Command::Du(args) => ask::du(&args, &cli.connection),
        Command::Hash(args) => ask::hash(&args, &cli.connection),
        Command::Mkdir(args) => ask::mkdir(&args, &cli.connection),
        Command::Check(args) => copy::check::run(&args, &cli.connection),
        Command::Doctor(args) => ask::doctor(&args, &cli.connection),
        Command::Completions(args) => completions::run(args.shell),
        Command::Probe(args) => probe::run(&args.files),
        Command::Serve(args) => serve::run(&args.args),
        Command::Move(_) => {
            not_there("rename", "copy it under the new name, and have an operator remove the old one")
        }
        Command::Remove(_) => {
            not_there("delete", "ask an operator of the machine, who has the server's tree before him")
        }
    };
    output::end(exit).into()
}

/// What protocol 2 has no request for.
fn not_there(what: &str, instead: &str) -> Exit {
    ui::Ui::asking().error(&format!("the protocol cannot {what} on a server; {instead}"));
    Exit::Usage
}
