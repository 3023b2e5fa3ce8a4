//! On which rungs of the ladder a session published its files, read from its calls.

use crate::trace::{Call, hex};

/// Where a file was received.
#[derive(Clone, Copy, PartialEq, Eq, Debug)]
pub(crate) enum Staged {
    Unnamed,
    Named,
}

/// How it became visible.
#[derive(Clone, Copy, PartialEq, Eq, Debug)]
pub(crate) enum Published {
    LinkedByDescriptor,
    LinkedThroughProc,
    /// To a reserved name first, and from there over the old file.
    LinkedThenRenamed,
    Renamed,
    RenamedWithoutReplacing,
    /// From its reserved name.
    LinkedByName,
}

/// How the beginning of an old file was kept.
#[derive(Clone, Copy, PartialEq, Eq, Debug)]
pub(crate) enum Kept {
    Shared,
    CopiedByKernel,
    CopiedByHand,
}

/// What became of one Put.
#[derive(Clone, PartialEq, Eq, Debug)]
pub(crate) struct Rungs {
    pub(crate) staged: Staged,
    pub(crate) published: Published,
    pub(crate) kept: Option<Kept>,
    /// What was flushed, before and after it was published.
    pub(crate) flushes: &'static [&'static str],
}

/// The rungs of every Put that published a file as `name`, in order.
pub(crate) fn rungs_of(calls: &[Call], name: &str) -> Vec<Rungs> {
    let serving = calls[0].thread;
    let calls: Vec<_> = calls.iter().filter(|call| call.thread == serving).collect();
    // A Put ends where its reply is written.
    let replies = |call: &&Call| call.name.starts_with("write") && call.args.contains(&hex(&[0, 0, 0, 0x82]));
    calls.split(replies).filter_map(|put| rungs_of_one(put, name)).collect()
}

fn rungs_of_one(calls: &[&Call], name: &str) -> Option<Rungs> {
    let at = calls.iter().position(|call| call.publishes(name))?;
    let publishing = calls[at];
    let is_stage = |call: &&&Call| {
        call.name == "openat"
            && call.succeeded()
            && (call.args.contains("O_TMPFILE") || (call.args.contains("O_CREAT") && call.names(".bcmr-")))
    };
    let staged_at =
        calls[..at].iter().rposition(|call| is_stage(&call)).expect("published, and never staged");
    let stage = calls[staged_at];
    let staged = if stage.args.contains("O_TMPFILE") { Staged::Unnamed } else { Staged::Named };
    let published = match (&*publishing.name, staged) {
        ("linkat", _) if publishing.args.contains("AT_EMPTY_PATH") => Published::LinkedByDescriptor,
        ("linkat", _) if publishing.args.contains("AT_SYMLINK_FOLLOW") => Published::LinkedThroughProc,
        ("linkat", _) => Published::LinkedByName,
        ("renameat2", _) if publishing.args.contains("RENAME_NOREPLACE") => {
            Published::RenamedWithoutReplacing
        }
        ("renameat", Staged::Unnamed) => Published::LinkedThenRenamed,
        ("renameat", Staged::Named) => Published::Renamed,
        other => panic!("{other:?}"),
    };
    // Not before: a dynamic linker reads libraries as a copy by hand reads.
    let did = |name: &str| calls[staged_at..].iter().any(|call| call.name == name && call.succeeded());
    let kept = if did("ioctl") {
        Some(Kept::Shared)
    } else if did("copy_file_range") {
        Some(Kept::CopiedByKernel)
    } else if did("pread64") {
        Some(Kept::CopiedByHand)
    } else {
        None
    };
    let flushes = calls.iter().enumerate().filter_map(|(i, call)| match &*call.name {
        _ if i == at => Some("publish"),
        "fsync" if call.args == stage.result => Some("file"),
        "fsync" => Some("directory"),
        _ => None,
    });
    Some(Rungs { staged, published, kept, flushes: flushes.collect::<Vec<_>>().leak() })
}
