//! Where copies land. What scp itself makes of the same words is in `scp`.

use std::fs;

use bcmr_tests::Site;

use crate::client;

fn site() -> Site {
    let site = Site::new();
    for side in ["root", "outside"] {
        let dir = site.base().join(side);
        fs::create_dir(dir.join("d")).unwrap();
        fs::create_dir_all(dir.join("tree/sub")).unwrap();
        fs::write(dir.join("tree/sub/g"), "g").unwrap();
        fs::write(dir.join("f"), "f").unwrap();
        fs::write(dir.join("f2"), "f2").unwrap();
    }
    site
}

/// Copies up and then down, and looks for what was made: `there` stands for the other side in `args`.
#[track_caller]
fn lands(args: &str, made: &[&str]) {
    for (from, to) in [("", ":"), (":", "")] {
        let site = site();
        let (source_side, target_side) =
            if from.is_empty() { ("outside", "root") } else { ("root", "outside") };
        let mut words: Vec<String> = args.split(' ').map(str::to_owned).collect();
        let destination = words.pop().unwrap().replace("there", "");
        let args = words
            .iter()
            .map(|word| if word.starts_with('-') { word.clone() } else { format!("{from}{word}") });
        let destination = match (to, &*destination) {
            ("", "") => ".".to_owned(),
            (to, destination) => format!("{to}{destination}"),
        };
        let before = bcmr_tests::disk::snapshot(&site.base().join(source_side));
        let paths = |side: &str| -> Vec<String> {
            let tree = bcmr_tests::disk::snapshot(&site.base().join(side));
            tree.paths().iter().map(|path| (*path).to_owned()).collect()
        };
        let old = paths(target_side);
        client(&site).copy(args.chain([destination])).succeeds();
        let new: Vec<_> = paths(target_side).into_iter().filter(|path| !old.contains(path)).collect();
        assert_eq!(new, made, "{from} to {to}");
        assert_eq!(
            before,
            bcmr_tests::disk::snapshot(&site.base().join(source_side)),
            "the source was changed"
        );
    }
}

#[test]
fn an_existing_directory_is_copied_into_with_or_without_a_slash() {
    lands("f d", &["d/f"]);
    lands("f d/", &["d/f"]);
    lands("f f2 d", &["d/f", "d/f2"]);
    lands("-r tree d", &["d/tree", "d/tree/sub", "d/tree/sub/g"]);
    lands("-r tree/ d/", &["d/tree", "d/tree/sub", "d/tree/sub/g"]);
}

#[test]
fn a_slash_asks_for_a_directory_which_is_made() {
    lands("f new/", &["new", "new/f"]);
    lands("f f2 new/", &["new", "new/f", "new/f2"]);
    lands("-r tree new/", &["new", "new/tree", "new/tree/sub", "new/tree/sub/g"]);
}

#[test]
fn a_name_that_is_free_becomes_the_copys_own() {
    lands("f new", &["new"]);
    lands("f d/new", &["d/new"]);
    lands("-r tree new", &["new", "new/sub", "new/sub/g"]);
    lands("-r tree/sub new", &["new", "new/g"]);
}

#[test]
fn a_source_that_ends_in_a_dot_gives_its_contents() {
    lands("-r tree/. d", &["d/sub", "d/sub/g"]);
    lands("-r tree/. new", &["new", "new/sub", "new/sub/g"]);
}

#[test]
fn nothing_after_the_colon_is_where_the_server_starts() {
    lands("tree/sub/g there", &["g"]);
    lands("-r tree/sub there", &["sub", "sub/g"]);
}

/// CVE-2020-15778: no shell looks at a name.
#[test]
fn cve_2020_15778_names_that_a_shell_would_act_on_are_names() {
    let site = site();
    for name in ["two words", "$(touch p)", "`touch p`", "a;touch p", "*", "-rf", "it's", "a\nb", "~"] {
        fs::write(site.outside().join(name), name).unwrap();
        // After "--" for the name that begins with a dash.
        client(&site).copy(["--", name, ":d/"]).succeeds();
        assert_eq!(site.read(&format!("d/{name}")), name.as_bytes());
        client(&site).copy(["--", &format!(":d/{name}"), "d"]).succeeds();
        assert_eq!(fs::read(site.outside().join("d").join(name)).unwrap(), name.as_bytes());
        client(&site).copy(["f", &format!(":./{name}-new")]).succeeds();
        assert_eq!(site.read(&format!("{name}-new")), b"f");
    }
    assert!(!site.path("p").exists() && !site.outside().join("p").exists(), "a shell has run a name");
}

/// Refused before anything is copied: both sides as they were.
#[track_caller]
fn refused(args: &[&str], code: i32, says: &str) {
    let site = site();
    let before = site.everything();
    client(&site).copy(args).ends_with(code).says(says);
    assert_eq!(before, site.everything());
}

