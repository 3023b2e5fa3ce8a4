//! ssh in the middle of a command: connections that die, and one that outlives the command.

use std::fs;
use std::process::Command;
use std::time::{Duration, Instant};

use bcmr_tests::client::quoted;
use bcmr_tests::content::noise;
use bcmr_tests::{Client, Sshd, binaries};
use rustix::process::{Pid, Signal, kill_process};
use tempfile::TempDir;

/// The ssh that a process has started.
fn ssh_of(parent: Pid) -> Option<Pid> {
    let children =
        fs::read_to_string(format!("/proc/{0}/task/{0}/children", parent.as_raw_nonzero())).ok()?;
    children.split_whitespace().find_map(|pid| {
        let name = fs::read_to_string(format!("/proc/{pid}/comm")).ok()?;
        (name.trim() == "ssh").then(|| Pid::from_raw(pid.parse().unwrap())).flatten()
    })
}

#[test]
#[ignore = "needs sshd: run by tests/run"]
fn an_ssh_that_is_killed_three_times_in_one_command_costs_time_and_nothing_else() {
    let sshd = Sshd::ours();
    let local = TempDir::new().unwrap();
    let content = noise(48 << 20, 9);
    fs::write(local.path().join("up"), &content).unwrap();
    fs::write(sshd.home().join("down"), &content).unwrap();
    for (from, to, arrives) in [
        ("up", "remote:there", sshd.home().join("there")),
        ("remote:down", "here", local.path().join("here")),
    ] {
        let client = Client::ours().retrying().over(&sshd).within(local.path());
        let running =
            client.args(["copy", "--compress", "none", "--bandwidth-limit", "12MiB", from, to]).start();
        let (mut killed, deadline) = (Vec::new(), Instant::now() + Duration::from_secs(30));
        while killed.len() < 3 {
            assert!(Instant::now() < deadline, "it did not begin again: {}", running.said());
            std::thread::sleep(Duration::from_millis(700));
            if let Some(ssh) = ssh_of(running.pid()).filter(|ssh| !killed.contains(ssh)) {
                kill_process(ssh, Signal::KILL).unwrap();
                killed.push(ssh);
            }
        }
        running.end().succeeds().says("trying again in 1 s").says("1 file, 48.00 MiB");
        assert!(blake3::hash(&fs::read(arrives).unwrap()) == blake3::hash(&content), "{to}");
    }
}

#[test]
#[ignore = "needs sshd: run by tests/run"]
fn a_master_that_outlives_the_command_holds_nobody_up() {
    let sshd = Sshd::ours();
    let local = TempDir::new().unwrap();
    fs::write(local.path().join("f"), "content").unwrap();
    let config = local.path().join("config");
    let socket = local.path().join("master");
    let shared = format!("Host *\nControlMaster auto\nControlPath {}\nControlPersist 60\n", socket.display());
    fs::write(&config, fs::read_to_string(sshd.client_config()).unwrap() + &shared).unwrap();
    let bcmr = format!("{} --ssh-config {}", quoted(&binaries::client()), quoted(&config));
    // The substitution ends when nobody holds its pipes any more.
    let script = format!(
        "a=$({bcmr} copy f remote:one 2>&1) && b=$({bcmr} copy -P 2 remote:one two 2>&1) && c=$({bcmr} ls remote:) && \
         echo \"$a|$b|$c\""
    );
    let begun = Instant::now();
    let output = Command::new("timeout").args(["30", "sh", "-c", &script]).current_dir(local.path()).output();
    let output = output.unwrap();
    // The master is there: it is what the second command went over.
    let alive =
        Command::new("ssh").args(["-F"]).arg(&config).args(["-O", "check", "remote"]).output().unwrap();
    let _ = Command::new("ssh").args(["-F"]).arg(&config).args(["-O", "exit", "remote"]).output();
    let said =
        String::from_utf8_lossy(&output.stdout).into_owned() + &String::from_utf8_lossy(&output.stderr);
    assert!(output.status.success() && begun.elapsed() < Duration::from_secs(20), "{said}");
    assert!(alive.status.success(), "there was no master");
    assert_eq!(said.matches("1 file, 7 B").count(), 2, "{said}");
    assert_eq!(fs::read(local.path().join("two")).unwrap(), b"content");
}
