//! What every pair of a client and a server can do.

use std::fs;

use bcmr_tests::content::{noise, text};

use crate::pair::{Makes, Pair, sums};

const MIB: usize = 1024 * 1024;

/// Makes each function a test for each pair.
macro_rules! pairs {
    ($($name:ident)*) => {
        pairs! { @ ours_to_public OursToPublic $($name)* }
        pairs! { @ public_to_ours PublicToOurs $($name)* }
        pairs! { @ ours_to_ours OursToOurs $($name)* }
    };
    (@ $module:ident $makes:ident $($name:ident)*) => {
        mod $module {
            use super::*;
            $(
                #[test]
                #[ignore = "needs sshd: run by tests/run"]
                fn $name() {
                    super::$name(&Pair::new(Makes::$makes));
                }
            )*
        }
    };
}

pairs! {
    files_of_every_size_arrive_and_come_back_whole
    a_tree_arrives_and_comes_back_whole
    names_with_spaces_quotes_and_letters_beyond_ascii_stay_as_they_are
    auto_compression_changes_nothing_in_the_content
    zstd_changes_nothing_in_the_content
    lz4_changes_nothing_in_the_content
    no_compression_changes_nothing_in_the_content
    fast_and_sync_change_nothing_in_the_content
    what_exists_there_stays_unless_forced
    what_exists_here_stays_unless_forced
    paths_count_from_home_or_from_the_root
    a_directory_or_a_slash_means_into_and_else_the_name_itself
    a_source_that_is_missing_is_named_and_nothing_is_made
}

fn files_of_every_size_arrive_and_come_back_whole(pair: &Pair) {
    let sizes = [0, 1, 4 * MIB - 1, 4 * MIB, 4 * MIB + 1, 20 * MIB];
    let names: Vec<String> = sizes.iter().map(|size| format!("up/{size}")).collect();
    for (name, size) in names.iter().zip(sizes) {
        pair.here(name, noise(size, size as u64));
    }
    let names = names.iter().map(String::as_str);
    pair.copy_args(names.chain(["@all/"])).succeeds();
    pair.same("up", "all");
    let there: Vec<String> = sizes.iter().map(|size| format!("@all/{size}")).collect();
    fs::create_dir(pair.local("down")).unwrap();
    pair.copy_args(there.iter().map(String::as_str).chain(["down"])).succeeds();
    pair.same("down", "all");
}

fn a_tree_arrives_and_comes_back_whole(pair: &Pair) {
    pair.here("tree/a", "a");
    pair.here("tree/empty file", "");
    pair.here("tree/deep/er/and/deeper/b", noise(100_000, 1));
    fs::create_dir_all(pair.local("tree/empty/inside")).unwrap();
    for number in 0..300 {
        pair.here(&format!("tree/many/{number}"), format!("content of {number}"));
    }
    pair.copy("-r tree @copy").succeeds();
    pair.same("tree", "copy");
    pair.copy("-r @copy back").succeeds();
    pair.same("back", "copy");
}

fn names_with_spaces_quotes_and_letters_beyond_ascii_stay_as_they_are(pair: &Pair) {
    // A shell stands between the public client and its server's side for some of these, and none for ours.
    for (number, name) in ["two words", "it's", "a\"b", "süß-日本-🦀", "$(x)", "`x`", "a&b;c", "#", "~", "-r"]
        .into_iter()
        .enumerate()
    {
        pair.here(&format!("tree/{name}"), format!("{number}"));
    }
    pair.copy("-r tree @there").succeeds();
    pair.same("tree", "there");
    pair.copy("-r @there back").succeeds();
    pair.same("back", "there");
    pair.copy_args(["tree/it's", "tree/süß-日本-🦀", "tree/two words", "@a new place/"]).succeeds();
    assert_eq!(fs::read_dir(pair.home("a new place")).unwrap().count(), 3);
    pair.copy_args(["@there/it's", "one"]).succeeds();
    pair.copy_args(["@there/two words", "another one"]).succeeds();
    assert_eq!(sums(&pair.local("one")), sums(&pair.home("a new place/it's")));
    assert_eq!(sums(&pair.local("another one")), sums(&pair.home("a new place/two words")));
}

fn auto_compression_changes_nothing_in_the_content(pair: &Pair) {
    through(pair, "--compress auto");
}

fn zstd_changes_nothing_in_the_content(pair: &Pair) {
    through(pair, "--compress zstd");
}

fn lz4_changes_nothing_in_the_content(pair: &Pair) {
    through(pair, "--compress lz4");
}

fn no_compression_changes_nothing_in_the_content(pair: &Pair) {
    through(pair, "--compress none");
}

