//! Who may use whom: wire and publish use none of the others; policy uses both; the server uses policy; the
//! client uses wire and publish, and neither policy nor server.

use crate::{SHIPPED, read};

const ARROWS: [(&str, &[&str]); 5] = [
    ("wire", &[]),
    ("publish", &[]),
    ("policy", &["bcmr-publish", "bcmr-wire"]),
    ("server", &["bcmr-policy", "bcmr-publish", "bcmr-wire"]),
    ("client", &["bcmr-publish", "bcmr-wire"]),
];

fn manifest(dir: &str) -> toml::Table {
    read(format!("{dir}/Cargo.toml")).parse().unwrap()
}

fn dependencies(manifest: &toml::Table) -> Vec<String> {
    let kinds = ["dependencies", "build-dependencies"];
    kinds.iter().filter_map(|kind| manifest.get(*kind)?.as_table()).flat_map(|t| t.keys().cloned()).collect()
}

#[test]
fn crates_use_only_the_crates_that_they_may() {
    for (dir, allowed) in ARROWS {
        let used: Vec<_> =
            dependencies(&manifest(dir)).into_iter().filter(|name| name.starts_with("bcmr")).collect();
        for name in &used {
            assert!(allowed.contains(&name.as_str()), "{dir} must not use {name}");
        }
    }
    assert!(ARROWS.iter().all(|(dir, _)| SHIPPED.contains(dir)));
}

#[test]
fn every_crate_takes_the_workspaces_lints_which_forbid_unsafe() {
    let workspace: toml::Table = read("Cargo.toml").parse().unwrap();
    assert_eq!(workspace["workspace"]["lints"]["rust"]["unsafe_code"].as_str(), Some("forbid"));
    for dir in SHIPPED.into_iter().chain(["packaging/manual", "tests"]) {
        assert_eq!(manifest(dir)["lints"]["workspace"].as_bool(), Some(true), "{dir}");
    }
}

/// The probe that tries to get out of the sandbox makes calls that no safe wrapper has. It takes the workspace's
/// lints but for that one, and never ships.
#[test]
fn the_escape_probe_alone_has_unsafe_code_and_in_one_file() {
    let manifest = manifest("tests/probe");
    assert_eq!(manifest["lints"]["rust"]["unsafe_code"].as_str(), Some("deny"));
    let workspace: toml::Table = read("Cargo.toml").parse().unwrap();
    for lint in ["missing_docs", "unreachable_pub", "unused_qualifications"] {
        assert_eq!(manifest["lints"]["rust"][lint], workspace["workspace"]["lints"]["rust"][lint], "{lint}");
    }
    let code = |text: &str| {
        text.contains(concat!("allow(", "unsafe_code")) || text.contains(concat!("unsafe", " {"))
    };
    let files: Vec<_> = crate::sources("tests")
        .into_iter()
        .filter(|(_, text)| code(text))
        .map(|(path, _)| path.display().to_string())
        .collect();
    assert_eq!(files, ["tests/probe/src/sys.rs"]);
    for dir in SHIPPED.into_iter().chain(["tests"]) {
        assert!(
            !dependencies(&self::manifest(dir)).contains(&"bcmr-probe".to_owned()),
            "{dir} uses the probe"
        );
    }
}

#[test]
fn every_dependency_has_its_version_in_one_place() {
    for dir in SHIPPED.into_iter().chain(["packaging/manual", "tests", "tests/probe"]) {
        let manifest = manifest(dir);
        for (name, spec) in manifest["dependencies"].as_table().unwrap() {
            let shared = spec.as_table().and_then(|spec| spec["workspace"].as_bool());
            assert_eq!(shared, Some(true), "{dir}: {name} has a version of its own");
        }
    }
}

/// S18: `unsafe` is forbidden in every crate that ships; the lint holds it, this names the word.
#[test]
fn s18_no_shipped_source_has_the_word_unsafe() {
    let places: Vec<_> = SHIPPED
        .into_iter()
        .flat_map(crate::sources)
        .filter(|(_, text)| {
            text.split(|c: char| !c.is_alphanumeric() && c != '_').any(|word| word == "unsafe")
        })
        .map(|(path, _)| path.display().to_string())
        .collect();
    crate::none("sources with unsafe code", &places);
}
