//! Every key that a policy file may have.

/// Keys of `[profile.NAME]`; `cas` and `direct` are tables.
pub const PROFILE_KEYS: [&str; 23] = [
    "accounts",
    "root",
    "verbs",
    "view",
    "overwrite",
    "symlinks",
    "umask",
    "file_mode",
    "dir_mode",
    "max_file",
    "max_transfer",
    "max_entries",
    "account_quota",
    "min_free",
    "max_sessions",
    "rate",
    "idle",
    "sandbox",
    "compression",
    "allow_root",
    "state",
    "cas",
    "direct",
];

/// Keys of `[profile.NAME.cas]`.
pub const CAS_KEYS: [&str; 2] = ["cap", "min_free"];

/// Keys of `[profile.NAME.direct]`.
pub const DIRECT_KEYS: [&str; 3] = ["ports", "address", "advertise"];

/// Keys of the file itself.
pub(super) const FILE_KEYS: [&str; 3] = ["version", "personal", "profile"];

/// Keys of `[personal]`.
pub(super) const PERSONAL_KEYS: [&str; 1] = ["allow"];

/// The error for a key that does not exist: with the nearest that does, where one is near.
pub(super) fn unknown(key: &str, known: &[&str]) -> String {
    let near = known.iter().map(|name| (distance(key, name), *name)).min();
    match near {
        Some((distance, name)) if distance <= 3 && distance < name.len() => {
            format!("unknown key '{key}'; did you mean '{name}'?")
        }
        _ => format!("unknown key '{key}'; known here: {}", known.join(", ")),
    }
}

/// Letters to insert, remove, replace or exchange with their neighbour to get from one word to the other.
fn distance(from: &str, to: &str) -> usize {
    let (from, to): (Vec<char>, Vec<char>) = (from.chars().collect(), to.chars().collect());
    let mut before = vec![0; to.len() + 1];
    let mut last: Vec<usize> = (0..=to.len()).collect();
    for i in 1..=from.len() {
        let mut row = vec![i; to.len() + 1];
        for j in 1..=to.len() {
            let replaced = last[j - 1] + usize::from(from[i - 1] != to[j - 1]);
            row[j] = replaced.min(last[j] + 1).min(row[j - 1] + 1);
            if i > 1 && j > 1 && from[i - 1] == to[j - 2] && from[i - 2] == to[j - 1] {
                row[j] = row[j].min(before[j - 2] + 1);
            }
        }
        before = std::mem::replace(&mut last, row);
    }
    last[to.len()]
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_misspelt_key_is_told_from_a_made_up_one() {
        assert!(unknown("max_flie", &PROFILE_KEYS).contains("did you mean 'max_file'?"));
        assert!(unknown("overwrites", &PROFILE_KEYS).contains("'overwrite'"));
        assert!(unknown("Root", &PROFILE_KEYS).contains("'root'"));
        let made_up = unknown("chroot_directory", &PROFILE_KEYS);
        assert!(
            made_up.contains("known here: accounts, root") && !made_up.contains("did you mean"),
            "{made_up}"
        );
    }

    #[test]
    fn distances_count_exchanged_neighbours_once() {
        assert_eq!(distance("", "abc"), 3);
        assert_eq!(distance("idle", "idle"), 0);
        assert_eq!(distance("ilde", "idle"), 1);
        assert_eq!(distance("verb", "verbs"), 1);
    }
}
