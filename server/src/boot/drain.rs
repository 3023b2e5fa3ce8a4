use rustix::fs::{AtFlags, CWD, FileType, statat};

/// The file by which root lets running sessions end and no new one begin.
pub(crate) const DRAIN: &str = "/etc/bcmr/drain";

/// Whether root has put the file there.
pub(crate) fn draining() -> bool {
    statat(CWD, DRAIN, AtFlags::SYMLINK_NOFOLLOW)
        .is_ok_and(|stat| stat.st_uid == 0 && FileType::from_raw_mode(stat.st_mode) == FileType::RegularFile)
}
