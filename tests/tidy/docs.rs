//! What the documents promise.

use std::os::unix::fs::PermissionsExt;
use std::process::Command;

use crate::{none, read, sources, top};

#[test]
fn the_readme_begins_with_exactly_two_commands_that_are_programs_here() {
    let readme = read("README.md");
    let block = readme.split("```").nth(1).expect("README has a block of commands");
    let commands: Vec<_> = block.lines().skip(1).filter(|line| !line.trim().is_empty()).collect();
    let programs: Vec<_> = commands.iter().map(|line| line.split_whitespace().next().unwrap()).collect();
    assert_eq!(programs, ["./demo", "tests/run"]);
    for program in programs.into_iter().chain([".ci/run"]) {
        let mode = std::fs::metadata(top().join(program)).unwrap().permissions().mode();
        assert_eq!(mode & 0o111, 0o111, "{program} is not executable");
    }
}

#[test]
fn files_that_documents_link_to_exist() {
    let mut places = Vec::new();
    for document in ["README.md", "SECURITY.md", "CHANGELOG.md"] {
        for link in read(document).split("](").skip(1).filter_map(|rest| rest.split(')').next()) {
            let file = link.split('#').next().unwrap_or_default();
            if !file.is_empty() && !file.contains("://") && !top().join(file).exists() {
                places.push(format!("{document}: {link}"));
            }
        }
    }
    none("links that lead nowhere", &places);
}

/// A claim whose test is gone is a promise that nothing keeps.
#[test]
fn tests_that_security_md_names_exist() {
    let functions: Vec<_> = sources("tests")
        .into_iter()
        .flat_map(|(_, text)| {
            let name = |line: &str| line.trim().strip_prefix("fn ")?.split('(').next().map(str::to_owned);
            text.lines().filter_map(name).collect::<Vec<_>>()
        })
        .collect();
    let text = read("SECURITY.md");
    let quoted: Vec<_> = text.split('`').skip(1).step_by(2).collect();
    // A test's name is a sentence: words of this shape are no modules and no paths.
    let sentence = |word: &&str| word.matches('_').count() >= 2 && !word.contains(['/', '=', ' ', '.', '…']);
    let named: Vec<_> = quoted.iter().copied().filter(sentence).collect();
    assert!(named.len() > 40, "{named:?}");
    let gone: Vec<_> =
        named.into_iter().filter(|name| !functions.iter().any(|f| f == name)).map(str::to_owned).collect();
    none("tests that SECURITY.md names and that do not exist", &gone);
    // "…" stands for the beginning of the name before it.
    for end in quoted.iter().filter_map(|word| word.strip_prefix('…')) {
        assert!(functions.iter().any(|f| f.ends_with(end)), "no test ends in {end}");
    }
}

#[test]
fn options_in_the_readme_are_options_of_the_programs() {
    let help = |program: std::path::PathBuf, args: &[&str]| {
        let output = Command::new(program).args(args).output().unwrap();
        String::from_utf8(output.stdout).unwrap()
    };
    // Every subcommand's own options, as the programs list their subcommands.
    let known: String = [bcmr_tests::binaries::client(), bcmr_tests::binaries::server()]
        .into_iter()
        .flat_map(|program| {
            let top = help(program.clone(), &["--help"]);
            let commands =
                top.split("Commands:").nth(1).and_then(|rest| rest.split("\n\n").next()).unwrap_or("");
            let names: Vec<_> = commands
                .lines()
                .filter_map(|line| line.split_whitespace().next())
                .map(str::to_owned)
                .collect();
            assert!(!names.is_empty(), "{top}");
            let subs = names.into_iter().map(move |name| help(program.clone(), &[&name, "--help"]));
            std::iter::once(top).chain(subs)
        })
        .collect();
    let readme = read("README.md");
    let mut places = Vec::new();
    for block in readme.split("```sh").skip(1).filter_map(|rest| rest.split("```").next()) {
        for line in block.lines().filter(|line| line.starts_with("bcmr")) {
            for option in line.split_whitespace().filter(|word| word.starts_with("--")) {
                let name = option.split('=').next().unwrap_or(option);
                if !known.contains(name) {
                    places.push(format!("{line}: {name}"));
                }
            }
        }
    }
    none("options that no program has", &places);
}

#[test]
fn the_repository_speaks_of_the_product_alone() {
    let listed = Command::new("git").args(["ls-files", "-z"]).current_dir(top()).output();
    let Some(listed) = listed.ok().filter(|output| output.status.success()) else {
        // A source archive has no history to ask.
        return;
    };
    let words = [
        concat!("../", "shared"),
        concat!(" /ro", "ot/"),
        concat!("\"/ro", "ot/"),
        concat!("/wo", "rk/main"),
    ];
    let mut places = Vec::new();
    for file in String::from_utf8(listed.stdout).unwrap().split('\0').filter(|file| !file.is_empty()) {
        let Ok(text) = std::fs::read_to_string(top().join(file)) else { continue };
        places
            .extend(words.iter().filter(|word| text.contains(**word)).map(|word| format!("{file}: {word}")));
    }
    none("paths of one machine", &places);
}
