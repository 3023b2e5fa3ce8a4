//! `copy --json`: one object per line on stdout, in the schema that README describes, and nothing on stderr.

use std::collections::BTreeMap;
use std::ffi::OsStr;
use std::fs;
use std::os::unix::ffi::OsStrExt;
use std::process::{Command, Stdio};
use std::time::{Duration, Instant};

use bcmr_tests::client::{Ran, quoted, serve};
use bcmr_tests::content::{hex, noise};
use bcmr_tests::{Client, Site, binaries};
use rustix::pipe::pipe;
use serde_json::{Value, json};

use crate::{asking, client};

const MIB: usize = 1 << 20;

/// The objects that a run printed, the first of which is the start, and the last, and only the last, the summary.
#[track_caller]
fn events(ran: &Ran) -> Vec<Value> {
    let events = objects(ran);
    assert_eq!((&events[0]["type"], &events[0]["schema"]), (&json!("start"), &json!(1)));
    events
}

/// The same of a run that may have ended before it started.
#[track_caller]
fn objects(ran: &Ran) -> Vec<Value> {
    assert_eq!(ran.said(), "", "stderr is for nobody");
    let printed = std::str::from_utf8(&ran.out).unwrap();
    assert!(printed.ends_with('\n'), "{printed:?}");
    let parse = |line: &str| serde_json::from_str(line).unwrap_or_else(|e| panic!("{e}: {line:?}"));
    let events: Vec<Value> = printed.lines().map(parse).collect();
    let summaries = events.iter().filter(|event| event["type"] == "summary").count();
    assert_eq!((summaries, &events[events.len() - 1]["type"]), (1, &json!("summary")), "{printed}");
    assert_eq!(events[events.len() - 1]["exit"], ran.code, "{printed}");
    events
}

fn summary(events: &[Value]) -> &Value {
    &events[events.len() - 1]
}

fn of<'a>(events: &'a [Value], kind: &str) -> Vec<&'a Value> {
    events.iter().filter(|event| event["type"] == kind).collect()
}

/// What is said of files, by what they are called on this side or that.
fn files<'a>(events: &'a [Value], key: &str) -> BTreeMap<&'a str, &'a Value> {
    of(events, "file").into_iter().filter_map(|file| Some((file[key].as_str()?, file))).collect()
}

/// A tree on one side: an empty file, a small one, and one of several blocks.
fn tree(site: &Site, side: &str) -> BTreeMap<String, Vec<u8>> {
    let dir = site.base().join(side).join("d/sub");
    fs::create_dir_all(&dir).unwrap();
    let all = [("empty", Vec::new()), ("small", b"small".to_vec()), ("large", noise(17 * MIB, 1))];
    all.map(|(name, content)| {
        fs::write(dir.join(name), &content).unwrap();
        (format!("d/sub/{name}"), content)
    })
    .into()
}

/// What the summary counts is what the files say.
#[track_caller]
fn adds_up(events: &[Value]) {
    let mut all = of(events, "file");
    let count = |status: &str| all.iter().filter(|file| file["status"] == status).count();
    let (copied, already, failed) = (count("copied"), count("already"), count("failed"));
    all.retain(|file| file["status"] == "copied");
    let bytes: u64 = all.iter().map(|file| file["bytes"].as_u64().unwrap()).sum();
    let sum = summary(events);
    assert_eq!(
        (&sum["files"], &sum["already"], &sum["failed"], &sum["bytes"]),
        (&json!(copied + already), &json!(already), &json!(failed), &json!(bytes)),
    );
    assert!(sum["seconds"].is_f64() && sum["wire"].as_u64() > Some(0), "{sum}");
}

