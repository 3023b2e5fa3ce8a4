//! What the rules of this host come to for an account: the roots and state directories that a command is about.

use std::os::fd::{AsFd, OwnedFd};

use bcmr_policy::{Account, Fence, Profile, Rules};

use super::identity;
use crate::boot::args::ServeArgs;
use crate::boot::denial::Denial;
use crate::boot::environment::Environment;
use crate::boot::policy;
use crate::boot::root::{self, Home};
use crate::exit::{Exit, say};
use crate::state::State;
use crate::tree::Tree;

/// A root with the state that belongs to it.
pub(super) struct ServedRoot {
    pub(super) rules: Rules,
    pub(super) root: root::Root,
}

/// The rules of personal mode for the account. Of one that was named the environment tells nothing: it is that of
/// whoever asks.
pub(super) fn personal(account: &Account, named: bool, environment: &Environment) -> Result<Rules, Denial> {
    let home = account.passwd.as_ref().map(|passwd| passwd.home.clone());
    let at_home = named.then(|| Environment::at(home));
    policy::rules(ServeArgs::default(), account, at_home.as_ref().unwrap_or(environment))
}

/// The rules of every profile that serves the account, and of personal mode where that is allowed.
fn rules(account: &Account, named: bool, environment: &Environment) -> Result<Vec<Rules>, String> {
    let policy = policy::of_the_host()?;
    let mut all: Vec<Rules> = policy
        .iter()
        .flat_map(|policy| policy.names().filter_map(|name| policy.rules(name, account).ok()))
        .collect();
    if policy.is_none_or(|policy| policy.personal) {
        all.extend(personal(account, named, environment));
    }
    Ok(all)
}

/// Acts as the account from here on, and opens the roots that it is served and that have a state directory.
///
/// # Errors
/// How the command ends; it has been said why.
pub(super) fn roots(name: Option<&str>, environment: &Environment) -> Result<Vec<ServedRoot>, Exit> {
    let account = identity::assume(name, environment)?;
    let rules = rules(&account, name.is_some(), environment).map_err(|why| {
        say(&why);
        Exit::Refused
    })?;
    let open = |rules: Rules| {
        let root = root::open(&rules, &Home::Unguarded).ok()?;
        root.state.is_some().then_some(ServedRoot { rules, root })
    };
    Ok(rules.into_iter().filter_map(open).collect())
}

impl ServedRoot {
    /// What is kept for the root.
    pub(super) fn state(&self) -> Result<State, String> {
        let top = self.root.state.as_ref().ok_or("there is no state directory")?;
        State::open(top.as_fd(), &self.root.stat).map_err(|e| e.to_string())
    }

    /// The tree, for looking at what stands in it.
    pub(super) fn tree(&self) -> Option<Tree> {
        let dir: OwnedFd = self.root.dir.try_clone().ok()?;
        let profile = Profile { rules: self.rules.clone(), fence: Fence::jail_view() };
        Tree::new(dir, self.root.state.as_ref(), &profile).ok()
    }
}
