//! What the rules of this host come to for an account: the roots and state directories that a command is about.

use std::os::fd::OwnedFd;

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

/// The rules of every profile that serves the account, and of personal mode where that is allowed. Of an account that
/// was named the environment tells nothing: it is that of whoever asks.
///
/// # Errors
/// The operator's text.
fn rules(account: &Account, named: bool, environment: &Environment) -> Result<Vec<Rules>, String> {
    let policy = policy::of_the_host()?;
    let mut all: Vec<Rules> = policy
        .iter()
        .flat_map(|policy| policy.names().filter_map(|name| policy.rules(name, account).ok()))
        .collect();
    if policy.is_none_or(|policy| policy.personal) {
        let home = account.passwd.as_ref().map(|passwd| passwd.home.clone());
        let at_home = named.then(|| Environment::at(home));
        let environment = at_home.as_ref().unwrap_or(environment);
        if let Ok(rules) = policy::rules(ServeArgs::default(), account, environment) {
            all.push(rules);
        }
    }
    Ok(all)
}

/// The roots of those rules that can be opened and have a state directory.
///
/// # Errors
/// The operator's text.
pub(super) fn roots(
    account: &Account,
    named: bool,
    environment: &Environment,
) -> Result<Vec<ServedRoot>, String> {
    let open = |rules: Rules| {
        let root = root::open(&rules, &Home::Unguarded).ok()?;
        root.state.is_some().then_some(ServedRoot { rules, root })
    };
    Ok(rules(account, named, environment)?.into_iter().filter_map(open).collect())
}

impl ServedRoot {
    /// The tree, for looking at what stands in it.
    pub(super) fn tree(&self) -> Option<Tree> {
        let dir: OwnedFd = self.root.dir.try_clone().ok()?;
        let profile = Profile { rules: self.rules.clone(), fence: Fence::jail_view() };
        Tree::new(dir, self.root.state.as_ref(), &profile).ok()
    }
}