#[test]
fn files_that_were_copied_are_told_with_their_hashes_in_either_direction() {
    for (side, way, source, to) in [("outside", "upload", "d", ":"), ("root", "download", ":d", ".")] {
        let site = Site::new();
        let tree = tree(&site, side);
        let store = site.base().join("store");
        fs::create_dir(&store).unwrap();
        let ran = client(&site).env("BCMR_CAS_DIR", &store).copy(["--json", "-r", source, to]);
        let events = events(ran.succeeds());
        let begin = &events[0];
        assert_eq!(
            (&begin["way"], &begin["sources"], &begin["destination"]),
            (&json!(way), &json!([source]), &json!(to)),
        );
        assert!(begin["version"].is_string());
        let told = files(&events, "source");
        assert_eq!(told.keys().collect::<Vec<_>>(), tree.keys().collect::<Vec<_>>());
        for (name, content) in &tree {
            let file = told[name.as_str()];
            assert_eq!(
                (&file["status"], &file["bytes"], &file["hash"]),
                (&json!("copied"), &json!(content.len()), &json!(hex(content))),
                "{name}"
            );
            assert!(file["destination"].as_str().unwrap().ends_with(name), "{file}");
        }
        adds_up(&events);
        let sum = summary(&events);
        assert_eq!(
            (&sum["error"], &sum["fallback"], &sum["present"]),
            (&Value::Null, &Value::Null, &json!(0))
        );
    }
}

#[test]
fn what_the_server_had_already_is_counted() {
    let site = Site::new();
    tree(&site, "outside");
    let store = site.base().join("store");
    fs::create_dir(&store).unwrap();
    let up = |to: &str| client(&site).env("BCMR_CAS_DIR", &store).copy(["--json", "d/sub/large", to]);
    assert_eq!(summary(&events(up(":first").succeeds()))["present"], 0);
    let events = events(up(":second").succeeds());
    assert_eq!(summary(&events)["present"], 17 * MIB);
    assert!(summary(&events)["wire"].as_u64() < Some(MIB as u64));
    adds_up(&events);
}

#[test]
fn files_that_were_there_already_are_told_as_such() {
    for (side, source, to) in [("outside", "d", ":"), ("root", ":d", ".")] {
        let site = Site::new();
        let tree = tree(&site, side);
        client(&site).copy(["-r", source, to]).succeeds();
        // For a download that has to be looked for.
        let events = events(client(&site).copy(["--json", "-C", "-r", source, to]).succeeds());
        let told = files(&events, "source");
        for (name, content) in &tree {
            assert_eq!(
                (&told[name.as_str()]["status"], &told[name.as_str()]["hash"]),
                (&json!("already"), &json!(hex(content))),
                "{name}"
            );
        }
        adds_up(&events);
    }
}

#[test]
fn a_dry_run_tells_what_it_would_copy_and_counts_nothing() {
    for (side, source, to) in [("outside", "d", ":"), ("root", ":d", ".")] {
        let site = Site::new();
        let tree = tree(&site, side);
        let before = site.everything();
        let events = events(client(&site).copy(["--json", "-n", "-r", source, to]).succeeds());
        assert_eq!(before, site.everything());
        let told = files(&events, "source");
        assert_eq!(told.len(), tree.len());
        for (name, content) in &tree {
            let file = told[name.as_str()];
            assert_eq!(
                (&file["status"], &file["bytes"], &file["hash"]),
                (&json!("would-copy"), &json!(content.len()), &Value::Null)
            );
        }
        adds_up(&events);
    }
}

#[test]
fn without_the_servers_hash_a_download_has_none_and_an_upload_still_has() {
    let site = Site::new();
    tree(&site, "root");
    tree(&site, "outside");
    for (options, source, to, has) in [
        (&["--fast"][..], ":d/sub/small", "fast", false),
        (&[], ":d/sub/small", "checked", true),
        (&["--fast"], "d/sub/small", ":fast", true),
    ] {
        let ran = client(&site).args(["copy", "--json"]).args(options).args([source, to]).run();
        let events = events(ran.succeeds());
        let hash = &of(&events, "file")[0]["hash"];
        assert_eq!(hash, &if has { json!(hex(b"small")) } else { Value::Null }, "{options:?} {source}");
    }
}

