//! `bcmr completions`: what a shell needs in order to complete command lines.

use clap_complete::{Shell, generate};

use crate::exit::Exit;
use crate::{cli, output, version};

pub(crate) fn run(shell: Shell) -> Exit {
    let mut script = Vec::new();
    generate(shell, &mut cli::command(version::text()), "bcmr", &mut script);
    output::print(&script);
    Exit::Done
}
