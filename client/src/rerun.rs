//! What to type in order to go on where a command has stopped.

use std::ffi::OsString;
use std::sync::OnceLock;
use std::sync::atomic::{AtomicBool, Ordering};

/// Whether the command copies.
static COPIES: AtomicBool = AtomicBool::new(false);

/// The source, as it was typed, whose contents go into the destination: that is there by now, and the source would be
/// put into it under its own name.
static CONTENTS: OnceLock<String> = OnceLock::new();

/// Takes note that a directory got the destination's name.
pub(crate) fn is_renamed(source: &str) {
    let _ = CONTENTS.set(source.to_owned());
}

/// Takes note that the command copies.
pub(crate) fn copies() {
    COPIES.store(true, Ordering::Relaxed);
}

/// What is to be said of that.
pub(crate) fn then() -> String {
    if !COPIES.load(Ordering::Relaxed) {
        return "the same command may be tried again".to_owned();
    }
    format!(
        "what was reported as copied is whole: \"{}\" leaves it and copies the rest",
        command(std::env::args_os(), CONTENTS.get().map(String::as_str))
    )
}

/// The command line, with -C, and with the contents of `contents` instead of itself.
fn command(args: impl Iterator<Item = OsString>, contents: Option<&str>) -> String {
    let mut words: Vec<String> = args.map(|arg| arg.to_string_lossy().into_owned()).collect();
    if let Some(program) = words.first_mut() {
        "bcmr".clone_into(program);
    }
    let source = contents.and_then(|contents| words.iter().rposition(|word| word == contents));
    if let Some(source) = source {
        words[source] = format!("{}/.", words[source].trim_end_matches('/'));
    }
    let resumes = words.iter().any(|word| word == "-C" || word == "--resume");
    if let (Some(copy), false) = (words.iter().position(|word| word == "copy"), resumes) {
        words.insert(copy + 1, "-C".to_owned());
    }
    // No argument has a NUL in it, which is all that cannot be quoted.
    shlex::try_join(words.iter().map(String::as_str)).unwrap_or_default()
}

#[cfg(test)]
mod tests {
    use super::command;

    fn typed(words: &[&str]) -> String {
        command(words.iter().map(Into::into), None)
    }

    #[test]
    fn the_command_that_goes_on_can_be_typed() {
        assert_eq!(typed(&["/opt/bin/bcmr", "copy", "a b", "h:"]), "bcmr copy -C 'a b' h:");
        assert_eq!(
            typed(&["bcmr", "--ssh-port", "22", "copy", "-C", "a", "h:"]),
            "bcmr --ssh-port 22 copy -C a h:"
        );
        let tree = ["bcmr", "copy", "-r", "d", "h:k"];
        assert_eq!(command(tree.iter().map(Into::into), Some("d")), "bcmr copy -C -r d/. h:k");
        assert_eq!(typed(&["bcmr", "copy", "--resume", "a", "h:"]), "bcmr copy --resume a h:");
    }
}
