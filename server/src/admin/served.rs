//! What the rules of this host come to for an account: the roots and state directories that a command is about.

use std::os::fd::OwnedFd;
use std::path::PathBuf;

use bcmr_policy::{Account, Fence, Profile, Rules};

use crate::boot::args::ServeArgs;
use crate::boot::environment::Environment;
use crate::boot::policy;
use crate::boot::root::{self, Home};
use crate::tree::Tree;

/// A root with the state that belongs to it.
pub(super) struct ServedRoot {
    pub(super) rules: Rules,
    pub(super) root: root::Root,
}

/// The rules of every profile that serves the account, and of personal mode where that is allowed.
///
/// # Errors
/// The operator's text.
pub(super) fn rules(account: &Account, environment: &Environment) -> Result<Vec<Rules>, String> {
    let policy = policy::of_the_host()?;
    let mut all: Vec<Rules> = policy
        .iter()
        .flat_map(|policy| policy.names().filter_map(|name| policy.rules(name, account).ok()))
        .collect();
    if policy.is_none_or(|policy| policy.personal) {
        let root: Option<PathBuf> = account.passwd.as_ref().map(|passwd| passwd.home.clone());
        if let Ok(rules) = policy::rules(ServeArgs { root, ..ServeArgs::default() }, account, environment) {
            all.push(rules);
        }
    }
    Ok(all)
}

/// The roots of those rules that can be opened and have a state directory.
pub(super) fn roots(account: &Account, environment: &Environment) -> Result<Vec<ServedRoot>, String> {
    let open = |rules: Rules| {
        let root = root::open(&rules, &Home::Unguarded).ok()?;
        root.state.is_some().then_some(ServedRoot { rules, root })
    };
    Ok(rules(account, environment)?.into_iter().filter_map(open).collect())
}

impl ServedRoot {
    /// The tree, for looking at what stands in it.
    pub(super) fn tree(&self) -> Option<Tree> {
        let dir: OwnedFd = self.root.dir.try_clone().ok()?;
        let profile = Profile { rules: self.rules.clone(), fence: Fence::jail_view() };
        Tree::new(dir, self.root.state.as_ref(), &profile).ok()
    }
}
