//! The policy file put to use: rules for one account, and the same for people to read.

use std::fmt::Write;

use crate::account::{Account, Denied};
use crate::file::PolicyFile;
use crate::rules::Rules;

impl PolicyFile {
    /// The rules of a profile for an account.
    ///
    /// # Errors
    /// [`Denied`].
    pub fn rules(&self, profile: &str, account: &Account) -> Result<Rules, Denied> {
        let draft = self.draft(profile).ok_or_else(|| Denied::NoProfile(profile.to_owned()))?;
        draft.resolve(account)
    }

    /// Every profile as it is for an account, with the origin of each value; or why it is not for it.
    #[must_use]
    pub fn show(&self, account: &Account) -> String {
        let mut out = String::new();
        // Writing to a String cannot fail.
        let _ = writeln!(
            out,
            "{}: personal mode is {}",
            self.path.display(),
            if self.personal { "allowed" } else { "off" }
        );
        for draft in &self.profiles {
            let _ = writeln!(out, "\n[profile.{}]", draft.name);
            match draft.resolve(account) {
                Ok(rules) => out.push_str(&rules.show(draft)),
                Err(denied) => {
                    let _ = writeln!(out, "  not for uid {}: {denied}", account.uid);
                }
            }
        }
        out
    }
}
