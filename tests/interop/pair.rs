//! A client and a server that may not be of one make, and a directory on each side.

use std::fs;
use std::path::{Path, PathBuf};
use std::process::Command;

use bcmr_tests::client::Ran;
use bcmr_tests::sshd::HOST;
use bcmr_tests::{Client, Sshd};
use tempfile::TempDir;

/// Which two.
#[derive(Clone, Copy, PartialEq, Eq, Debug)]
pub(crate) enum Makes {
    OursToPublic,
    PublicToOurs,
    OursToOurs,
}

/// The two, ready to copy.
pub(crate) struct Pair {
    pub(crate) makes: Makes,
    pub(crate) sshd: Sshd,
    local: TempDir,
}

impl Pair {
    pub(crate) fn new(makes: Makes) -> Self {
        let sshd = match makes {
            Makes::OursToPublic => Sshd::public(),
            Makes::PublicToOurs => Sshd::ours_as_public(),
            Makes::OursToOurs => Sshd::ours(),
        };
        Self { makes, sshd, local: TempDir::new().unwrap() }
    }

    /// A path on this side.
    pub(crate) fn local(&self, path: &str) -> PathBuf {
        self.local.path().join(path)
    }

    /// A path on the other side.
    pub(crate) fn home(&self, path: &str) -> PathBuf {
        self.sshd.home().join(path)
    }

    /// Writes a file on this side.
    pub(crate) fn here(&self, path: &str, content: impl AsRef<[u8]>) {
        write(&self.local(path), content);
    }

    /// Writes a file on the other side.
    pub(crate) fn there(&self, path: &str, content: impl AsRef<[u8]>) {
        write(&self.home(path), content);
    }

    /// Runs `bcmr copy` in the directory on this side; `@` in front of an argument stands for the other side.
    #[track_caller]
    pub(crate) fn copy(&self, args: &str) -> Ran {
        self.copy_args(args.split_whitespace())
    }

    /// The same with arguments that may hold spaces.
    #[track_caller]
    pub(crate) fn copy_args<'a>(&self, args: impl IntoIterator<Item = &'a str>) -> Ran {
        let client = match self.makes {
            Makes::PublicToOurs => Client::public(),
            _ => Client::ours(),
        };
        let args = args.into_iter().map(|arg| match arg.strip_prefix('@') {
            Some(path) => format!("{HOST}:{path}"),
            None => arg.to_owned(),
        });
        let ran = client.over(&self.sshd).within(self.local.path()).copy(args);
        // Where it cannot use the server the public client does without, and all would go well.
        ran.keeps_quiet_about("falling back");
        ran
    }

    /// Checks that two trees hold the same directories and, by sha256sum, the same files.
    #[track_caller]
    pub(crate) fn same(&self, local: &str, home: &str) {
        assert_eq!(sums(&self.local(local)), sums(&self.home(home)), "{local} here and {home} there differ");
    }
}

fn write(path: &Path, content: impl AsRef<[u8]>) {
    fs::create_dir_all(path.parent().unwrap()).unwrap();
    fs::write(path, content).unwrap();
}

/// A tree in lines: its directories, and the SHA-256 of each file, or of the one file that it is.
#[track_caller]
pub(crate) fn sums(tree: &Path) -> String {
    let script = r#"
        if [ -d "$1" ]; then cd "$1" && find . -type d | sort && find . -type f -print0 | sort -z | xargs -0r sha256sum
        else sha256sum < "$1"; fi"#;
    let output =
        Command::new("sh").args(["-ec", script, "sums"]).arg(tree).env("LC_ALL", "C").output().unwrap();
    assert!(output.status.success(), "{}: {}", tree.display(), String::from_utf8_lossy(&output.stderr));
    String::from_utf8(output.stdout).unwrap()
}
