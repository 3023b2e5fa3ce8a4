//! SSH_ORIGINAL_COMMAND under a profile: what the client wanted sshd to run. Nothing of it is executed.

use std::ffi::OsStr;

/// What is made of it.
#[derive(Clone, PartialEq, Eq, Debug)]
pub(crate) enum Original {
    /// Protocol 2; the arguments, a root among them, are none of the client's business.
    Serve,
    /// A question.
    Probe(Probe),
    /// Anything else: scp, sftp, a shell.
    Other,
}

/// A question that the public client 0.7.2 asks of a shell before a plain upload.
#[derive(Clone, PartialEq, Eq, Debug)]
pub(crate) enum Probe {
    /// Whether commands are executed at all.
    Exec,
    /// Whether there is a shell.
    Echo,
    /// Where relative paths begin.
    Home,
    /// Whether this is a directory.
    Directory(String),
}

impl Original {
    pub(crate) fn parse(text: Option<&OsStr>) -> Self {
        let Some(text) = text else { return Self::Serve };
        let Some(text) = text.to_str() else { return Self::Other };
        let serves = ["bcmr serve", "bcmr-serve"].iter().any(|command| {
            text.strip_prefix(command).is_some_and(|rest| rest.is_empty() || rest.starts_with(' '))
        });
        if serves {
            return Self::Serve;
        }
        match text {
            "printf BCMR_EXEC_AVAILABLE" => Self::Probe(Probe::Exec),
            "echo ok" => Self::Probe(Probe::Echo),
            r#"printf '%s' "$HOME""# => Self::Probe(Probe::Home),
            _ => match text.strip_prefix("test -d ").and_then(unquoted) {
                Some(path) => Self::Probe(Probe::Directory(path)),
                None => Self::Other,
            },
        }
    }
}

/// The text of one word in single quotes, in which `'\''` stands for a quote.
fn unquoted(word: &str) -> Option<String> {
    let inside = word.strip_prefix('\'')?.strip_suffix('\'')?;
    let parts: Vec<&str> = inside.split(r"'\''").collect();
    if parts.iter().any(|part| part.contains('\'')) { None } else { Some(parts.join("'")) }
}

#[cfg(test)]
mod tests {
    use super::*;

    fn parse(text: &str) -> Original {
        Original::parse(Some(OsStr::new(text)))
    }

    #[test]
    fn the_server_under_either_name_is_protocol_2_whatever_its_arguments() {
        assert_eq!(Original::parse(None), Original::Serve);
        for text in
            ["bcmr serve", "bcmr serve --root /", "bcmr-serve", "bcmr-serve --root / --profile other;id"]
        {
            assert_eq!(parse(text), Original::Serve, "{text}");
        }
        for text in [
            "",
            "bcmr",
            "bcmr serves",
            "bcmr-server",
            " bcmr serve",
            "bcmr  serve",
            "/usr/bin/bcmr serve",
            "bcmr serve\n",
        ] {
            assert_eq!(parse(text), Original::Other, "{text:?}");
        }
    }

    #[test]
    fn the_public_clients_probes_are_known_in_exactly_their_forms() {
        assert_eq!(parse("printf BCMR_EXEC_AVAILABLE"), Original::Probe(Probe::Exec));
        assert_eq!(parse("echo ok"), Original::Probe(Probe::Echo));
        assert_eq!(parse(r#"printf '%s' "$HOME""#), Original::Probe(Probe::Home));
        let directory = |path: &str| Original::Probe(Probe::Directory(path.to_owned()));
        assert_eq!(parse("test -d './x y'"), directory("./x y"));
        assert_eq!(parse(r"test -d './it'\''s'"), directory("./it's"));
        assert_eq!(parse("test -d '$(id)'"), directory("$(id)"));
        for text in [
            "printf BCMR_EXEC_AVAILABLE ",
            "printf  BCMR_EXEC_AVAILABLE",
            "echo ok;id",
            "echo ok\n",
            "echo  ok",
            r#"printf '%s' "$PATH""#,
            "test -d ./x",
            "test -d './x' ",
            "test -d './x'; id",
            "test -d './x''",
            "test -d '",
            "test -d 'a' 'b'",
            r"test -d 'a'\'b'",
            "test -e './x'",
            "test -d \"./x\"",
            "test  -d './x'",
            "scp -t .",
            "/usr/lib/openssh/sftp-server",
            "internal-sftp",
            "id",
            "sh -c 'echo ok'",
        ] {
            assert_eq!(parse(text), Original::Other, "{text}");
        }
    }

    #[test]
    fn what_is_not_utf_8_is_nothing_that_is_known() {
        use std::os::unix::ffi::OsStrExt;
        assert_eq!(Original::parse(Some(OsStr::from_bytes(b"test -d '\xff'"))), Original::Other);
    }
}
