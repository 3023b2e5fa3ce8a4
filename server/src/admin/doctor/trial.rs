use std::os::fd::{AsFd, OwnedFd};
use std::thread;

use bcmr_policy::Rules;
use bcmr_policy::sandbox::{self, Report};

/// Enters the sandbox of some rules in a thread of its own, which alone is held by it, and ends there. So the
/// verdict is not computed but seen.
pub(super) fn enter(rules: &Rules, root: &OwnedFd, state: Option<&OwnedFd>) -> Result<Report, String> {
    thread::scope(|scope| {
        let trial = scope.spawn(|| {
            let sandboxed = sandbox::enter(rules, root.as_fd(), state.map(AsFd::as_fd));
            sandboxed.map(|sandboxed| sandboxed.report().clone()).map_err(|e| e.to_string())
        });
        trial.join().unwrap_or_else(|_| Err("the trial of the sandbox failed".to_owned()))
    })
}
