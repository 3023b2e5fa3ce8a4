//! S9: a published file has the mode, list, group and attributes of one that the same account creates directly
//! there, or of the file that it replaced, by the word of `getfacl` and `getfattr`; no privilege survives. On an
//! ext4 of its own, which keeps all of these.

use std::ffi::OsStr;
use std::fs::{self, File, Permissions};
use std::os::unix::fs::{PermissionsExt, chown};
use std::os::unix::process::CommandExt;
use std::path::Path;
use std::process::Command;

use bcmr_tests::rungs::{KINDS, Rung};
use bcmr_tests::{Launch, Reply, Server, Site};
use bcmr_wire::{Caps, Message};

/// The account without rights, and a group in which it is not.
const NOBODY: u32 = 65_534;
const FOREIGN: u32 = 4343;

/// Who serves.
#[derive(Clone, Copy, PartialEq, Eq, Debug)]
enum Who {
    Root,
    Nobody,
}

fn run<S: AsRef<OsStr>>(program: &str, args: &[S]) -> String {
    let output = Command::new(program).args(args).output();
    let output = output.unwrap_or_else(|e| panic!("{program}: {e}; tests/run installs it"));
    assert!(output.status.success(), "{program}: {}", String::from_utf8_lossy(&output.stderr));
    String::from_utf8(output.stdout).unwrap()
}

/// A root on an ext4 in a file, which goes with the value.
struct Disk {
    site: Site,
}

impl Disk {
    fn new(who: Who) -> Self {
        let site = Site::new();
        let image = site.base().join("image");
        File::create(&image).unwrap().set_len(32 << 20).unwrap();
        run("mkfs.ext4", &[OsStr::new("-qF"), image.as_os_str()]);
        run("mount", &[OsStr::new("-oloop"), image.as_os_str(), site.root().as_os_str()]);
        let disk = Self { site };
        fs::remove_dir(disk.site.path("lost+found")).unwrap();
        fs::set_permissions(disk.site.base(), Permissions::from_mode(0o755)).unwrap();
        disk.site.dir("plain");
        disk.site.dir("setgid");
        disk.site.dir("list");
        disk.site.dir("both");
        if who == Who::Nobody {
            let _ = Launch::new(disk.site.root()).unprivileged(&disk.site);
        }
        for dir in ["setgid", "both"] {
            chown(disk.site.path(dir), None, Some(FOREIGN)).unwrap();
            disk.site.chmod(dir, 0o2775);
        }
        for dir in ["list", "both"] {
            run("setfacl", &["-d", "-m", "u:4242:rw,g:4444:r,o::-", &disk.site.host(dir)]);
        }
        disk
    }

    /// A server on a rung.
    fn serve(&self, who: Who, rung: &Rung, umask: &str) -> Server {
        let launch = rung.launch(&self.site).after_shell(&format!("umask {umask}"));
        let launch = if who == Who::Nobody { launch.without_rights() } else { launch };
        launch.start().hello(Caps::PUT_OFFSET)
    }

    /// Has a shell of the account make a file.
    fn create(&self, who: Who, umask: &str, path: &str) {
        let mut shell = Command::new("sh");
        shell.arg("-c").arg(format!("umask {umask}; echo here > \"$1\"")).arg("sh").arg(self.site.path(path));
        if who == Who::Nobody {
            shell.uid(NOBODY).gid(NOBODY);
        }
        assert!(shell.status().unwrap().success());
    }
}

impl Drop for Disk {
    fn drop(&mut self) {
        let _ = Command::new("umount").arg("-l").arg(self.site.root()).status();
    }
}

/// All that `getfacl` and `getfattr` say of a file, but not what it is called: owner, group, set-id bits, mode,
/// list, attributes of every kind.
fn said_of(path: &Path) -> String {
    let path = path.to_str().unwrap();
    let all = run("getfacl", &["--numeric", "--absolute-names", path])
        + &run("getfattr", &["--absolute-names", "-d", "-m", "-", "-e", "hex", path]);
    let name = format!("# file: {path}");
    assert!(all.contains(&name), "{all}");
    all.lines().filter(|line| **line != name).map(|line| format!("{line}\n")).collect()
}

fn put_at(server: &mut Server, path: &str, offset: u64) -> Reply {
    server.send(&Message::Put { path, size: offset + 4, offset, overwrite: true });
    server.send(&Message::Data { payload: b"tail" });
    server.ask(&Message::Done)
}

