//! Defaults from a file. What ssh is started with tells what became of them.

use std::fs;
use std::os::unix::fs::PermissionsExt;
use std::path::{Path, PathBuf};

use bcmr_tests::client::Ran;
use bcmr_tests::{Client, Site};

use crate::client;

/// A site with a source, a program that stands for ssh, and a file of defaults.
struct Scene {
    site: Site,
    config: PathBuf,
}

impl Scene {
    fn new(config: &str) -> Self {
        let site = Site::new();
        let ssh = site.file("ssh", "#!/bin/sh\nprintf '%s\\n' \"$@\" >> \"$TRACE\"\nexit 255\n");
        fs::set_permissions(&ssh, fs::Permissions::from_mode(0o755)).unwrap();
        site.outside_file("f", "f");
        let file = site.base().join("home/.config/bcmr/config.toml");
        fs::create_dir_all(file.parent().unwrap()).unwrap();
        fs::write(&file, config).unwrap();
        Self { site, config: file }
    }

    fn home(&self) -> PathBuf {
        self.site.base().join("home")
    }

    /// A client that has a home directory, and only that ssh.
    fn client(&self) -> Client {
        let path = format!("{}:/usr/bin:/bin", self.site.root().display());
        let trace = self.site.base().join("trace");
        let _ = fs::remove_file(&trace);
        let client = Client::ours().within(&self.site.outside()).env("HOME", self.home());
        client.env("PATH", path).env("TRACE", trace)
    }

    /// What ssh was started with, a word a line; empty where it was not.
    fn ssh(&self) -> String {
        fs::read_to_string(self.site.base().join("trace")).unwrap_or_default()
    }

    /// The port that ssh is given by these words.
    #[track_caller]
    fn port(&self, args: &[&str]) -> String {
        self.port_of(self.client(), args)
    }

    #[track_caller]
    fn port_of(&self, client: Client, args: &[&str]) -> String {
        client.args(args).run().ends_with(74);
        let ssh = self.ssh();
        ssh.lines().skip_while(|word| *word != "-p").nth(1).unwrap_or("none").to_owned()
    }
}

const PORTS: &str = r#"
[defaults]
ssh-port = 1001

[host."*.example.org"]
ssh-port = 1002
"#;

#[test]
fn what_is_typed_decides_then_what_is_said_of_the_host_then_the_defaults() {
    let scene = Scene::new(PORTS);
    assert_eq!(scene.port(&["copy", "f", "other:"]), "1001");
    // The pattern is of the whole name.
    assert_eq!(scene.port(&["copy", "f", "a.example.org.net:"]), "1001");
    for target in ["a.example.org:", "u@a.example.org:", "scp://a.example.org/", "[a.example.org]:x"] {
        assert_eq!(scene.port(&["copy", "f", target]), "1002", "{target}");
        assert_eq!(scene.port(&["copy", target, "g"]), "1002", "{target}");
        assert_eq!(scene.port(&["copy", "--ssh-port", "1003", "f", target]), "1003");
        assert_eq!(scene.port(&["copy", "f", target, "--ssh-port=1003"]), "1003");
        assert_eq!(scene.port(&["--ssh-port", "1003", "copy", "f", target]), "1003");
    }
    assert_eq!(scene.port(&["copy", "f", "scp://a.example.org:1004/"]), "1004");
}

#[test]
fn every_command_that_goes_to_a_host_takes_its_defaults() {
    let scene = Scene::new(PORTS);
    let at = "u@a.example.org:d";
    for command in ["ls", "stat", "du", "hash", "mkdir"] {
        assert_eq!(scene.port(&[command, at]), "1002", "{command}");
    }
    assert_eq!(scene.port(&["check", "f", at]), "1002");
    for host in ["a.example.org", "u@a.example.org", "u@a.example.org:", "scp://u@a.example.org/"] {
        assert_eq!(scene.port(&["doctor", host]), "1002", "{host}");
    }
    assert_eq!(scene.port(&["doctor", "other"]), "1001");
}

#[test]
fn a_word_that_is_also_a_commands_name_is_not_taken_for_it() {
    let scene = Scene::new("[defaults]\nssh-port = 1001\nparallel = 2\ncompress = \"none\"\n");
    for args in [
        &["--ssh-jump", "copy", "copy", "f", "h:"][..],
        &["--ssh-jump=ls", "copy", "f", "h:"],
        &["--no-retry", "copy", "f", "h:"],
        &["copy", "copy:f", "ls"],
        &["ls", "copy:"],
    ] {
        assert_eq!(scene.port(args), "1001", "{args:?}");
    }
}

