//! A profile as people read it: each key, its value for an account, and where that comes from.

use std::fmt::Write;

use super::{Draft, Rules, Symlinks, View};
use crate::file::Free;
use crate::verb::Verb;

impl Rules {
    /// One line per key: name, value, origin.
    pub(crate) fn show(&self, draft: &Draft) -> String {
        let mut out = String::new();
        for (key, value) in self.values() {
            let origin = match draft.set.get(key) {
                Some(line) => format!("{}:{line}", draft.file.display()),
                None => "default".to_owned(),
            };
            // Writing to a String cannot fail.
            let _ = writeln!(out, "  {key:<17} {value:<40} {origin}");
        }
        out
    }

    fn values(&self) -> Vec<(&'static str, String)> {
        let verbs: Vec<_> = self.verbs.iter().map(Verb::name).collect();
        let codecs = [("zstd", self.compression.zstd), ("lz4", self.compression.lz4)];
        let codecs: Vec<_> = codecs.iter().filter(|(_, on)| *on).map(|(name, _)| *name).collect();
        let direct = self.direct.as_ref();
        let address = |address: Option<std::net::IpAddr>, none: &str| {
            address.map_or_else(|| none.to_owned(), |address| address.to_string())
        };
        vec![
            ("root", self.root.display().to_string()),
            ("state", self.state.display().to_string()),
            ("verbs", verbs.join(" ")),
            (
                "view",
                match self.view {
                    View::Host => "host",
                    View::Jail => "jail",
                }
                .to_owned(),
            ),
            ("overwrite", self.overwrite.to_string()),
            (
                "symlinks",
                match self.symlinks {
                    Symlinks::Inside => "inside",
                    Symlinks::Never => "never",
                }
                .to_owned(),
            ),
            ("umask", mode(self.umask, "the account's own")),
            ("file_mode", mode(self.file_mode, "0666 less umask")),
            ("dir_mode", mode(self.dir_mode, "0777 less umask")),
            ("max_file", limit(self.max_file)),
            ("max_transfer", limit(self.max_transfer)),
            ("max_entries", self.max_entries.map_or_else(|| "none".to_owned(), |n| n.to_string())),
            ("account_quota", limit(self.account_quota)),
            ("min_free", free(self.min_free)),
            ("max_sessions", self.max_sessions.map_or_else(|| "none".to_owned(), |n| n.to_string())),
            ("rate", self.rate.map_or_else(|| "none".to_owned(), |rate| format!("{}/s", size(rate)))),
            ("idle", format!("{}s", self.idle.as_secs())),
            ("sandbox", self.sandbox.name().to_owned()),
            ("compression", if codecs.is_empty() { "none".to_owned() } else { codecs.join(" ") }),
            ("allow_root", self.allow_root.to_string()),
            ("cas.cap", if self.cas.cap == 0 { "0 (no dedup)".to_owned() } else { size(self.cas.cap) }),
            ("cas.min_free", free(self.cas.min_free)),
            (
                "direct.ports",
                direct.map_or("not offered".to_owned(), |d| format!("{}-{}", d.ports.0, d.ports.1)),
            ),
            ("direct.address", direct.map_or("not offered".to_owned(), |d| address(d.address, "ssh"))),
            (
                "direct.advertise",
                direct.map_or("not offered".to_owned(), |d| address(d.advertise, "the bound address")),
            ),
        ]
    }
}

fn mode(mode: Option<u32>, none: &str) -> String {
    mode.map_or_else(|| none.to_owned(), |mode| format!("{mode:04o}"))
}

fn limit(bytes: Option<u64>) -> String {
    bytes.map_or_else(|| "none".to_owned(), size)
}

fn free(free: Free) -> String {
    match free {
        Free::Bytes(bytes) => size(bytes),
        Free::Percent(percent) => format!("{percent}%"),
    }
}

fn size(bytes: u64) -> String {
    const UNITS: [(&str, u32); 4] = [("TiB", 40), ("GiB", 30), ("MiB", 20), ("KiB", 10)];
    let whole = |shift: u32| bytes != 0 && bytes.trailing_zeros() >= shift;
    match UNITS.iter().find(|(_, shift)| whole(*shift)) {
        Some((unit, shift)) => format!("{}{unit}", bytes >> shift),
        None => format!("{bytes}B"),
    }
}
