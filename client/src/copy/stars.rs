//! `*` in remote sources, which stands for any part of a name, as scp's users expect. Everything else is literal. No
//! shell takes part: the server lists what is below the last directory without a star, and the names are picked here.

use bcmr_wire::Message;
use glob::{MatchOptions, Pattern};

use super::{Failure, names};
use crate::exchange::{Dead, Exchange, Reply};
use crate::plan::join;
use crate::target::Remote;

/// A star crosses no slash.
const OPTIONS: MatchOptions = MatchOptions {
    case_sensitive: true,
    require_literal_separator: true,
    require_literal_leading_dot: false,
};

/// The paths that the sources stand for. A path that exists is itself, whatever is in its name; one that stands for
/// nothing is named.
pub(super) fn expand(
    link: &mut Exchange,
    sources: &[&Remote],
    failures: &mut Vec<Failure>,
) -> Result<Vec<String>, Dead> {
    let mut paths = Vec::new();
    failures.clear();
    for source in sources {
        let path = source.path.as_str();
        if !path.contains('*') || matches!(link.call(&Message::Stat { path })?, Reply::Stat(_)) {
            paths.push(path.to_owned());
            continue;
        }
        let (dir, below) = split(path);
        match link.call(&Message::List { path: dir })? {
            Reply::List(list) => {
                let listed = list.iter().map(|entry| (entry.path.as_str(), entry.is_dir));
                let picked: Vec<_> = pick(below, listed).into_iter().map(|found| join(dir, found)).collect();
                if picked.is_empty() {
                    failures.push(Failure::new(path, "no name on the server fits"));
                }
                paths.extend(picked);
            }
            Reply::Error(error) => failures.push(Failure::new(path, error.without(path))),
            _ => return Err(Dead),
        }
    }
    Ok(paths)
}

/// The last directory that has no star in its path, and what follows it.
fn split(path: &str) -> (&str, &str) {
    let star = path.find('*').unwrap_or(path.len());
    match path[..star].rfind('/') {
        Some(0) => ("/", &path[1..]),
        Some(slash) => (&path[..slash], &path[slash + 1..]),
        None => ("", path),
    }
}

/// Those names of a listing that fit. What ends in a slash fits directories only.
fn pick<'a>(below: &str, listed: impl Iterator<Item = (&'a str, bool)>) -> Vec<&'a str> {
    let literal = below.trim_end_matches('/');
    let escaped = literal.split('*').map(Pattern::escape).collect::<Vec<_>>().join("*");
    // Two stars in a row would cross slashes.
    let single = collapse(&escaped);
    let Ok(pattern) = Pattern::new(&single) else { return Vec::new() };
    let dirs_only = literal.len() < below.len();
    listed
        .filter(|(name, is_dir)| {
            (*is_dir || !dirs_only)
                && names::is_safe(name)
                && pattern.matches_with(name, OPTIONS)
                && !is_hidden(name, literal)
        })
        .map(|(name, _)| name)
        .collect()
}

/// Whether a name begins with a dot where the pattern does not: as in shells, a star stands for no such dot.
fn is_hidden(name: &str, pattern: &str) -> bool {
    name.split('/')
        .zip(pattern.split('/'))
        .any(|(name, pattern)| name.starts_with('.') && !pattern.starts_with('.'))
}

fn collapse(pattern: &str) -> String {
    let mut single = String::with_capacity(pattern.len());
    for c in pattern.chars() {
        if c != '*' || !single.ends_with('*') {
            single.push(c);
        }
    }
    single
}

#[cfg(test)]
mod tests {
    use super::{pick, split};

    #[test]
    fn the_directory_without_a_star_is_what_is_listed() {
        assert_eq!(split("*.c"), ("", "*.c"));
        assert_eq!(split("/*"), ("/", "*"));
        assert_eq!(split("a/b/c*d/e*"), ("a/b", "c*d/e*"));
    }

    #[test]
    fn a_star_is_any_part_of_one_name_and_all_else_is_literal() {
        let listed =
            [("a.c", false), (".c", false), ("d", true), ("d/b.c", false), ("[x].c", false), ("q?", false)];
        let fits = |pattern| pick(pattern, listed.into_iter());
        assert_eq!(fits("*.c"), ["a.c", "[x].c"]);
        assert_eq!(fits("**"), ["a.c", "d", "[x].c", "q?"]);
        assert_eq!(fits("*/*.c"), ["d/b.c"]);
        assert_eq!(fits("*/"), ["d"]);
        assert_eq!(fits(".*"), [".c"]);
        assert_eq!(fits("[x]*"), ["[x].c"]);
        assert_eq!(fits("*?"), ["q?"]);
        assert_eq!(fits("x*"), [""; 0]);
    }
}
