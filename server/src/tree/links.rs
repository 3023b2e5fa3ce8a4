//! Following symbolic links as text: what a link says becomes a path again, which the fence judges like any.

use bcmr_policy::{Refusal, RootedPath};
use bcmr_wire::RemotePath;

use super::walk::Link;
use super::{Place, Tree};
use crate::failure::Failure;

/// Symbolic links followed on the way to one place; Linux follows as many (path_resolution(7)).
const LINKS: usize = 40;

/// What was followed on the way to one place.
pub(super) struct Links {
    left: usize,
    /// Components at the end that may be missing: those that stand after every link. More means that a link
    /// leads nowhere.
    pub(super) may_miss: usize,
}

impl Default for Links {
    fn default() -> Self {
        Self { left: LINKS, may_miss: usize::MAX }
    }
}

impl Links {
    pub(super) fn count(&mut self, link: &Link) -> Result<(), Failure> {
        self.left = self.left.checked_sub(1).ok_or(Failure::Links)?;
        self.may_miss = self.may_miss.min(components(&link.after).count());
        Ok(())
    }
}

impl Tree {
    /// The path that stands for a link and what comes after it.
    ///
    /// It is worked out as a host path, so that a target may leave the root textually and come back; only the
    /// result has to lie inside.
    pub(super) fn follow(&self, link: &Link, links: &mut Links) -> Result<RootedPath, Failure> {
        let mut host = Vec::new();
        if !link.target.starts_with('/') {
            host.extend(components(self.fence.root()).chain(components(&link.before)).map(str::to_owned));
        }
        // `before` has no link in it, nor has the root's canonical path: a `..` there can be taken textually.
        let mut plain = host.len();
        for name in components(&link.target) {
            if name != ".." {
                host.push(name.to_owned());
                continue;
            }
            if host.len() > plain {
                host = self.without_links(host, links)?;
            }
            host.pop();
            plain = host.len();
        }
        host.extend(components(&link.after).map(str::to_owned));
        self.admit(&host)
    }

    /// The same directory's host path without a symbolic link in it; outside the root, where nothing is looked
    /// up, the path as it is.
    fn without_links(&self, host: Vec<String>, links: &mut Links) -> Result<Vec<String>, Failure> {
        let inside = match self.admit(&host) {
            Err(Failure::Refused(Refusal::Outside)) => return Ok(host),
            inside => inside?,
        };
        match self.resolve(inside, links)? {
            (path, Place::Entry(entry)) if entry.is_dir() => {
                let resolved = components(self.fence.root()).chain(components(path.as_str()));
                Ok(resolved.map(str::to_owned).collect())
            }
            _ => Err(Failure::Dangling),
        }
    }

    fn admit(&self, host: &[String]) -> Result<RootedPath, Failure> {
        let path = RemotePath::parse(&format!("/{}", host.join("/"))).map_err(Refusal::from)?;
        Ok(self.fence.admit(&path)?)
    }
}

fn components(path: &str) -> impl Iterator<Item = &str> {
    path.split('/').filter(|name| !matches!(*name, "" | "."))
}
