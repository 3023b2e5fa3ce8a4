//! Which paths lie inside: the part of the verdict that is about names.

use std::fmt;

use bcmr_publish::name::is_reserved;
use bcmr_wire::RemotePath;

use crate::judge::Refusal;

/// A path that the fence admitted: relative to the root, no `..`, no reserved name; empty for the root itself.
#[derive(Clone, PartialEq, Eq, Debug, Hash)]
pub struct RootedPath(String);

impl RootedPath {
    /// The components joined by single slashes.
    #[must_use]
    pub fn as_str(&self) -> &str {
        &self.0
    }

    /// Whether this is the root itself.
    #[must_use]
    pub const fn is_root(&self) -> bool {
        self.0.is_empty()
    }

    /// The path of the containing directory and the last component; None for the root.
    #[must_use]
    pub fn split(&self) -> Option<(&str, &str)> {
        if self.0.is_empty() { None } else { Some(self.0.rsplit_once('/').unwrap_or(("", &self.0))) }
    }
}

impl fmt::Display for RootedPath {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.write_str(if self.is_root() { "." } else { &self.0 })
    }
}

/// Decides which paths lie inside the root.
#[derive(Clone, Debug)]
pub struct Fence {
    /// The root's path in every spelling that counts, each as components joined by slashes; the canonical one
    /// last. In jail view the one spelling is empty: `/` is the root.
    spellings: Vec<String>,
    /// What lies inside and is closed all the same, relative to the root.
    closed: Vec<String>,
    /// Directories, relative to the root, in which names that begin with a dot are not written.
    guarded: Vec<String>,
}

impl Fence {
    /// A fence around a root that is known under the given host paths, the canonical one last. Absolute paths
    /// are host paths (docs/wire-v2.md, "Paths").
    pub fn host_view<'a>(spellings: impl IntoIterator<Item = &'a str>) -> Self {
        let mut spellings: Vec<_> = spellings.into_iter().filter_map(normal).collect();
        spellings.dedup();
        Self { spellings, closed: Vec::new(), guarded: Vec::new() }
    }

    /// A fence whose absolute paths begin at the root.
    #[must_use]
    pub fn jail_view() -> Self {
        Self { spellings: vec![String::new()], closed: Vec::new(), guarded: Vec::new() }
    }

    /// Closes a directory, given by its host path, where that lies inside the root, given by its own.
    #[must_use]
    pub fn closing(mut self, host_root: &str, host_dir: &str) -> Self {
        if let (Some(root), Some(dir)) = (normal(host_root), normal(host_dir)) {
            self.closed.extend(strip_components(&dir, &root).map(str::to_owned));
        }
        self
    }

    /// Whether what stands under `name` in the directory `dir`, given by its path from the root, is closed: a
    /// listing passes it over, whatever it is, and whether or not it was there when the session began.
    #[must_use]
    pub fn closes(&self, dir: &str, name: &str) -> bool {
        self.closed.iter().any(|closed| (dir, name) == closed.rsplit_once('/').unwrap_or(("", closed)))
    }

    /// Guards what a login shell and ssh read at their start, where the account's home, given by its host path,
    /// is the root or lies in it: `.ssh`, `.bashrc`, `.config` and whatever else begins with a dot at its top, and
    /// at the root's.
    #[must_use]
    pub fn guarding(mut self, host_root: &str, host_home: &str) -> Self {
        if let (Some(root), Some(home)) = (normal(host_root), normal(host_home))
            && let Some(home) = strip_components(&home, &root)
        {
            self.guarded.extend([String::new(), home.to_owned()]);
        }
        self
    }

    /// Whether writing to an admitted path would change such a file. Asked of the path in the request, and again
    /// of the path without links that it leads to.
    #[must_use]
    pub fn guards(&self, path: &RootedPath) -> bool {
        let dotted =
            |home: &String| strip_components(path.as_str(), home).is_some_and(|rest| rest.starts_with('.'));
        self.guarded.iter().any(dotted)
    }

    /// The root's canonical path, as components joined by slashes: where relative links inside it count from.
    #[must_use]
    pub fn root(&self) -> &str {
        self.spellings.last().map_or("", String::as_str)
    }

    /// Whether a path may lead to what is closed though it is spelled otherwise: on file systems that fold case
    /// one name has many spellings. Then each directory on the way has to be looked at.
    #[must_use]
    pub fn may_alias_closed(&self, path: &str) -> bool {
        let first = |path: &str| path.split('/').next().unwrap_or("").to_owned();
        let asked = first(path);
        self.closed.iter().any(|closed| !asked.is_ascii() || asked.eq_ignore_ascii_case(&first(closed)))
    }

    /// Admits a path from the wire, or from a link inside the root, whose relative paths begin at the root.
    ///
    /// # Errors
    /// [`Refusal::Outside`], [`Refusal::Reserved`]: the same whether or not anything exists there.
    pub fn admit(&self, path: &RemotePath) -> Result<RootedPath, Refusal> {
        let inside = if path.is_absolute() {
            let under = |root: &String| strip_components(path.as_str(), root);
            self.spellings.iter().find_map(under).ok_or(Refusal::Outside)?
        } else {
            path.as_str()
        };
        if self.closed.iter().any(|closed| strip_components(inside, closed).is_some()) {
            return Err(Refusal::Outside);
        }
        if inside.split('/').any(|name| is_reserved(name.as_bytes())) {
            return Err(Refusal::Reserved);
        }
        Ok(RootedPath(inside.to_owned()))
    }
}