#[test]
fn what_failed_and_what_was_left_out_is_told_with_the_reason() {
    let site = Site::new();
    tree(&site, "outside");
    std::os::unix::fs::symlink("small", site.outside().join("d/sub/link")).unwrap();
    let left_out = |options: &[&str], to: &str| {
        let ran = client(&site).args(["copy", "--json", "-r"]).args(options).args(["d", "absent", to]).run();
        let events = events(ran.ends_with(1));
        adds_up(&events);
        let failed = files(&events, "path")["absent"].clone();
        assert_eq!(failed["status"], "failed");
        assert!(failed["error"].as_str().unwrap().contains("No such file"), "{failed}");
        files(&events, "path").get("d/sub/link").map(|file| (**file).clone())
    };
    let link = left_out(&["--no-deref"], ":a/").unwrap();
    assert_eq!(link["status"], "left-out");
    assert!(link["error"].as_str().unwrap().contains("symbolic link"), "{link}");
    assert_eq!(left_out(&[], ":b/"), None);
    // Left out is not failed.
    events(client(&site).copy(["--json", "-r", "--no-deref", "d", ":c"]).succeeds());
    // The server's refusal, and one of this side.
    fs::write(site.outside().join("f"), "here").unwrap();
    site.file("f", "there");
    for (source, to, path) in [("f", ":", "f"), (":f", ".", "./f")] {
        let events = events(client(&site).copy(["--json", source, to]).ends_with(1));
        let told = files(&events, "path")[path];
        assert!(told["error"].as_str().unwrap().contains("exists"), "{told}");
        adds_up(&events);
    }
}

#[test]
fn an_error_that_ends_the_command_is_in_the_summary() {
    let site = Site::new();
    fs::write(site.outside().join("f"), "f").unwrap();
    for (via, code, says) in [
        ("exit 3", 74, "ended (exit 3)"),
        ("exit 75", 75, "refused to serve"),
        ("echo go away >&2; exit 77", 77, "go away"),
    ] {
        let ran = Client::ours().via(via).within(&site.outside()).copy(["--json", "f", ":"]);
        let events = events(ran.ends_with(code));
        let error = summary(&events)["error"].as_str().unwrap();
        assert!(error.contains(says), "{via}: {error}");
        assert_eq!(summary(&events)["files"], 0);
    }
    // Nothing has started then, and the summary is all there is.
    let config = site.outside_file("config.toml", "[defaults]\nspeed = 1\n");
    let config = config.to_str().unwrap();
    for (args, says) in [
        (&["f", "g"][..], "use cp"),
        (&["--no-deref", ":f", "."], "--no-deref"),
        (&["-f", "f", ":"], "add -y"),
        (&["--config", config, "f", ":"], "\"speed\" is no setting"),
    ] {
        let ran = client(&site).args(["copy", "--json"]).args(args).run();
        let objects = objects(ran.ends_with(2));
        let error = summary(&objects)["error"].as_str().unwrap_or_default();
        assert!(error.contains(says) && objects.len() == 1, "{args:?}: {objects:?}");
    }
}

/// A question would be no JSON, and whoever reads that cannot answer it.
#[test]
fn nobody_is_asked_where_a_program_reads() {
    let site = Site::new();
    fs::write(site.outside().join("f"), "f").unwrap();
    let (_person, program) = asking::terminal();
    let ran = client(&site).input(program).copy(["--json", "-f", "f", ":"]);
    let objects = objects(ran.ends_with(2));
    assert!(summary(&objects)["error"].as_str().unwrap().contains("add -y"), "{objects:?}");
    assert!(site.tree().paths().is_empty());
    events(client(&site).copy(["--json", "-f", "-y", "f", ":"]).succeeds());
}

#[test]
fn a_link_that_is_lost_and_found_is_a_warning() {
    let site = Site::new();
    fs::write(site.outside().join("f"), noise(20 * MIB, 1)).unwrap();
    let (gone, serve) = (quoted(&site.base().join("gone")), serve(&site.root()).replace("exec ", ""));
    let pass = "dd bs=64K count=5M iflag=count_bytes status=none";
    let via =
        format!("if [ -e {gone} ]; then echo back >&2; exec {serve}; fi; touch {gone}; {pass} | {serve}");
    let client = Client::ours().retrying().via(via).within(&site.outside());
    let events = events(client.copy(["--json", "--compress", "none", "f", ":"]).succeeds());
    let warned: Vec<_> =
        of(&events, "warning").iter().filter_map(|event| event["message"].as_str()).collect();
    assert!(warned.iter().any(|text| text.contains("trying again in 1 s")), "{warned:?}");
    assert!(warned.contains(&"back"), "what the server says on stderr is missing: {warned:?}");
    assert_eq!(of(&events, "file").len(), 1);
    adds_up(&events);
}