#[test]
fn several_sources_need_a_directory() {
    refused(&["f", "f2", ":new"], 2, "several sources");
    refused(&["f", "f2", ":f"], 2, "is a file");
    refused(&[":f", ":f2", "new"], 2, "several sources");
    refused(&[":f", ":f2", "f"], 2, "is a file");
}

#[test]
fn a_file_is_not_taken_for_a_directory() {
    refused(&["f2", ":f/"], 2, "is a file");
    refused(&[":f2", "f/"], 2, "is a file");
    refused(&["f2", ":f/x"], 1, "f2: ");
    refused(&[":f2", "f/x"], 1, "f");
}

#[test]
fn a_directory_is_copied_only_when_asked_for() {
    refused(&["tree", ":new"], 1, "tree: is a directory");
    refused(&[":tree", "new"], 1, "tree: is a directory");
}

#[test]
fn a_file_does_not_take_a_directorys_name_nor_a_directory_a_files() {
    let site = site();
    fs::create_dir(site.outside().join("tree/f")).unwrap();
    site.dir("d/tree/sub/g");
    site.file("d/tree/f", "a file");
    fs::create_dir_all(site.outside().join("d/tree/sub/g")).unwrap();
    // Up: sub/g is a directory there, f a file there and a directory here.
    let ran = client(&site).copy(["-r", "-f", "-y", "tree", ":d"]);
    ran.ends_with(1).says("tree/sub/g").says("d/tree/f");
    assert_eq!(site.read("d/tree/f"), b"a file");
    assert!(site.path("d/tree/sub/g").is_dir());
    let ran = client(&site).copy(["-r", "-f", "-y", ":tree", "d"]);
    ran.ends_with(1).says("tree/sub/g");
    assert!(site.outside().join("d/tree/sub/g").is_dir());
}

#[test]
fn absolute_paths_are_the_servers_own() {
    let site = site();
    client(&site).copy(["f", &format!(":{}", site.host("d/abs"))]).succeeds();
    assert_eq!(site.read("d/abs"), b"f");
    client(&site).copy([&format!(":{}", site.host("d/abs")), "back"]).succeeds();
    assert_eq!(fs::read(site.outside().join("back")).unwrap(), b"f");
    // One outside of the root is refused, here and there.
    let before = site.everything();
    let outside = site.outside().join("new");
    client(&site).copy(["f", &format!(":{}", outside.display())]).ends_with(1).says("escapes server root");
    let ran = client(&site).copy([&format!(":{}", site.outside().join("f").display()), "stolen"]);
    ran.ends_with(1).says("escapes server root");
    assert_eq!(before, site.everything());
}

#[test]
fn two_sources_of_one_name_are_refused_before_one_takes_the_others_place() {
    let site = Site::new();
    for dir in ["x", "y"] {
        site.file(&format!("{dir}/b"), dir);
        fs::create_dir(site.outside().join(dir)).unwrap();
        fs::write(site.outside().join(dir).join("b"), dir).unwrap();
    }
    let before = site.everything();
    for paths in [["x/b", "y/b", ":to/"], [":x/b", ":y/b", "to/"]] {
        client(&site).copy(["-f", "-y"].iter().chain(&paths)).ends_with(2).says("b: two sources");
    }
    assert_eq!(before, site.everything());
    client(&site).copy(["x/b", ":to/"]).succeeds();
}

#[test]
fn a_directory_does_not_take_the_place_of_a_file() {
    let site = Site::new();
    site.file("f", "file");
    site.file("d/a", "a");
    fs::create_dir(site.outside().join("d")).unwrap();
    fs::write(site.outside().join("d/a"), "a").unwrap();
    fs::write(site.outside().join("f"), "file").unwrap();
    let before = site.everything();
    for paths in [["d", ":f"], [":d", "f"]] {
        let ran = client(&site).copy(["-r", "-f", "-y"].iter().chain(&paths));
        ran.ends_with(2).says("f: is a file");
        assert_eq!(ran.said().lines().count(), 1, "{}", ran.said());
    }
    assert_eq!(before, site.everything());
}

#[test]
fn a_dry_run_says_what_the_real_one_would() {
    let site = Site::new();
    for (name, here, there) in [("same", "1", Some("1")), ("other", "1", Some("2")), ("new", "1", None)] {
        fs::create_dir_all(site.outside().join("d")).unwrap();
        fs::write(site.outside().join("d").join(name), here).unwrap();
        there.map(|there| site.file(&format!("d/{name}"), there));
    }
    let before = site.everything();
    let ran = client(&site).copy(["-n", "-r", "d", ":"]);
    ran.ends_with(1).says("d/other: exists").says("would copy d/new -> d/new").keeps_quiet_about("same");
    let ran = client(&site).copy(["-n", "-r", "-f", "d", ":"]);
    ran.succeeds().says("would copy d/other").says("would copy d/new").says("would copy d/same");
    client(&site).copy(["-n", ":d/other", "d/other"]).ends_with(1).says("d/other: exists");
    assert_eq!(before, site.everything());
}