#[test]
#[ignore = "needs root to mount a file system: run by tests/run"]
fn s9_a_new_file_is_byte_for_byte_what_getfacl_and_getfattr_say_of_one_created_there() {
    let mut compared = 0;
    for who in [Who::Root, Who::Nobody] {
        let disk = Disk::new(who);
        for (i, rung) in KINDS.iter().enumerate() {
            for umask in ["022", "027", "077"] {
                let mut server = disk.serve(who, rung, umask);
                for dir in ["plain", "setgid", "list", "both"] {
                    let [here, put] = ["here", "put"].map(|name| format!("{dir}/{name}-{i}-{umask}"));
                    disk.create(who, umask, &here);
                    assert!(server.put(&put, b"put\n", false).ok().is_some());
                    let [here, put] = [here, put].map(|path| said_of(&disk.site.path(&path)));
                    assert_eq!(put, here, "{who:?} {rung:?} {umask} {dir}");
                    // What is compared has to differ between directories.
                    assert_eq!(put.contains("user:4242:rw-"), matches!(dir, "list" | "both"), "{put}");
                    assert_eq!(put.contains("group: 4343"), matches!(dir, "setgid" | "both"), "{put}");
                    assert_eq!(put.contains("posix_acl_access"), matches!(dir, "list" | "both"), "{put}");
                    compared += 1;
                }
                server.finish();
            }
        }
    }
    println!("{compared} new files compared");
    assert_eq!(compared, 2 * 3 * 3 * 4);
}

#[test]
#[ignore = "needs root to mount a file system: run by tests/run"]
fn s9_a_replaced_file_is_byte_for_byte_what_getfacl_and_getfattr_said_of_it_before() {
    let mut compared = 0;
    for who in [Who::Root, Who::Nobody] {
        let disk = Disk::new(who);
        for (rung, umask) in KINDS.iter().zip(["022", "027", "077"]) {
            let mut server = disk.serve(who, rung, umask);
            for dir in ["plain", "setgid", "list", "both"] {
                for (mode, list, offset) in [
                    (0o644, "", 0),
                    (0o600, "", 3),
                    (0o444, "", 0),
                    (0o777, "", 2),
                    (0o640, "u:4242:r", 0),
                    (0o660, "u:4245:rwx,g:4246:-,m::r", 3),
                ] {
                    let path = format!("{dir}/f");
                    let host = disk.site.host(&path);
                    disk.create(who, "022", &path);
                    run("setfacl", &["-b", &host]);
                    disk.site.chmod(&path, mode);
                    if !list.is_empty() {
                        run("setfacl", &["-m", list, &host]);
                    }
                    run("setfattr", &["-n", "user.note", "-v", "kept", &host]);
                    run("setfattr", &["-n", "user.empty", &host]);
                    if dir == "plain" && who == Who::Root {
                        chown(&host, None, Some(FOREIGN)).unwrap();
                    }
                    let before = said_of(host.as_ref());
                    assert!(!put_at(&mut server, &path, offset).is_error());
                    assert!(disk.site.read(&path).ends_with(b"tail"));
                    let after = said_of(host.as_ref());
                    assert_eq!(after, before, "{who:?} {rung:?} {dir} {mode:o} {list} {offset}");
                    assert!(before.contains("user.note=0x6b657074") && before.contains("user.empty"));
                    fs::remove_file(&host).unwrap();
                    compared += 1;
                }
            }
            server.finish();
        }
    }
    println!("{compared} replaced files compared");
    assert_eq!(compared, 2 * 3 * 4 * 6);
}

#[test]
#[ignore = "needs root to mount a file system: run by tests/run"]
fn s9_set_id_bits_and_privileged_attributes_of_a_replaced_file_are_gone() {
    for who in [Who::Root, Who::Nobody] {
        let disk = Disk::new(who);
        for rung in &KINDS {
            let mut server = disk.serve(who, rung, "022");
            for (offset, mode) in [(0, 0o6755), (3, 0o4755), (0, 0o2755), (3, 0o7755)] {
                disk.create(who, "022", "plain/f");
                let host = disk.site.host("plain/f");
                disk.site.chmod("plain/f", 0o755);
                run("setfattr", &["-n", "user.note", "-v", "kept", &host]);
                let plain = said_of(host.as_ref());
                let privileged = [
                    ("security.capability", "0x0100000200200000000000000000000000000000"),
                    ("security.other", "0x01"),
                    ("trusted.note", "0x02"),
                ];
                for (name, value) in privileged {
                    run("setfattr", &["-n", name, "-v", value, &host]);
                }
                disk.site.chmod("plain/f", mode);
                let armed = said_of(host.as_ref());
                assert!(privileged.iter().all(|(name, _)| armed.contains(name)), "{armed}");
                assert!(armed.contains("# flags: "), "{armed}");
                assert!(!put_at(&mut server, "plain/f", offset).is_error());
                assert_eq!(said_of(host.as_ref()), plain, "{who:?} {rung:?} {mode:o} {offset}");
                fs::remove_file(&host).unwrap();
            }
            server.finish();
        }
    }
}
