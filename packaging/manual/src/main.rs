//! Writes the man pages and completions of both programs. The options come from the programs' own command lines,
//! which are taken in here by path; what no option says is prose beside this crate.
//!
//!     cargo run --package bcmr-manual

mod pages;

// The programs' own sources, so that a page cannot say what a program does not do. That nothing reads the parsed
// values here is no dead code there.
#[allow(dead_code, reason = "only the definition is used here")]
#[path = "../../../client/src/cli.rs"]
mod client;
#[allow(dead_code, reason = "only the definition is used here")]
#[path = "../../../server/src/boot/args.rs"]
mod server;

use std::io;
use std::path::{Path, PathBuf};
use std::process::ExitCode;

use clap::{Command, CommandFactory};
use clap_complete::Shell;

/// A file below `packaging/`, and what it holds.
type Generated = (PathBuf, Vec<u8>);

fn main() -> ExitCode {
    match write() {
        Ok(()) => ExitCode::SUCCESS,
        Err(e) => {
            eprintln!("bcmr-manual: {e}");
            ExitCode::FAILURE
        }
    }
}

fn write() -> io::Result<()> {
    for (file, content) in generated()? {
        let path = packaging().join(file);
        if let Some(dir) = path.parent() {
            std::fs::create_dir_all(dir)?;
        }
        std::fs::write(path, content)?;
    }
    Ok(())
}

/// The directory `packaging/`.
fn packaging() -> PathBuf {
    Path::new(env!("CARGO_MANIFEST_DIR")).join("..")
}

/// Every file that comes from the command lines.
fn generated() -> io::Result<Vec<Generated>> {
    let mut files = Vec::new();
    for (mut command, page) in
        [(server::CommandLine::command(), pages::SERVER), (client::Cli::command(), pages::CLIENT)]
    {
        files.push((Path::new("man").join(page.file), pages::page(&mut command, &page)?));
        files.extend([Shell::Bash, Shell::Zsh, Shell::Fish].map(|shell| completion(shell, &mut command)));
    }
    Ok(files)
}

fn completion(shell: Shell, command: &mut Command) -> Generated {
    let name = command.get_name().to_owned();
    let file = match shell {
        Shell::Zsh => format!("completions/zsh/_{name}"),
        Shell::Fish => format!("completions/fish/{name}.fish"),
        _ => format!("completions/bash/{name}"),
    };
    let mut script = Vec::new();
    clap_complete::generate(shell, command, name, &mut script);
    (file.into(), script)
}

#[cfg(test)]
mod tests {
    #![allow(clippy::unwrap_used, clippy::expect_used, reason = "a test that cannot go on has failed")]

    use std::fs;

    use super::*;

    #[test]
    fn committed_pages_and_completions_are_what_the_command_lines_say() {
        let stale: Vec<_> = generated()
            .unwrap()
            .into_iter()
            .filter(|(file, content)| fs::read(packaging().join(file)).ok().as_ref() != Some(content))
            .map(|(file, _)| file)
            .collect();
        assert!(stale.is_empty(), "stale; run cargo run --package bcmr-manual: {stale:?}");
    }

    /// The variants of an exit table in a program's source, by their numbers.
    fn codes(source: &str) -> Vec<u8> {
        let table = source.split("enum Exit {").nth(1).and_then(|rest| rest.split("\n}").next()).unwrap();
        table
            .lines()
            .filter_map(|line| line.split(" = ").nth(1)?.trim_end_matches(',').parse().ok())
            .collect()
    }

    /// The numbers that a page explains under EXIT STATUS.
    fn explained(page: &str) -> Vec<u8> {
        let section =
            page.split(".SH \"EXIT STATUS\"").nth(1).and_then(|rest| rest.split(".SH ").next()).unwrap();
        section.lines().filter_map(|line| line.strip_prefix(".B ")?.parse().ok()).collect()
    }

    #[test]
    fn pages_explain_the_exit_codes_that_there_are_and_no_others() {
        let files: Vec<_> = generated().unwrap();
        let sources = [
            ("bcmr-serve.8", include_str!("../../../server/src/exit.rs")),
            ("bcmr.1", include_str!("../../../client/src/exit.rs")),
        ];
        for (page, source) in sources {
            let (_, text) = files.iter().find(|(file, _)| file.ends_with(page)).expect("no such page");
            let (codes, explained) = (codes(source), explained(std::str::from_utf8(text).unwrap()));
            assert!(codes.len() > 5, "{page}: {codes:?}");
            assert_eq!(codes, explained, "{page}");
        }
    }

    #[test]
    fn pages_hold_every_option_of_every_command() {
        for (mut command, page) in
            [(server::CommandLine::command(), pages::SERVER), (client::Cli::command(), pages::CLIENT)]
        {
            let text = String::from_utf8(pages::page(&mut command, &page).unwrap()).unwrap();
            let mut count = 0;
            for command in std::iter::once(&command).chain(command.get_subcommands()) {
                for long in command.get_arguments().filter_map(|arg| arg.get_long()) {
                    assert!(
                        text.contains(&format!("\\-\\-{}", long.replace('-', "\\-"))),
                        "{}: --{long}",
                        page.file
                    );
                    count += 1;
                }
            }
            assert!(count > 10, "{}", page.file);
        }
    }
}
