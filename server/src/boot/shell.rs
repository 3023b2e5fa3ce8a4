//! Being the login shell of an account, which is ForceCommand's companion: sshd starts the forced command through
//! the login shell, and this one runs no start-up file before it.
//!
//! By itself it is no jail: without ForceCommand what comes after `-c` is the client's own text. So it takes one
//! text, byte for byte the forced command of a profile that names the account, and nothing else.

use std::ffi::{OsStr, OsString};
use std::path::Path;

use super::args::{ServeArgs, is_plain};

/// What the words of a command line, the program's name first, ask of a shell; None where it was not called as
/// one. The error is for the operator.
pub(crate) fn asked(words: &[OsString], own_path: Option<&Path>) -> Option<Result<ServeArgs, String>> {
    let (name, rest) = words.split_first()?;
    match rest {
        [dash_c, text] if dash_c == "-c" => Some(forced(text, own_path)),
        [dash_c, ..] if dash_c == "-c" => Some(Err("called as a shell with more than one text".to_owned())),
        _ if name.as_encoded_bytes().first() == Some(&b'-') => {
            Some(Err("called as a login shell without a command".to_owned()))
        }
        _ => None,
    }
}

/// `OWN_PATH --profile NAME`, or that and ` --label LABEL`.
fn forced(text: &OsStr, own_path: Option<&Path>) -> Result<ServeArgs, String> {
    let refused = || format!("called as a shell for another command: {}", text.display());
    let own = own_path.and_then(Path::to_str).ok_or("/proc does not tell where this program is")?;
    let arguments = text.to_str().and_then(|text| text.strip_prefix(own)?.strip_prefix(" --profile "));
    let arguments = arguments.ok_or_else(refused)?;
    let (profile, label) = match arguments.split_once(" --label ") {
        Some((profile, label)) => (profile, Some(label)),
        None => (arguments, None),
    };
    if !is_plain(profile) || !label.is_none_or(is_plain) {
        return Err(refused());
    }
    let owned = |word: &str| Some(word.to_owned());
    Ok(ServeArgs { profile: owned(profile), label: label.and_then(owned), ..ServeArgs::default() })
}

#[cfg(test)]
mod tests {
    use super::*;

    const OWN: &str = "/usr/bin/bcmr-serve";

    fn ask(words: &[&str]) -> Option<Result<(String, Option<String>), String>> {
        let words: Vec<OsString> = words.iter().map(OsString::from).collect();
        let asked = asked(&words, Some(Path::new(OWN)))?;
        Some(asked.map(|args| {
            assert!(args.policy.is_none() && args.root.is_none());
            (args.profile.unwrap(), args.label)
        }))
    }

    #[test]
    fn the_forced_command_of_a_profile_is_taken_byte_for_byte() {
        let text = format!("{OWN} --profile upload");
        for name in ["bcmr-serve", "-bcmr-serve"] {
            assert_eq!(ask(&[name, "-c", &text]), Some(Ok(("upload".to_owned(), None))));
        }
        let text = format!("{OWN} --profile up.load_2 --label ci-1");
        let expected = ("up.load_2".to_owned(), Some("ci-1".to_owned()));
        assert_eq!(ask(&["bcmr-serve", "-c", &text]), Some(Ok(expected)));
    }

    #[test]
    fn every_other_text_is_refused() {
        let long = "a".repeat(65);
        let tails = [
            "",
            " ",
            "  --profile upload",
            " --profile",
            " --profile ",
            " --profile  upload",
            " --profile=upload",
            " --profile upload ",
            " --profile upload\n",
            " --profile 'upload'",
            " --profile up/load",
            " --profile upload --label",
            " --profile upload --label ",
            " --profile upload --label a b",
            " --profile upload --policy /tmp/p.toml",
            " --profile upload --root /",
            " --label a --profile upload",
            " --profile upload --label a --label b",
            " --profile upload;id",
            " --profile upload --label ü",
            " serve --profile upload",
            " serve",
            " check",
        ];
        for tail in tails {
            assert!(matches!(ask(&["bcmr-serve", "-c", &format!("{OWN}{tail}")]), Some(Err(_))), "{tail:?}");
        }
        assert!(matches!(ask(&["x", "-c", &format!("{OWN} --profile {long}")]), Some(Err(_))));
        for text in [
            "id",
            "",
            "bcmr-serve --profile upload",
            "/usr/sbin/bcmr-serve --profile upload",
            " /usr/bin/bcmr-serve --profile upload",
        ] {
            assert!(matches!(ask(&["bcmr-serve", "-c", text]), Some(Err(_))), "{text:?}");
        }
    }

    #[test]
    fn no_command_and_more_than_one_are_refused_and_a_plain_call_is_none_of_a_shells() {
        assert!(matches!(ask(&["-bcmr-serve"]), Some(Err(_))));
        assert!(matches!(ask(&["-bcmr-serve", "--profile", "upload"]), Some(Err(_))));
        assert!(matches!(ask(&["bcmr-serve", "-c"]), Some(Err(_))));
        let text = format!("{OWN} --profile upload");
        assert!(matches!(ask(&["bcmr-serve", "-c", &text, "x"]), Some(Err(_))));
        assert_eq!(ask(&["bcmr-serve", "--profile", "upload"]), None);
        assert_eq!(ask(&["bcmr-serve"]), None);
    }

    #[test]
    fn without_knowing_its_own_path_it_takes_nothing() {
        let words = ["bcmr-serve".into(), "-c".into(), format!("{OWN} --profile upload").into()];
        assert!(matches!(asked(&words, None), Some(Err(_))));
    }
}