fn fast_and_sync_change_nothing_in_the_content(pair: &Pair) {
    through(pair, "--fast --sync");
}

/// Sends text, which codecs make smaller, noise, which they do not, both in one file, and a hole.
fn through(pair: &Pair, options: &str) {
    pair.here("tree/text", text(9 * MIB + 5));
    pair.here("tree/noise", noise(5 * MIB + 3, 2));
    pair.here("tree/mixed", [text(3 * MIB), noise(6 * MIB, 3), text(1000)].concat());
    pair.here("tree/hole", vec![0; 5 * MIB]);
    pair.copy(&format!("{options} -r tree @copy")).succeeds();
    pair.same("tree", "copy");
    pair.copy(&format!("{options} -r @copy back")).succeeds();
    pair.same("back", "copy");
}

fn what_exists_there_stays_unless_forced(pair: &Pair) {
    pair.there("d/f", "the old one, and longer");
    pair.here("f", "the new one");
    for to in ["@d/f", "@d", "@d/"] {
        let ran = pair.copy(&format!("f {to}"));
        ran.ends_with(1).says("exists");
        assert_eq!(fs::read(pair.home("d/f")).unwrap(), b"the old one, and longer", "{to}");
        pair.copy(&format!("-f -y f {to}")).succeeds();
        assert_eq!(fs::read(pair.home("d/f")).unwrap(), b"the new one", "{to}");
        pair.there("d/f", "the old one, and longer");
    }
    assert_eq!(fs::read_dir(pair.home("d")).unwrap().count(), 1, "something was left behind");
}

fn what_exists_here_stays_unless_forced(pair: &Pair) {
    pair.there("f", "the new one");
    for to in ["d/f", "d", "d/"] {
        pair.here("d/f", "the old one, and longer");
        pair.copy(&format!("@f {to}")).ends_with(1).says("exists");
        assert_eq!(fs::read(pair.local("d/f")).unwrap(), b"the old one, and longer", "{to}");
        pair.copy(&format!("-f -y @f {to}")).succeeds();
        assert_eq!(fs::read(pair.local("d/f")).unwrap(), b"the new one", "{to}");
    }
    assert_eq!(fs::read_dir(pair.local("d")).unwrap().count(), 1, "something was left behind");
}

fn paths_count_from_home_or_from_the_root(pair: &Pair) {
    pair.here("f", "content");
    let outside = tempfile::tempdir().unwrap();
    let absolute = outside.path().to_str().unwrap();
    pair.copy("f @relative").succeeds();
    pair.copy(&format!("f @{absolute}/absolute")).succeeds();
    pair.copy(&format!("f @{absolute}/missing/parents/f")).succeeds();
    pair.copy("f @missing/parents/f").succeeds();
    pair.copy(&format!("@{absolute}/absolute back")).succeeds();
    pair.copy("@missing/parents/f back-too").succeeds();
    // Both kinds in one command.
    fs::create_dir(pair.local("both")).unwrap();
    pair.copy(&format!("@{absolute}/absolute @relative both")).succeeds();
    assert_eq!(fs::read_dir(pair.local("both")).unwrap().count(), 2);
    for copy in [
        pair.home("relative"),
        outside.path().join("absolute"),
        outside.path().join("missing/parents/f"),
        pair.home("missing/parents/f"),
        pair.local("back"),
        pair.local("back-too"),
        pair.local("both/absolute"),
        pair.local("both/relative"),
    ] {
        assert_eq!(fs::read(&copy).unwrap(), b"content", "{}", copy.display());
    }
}

fn a_directory_or_a_slash_means_into_and_else_the_name_itself(pair: &Pair) {
    pair.here("tree/f", "content");
    fs::create_dir(pair.home("there")).unwrap();
    pair.copy("-r tree @there").succeeds();
    pair.copy("-r tree @new").succeeds();
    pair.copy("-r tree @made/").succeeds();
    pair.copy("-r tree @").succeeds();
    for place in ["there/tree", "new", "made/tree", "tree"] {
        pair.same("tree", place);
    }
    // Several sources cannot all become one name.
    pair.here("f", "content");
    pair.copy("f tree/f @absent").keeps_quiet_about("panic");
    assert!(!pair.home("absent").exists());
}

fn a_source_that_is_missing_is_named_and_nothing_is_made(pair: &Pair) {
    pair.copy("no-such @there").ends_with(1).says("no-such");
    pair.copy("@no-such here").ends_with(1).says("no-such");
    assert!(!pair.local("here").exists() && !pair.home("there").exists());
}
