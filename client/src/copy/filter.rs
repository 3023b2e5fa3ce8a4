use regex_lite::Regex;

/// Which files of the sources are copied.
#[derive(Clone, Debug, Default)]
pub(crate) struct Filter {
    pub(crate) exclude: Vec<Regex>,
    pub(crate) include: Vec<Regex>,
}

impl Filter {
    /// Whether something is left out, with all that is in it. `below` is its path below its source, or its own name
    /// where it is the source.
    pub(crate) fn excludes(&self, below: &str) -> bool {
        self.exclude.iter().any(|pattern| pattern.is_match(below))
    }

    /// Whether a file is copied.
    pub(crate) fn admits(&self, below: &str) -> bool {
        !self.excludes(below) && (self.include.is_empty() || self.include.iter().any(|p| p.is_match(below)))
    }

    /// Whether only some files are copied, so that a directory may be there for nothing.
    pub(crate) const fn is_choosy(&self) -> bool {
        !self.include.is_empty()
    }

    /// The same for a path in a listing, whose directories may be left out.
    pub(crate) fn admits_listed(&self, below: &str, is_dir: bool) -> bool {
        let left_out = below.match_indices('/').any(|(at, _)| self.excludes(&below[..at]));
        !left_out && if is_dir { !self.excludes(below) } else { self.admits(below) }
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn what_is_left_out_is_left_out_with_all_that_is_in_it() {
        let regex = |text: &str| Regex::new(text).unwrap();
        let filter = Filter { exclude: vec![regex(r"(^|/)\.git$"), regex("\\.o$")], include: vec![] };
        assert!(filter.admits_listed("src/a.c", false) && filter.admits_listed("src", true));
        assert!(!filter.admits_listed("a.o", false) && !filter.admits_listed(".git", true));
        assert!(!filter.admits_listed("x/.git/config", false) && filter.admits_listed(".gitignore", false));
        let only = Filter { exclude: vec![], include: vec![regex("\\.c$")] };
        assert!(only.admits("d/a.c") && !only.admits("a.h") && only.is_choosy() && !filter.is_choosy());
    }
}
