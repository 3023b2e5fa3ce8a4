use rustix::process::{Pid, Signal, kill_process, kill_process_group};

/// Ends a child, from whichever thread.
#[derive(Clone, Copy, Debug)]
pub(crate) struct Ender {
    pub(super) pid: Pid,
    /// Whether the child leads a group of its own.
    pub(super) group: bool,
}

impl Ender {
    /// Ends the child, and its group where it leads one. To be called only while it has not been waited for, so that
    /// the id is still its own.
    pub(crate) fn end(self) {
        let _ = if self.group {
            kill_process_group(self.pid, Signal::KILL)
        } else {
            kill_process(self.pid, Signal::KILL)
        };
    }
}
