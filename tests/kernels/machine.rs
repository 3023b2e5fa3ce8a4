//! A machine that boots a kernel under qemu, without KVM, and says on its serial line what came of it.

use std::collections::BTreeMap;
use std::fs;
use std::path::{Path, PathBuf};
use std::process::{Command, Stdio};

use bcmr_tests::binaries;

use crate::initramfs::Initramfs;

/// The variable that names the kernel to boot, which tests/run fetches.
const KERNEL: &str = "BCMR_KERNEL";

/// How long the machine may take, on a slow and shared one.
const PATIENCE: &str = "180";

/// What the machine has to serve, and under which policy.
const PREPARE: &str = "#!/bin/busybox sh
/bin/busybox chmod 755 /
/bin/busybox mkdir -p /proc /dev /srv /var/lib /run
/bin/busybox mount -t proc none /proc
/bin/busybox mount -t devtmpfs none /dev
for dir in /srv /run /var/lib; do /bin/busybox mount -t tmpfs -o mode=755 none $dir; done
/bin/busybox syslogd -O /run/log -t
exec > /dev/ttyS0
emit() { echo; echo \"@@ $1 $(/bin/busybox base64 -w 0 $2)\"; }
/bin/busybox uname -r > /run/uname; emit uname /run/uname
";

/// One session in the machine.
#[derive(Clone, Debug)]
pub(crate) struct Session {
    pub(crate) name: &'static str,
    /// The server's words.
    pub(crate) args: String,
    /// What the client sends, all at once.
    pub(crate) request: Vec<u8>,
}

/// What a machine said, by name: `uname`, and of each session `NAME.out`, `.err`, `.code`, `.log` and `.tree`.
pub(crate) struct Said(BTreeMap<String, Vec<u8>>);

impl Said {
    #[track_caller]
    pub(crate) fn bytes(&self, name: &str) -> &[u8] {
        self.0.get(name).unwrap_or_else(|| panic!("the machine said nothing of {name}: {:?}", self.0.keys()))
    }

    #[track_caller]
    pub(crate) fn text(&self, name: &str) -> String {
        String::from_utf8(self.bytes(name).to_vec()).unwrap()
    }
}

/// Boots, serves each session in a root of its own with `setup` run in it, and powers off.
pub(crate) fn boot(policy: &str, setup: &str, sessions: &[Session]) -> Said {
    let kernel = std::env::var_os(KERNEL).map(PathBuf::from);
    let kernel =
        kernel.unwrap_or_else(|| panic!("{KERNEL} names no kernel; tests/run fetches one and sets it"));
    let dir = tempfile::tempdir().unwrap();
    let initramfs = dir.path().join("initramfs");
    let mut init = PREPARE.to_owned();
    let mut archive = Initramfs::default()
        .directory("bin")
        .program("bin/busybox", Path::new("/bin/busybox"))
        .program("bin/bcmr-serve", &binaries::server())
        .directory("etc")
        .file("etc/passwd", b"root:x:0:0::/:/bin/sh\n")
        .directory("etc/bcmr")
        .file("etc/bcmr/policy.toml", policy.as_bytes());
    for Session { name, args, request } in sessions {
        archive = archive.file(&format!("{name}.in"), request);
        init += &format!(
            "/bin/busybox mkdir -p /srv/root /srv/outside /var/lib/bcmr/root; cd /srv/root
             {setup}
             /bin/busybox cat /{name}.in | /bin/bcmr-serve {args} > /run/out 2> /run/err; echo $? > /run/code
             /bin/busybox sleep 1; cd /srv; /bin/busybox find . -type f -exec /bin/busybox md5sum {{}} + > /run/tree
             for what in out err code log tree; do emit {name}.$what /run/$what; done
             cd /; /bin/busybox rm -rf /srv/root /srv/outside; : > /run/log\n"
        );
    }
    init += "/bin/busybox sync; /bin/busybox poweroff -f\n";
    fs::write(&initramfs, archive.script("init", &init).finish()).unwrap();
    let output = Command::new("timeout")
        .args([
            "-k",
            "5",
            PATIENCE,
            "qemu-system-x86_64",
            "-M",
            "q35",
            "-accel",
            "tcg",
            "-cpu",
            "max",
            "-m",
            "512",
        ])
        .args(["-nodefaults", "-no-reboot", "-display", "none", "-serial", "stdio", "-append"])
        .arg("console=ttyS0 quiet panic=-1")
        .arg("-kernel")
        .arg(kernel)
        .arg("-initrd")
        .arg(&initramfs)
        .stdin(Stdio::null())
        .output()
        .unwrap();
    let text = String::from_utf8_lossy(&output.stdout).into_owned();
    let said = text.lines().filter_map(|line| {
        let (name, value) = line.trim().strip_prefix("@@ ")?.split_once(' ').or_else(|| {
            // What is empty has no value.
            Some((line.trim().strip_prefix("@@ ")?, ""))
        })?;
        Some((name.to_owned(), decoded(value)))
    });
    let said: BTreeMap<_, _> = said.collect();
    assert!(said.contains_key("uname"), "the machine did not boot: {text} {output:?}");
    Said(said)
}

/// The bytes that base64 (RFC 4648) stands for.
fn decoded(text: &str) -> Vec<u8> {
    let digit = |byte: u8| match byte {
        b'A'..=b'Z' => byte - b'A',
        b'a'..=b'z' => byte - b'a' + 26,
        b'0'..=b'9' => byte - b'0' + 52,
        b'+' => 62,
        b'/' => 63,
        _ => panic!("{text:?} is no base64"),
    };
    let digits: Vec<u8> = text.bytes().filter(|byte| *byte != b'=').map(digit).collect();
    let mut bytes = Vec::new();
    for four in digits.chunks(4) {
        let bits =
            four.iter().fold(0_u32, |bits, digit| bits << 6 | u32::from(*digit)) << (6 * (4 - four.len()));
        bytes.extend_from_slice(&bits.to_be_bytes()[1..four.len()]);
    }
    bytes
}

#[test]
fn base64_is_read_as_rfc_4648_has_it() {
    for (text, bytes) in [("", ""), ("Zg==", "f"), ("Zm8=", "fo"), ("Zm9v", "foo"), ("Zm9vYmFy", "foobar")] {
        assert_eq!(decoded(text), bytes.as_bytes(), "{text}");
    }
}
