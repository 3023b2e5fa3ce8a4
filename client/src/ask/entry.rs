//! Answers as lines for people, and as JSON for programs. Names may be anybody's.

use std::time::{Duration, UNIX_EPOCH};

use bcmr_wire::shown::shown;
use serde_json::json;

use crate::ui::json_line;

/// Something on a server.
pub(super) struct Entry<'a> {
    pub(super) path: &'a str,
    pub(super) size: u64,
    pub(super) mtime: i64,
    pub(super) is_dir: bool,
}

impl Entry<'_> {
    /// Size, time, and name, which ends in a slash where it is a directory's.
    pub(super) fn line(&self) -> String {
        let slash = if self.is_dir { "/" } else { "" };
        format!("{:>14}  {}  {}{slash}", self.size, time(self.mtime), shown(self.path))
    }

    pub(super) fn json(&self) -> String {
        let kind = if self.is_dir { "directory" } else { "file" };
        json_line(&json!({"path": self.path, "kind": kind, "size": self.size, "mtime": self.mtime}))
    }
}

pub(super) fn sum(path: &str, bytes: u64, files: u64, json: bool) -> String {
    if json {
        json_line(&json!({"path": path, "bytes": bytes, "files": files}))
    } else {
        format!("{bytes:>14}  {files:>8}  {}", shown(path))
    }
}

pub(super) fn hash(path: &str, hash: &str, json: bool) -> String {
    if json {
        json_line(&json!({"path": path, "hash": hash}))
    } else {
        format!("{}  {}", shown(hash), shown(path))
    }
}

/// A time in UTC (RFC 3339), or the seconds since the epoch where no calendar has it.
fn time(mtime: i64) -> String {
    const YEAR_10000: u64 = 253_402_300_800;
    match u64::try_from(mtime) {
        Ok(seconds) if seconds < YEAR_10000 => {
            humantime::format_rfc3339_seconds(UNIX_EPOCH + Duration::from_secs(seconds)).to_string()
        }
        _ => format!("{mtime:>20}"),
    }
}

#[cfg(test)]
mod tests {
    use super::time;

    #[test]
    fn any_time_has_a_text() {
        assert_eq!(time(0), "1970-01-01T00:00:00Z");
        assert_eq!(time(1_796_081_190), "2026-11-30T23:26:30Z");
        for odd in [-1, i64::MIN, i64::MAX] {
            assert_eq!(time(odd).trim(), odd.to_string());
        }
    }
}
