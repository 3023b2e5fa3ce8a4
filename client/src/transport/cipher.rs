//! Which cipher ssh is asked for.
//!
//! OpenSSH's first choice is ChaCha20, which costs one and a half to two times the CPU of AES-GCM on a processor
//! with AES instructions. Where the user's configuration leaves the choice to OpenSSH, its own default list is
//! handed back with AES-GCM in front; nothing is added to it that OpenSSH would not use by itself.

use std::ffi::OsString;
use std::path::Path;
use std::process::{Child, Command, Stdio};

/// In the order of preference: the shorter key is a quarter cheaper.
const PREFERRED: [&str; 2] = ["aes128-gcm@openssh.com", "aes256-gcm@openssh.com"];

/// The list for `-o Ciphers=`; None where ssh's own choice is to stand. `config` names the configuration, if it is
/// not the user's own; `rest` has the other options, and the host.
pub(super) fn list(config: Option<&Path>, rest: &[OsString]) -> Option<String> {
    if !has_aes() {
        return None;
    }
    let configured = start(config, rest)?;
    // The same without any configuration: where the two agree nobody has chosen.
    let default = start(Some(Path::new("none")), rest).and_then(ciphers);
    // Waited for in any case: no child outlives the question.
    let configured = ciphers(configured)?;
    default.filter(|default| configured == *default).and_then(|default| prefer(&default))
}

fn start(config: Option<&Path>, rest: &[OsString]) -> Option<Child> {
    let mut command = Command::new("ssh");
    if let Some(config) = config {
        command.arg("-F").arg(config);
    }
    command.arg("-G").args(rest);
    command.stdin(Stdio::null()).stdout(Stdio::piped()).stderr(Stdio::null()).spawn().ok()
}

/// The `ciphers` line of `ssh -G`.
fn ciphers(ssh: Child) -> Option<String> {
    let output = ssh.wait_with_output().ok().filter(|output| output.status.success())?;
    let text = String::from_utf8(output.stdout).ok()?;
    text.lines().find_map(|line| line.strip_prefix("ciphers ")).map(str::to_owned)
}

/// The list with what is preferred in front; None where it has none of that.
fn prefer(default: &str) -> Option<String> {
    let names: Vec<&str> = default.split(',').collect();
    let front: Vec<&str> = PREFERRED.into_iter().filter(|name| names.contains(name)).collect();
    if front.is_empty() {
        return None;
    }
    let rest = names.into_iter().filter(|name| !PREFERRED.contains(name));
    Some(front.iter().copied().chain(rest).collect::<Vec<_>>().join(","))
}

#[cfg(target_arch = "x86_64")]
fn has_aes() -> bool {
    std::arch::is_x86_feature_detected!("aes")
}

#[cfg(target_arch = "aarch64")]
fn has_aes() -> bool {
    std::arch::is_aarch64_feature_detected!("aes")
}

#[cfg(not(any(target_arch = "x86_64", target_arch = "aarch64")))]
const fn has_aes() -> bool {
    false
}

#[cfg(test)]
mod tests {
    use super::prefer;

    #[test]
    fn only_the_order_changes() {
        let default =
            "chacha20-poly1305@openssh.com,aes128-ctr,aes256-gcm@openssh.com,aes128-gcm@openssh.com";
        let preferred =
            "aes128-gcm@openssh.com,aes256-gcm@openssh.com,chacha20-poly1305@openssh.com,aes128-ctr";
        assert_eq!(prefer(default).as_deref(), Some(preferred));
        assert_eq!(prefer("aes128-ctr"), None);
    }
}
