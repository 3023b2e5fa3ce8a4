//! Signals by which people end a command. The first has it stop, with nothing half-written left and a word on what is
//! done; the second ends it at once.

use std::sync::atomic::{AtomicI32, Ordering};
use std::time::{Duration, Instant};

use signal_hook::consts::{SIGHUP, SIGINT, SIGTERM};
use signal_hook::iterator::Signals;

use crate::exit::{Exit, Fatal};
use crate::rerun;

/// How often somebody who waits looks.
const LOOK: Duration = Duration::from_millis(100);

/// The signal that came; 0 where none did.
static CAME: AtomicI32 = AtomicI32::new(0);

/// From now on takes note of signals.
pub(crate) fn watch() {
    // Where that cannot be, the first signal ends it at once.
    let Ok(mut signals) = Signals::new([SIGHUP, SIGINT, SIGTERM]) else { return };
    let take = move || {
        for signal in &mut signals {
            if CAME.swap(signal, Ordering::SeqCst) != 0 {
                let _ = signal_hook::low_level::emulate_default_handler(signal);
            }
        }
    };
    let _ = std::thread::Builder::new().name("signals".to_owned()).stack_size(64 * 1024).spawn(take);
}

/// The exit code of the signal that came, if one did.
pub(crate) fn came() -> Option<Exit> {
    match CAME.load(Ordering::SeqCst) {
        0 => None,
        SIGHUP => Some(Exit::HungUp),
        SIGTERM => Some(Exit::Terminated),
        _ => Some(Exit::Interrupted),
    }
}

/// The end of a command that a signal came to.
pub(crate) fn fatal() -> Fatal {
    Fatal::new(
        came().unwrap_or(Exit::Interrupted),
        format!("interrupted; nothing half-written is left, and {}", rerun::then()),
    )
}

/// Sleeps, and wakes early where a signal comes.
pub(crate) fn sleep(pause: Duration) -> Result<(), Fatal> {
    let until = Instant::now() + pause;
    while came().is_none() {
        match until.checked_duration_since(Instant::now()) {
            Some(left) if !left.is_zero() => std::thread::sleep(left.min(LOOK)),
            _ => return Ok(()),
        }
    }
    Err(fatal())
}
