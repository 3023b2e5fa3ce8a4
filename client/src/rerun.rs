//! What to type in order to go on where a command has stopped.

use std::ffi::OsString;

/// What is to be said of that.
pub(crate) fn then() -> String {
    format!(
        "what was reported as copied is whole: \"{}\" leaves it and copies the rest",
        command(std::env::args_os())
    )
}

/// The command line, with -C.
fn command(args: impl Iterator<Item = OsString>) -> String {
    let mut words: Vec<String> = args.map(|arg| arg.to_string_lossy().into_owned()).collect();
    if let Some(program) = words.first_mut() {
        "bcmr".clone_into(program);
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
        command(words.iter().map(Into::into))
    }

    #[test]
    fn the_command_that_goes_on_can_be_typed() {
        assert_eq!(typed(&["/opt/bin/bcmr", "copy", "a b", "h:"]), "bcmr copy -C 'a b' h:");
        assert_eq!(
            typed(&["bcmr", "--ssh-port", "22", "copy", "-C", "a", "h:"]),
            "bcmr --ssh-port 22 copy -C a h:"
        );
        assert_eq!(typed(&["bcmr", "copy", "--resume", "a", "h:"]), "bcmr copy --resume a h:");
    }
}
