//! What happens before the first byte of a client is read. The only room where paths of the host are opened.

pub(crate) mod account;
pub(crate) mod args;
pub(crate) mod environment;
pub(crate) mod hygiene;
pub(crate) mod log;
pub(crate) mod policy;
pub(crate) mod root;
pub(crate) mod streams;

/// Why nobody is served, for two audiences.
#[derive(Clone, PartialEq, Eq, Debug)]
pub(crate) struct Denial {
    /// What the client may know. Under a profile it learns even less.
    pub(crate) told: &'static str,
    /// What the operator must know.
    pub(crate) why: String,
}
