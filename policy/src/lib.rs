//! What an account may do.
//!
//! A [`Profile`] says it, [`judge`] applies it: only it can make a [`Permit`], and the server's verbs take one
//! by value, so that an unjudged action does not compile. [`Fence`] is the part of the verdict that is about
//! paths; it is asked again for every symbolic link that is followed.

mod fence;
mod judge;
mod profile;
pub mod request;
mod verb;

pub use fence::{Fence, RootedPath};
pub use judge::{Permit, Refusal, judge};
pub use profile::Profile;
pub use verb::{Verb, Verbs};
