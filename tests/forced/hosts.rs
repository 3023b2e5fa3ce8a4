//! The ways in which sshd may be told to start the server, and a host for each.

use bcmr_tests::host::{ACCOUNT, INSTALLED, Setup};
use bcmr_tests::policy::{NAME, Profile};
use bcmr_tests::{Host, Site};

/// How sshd comes to start the server.
#[derive(Clone, Copy, PartialEq, Eq, Debug)]
pub(crate) enum Way {
    /// Match and ForceCommand, and the server as the login shell through which sshd starts that: what
    /// docs/policy.md tells operators to do.
    ForcedThroughTheServer,
    /// The same, with a shell as login shell.
    ForcedThroughAShell,
    /// `restrict,command="…"` before the key, with the server as login shell.
    KeyThroughTheServer,
    /// The same, with a shell.
    KeyThroughAShell,
}

pub(crate) const WAYS: [Way; 4] =
    [Way::ForcedThroughTheServer, Way::ForcedThroughAShell, Way::KeyThroughTheServer, Way::KeyThroughAShell];

/// A shell that reads `.bashrc` where sshd starts it.
pub(crate) const SHELL: &str = "/bin/bash";

/// The label of the forced command.
pub(crate) const LABEL: &str = "runner-1";

impl Way {
    pub(crate) fn has_a_shell(self) -> bool {
        matches!(self, Self::ForcedThroughAShell | Self::KeyThroughAShell)
    }

    /// A host that is set up so, whose account may use the profile [`NAME`] and no other.
    pub(crate) fn setup(self, site: &Site) -> Setup {
        let setup = Setup::new(policy(site));
        let setup = if self.has_a_shell() { setup.shell(SHELL) } else { setup };
        match self {
            Self::ForcedThroughTheServer | Self::ForcedThroughAShell => setup
                .matched(format!("ForceCommand {}", forced()))
                .matched("DisableForwarding yes")
                .matched("PermitTTY no"),
            Self::KeyThroughTheServer | Self::KeyThroughAShell => {
                setup.key(&format!("restrict,command=\"{}\"", forced()))
            }
        }
    }

    pub(crate) fn start(self, site: &Site) -> Host {
        self.setup(site).start(site)
    }
}

/// The forced command.
pub(crate) fn forced() -> String {
    format!("{INSTALLED} --profile {NAME} --label {LABEL}")
}

/// A profile for the account, of the site's root, which is its home; and one for somebody else, of what is outside.
pub(crate) fn policy(site: &Site) -> String {
    let own = Profile::new(site).key("accounts", format!("[{ACCOUNT:?}]")).key("allow_root", false).text();
    format!(
        "{own}\n[profile.other]\naccounts = [\"root\"]\nverbs = [\"get\", \"put\"]\nroot = {:?}\n",
        site.outside().to_str().unwrap()
    )
}

/// A site with something to be had inside and something outside.
pub(crate) fn site() -> Site {
    let site = Site::new();
    site.file("f", "inside");
    site.outside_file("secret", "outside");
    site
}

/// A host on which nothing is forced.
pub(crate) fn plain(site: &Site, shell: &str) -> Setup {
    Setup::new(policy(site)).shell(shell)
}
