//! Servers on file systems that are mounted for them alone; the mount goes with the server. Needs root.

use std::path::{Path, PathBuf};

use bcmr_wire::Caps;

use crate::disk::{Tree, snapshot};
use crate::launch::Launch;
use crate::server::Server;
use crate::site::Site;

/// A server that sees something mounted on its root which nobody else sees.
#[must_use]
pub fn mounted(site: &Site, options: &str, rules: &[&str]) -> Server {
    let mount = format!("mount {options} {}", site.root().display());
    let launch = Launch::new(site.root()).under(["unshare", "-m", "--propagation", "private"]);
    launch.after_shell(&mount).without(rules).start().hello(Caps::PUT_OFFSET)
}

/// The server's root as the server sees it.
#[must_use]
pub fn seen_by(server: &Server, root: &Path) -> PathBuf {
    let pid = server.pid().as_raw_nonzero();
    Path::new(&format!("/proc/{pid}/root")).join(root.strip_prefix("/").unwrap())
}

/// What stands below that root now.
#[must_use]
pub fn tree(server: &Server, site: &Site) -> Tree {
    snapshot(&seen_by(server, &site.root()))
}
