//! What happens before the first byte of a client is read. The only room where paths of the host are opened.

pub(crate) mod args;
pub(crate) mod environment;
pub(crate) mod hygiene;
pub(crate) mod root;
pub(crate) mod streams;
