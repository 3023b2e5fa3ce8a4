//! Paths from the wire: what is normalised, what is refused.

use bcmr_wire::RemotePath;
use bcmr_wire::path::PathError;
use proptest::prelude::*;

use crate::parts::tries;

fn parsed(text: &str) -> RemotePath {
    RemotePath::parse(text).unwrap_or_else(|e| panic!("{text:?}: {e}"))
}

#[test]
fn spellings_of_one_path_are_one_path() {
    let spellings: [(&str, &[&str]); 6] = [
        ("", &["", ".", "./", ".//", "./.", "././/."]),
        ("/", &["/", "//", "/.", "/./", "//."]),
        ("a", &["a", "a/", "./a", "a/.", "a//", ".//a//."]),
        ("a/b", &["a/b", "a//b", "a/./b", "./a/b/", "a/.//./b//"]),
        ("/a/b", &["/a/b", "//a/b", "/./a/b", "/a/b/", "/a//b/."]),
        ("caf\u{e9}/ b\n", &["caf\u{e9}/ b\n", "./caf\u{e9}// b\n/"]),
    ];
    for (normal, spellings) in spellings {
        for text in spellings {
            assert_eq!(parsed(text), parsed(normal), "{text:?}");
            assert_eq!(parsed(text).to_string(), normal, "{text:?}");
        }
    }
}

#[test]
fn an_absolute_path_is_not_the_relative_one() {
    assert_ne!(parsed("/a"), parsed("a"));
    assert_ne!(parsed("/"), parsed(""));
    assert!(parsed("/").is_absolute() && parsed("//a").is_absolute());
    assert!(!parsed("").is_absolute() && !parsed("./a").is_absolute());
    assert_eq!(parsed("/a/b").as_str(), "a/b");
    assert_eq!((parsed("").as_str(), parsed("/").as_str()), ("", ""));
}

#[test]
fn a_parent_component_is_refused_wherever_it_stands() {
    for text in
        ["..", "../", "/..", "a/..", "a/../b", "../a", "./..", "//..", "a//..", "a/.././b", "a/../../b"]
    {
        assert_eq!(RemotePath::parse(text), Err(PathError::Parent), "{text:?}");
    }
    for text in ["...", "..a", "a..", "a/..b", "a/b../c", "a/.../b", ". .", ".. "] {
        assert_eq!(parsed(text).to_string(), text, "only a component of exactly two dots is the parent");
    }
    assert!(PathError::Parent.to_string().contains("escapes server root"));
}

#[test]
fn a_nul_byte_is_refused_wherever_it_stands() {
    for text in ["\0", "a\0", "\0a", "a/\0/b", "a/b\0", "..\0"] {
        assert_eq!(RemotePath::parse(text), Err(PathError::Nul), "{text:?}");
    }
}

#[test]
fn a_path_of_4095_bytes_is_taken_and_one_of_4096_is_refused() {
    assert_eq!(parsed(&"x".repeat(4_095)).as_str().len(), 4_095);
    assert_eq!(RemotePath::parse(&"x".repeat(4_096)), Err(PathError::TooLong));
    let two_byte_characters = "\u{e9}".repeat(2_048);
    assert_eq!(RemotePath::parse(&two_byte_characters), Err(PathError::TooLong), "bytes, not characters");
    assert_eq!(RemotePath::parse(&"/".repeat(4_096)), Err(PathError::TooLong), "as sent, not as normalised");
}

#[test]
fn components_are_those_of_the_normal_form() {
    assert_eq!(parsed("/a//b/./c/").components().collect::<Vec<_>>(), ["a", "b", "c"]);
    assert_eq!(parsed("").components().count(), 0);
    assert_eq!(parsed("/").components().count(), 0);
}

proptest! {
    #![proptest_config(tries(400))]

    #[test]
    fn what_is_taken_has_no_empty_dot_or_parent_component(text in "[./a\u{e9}\0]{0,12}") {
        let hostile = text.contains('\0') || text.split('/').any(|component| component == "..");
        let path = RemotePath::parse(&text);
        prop_assert_eq!(path.is_err(), hostile);
        if let Ok(path) = path {
            prop_assert!(path.components().all(|component| !matches!(component, "" | "." | "..")));
            prop_assert_eq!(path.components().collect::<Vec<_>>().join("/"), path.as_str());
            prop_assert_eq!(path.is_absolute(), text.starts_with('/'));
            prop_assert_eq!(RemotePath::parse(&path.to_string()), Ok(path));
        }
    }
}
