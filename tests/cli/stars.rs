//! `*` in remote sources, as scp's users expect it; everything else is literal.

use std::fs;

use bcmr_tests::Site;
use bcmr_tests::disk::snapshot;

use crate::client;

fn site(files: &[&str]) -> Site {
    let site = Site::new();
    for file in files {
        site.file(file, file);
    }
    site
}

/// What stands below the destination's side.
fn here(site: &Site) -> Vec<String> {
    snapshot(&site.outside()).paths().iter().map(|path| (*path).to_owned()).collect()
}

/// Copies `source` into the outside, which is empty; what came.
#[track_caller]
fn comes(files: &[&str], args: &[&str], made: &[&str]) {
    let site = site(files);
    let ran = client(&site).arg("copy").args(args).arg(".").run();
    ran.succeeds();
    assert_eq!(here(&site), made, "{args:?}");
    for path in made {
        let path = site.outside().join(path);
        // Each file has its own path as content.
        assert!(
            path.is_dir()
                || fs::read_to_string(&path).unwrap().ends_with(path.file_name().unwrap().to_str().unwrap())
        );
    }
}

const FILES: [&str; 6] = ["a.c", "b.c", "a.h", "d/a.c", "d/sub/c.c", "e/a.c"];

#[test]
fn a_star_is_any_part_of_a_name() {
    comes(&FILES, &[":*.c"], &["a.c", "b.c"]);
    comes(&FILES, &[":a.*"], &["a.c", "a.h"]);
    comes(&FILES, &[":d/*.c"], &["a.c"]);
    comes(&FILES, &[":d/*/c.c"], &["c.c"]);
    comes(&FILES, &[":d/s*b/*.c", ":*.h"], &["a.h", "c.c"]);
    comes(&FILES, &[":**.h"], &["a.h"]);
    let site = site(&FILES);
    client(&site).copy([&format!(":{}", site.host("*.h")), "."]).succeeds();
    assert_eq!(here(&site), ["a.h"]);
}

#[test]
fn directories_that_fit_come_whole_with_r_and_are_named_without() {
    comes(&FILES, &["-r", ":d*"], &["d", "d/a.c", "d/sub", "d/sub/c.c"]);
    comes(&FILES, &["-r", ":*/"], &["d", "d/a.c", "d/sub", "d/sub/c.c", "e", "e/a.c"]);
    let site = site(&FILES);
    let ran = client(&site).copy([":*", "."]);
    ran.ends_with(1).says("d: is a directory").says("e: is a directory").says("3 files");
    assert_eq!(here(&site), ["a.c", "a.h", "b.c"]);
}

#[test]
fn several_that_fit_need_a_directory_and_one_takes_the_name() {
    let site = site(&FILES);
    let before = site.everything();
    client(&site).copy([":*.c", "new"]).ends_with(2).says("several sources");
    fs::write(site.outside().join("file"), "old").unwrap();
    client(&site).copy(["-f", "-y", ":*.c", "file"]).ends_with(2).says("file: is a file");
    fs::remove_file(site.outside().join("file")).unwrap();
    assert_eq!(before, site.everything());
    client(&site).copy([":*.h", "new"]).succeeds();
    assert_eq!(fs::read(site.outside().join("new")).unwrap(), b"a.h");
    client(&site).copy([":*.c", "made/"]).succeeds();
    assert_eq!(here(&site), ["made", "made/a.c", "made/b.c", "new"]);
}

#[test]
fn a_star_stands_for_no_leading_dot() {
    let files = [".hidden", "shown", ".d/x", "d/.x", "d/x"];
    comes(&[".hidden", "shown"], &[":*"], &["shown"]);
    comes(&files, &[":.h*"], &[".hidden"]);
    comes(&files, &[":*/x"], &["x"]);
    comes(&files, &[":.*/x"], &["x"]);
    comes(&files, &[":d/.*"], &[".x"]);
    // What is in a directory that fits comes along, as it does with scp.
    comes(&files, &["-r", ":d*"], &["d", "d/.x", "d/x"]);
}

#[test]
fn a_path_that_exists_is_itself_whatever_is_in_its_name() {
    let files = ["a*b", "axb", "d*/f", "dx/f"];
    comes(&files, &[":a*b"], &["a*b"]);
    comes(&files, &[":d*/f"], &["f"]);
    comes(&files, &["-r", ":d*"], &["d*", "d*/f"]);
    comes(&files, &[":a*"], &["a*b", "axb"]);
}

#[test]
fn question_marks_brackets_and_backslashes_are_literal() {
    let files = ["a?", "ab", "[ab]", "a", r"b\*", "bc", "{a,b}"];
    comes(&files, &[":a?"], &["a?"]);
    comes(&files, &[":[ab]"], &["[ab]"]);
    comes(&files, &[":[ab*"], &["[ab]"]);
    comes(&files, &[":{a*"], &["{a,b}"]);
    comes(&files, &[r":b\*"], &[r"b\*"]);
    let site = site(&files);
    for literal in [":b?", ":[xyz]", ":[b]*"] {
        client(&site).copy([literal, "."]).ends_with(1).says(literal.trim_start_matches(':'));
    }
    assert!(here(&site).is_empty());
}

#[test]
fn a_star_that_nothing_fits_is_named_and_the_rest_is_copied() {
    let site = site(&FILES);
    let before = site.everything();
    client(&site).copy([":*.zst", "."]).ends_with(1).says("*.zst: no name on the server fits");
    client(&site).copy([":nowhere/*", "."]).ends_with(1).says("nowhere");
    client(&site).copy([":a.c/*", "."]).ends_with(1).says("a.c");
    client(&site).copy([&format!(":{}/*", site.outside().display()), "."]).ends_with(1);
    assert_eq!(before, site.everything());
    client(&site).copy([":*.zst", ":*.h", "into/"]).ends_with(1).says("1 file,");
    assert_eq!(here(&site), ["into", "into/a.h"]);
}

#[test]
fn stars_of_this_side_are_literal() {
    let site = site(&["f"]);
    for name in ["a*", "ab"] {
        fs::write(site.outside().join(name), name).unwrap();
    }
    fs::create_dir(site.outside().join("d")).unwrap();
    // The shell's business, which has had its turn.
    client(&site).copy(["a*", ":up/"]).succeeds();
    assert_eq!(site.tree().paths(), ["f", "up", "up/a*"]);
    client(&site).copy(["b*", ":up/"]).ends_with(1).says("b*: ");
    // A destination is a name on either side.
    client(&site).copy(["ab", ":u*"]).succeeds();
    assert_eq!(site.read("u*"), b"ab");
    client(&site).copy([":f", "d*"]).succeeds();
    assert_eq!(fs::read(site.outside().join("d*")).unwrap(), b"f");
    assert_eq!(fs::read_dir(site.outside().join("d")).unwrap().count(), 0);
}

#[test]
fn only_copy_looks_at_stars() {
    let site = site(&["a*", "ab"]);
    let ran = client(&site).args(["hash", ":a*"]).run();
    assert_eq!(ran.succeeds().printed().lines().count(), 1);
    client(&site).args(["stat", ":b*"]).run().ends_with(1).says("b*");
}
