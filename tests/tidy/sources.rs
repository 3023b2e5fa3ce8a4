//! What sources are like.

use crate::{SHIPPED, none, sources};

/// Lines of a file in which one topic is still at home; tests of one topic are longer than what they test.
const LINES: usize = 420;
const TEST_LINES: usize = 620;

#[test]
fn files_are_small() {
    let mut places = Vec::new();
    for (dir, most) in
        SHIPPED.map(|dir| (dir, LINES)).into_iter().chain([("packaging", LINES), ("tests", TEST_LINES)])
    {
        for (path, text) in sources(dir) {
            let lines = text.lines().count();
            if lines > most {
                places.push(format!("{}: {lines} lines", path.display()));
            }
        }
    }
    none("files that want to be two", &places);
}

#[test]
fn the_server_names_paths_of_the_host_only_while_it_boots() {
    let places: Vec<_> = sources("server")
        .into_iter()
        .filter(|(path, _)| !path.starts_with("server/src/boot") && !path.starts_with("server/src/admin"))
        .flat_map(|(path, text)| {
            let ambient = |line: &str| {
                let line = line.replace("cap_std::fs", "").replace("std::fs::File::from(", "");
                ["std::fs", "CWD", "canonicalize", "std::env"].iter().any(|word| line.contains(word))
            };
            let path = path.display().to_string();
            let lines: Vec<_> =
                text.lines().filter(|line| ambient(line)).map(|l| format!("{path}: {l}")).collect();
            lines
        })
        .collect();
    none("ambient paths or environment in the server outside boot", &places);
}

#[test]
fn nothing_is_left_undone_in_silence() {
    let words = ["todo!", "unimplemented!", "FIXME", "XXX", "HACK", "dbg!"];
    let places: Vec<_> = SHIPPED
        .into_iter()
        .flat_map(sources)
        .filter(|(_, text)| words.iter().any(|word| text.contains(word)))
        .map(|(path, _)| path.display().to_string())
        .collect();
    none("unfinished places", &places);
}