#[test]
fn the_file_is_looked_for_where_it_belongs() {
    let scene = Scene::new("[defaults]\nssh-port = 1001\n");
    let args = ["copy", "f", "h:"];
    let xdg = scene.site.base().join("xdg");
    fs::create_dir_all(xdg.join("bcmr")).unwrap();
    let with_xdg = |dir: &Path| scene.client().env("XDG_CONFIG_HOME", dir);
    assert_eq!(scene.port(&args), "1001");
    // A place that is set is the place, also where nothing is there.
    assert_eq!(scene.port_of(with_xdg(&xdg), &args), "none");
    fs::write(xdg.join("bcmr/config.toml"), "[defaults]\nssh-port = 1002\n").unwrap();
    assert_eq!(scene.port_of(with_xdg(&xdg), &args), "1002");
    // One that depends on where it is started is none.
    assert_eq!(scene.port_of(with_xdg(Path::new("../xdg")), &args), "1001");
    let named = scene.site.outside_file("mine", "[defaults]\nssh-port = 1003\n");
    let named = named.to_str().unwrap();
    for args in [["--config", named, "copy", "f", "h:"], ["copy", "--config", named, "f", "h:"]] {
        assert_eq!(scene.port_of(with_xdg(&xdg), &args), "1003");
    }
    // Without any, and in a home directory that is none.
    fs::remove_file(&scene.config).unwrap();
    assert_eq!(scene.port(&args), "none");
    assert_eq!(scene.port_of(scene.client().env("HOME", "/no/such"), &args), "none");
    // One that is named has to be there.
    scene.client().args(["--config", "absent", "copy", "f", "h:"]).run().ends_with(2).says("absent: No such");
    assert_eq!(scene.ssh(), "");
}

#[test]
fn what_only_copy_has_is_nothing_to_the_others() {
    let all = "parallel = 2\npreserve = true\nverify = true\nsync = true\nfast = true\nno-fallback = true\n\
               compress = \"lz4\"\nprogress = \"plain\"\nbandwidth-limit = \"1GiB\"\nexclude = [\"x\", \"y\"]\n";
    let scene = Scene::new(&format!("[defaults]\n{all}"));
    scene.site.file("d/f", "f");
    let client = || client(&scene.site).env("HOME", scene.home());
    for args in [&["ls", ":d"][..], &["stat", ":d"], &["du", ":d"], &["hash", ":d/f"], &["mkdir", ":new"]] {
        client().args(args).run().succeeds();
    }
    client().args(["check", "f", ":d"]).run().succeeds();
    client().args(["doctor", ":"]).run().succeeds();
    client().args(["copy", "f", ":copied"]).run().succeeds();
    // Where they do apply, they do.
    client().args(["copy", "-r", ":d", "."]).run().succeeds().says("-p: ");
    scene.site.file("d/x", "x");
    client().args(["copy", "-r", ":d", "again"]).run().succeeds().says("1 file,");
}

#[test]
fn a_setting_that_is_false_is_as_if_it_was_not_there_and_lists_are_given_one_by_one() {
    let scene = Scene::new(
        "[defaults]\nssh-identity = [\"one\", \"two words\"]\npreserve = false\nremote-command = \"x y\"\n",
    );
    scene.client().args(["copy", "f", "h:"]).run().ends_with(74).keeps_quiet_about("-p: ");
    let ssh = scene.ssh();
    assert!(ssh.contains("-i\none\n-i\ntwo words\n") && ssh.ends_with("--\nh\nx y\n"), "{ssh}");
}

/// Checks that a command with this file ends at once with one line that names it.
#[track_caller]
fn refused(config: &str, says: &str) {
    let scene = Scene::new(config);
    let before = scene.site.everything();
    for args in [["copy", "f", "elsewhere:"], ["copy", "elsewhere:f", "g"]] {
        let ran = scene.client().args(args).run();
        one_line(&ran, says);
        assert_eq!(scene.ssh(), "", "{config}");
    }
    one_line(&scene.client().args(["copy", "-n", "f", "elsewhere:"]).run(), says);
    assert_eq!(before, scene.site.everything());
}

#[track_caller]
fn one_line(ran: &Ran, says: &str) {
    ran.ends_with(2).says("home/.config/bcmr/config.toml: ").says(says);
    assert!(ran.out.is_empty() && ran.said().lines().count() == 1, "{}", ran.said());
    assert!(ran.said().starts_with("bcmr: ") && !ran.said().contains(r"\n"), "{}", ran.said());
}

