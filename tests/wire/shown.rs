//! Names from the other end, as people see them.

use bcmr_wire::shown::shown;

/// A fake server named files so that a terminal obeyed them (CVE-2019-6111).
#[test]
fn cve_2019_6111_no_character_that_a_terminal_obeys_is_shown() {
    let obeyed = |c: char| {
        c.is_control()
            || matches!(c, '\u{200b}'..='\u{200f}' | '\u{2028}'..='\u{202e}' | '\u{2066}'..='\u{2069}' | '\u{feff}')
    };
    for c in '\0'..=char::MAX {
        let seen = shown(&format!("a{c}b")).to_string();
        assert!(!seen.contains(obeyed), "{c:?} is shown as {seen:?}");
        assert!(seen.starts_with('a') && seen.ends_with('b') && seen.len() > 2, "{c:?} is lost in {seen:?}");
    }
}
