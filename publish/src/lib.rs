//! How a received file becomes visible: one transaction, bound to the handle of its directory.
//!
//! [`Publisher::begin`] stages a file that nobody can name (or, where the file system cannot do that, one
//! under a [`reserved name`](name)); content goes into the [`Stage`]; [`Publisher::publish`] makes it visible
//! under its name with one system call. A stage that is dropped before leaves nothing.
//!
//! Server and client both publish through this crate. It knows nothing of the protocol, of policy, or of
//! paths: every call is relative to a directory's handle and takes one component.

mod dirs;
mod error;
mod ladder;
mod metadata;
pub mod name;
mod prefix;
mod publisher;
pub mod random;
mod stage;
mod sweep;

pub use dirs::NewDirs;
pub use error::{Kind, PublishError};
pub use ladder::{NoClobber, Staging};
pub use publisher::{How, Publisher, look};
pub use stage::Stage;
pub use sweep::{Swept, sweep_dir};