/// Starts a copy of 32 MiB over a link that stops after some; returns when `seen` is in its output or has not come.
fn slowed(options: &[&str], seen: &str, wait: Duration) -> (Ran, Vec<Value>) {
    let site = Site::new();
    fs::write(site.outside().join("f"), noise(32 * MIB, 1)).unwrap();
    let go = site.base().join("go");
    let fake = quoted(&binaries::tool("fake-server"));
    let slow = format!("exec {fake} slow {} {}", quoted(&go), serve(&site.root()).replace("exec ", ""));
    let client = Client::ours().via(slow).within(&site.outside());
    let running =
        client.args(["copy", "--json", "--compress", "none"]).args(options).args(["f", ":"]).start();
    let until = Instant::now() + wait;
    while running.printed().matches(seen).count() < 2 && Instant::now() < until {
        std::thread::sleep(Duration::from_millis(10));
    }
    fs::write(go, "").unwrap();
    let ran = running.end();
    let events = events(ran.succeeds());
    (ran, events)
}

#[test]
fn progress_comes_while_something_is_copied_and_not_where_it_is_off() {
    let (_, events) = slowed(&[], "\"progress\"", Duration::from_secs(20));
    let progress = of(&events, "progress");
    assert!(progress.len() >= 2, "{events:?}");
    let mut before = (0, 0.0);
    for event in progress {
        let now = (event["bytes"].as_u64().unwrap(), event["seconds"].as_f64().unwrap());
        assert!(now.0 >= before.0 && now.0 <= 32 * MIB as u64 && now.1 > before.1, "{event}");
        assert_eq!(event["total"], 32 * MIB);
        assert!(event["files"].is_u64());
        before = now;
    }
    for options in [["--progress", "off"].as_slice(), &["-q"]] {
        let (_, events) = slowed(options, "\"progress\"", Duration::from_millis(2300));
        assert!(of(&events, "progress").is_empty(), "{options:?}: {events:?}");
    }
    // A bar is for people.
    slowed(&["--progress", "bar"], "\"progress\"", Duration::from_millis(300));
}

#[test]
fn names_of_any_bytes_leave_the_lines_whole() {
    let names: [&[u8]; 5] =
        [b"two\nlines", b"\"quoted\"\\", b"\x1b[31m\x07\x7f", "\u{9b}\u{2028}é".as_bytes(), b"a\tb\r"];
    for (side, source, to) in [("outside", "d", ":"), ("root", ":d", ".")] {
        let site = Site::new();
        let dir = site.base().join(side).join("d");
        fs::create_dir(&dir).unwrap();
        for name in names.iter().chain([&b"caf\xff".as_slice()]) {
            fs::write(dir.join(OsStr::from_bytes(name)), name).unwrap();
        }
        let ran = client(&site).copy(["--json", "-r", source, to]);
        let events = events(ran.ends_with(1));
        // Nothing that would move the cursor of somebody who looks at it.
        assert!(!ran.printed().chars().any(|c| c.is_control() && c != '\n'), "{:?}", ran.printed());
        let told = files(&events, "source");
        for name in names {
            let path = format!("d/{}", std::str::from_utf8(name).unwrap());
            assert_eq!(told[path.as_str()]["status"], "copied", "{path:?}");
        }
        let failed: Vec<_> = files(&events, "path").into_values().collect();
        assert!(failed.len() == 1 && failed[0]["path"].as_str().unwrap().contains(r"caf\xff"), "{failed:?}");
        adds_up(&events);
    }
}

#[test]
fn a_reader_that_goes_away_does_not_stop_the_copy() {
    let site = Site::new();
    let tree = tree(&site, "outside");
    let (reader, writer) = pipe().unwrap();
    drop(reader);
    let ended = Command::new(binaries::client())
        .args(["--via", &serve(&site.root()), "copy", "--json", "-r", "d", ":"])
        .current_dir(site.outside())
        .env("HOME", site.base())
        .env("BCMR_CAS_DIR", "/dev/null")
        .stdin(Stdio::null())
        .stdout(writer)
        .output()
        .unwrap();
    assert_eq!((ended.status.code(), String::from_utf8(ended.stderr).unwrap()), (Some(0), String::new()));
    for (name, content) in tree {
        assert!(site.read(&name) == content, "{name}");
    }
}
