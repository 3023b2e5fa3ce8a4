//! What happens before the first byte of a client is read. The only room where paths of the host are opened.

pub(crate) mod account;
pub(crate) mod args;
pub(crate) mod audience;
pub(crate) mod denial;
pub(crate) mod drain;
pub(crate) mod environment;
pub(crate) mod hygiene;
pub(crate) mod log;
pub(crate) mod original;
pub(crate) mod policy;
pub(crate) mod root;
pub(crate) mod shell;
pub(crate) mod streams;
pub(crate) mod version;
