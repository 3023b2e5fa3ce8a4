//! Which rules hold for this process.

use std::path::{Path, PathBuf};

use bcmr_policy::file::{DEFAULT, Unsafe, read_root_owned};
use bcmr_policy::{Account, PolicyFile, Rules};
use rustix::io::Errno;

use super::args::ServeArgs;
use super::denial::Denial;
use super::environment::Environment;

/// Reads and parses a policy file.
///
/// # Errors
/// The operator's text: file, line, column, reason.
pub(crate) fn load(path: &Path) -> Result<PolicyFile, String> {
    let text = read_root_owned(path).map_err(|e| e.to_string())?;
    PolicyFile::parse(&text, path).map_err(|e| e.to_string())
}

/// The rules: a profile's, or those of personal mode where the policy of the host does not forbid that.
///
/// # Errors
/// [`Denial`].
pub(crate) fn rules(args: ServeArgs, account: &Account, environment: &Environment) -> Result<Rules, Denial> {
    let refused = Denial::policy;
    let Some(profile) = args.profile else {
        personal_mode_is_allowed().map_err(refused)?;
        return personal(args.root, environment);
    };
    // A root in the client's words is none of its business.
    let path = args.policy.unwrap_or_else(|| PathBuf::from(DEFAULT));
    let policy = load(&path).map_err(refused)?;
    policy.rules(&profile, account).map_err(|e| refused(format!("{}: {e}", path.display())))
}

fn personal_mode_is_allowed() -> Result<(), String> {
    match of_the_host()? {
        Some(policy) if !policy.personal => Err(format!("{DEFAULT}: personal mode is off on this host")),
        // Without a policy people serve their own files.
        _ => Ok(()),
    }
}

/// The policy of this host, where there is one.
///
/// # Errors
/// The operator's text.
pub(crate) fn of_the_host() -> Result<Option<PolicyFile>, String> {
    let default = Path::new(DEFAULT);
    match read_root_owned(default) {
        Err(Unsafe::Io(_, Errno::NOENT | Errno::NOTDIR)) => Ok(None),
        Err(not_believed) => Err(not_believed.to_string()),
        Ok(text) => PolicyFile::parse(&text, default).map(Some).map_err(|e| e.to_string()),
    }
}

fn personal(root: Option<PathBuf>, environment: &Environment) -> Result<Rules, Denial> {
    let home = environment.home.as_deref();
    let no_root = || {
        let why = "no root: give --root DIR, or set HOME".to_owned();
        Denial::new("the server has no root to serve", why)
    };
    let root = root.or_else(|| home.map(Path::to_owned)).ok_or_else(no_root)?;
    let state_home = environment.state_home.clone().or_else(|| home.map(|home| home.join(".local/state")));
    let state = environment.cas_dir.clone().or_else(|| state_home.map(|home| home.join("bcmr")));
    let mut rules = Rules::personal(root, state.unwrap_or_default());
    if let Some(cap) = &environment.cas_cap {
        rules.cas.cap = match cap.parse::<u64>() {
            Ok(0) => u64::MAX,
            Ok(mib) => mib.saturating_mul(1 << 20),
            Err(_) => {
                let why = format!("BCMR_CAS_CAP_MB={cap} is no number of MiB");
                return Err(Denial::new("the server is misconfigured", why));
            }
        };
    }
    Ok(rules)
}