#[test]
fn what_is_no_setting_or_no_value_is_one_line_that_names_the_file_and_nothing_is_begun() {
    for (config, says) in [
        ("[defaults]\nspeed = 1\n", "[defaults]: \"speed\" is no setting"),
        // Not of this host, and said all the same.
        ("[host.\"a.example.org\"]\nforce = true\n", "[host.\"a.example.org\"]: \"force\" is no setting"),
        ("[default]\nparallel = 1\n", "\"default\" is neither"),
        ("parallel = 1\n", "\"parallel\" is neither"),
        ("defaults = 1\n", "defaults is no table"),
        ("[host]\na = 1\n", "is no table"),
        ("[host.\"[\"]\nparallel = 1\n", "[host.\"[\"]"),
        ("[defaults]\nparallel = 0\n", "--parallel"),
        ("[defaults]\nparallel = 1.5\n", "parallel: not a value"),
        ("[defaults]\nssh-port = 65536\n", "--ssh-port"),
        ("[defaults]\nretries = -1\n", "--retries"),
        ("[defaults]\ncompress = \"gzip\"\n", "--compress"),
        ("[defaults]\ncompress = true\n", "--compress"),
        ("[defaults]\nsync = \"no\"\n", "--sync"),
        ("[defaults]\nexclude = [\"(\"]\n", "--exclude"),
        ("[defaults]\nexclude = [1]\n", "exclude: not a value"),
        ("[defaults]\nmin-rate = \"fast\"\n", "--min-rate"),
        ("[defaults]\n\nparallel = \n", "line 3: "),
        ("[defaults\n", "line 1: "),
        ("[defaults]\nsync = true\nsync = true\n", "line 3: "),
    ] {
        refused(config, says);
    }
}

#[test]
fn a_file_that_cannot_be_read_is_named() {
    let scene = Scene::new("");
    assert_eq!(scene.port(&["copy", "f", "h:"]), "none");
    fs::remove_file(&scene.config).unwrap();
    fs::create_dir(&scene.config).unwrap();
    one_line(&scene.client().args(["copy", "f", "h:"]).run(), "directory");
    assert_eq!(scene.ssh(), "");
    fs::remove_dir(&scene.config).unwrap();
    fs::write(&scene.config, b"[defaults]\n# \xff\n").unwrap();
    one_line(&scene.client().args(["copy", "f", "h:"]).run(), "UTF-8");
    fs::write(&scene.config, "[defaults]\nssh-port = 1001\n").unwrap();
    assert_eq!(scene.port(&["copy", "f", "h:"]), "1001");
    fs::set_permissions(&scene.config, fs::Permissions::from_mode(0o000)).unwrap();
    let ran = scene.client().unprivileged(scene.site.base()).args(["copy", "f", "h:"]).run();
    one_line(&ran, "ermission denied");
}

/// How often the server is started by a client whose link is lost each time.
fn starts(config: &str, args: &[&str]) -> usize {
    let scene = Scene::new(config);
    let count = scene.site.base().join("count");
    let serve = bcmr_tests::client::serve(&scene.site.root()).replace("exec ", "");
    let via =
        format!("echo >> '{}'; dd bs=64K count=1M iflag=count_bytes status=none | {serve}", count.display());
    let big = fs::File::create(scene.site.outside().join("big")).unwrap();
    big.set_len(64 << 20).unwrap();
    let client = Client::ours().retrying().via(via).within(&scene.site.outside());
    let args = args.iter().chain(&["--compress", "none", "big", ":"]);
    client.env("HOME", scene.home()).args(args).run().ends_with(74);
    fs::read_to_string(count).unwrap().lines().count()
}

#[test]
fn no_retry_and_retries_take_each_others_place_and_what_is_typed_decides() {
    for (config, args, expected) in [
        ("", &["--retries", "1", "copy"][..], 2),
        ("", &["--no-retry", "copy"], 1),
        ("", &["copy", "--no-retry", "--retries", "1"], 2),
        ("", &["copy", "--retries", "1", "--no-retry"], 1),
        ("[defaults]\nno-retry = true\n", &["copy"], 1),
        ("[defaults]\nretries = 1\n", &["copy"], 2),
        ("[defaults]\nno-retry = true\n", &["--retries", "1", "copy"], 2),
        ("[defaults]\nno-retry = true\n", &["copy", "--retries", "1"], 2),
        ("[defaults]\nretries = 1\n", &["--no-retry", "copy"], 1),
        ("[defaults]\nretries = 1\n", &["copy", "--no-retry"], 1),
        ("[defaults]\nretries = 2\n[host.\"*\"]\nno-retry = true\n", &["copy"], 1),
        ("[defaults]\nno-retry = true\n[host.\"*\"]\nretries = 1\n", &["copy"], 2),
    ] {
        assert_eq!(starts(config, args), expected, "{config:?} {args:?}");
    }
}

/// sudo leaves HOME as it was, on some systems: what is there is not for this account.
#[test]
fn a_home_directory_out_of_reach_has_no_defaults() {
    let site = Site::new();
    fs::write(site.outside().join("f"), "f").unwrap();
    let home = tempfile::tempdir().unwrap();
    fs::set_permissions(home.path(), fs::Permissions::from_mode(0o700)).unwrap();
    fs::create_dir_all(home.path().join(".config/bcmr")).unwrap();
    fs::write(home.path().join(".config/bcmr/config.toml"), "nonsense").unwrap();
    let copy = |client: Client| client.env("HOME", home.path()).copy(["-f", "-y", "f", ":"]);
    copy(client(&site)).ends_with(2).says("config.toml");
    if rustix::process::getuid().is_root() {
        copy(client(&site).unprivileged(site.base())).succeeds();
    }
}
