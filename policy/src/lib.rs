//! What an account may do.
//!
//! A [`PolicyFile`] is what operators write; [`PolicyFile::rules`] makes of it the [`Rules`] for one account. With
//! the root opened, a [`Profile`] judges requests: only [`judge()`] can make a [`Permit`], and the server's verbs
//! take one by value, so that an unjudged action does not compile. [`Fence`] is the part of the verdict that is
//! about paths; it is asked again for every symbolic link that is followed. [`sandbox`] has the kernel hold the
//! same rules.

mod account;
mod check;
mod fence;
pub mod file;
mod judge;
mod profile;
pub mod request;
mod rules;
pub mod sandbox;
mod verb;

pub use account::{Account, Denied, Passwd};
pub use fence::{Fence, RootedPath};
pub use file::{PolicyError, PolicyFile};
pub use judge::{Permit, Refusal, judge};
pub use profile::{Profile, Usage};
pub use rules::{Cas, Compression, Direct, PERSONAL, Rules, Symlinks, View};
pub use verb::{Verb, Verbs};
