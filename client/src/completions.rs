//! `bcmr completions`: what a shell needs in order to complete command lines.

use clap_complete::{Shell, generate};

use crate::exit::Exit;
use crate::{cli, version};

pub(crate) fn run(shell: Shell) -> Exit {
    generate(shell, &mut cli::command(version::text()), "bcmr", &mut std::io::stdout());
    Exit::Done
}
