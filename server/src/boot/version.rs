//! What was built, from what, for what, and with which layers of the sandbox.

use std::env::consts::{ARCH, OS};
use std::sync::LazyLock;

use bcmr_policy::sandbox;

/// What `--version` prints after the program's name.
pub(crate) fn text() -> &'static str {
    static TEXT: LazyLock<String> = LazyLock::new(|| {
        // Given by packaging/build: a build script that asks git would tie each build to a repository.
        let commit = option_env!("BCMR_COMMIT").unwrap_or("unknown");
        let libc = if cfg!(target_env = "musl") { "musl" } else { "gnu" };
        format!(
            "{}\ncommit: {commit}\ntarget: {ARCH}-unknown-{OS}-{libc}\nsandbox: {}",
            env!("CARGO_PKG_VERSION"),
            sandbox::layers()
        )
    });
    &TEXT
}
