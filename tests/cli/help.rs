//! What help says, and what shells complete: kept in files, so that a change to either is seen and meant.

use std::fs;
use std::path::{Path, PathBuf};
use std::process::Command;

use bcmr_tests::Client;

/// Writes the files instead of comparing with them.
const BLESS: &str = "BCMR_BLESS";

fn top() -> PathBuf {
    Path::new(env!("CARGO_MANIFEST_DIR")).parent().unwrap().to_owned()
}

/// What a command prints, where a terminal would have 80 columns.
#[track_caller]
fn printed(args: &[&str]) -> String {
    let ran = Client::ours().env("COLUMNS", "80").args(args).run();
    ran.succeeds();
    assert!(ran.err.is_empty(), "{}", ran.said());
    ran.printed()
}

/// The commands that help lists.
fn commands() -> Vec<String> {
    let help = printed(&["--help"]);
    let below = help.lines().skip_while(|line| *line != "Commands:").skip(1);
    let listed = below.take_while(|line| !line.is_empty()).filter(|line| !line.starts_with("   "));
    listed.filter_map(|line| Some(line.split_whitespace().next()?.to_owned())).collect()
}

#[test]
fn help_of_the_program_and_of_every_command_is_what_is_kept() {
    let commands = commands();
    assert!(commands.len() > 10 && commands.contains(&"copy".to_owned()), "{commands:?}");
    let mut names: Vec<(&str, Vec<&str>)> = vec![("bcmr", vec!["--help"])];
    // What follows serve goes to the server.
    names.extend(commands.iter().filter(|name| *name != "serve").map(|name| (&**name, vec!["help", name])));
    let dir = top().join("tests/data/help");
    let mut differ = Vec::new();
    for (name, args) in &names {
        let (file, now) = (dir.join(format!("{name}.txt")), printed(args));
        if std::env::var_os(BLESS).is_some() {
            fs::create_dir_all(&dir).unwrap();
            fs::write(file, now).unwrap();
        } else if fs::read_to_string(file).ok().as_ref() != Some(&now) {
            differ.push(format!("{name}:\n{now}"));
        }
    }
    assert!(
        differ.is_empty(),
        "help is not what tests/data/help has of it; {BLESS}=1 cargo test -p bcmr-tests --test cli help:: writes the \
         files anew:\n{}",
        differ.join("\n")
    );
    let mut kept: Vec<_> =
        fs::read_dir(&dir).unwrap().map(|e| e.unwrap().file_name().into_string().unwrap()).collect();
    let mut expected: Vec<_> = names.iter().map(|(name, _)| format!("{name}.txt")).collect();
    kept.sort();
    expected.sort();
    assert_eq!(kept, expected, "files of commands that are not there");
}

#[test]
fn help_is_the_same_by_every_way_of_asking() {
    for name in commands().iter().filter(|name| !["serve", "help"].contains(&name.as_str())) {
        assert_eq!(printed(&[name, "--help"]), printed(&["help", name]), "{name}");
    }
    assert_eq!(printed(&["--help"]), printed(&["help"]));
    let commands = commands();
    assert!(!commands.iter().any(|name| ["move", "remove"].contains(&name.as_str())), "{commands:?}");
}

/// The shell reads a script and runs nothing of it.
fn accepts(shell: &str, script: &str) {
    let dir = tempfile::tempdir().unwrap();
    let file = dir.path().join("script");
    fs::write(&file, script).unwrap();
    match Command::new(shell).arg("-n").arg(file).output() {
        Err(e) if e.kind() == std::io::ErrorKind::NotFound => eprintln!("not run: {shell} is not installed"),
        Err(e) => panic!("{shell}: {e}"),
        Ok(checked) => {
            let said = String::from_utf8_lossy(&checked.stderr);
            assert!(checked.status.success() && said.is_empty(), "{shell}: {said}");
        }
    }
}

#[test]
fn completions_are_those_that_packages_bring_and_shells_read_them() {
    for (shell, file) in [("bash", "bash/bcmr"), ("zsh", "zsh/_bcmr"), ("fish", "fish/bcmr.fish")] {
        let script = printed(&["completions", shell]);
        let packaged = fs::read_to_string(top().join("packaging/completions").join(file)).unwrap();
        assert!(script == packaged, "{file} is stale; cargo run --package bcmr-manual writes it anew");
        assert!(script.contains("bandwidth-limit") && script.contains("doctor"), "{shell}");
        accepts(shell, &script);
    }
}

#[test]
fn bash_completes_commands_and_options() {
    let script = printed(&["completions", "bash"]);
    let complete = |words: &str| {
        let line = format!(
            "{script}\nCOMP_WORDS=({words}); COMP_CWORD=$((${{#COMP_WORDS[@]}} - 1)); \
             _bcmr bcmr \"${{COMP_WORDS[COMP_CWORD]}}\" \"${{COMP_WORDS[COMP_CWORD - 1]}}\"; echo \"${{COMPREPLY[@]}}\""
        );
        let output =
            Command::new("bash").args(["--norc", "-c", &line]).output().expect("bash is not installed");
        String::from_utf8(output.stdout).unwrap().trim().to_owned()
    };
    assert_eq!(complete("bcmr doc"), "doctor");
    assert_eq!(complete("bcmr copy --bandw"), "--bandwidth-limit");
    assert_eq!(complete("bcmr copy --progress pl"), "plain");
    assert_eq!(complete("bcmr zzz"), "");
}
