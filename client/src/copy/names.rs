//! Destinations, with scp's meaning: into an existing directory, into one to be made where a slash ends the
//! name, else the name itself.

use std::collections::HashSet;
use std::path::{Component, Path};

use crate::exit::Fatal;

/// Where the copies of the sources go.
#[derive(Clone, PartialEq, Eq, Debug)]
pub(super) enum Into<P> {
    /// Each into this directory, under its own name.
    Directory(P),
    /// The one source under this name.
    Name(P),
}

/// What is known of a destination.
#[derive(Clone, Copy, PartialEq, Eq, Debug)]
pub(super) enum Standing {
    Directory,
    File,
    /// Nothing is there, or nothing can be learnt of it.
    Absent,
}

/// Decides where the sources go. `spelled` is the destination as the person wrote it.
pub(super) fn decide<P>(
    path: P,
    spelled: &str,
    standing: Standing,
    sources: usize,
) -> Result<Into<P>, Fatal> {
    let asks_for_dir = spelled.ends_with('/') || matches!(spelled, "" | ".") || spelled.ends_with("/.");
    match standing {
        Standing::Directory => Ok(Into::Directory(path)),
        Standing::File if asks_for_dir || sources > 1 => {
            Err(Fatal::usage(format!("{spelled}: is a file, and a directory is needed")))
        }
        Standing::Absent if asks_for_dir => Ok(Into::Directory(path)),
        Standing::Absent if sources > 1 => Err(Fatal::usage(format!(
            "{spelled}: several sources need a directory, and there is none; end the name with a slash to have it \
             made"
        ))),
        Standing::File | Standing::Absent => Ok(Into::Name(path)),
    }
}

/// Checks that no two copies would get the same name in a directory, of which the last would be left.
pub(super) fn check_distinct<'a>(names: impl Iterator<Item = &'a str>) -> Result<(), Fatal> {
    let mut seen = HashSet::new();
    for name in names {
        if !seen.insert(name) {
            return Err(Fatal::usage(format!(
                "{name}: two sources would get this name; copy them into different directories"
            )));
        }
    }
    Ok(())
}

/// Of a directory whose copy would have to take the place of a file.
pub(super) fn not_over_a_file(spelled: &str) -> Fatal {
    Fatal::usage(format!("{spelled}: is a file, and the source is a directory"))
}

/// The name that a local source's copy gets in a directory; None where its contents go there (`.`, `..`, `/`).
pub(super) fn own_name(source: &Path) -> Option<&std::ffi::OsStr> {
    // file_name() looks past a trailing `.`, which scp does not.
    let dotted = source.as_os_str().as_encoded_bytes();
    if dotted == b"." || dotted.ends_with(b"/.") {
        return None;
    }
    source.file_name()
}

/// The same for a remote source.
pub(super) fn own_remote_name(source: &str) -> Option<&str> {
    let name = source.trim_end_matches('/').rsplit('/').next().unwrap_or("");
    (!matches!(name, "" | "." | "..")).then_some(name)
}

/// Whether an entry of a listing may become a path below the destination: a relative path of plain names. A
/// server that sends anything else is broken or hostile.
pub(super) fn is_safe(listed: &str) -> bool {
    !listed.is_empty()
        && !listed.contains('\0')
        && listed.split('/').all(|name| !matches!(name, "" | "." | ".."))
        && Path::new(listed).components().all(|part| matches!(part, Component::Normal(_)))
}

#[cfg(test)]
mod tests {
    use super::*;

    fn decided(spelled: &str, standing: Standing, sources: usize) -> Option<Into<()>> {
        decide((), spelled, standing, sources).ok()
    }

    #[test]
    fn cve_2020_15778_a_destination_means_what_it_means_to_scp() {
        let (into, name) = (Some(Into::Directory(())), Some(Into::Name(())));
        assert_eq!(decided("d", Standing::Directory, 1), into);
        assert_eq!(decided("d/", Standing::Directory, 3), into);
        assert_eq!(decided("new/", Standing::Absent, 1), into);
        assert_eq!(decided("new/", Standing::Absent, 3), into);
        assert_eq!(decided("new", Standing::Absent, 1), name);
        assert_eq!(decided("f", Standing::File, 1), name);
        assert_eq!(decided("", Standing::Absent, 2), into);
        assert_eq!(decided("new", Standing::Absent, 2), None);
        assert_eq!(decided("f", Standing::File, 2), None);
        assert_eq!(decided("f/", Standing::File, 1), None);
    }

    #[test]
    fn a_source_of_dots_or_slash_has_no_name_of_its_own() {
        assert_eq!(own_name(Path::new("a/b/")), Some("b".as_ref()));
        for source in [".", "..", "/", "a/.", "a/.."] {
            assert_eq!(own_name(Path::new(source)), None, "{source}");
            assert_eq!(own_remote_name(source), None, "{source}");
        }
        assert_eq!(own_remote_name("a/b//"), Some("b"));
    }

    #[test]
    fn cve_2019_6111_listed_paths_stay_below_the_destination() {
        for listed in ["../x", "/x", "a/../b", "a//b", "", ".", "a/.", "a\0b"] {
            assert!(!is_safe(listed), "{listed:?}");
        }
        assert!(is_safe("a/b c/\x1b[1m") && is_safe("..a/b.."));
    }
}
