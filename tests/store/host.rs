//! A host of its own for the commands of operators: a policy at its place, accounts, a root and a place for state.

use std::fs;
use std::os::unix::fs::{MetadataExt, PermissionsExt};
use std::path::{Path, PathBuf};
use std::process::{Output, Stdio};

use bcmr_tests::content::noise;
use bcmr_tests::launch::{NOBODY, give};
use bcmr_tests::policy::{EVERY_VERB, NAME};
use bcmr_tests::{Launch, Policy, Server, Site};
use serde_json::Value;

use crate::scene::{greeted, part, upload};

/// A host. Its root is the account's; where state is kept is root's.
pub(crate) struct Host {
    pub(crate) site: Site,
    pub(crate) policy: Policy,
}

impl Host {
    /// One whose profile has these lines more.
    pub(crate) fn new(lines: &str) -> Self {
        // Where nobody but root may write anything on the way.
        let site = Site::within(Path::new("/run"));
        fs::set_permissions(site.base(), fs::Permissions::from_mode(0o755)).unwrap();
        give(&site.root());
        let policy = Policy::new(Self::text(&site, lines));
        Self { site, policy }
    }

    fn text(site: &Site, lines: &str) -> String {
        format!(
            "version = 1\n[profile.{NAME}]\naccounts = [\"nobody\"]\nroot = {:?}\nstate = {:?}\nverbs = {EVERY_VERB}\n\
             overwrite = true\n{lines}\n",
            site.root().to_str().unwrap(),
            site.base().join("var/state-%u").to_str().unwrap(),
        )
    }

    /// Sets other lines.
    pub(crate) fn profile(&self, lines: &str) {
        self.policy.write(Self::text(&self.site, lines));
    }

    /// Where the account's state is.
    pub(crate) fn state(&self) -> PathBuf {
        self.site.base().join("var/state-nobody")
    }

    /// Where its blocks are.
    pub(crate) fn blocks(&self) -> PathBuf {
        part(&self.state(), &self.site.root()).join("cas")
    }

    /// Runs a command of the server's as root.
    pub(crate) fn run(&self, words: &str) -> Output {
        self.run_after(words, ":")
    }

    /// The same after a line of shell.
    pub(crate) fn run_after(&self, words: &str, line: &str) -> Output {
        let line = format!(
            "mount -t tmpfs -o mode=755 none /etc && mkdir /etc/bcmr && cp {} /etc/bcmr/policy.toml && \
             echo root:x:0:0::/root: > /etc/passwd && \
             echo nobody:x:65534:65534::/nonexistent: >> /etc/passwd && \
             echo other:x:65533:65533::/nonexistent: >> /etc/passwd && {line}",
            self.policy.path().display(),
        );
        let launch = Launch::with_args(words.split_whitespace());
        let launch = launch.under(["unshare", "-m", "--propagation", "private"]).after_shell(&line);
        launch.command().stdin(Stdio::null()).output().unwrap()
    }

    /// What a command prints that succeeds.
    #[track_caller]
    pub(crate) fn prints(&self, words: &str) -> String {
        let output = self.run(words);
        assert_eq!(output.status.code(), Some(0), "{words}: {output:?}");
        String::from_utf8(output.stdout).unwrap()
    }

    /// The one element of the JSON that a command prints.
    #[track_caller]
    pub(crate) fn json(&self, words: &str) -> Value {
        let text = self.prints(words);
        let json: Value = serde_json::from_str(&text).unwrap_or_else(|e| panic!("{e}: {text}"));
        assert_eq!(json.as_array().map(Vec::len), Some(1), "{text}");
        json[0].clone()
    }

    /// A session of the account.
    #[track_caller]
    pub(crate) fn server(&self) -> Server {
        greeted(self.policy.launch().without_rights())
    }

    /// Uploads a file as the account; returns the indices of the blocks that had to come.
    #[track_caller]
    pub(crate) fn upload(&self, path: &str, len: usize, seed: u64) -> Vec<usize> {
        let mut server = self.server();
        let sent = upload(&mut server, path, &noise(len, seed));
        server.finish();
        sent
    }

    /// Checks that all of the state is the account's own and closed to others.
    #[track_caller]
    pub(crate) fn is_the_accounts(&self) {
        fn check(path: &Path) {
            let metadata = path.symlink_metadata().unwrap();
            assert_eq!((metadata.uid(), metadata.mode() & 0o077), (NOBODY, 0), "{}", path.display());
            if metadata.is_dir() {
                fs::read_dir(path).unwrap().for_each(|entry| check(&entry.unwrap().path()));
            }
        }
        check(&self.state());
    }
}