fn normal(path: &str) -> Option<String> {
    RemotePath::parse(path).ok().map(|path| path.as_str().to_owned())
}

/// What is left of `path` below `prefix`, both normalised.
fn strip_components<'a>(path: &'a str, prefix: &str) -> Option<&'a str> {
    if prefix.is_empty() {
        return Some(path);
    }
    let rest = path.strip_prefix(prefix)?;
    if rest.is_empty() { Some(rest) } else { rest.strip_prefix('/') }
}

#[cfg(test)]
mod tests {
    use super::*;

    fn admit(fence: &Fence, path: &str) -> Result<String, Refusal> {
        fence.admit(&RemotePath::parse(path).unwrap()).map(|path| path.as_str().to_owned())
    }

    #[test]
    fn absolute_paths_count_from_either_spelling_of_the_root() {
        let fence = Fence::host_view(["/home/u", "/data/home/u"]);
        assert_eq!(admit(&fence, "/home/u/a//b/").unwrap(), "a/b");
        assert_eq!(admit(&fence, "/data/home/u").unwrap(), "");
        assert_eq!(admit(&fence, "a").unwrap(), "a");
        for outside in ["/", "/home", "/home/us", "/home/u2/a", "/etc/passwd"] {
            assert_eq!(admit(&fence, outside).unwrap_err(), Refusal::Outside, "{outside}");
        }
    }

    #[test]
    fn a_root_of_slash_has_every_absolute_path_inside() {
        let fence = Fence::host_view(["/"]);
        assert_eq!(admit(&fence, "/etc/passwd").unwrap(), "etc/passwd");
        assert_eq!(admit(&fence, "/").unwrap(), "");
    }

    #[test]
    fn in_jail_view_absolute_paths_begin_at_the_root() {
        let fence = Fence::jail_view();
        assert_eq!(admit(&fence, "/etc/passwd").unwrap(), "etc/passwd");
        assert_eq!(admit(&fence, "a").unwrap(), "a");
    }

    #[test]
    fn what_is_closed_is_outside_though_it_lies_inside() {
        let fence = Fence::host_view(["/home/u"]).closing("/home/u", "/home/u/.local/state/bcmr");
        assert!(fence.closes(".local/state", "bcmr") && !fence.closes("", "bcmr"));
        assert!(!fence.closes(".local/state", "bcmr2") && !fence.closes("", ".local"));
        for closed in [".local/state/bcmr", "/home/u/.local/state/bcmr/cas/x", ".local//state/./bcmr/"] {
            assert_eq!(admit(&fence, closed).unwrap_err(), Refusal::Outside, "{closed}");
        }
        assert!(admit(&fence, ".local/state").is_ok() && admit(&fence, ".local/state/bcmr2").is_ok());
        assert!(fence.may_alias_closed(".LOCAL/x") && fence.may_alias_closed(".ıocal"));
        assert!(!fence.may_alias_closed("build/x"));
        let elsewhere = Fence::host_view(["/srv/drop"]).closing("/srv/drop", "/var/lib/bcmr/u");
        assert!(admit(&elsewhere, "var/lib/bcmr/u").is_ok() && !elsewhere.may_alias_closed("var"));
    }

    #[test]
    fn a_closed_directory_right_in_the_root_is_known_by_its_name() {
        let fence = Fence::host_view(["/home/u"]).closing("/home/u", "/home/u/s");
        assert!(fence.closes("", "s") && !fence.closes("s", "s") && !fence.closes("d", "s"));
    }

    #[test]
    fn dot_files_at_the_top_of_a_home_and_of_the_root_around_it_are_guarded() {
        let guards = |fence: &Fence, path: &str| {
            fence.guards(&fence.admit(&RemotePath::parse(path).unwrap()).unwrap())
        };
        let own = Fence::host_view(["/home/u"]).guarding("/home/u", "/home/u");
        for path in [".ssh", ".ssh/authorized_keys", "/home/u/.bashrc", "./.config/fish/config.fish"] {
            assert!(guards(&own, path), "{path}");
        }
        for path in ["", "a", "a/.ssh", "ssh", "a.b"] {
            assert!(!guards(&own, path), "{path}");
        }
        let around = Fence::host_view(["/home"]).guarding("/home", "/home/u");
        assert!(guards(&around, "u/.ssh/rc") && guards(&around, ".x") && !guards(&around, "u/a/.ssh"));
        let elsewhere = Fence::host_view(["/srv/drop"]).guarding("/srv/drop", "/home/u");
        assert!(!guards(&elsewhere, ".ssh"));
        let below = Fence::host_view(["/home/u/drop"]).guarding("/home/u/drop", "/home/u");
        assert!(!guards(&below, ".ssh"));
    }

    #[test]
    fn a_root_that_is_closed_itself_admits_nothing() {
        let fence = Fence::host_view(["/s"]).closing("/s", "/s");
        assert_eq!(admit(&fence, "").unwrap_err(), Refusal::Outside);
        assert_eq!(admit(&fence, "a").unwrap_err(), Refusal::Outside);
    }

    #[test]
    fn reserved_names_are_refused_at_any_depth() {
        let fence = Fence::host_view(["/r"]);
        let reserved = ".bcmr-0123456789abcdef0123456789abcdef";
        for path in [reserved.to_owned(), format!("a/{reserved}"), format!("/r/{reserved}/b")] {
            assert_eq!(admit(&fence, &path).unwrap_err(), Refusal::Reserved, "{path}");
        }
        assert!(admit(&fence, ".bcmr-notes").is_ok());
    }
}
