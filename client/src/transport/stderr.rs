//! The child's stderr: drained always, so that the child never waits for it; shown line by line, made safe.

use std::io::{self, BufRead, BufReader, Read};
use std::process::ChildStderr;
use std::sync::{Arc, Mutex, PoisonError};
use std::thread::JoinHandle;

use crate::ui::Ui;

/// Bytes of a line that are shown; what goes beyond is passed over.
const LINE: u64 = 300;

/// Lines held back at most; a child that writes more shows its last ones.
const HELD: usize = 20;

/// A thread that drains.
#[derive(Debug)]
pub(super) struct Stderr {
    held: Arc<Mutex<Held>>,
    thread: Option<JoinHandle<()>>,
    ui: Arc<Ui>,
}

#[derive(Debug, Default)]
struct Held {
    shown: bool,
    lines: Vec<String>,
}

impl Stderr {
    pub(super) fn drain(stderr: Option<ChildStderr>, ui: &Arc<Ui>) -> io::Result<Self> {
        let held = Arc::new(Mutex::new(Held::default()));
        let thread = match stderr {
            None => None,
            Some(stderr) => {
                let (held, ui) = (Arc::clone(&held), Arc::clone(ui));
                Some(std::thread::Builder::new().name("stderr".to_owned()).spawn(move || {
                    let mut stderr = BufReader::new(stderr);
                    while let Some(line) = next_line(&mut stderr) {
                        let mut held = held.lock().unwrap_or_else(PoisonError::into_inner);
                        if held.shown {
                            ui.passed_on(&line);
                        } else {
                            if held.lines.len() == HELD {
                                held.lines.remove(0);
                            }
                            held.lines.push(line);
                        }
                    }
                })?)
            }
        };
        Ok(Self { held, thread, ui: Arc::clone(ui) })
    }

    pub(super) fn show(&self) {
        let mut held = self.held.lock().unwrap_or_else(PoisonError::into_inner);
        held.shown = true;
        for line in held.lines.drain(..) {
            self.ui.passed_on(&line);
        }
    }

    pub(super) fn last_held(&self) -> Option<String> {
        self.held.lock().unwrap_or_else(PoisonError::into_inner).lines.last().cloned()
    }

    /// Waits until everything was drained; the child must have ended. What it left running may hold the pipe
    /// open (a ControlPersist master does), so the wait is short.
    pub(super) fn finish(&mut self) {
        let Some(thread) = self.thread.take() else { return };
        for _ in 0..20 {
            if thread.is_finished() {
                let _ = thread.join();
                return;
            }
            std::thread::sleep(std::time::Duration::from_millis(10));
        }
    }
}

/// The next line that is not empty, cut and made safe to show; None at the end. The public server writes whole
/// blocks, as numbers, in one line.
fn next_line(stderr: &mut impl BufRead) -> Option<String> {
    loop {
        let mut line = Vec::new();
        if stderr.by_ref().take(LINE).read_until(b'\n', &mut line).ok()? == 0 {
            return None;
        }
        let whole = line.last() == Some(&b'\n') || stderr.skip_until(b'\n').ok()? == 0;
        let text = String::from_utf8_lossy(&line);
        let text = text.trim_end_matches(['\r', '\n']);
        if !text.is_empty() {
            return Some(format!("{}{}", bcmr_wire::shown::shown(text), if whole { "" } else { " …" }));
        }
    }
}

#[cfg(test)]
mod tests {
    use super::next_line;

    #[test]
    fn a_line_is_shown_once_however_long_it_is() {
        let long = format!("{}\nnext\r\n\n\x1b[1mlast", "1, ".repeat(1_000_000));
        let mut stderr = long.as_bytes();
        let line = next_line(&mut stderr).unwrap();
        assert!(line.len() < 310 && line.starts_with("1, 1, ") && line.ends_with(" …"), "{line}");
        assert_eq!(next_line(&mut stderr).as_deref(), Some("next"));
        assert_eq!(next_line(&mut stderr).as_deref(), Some("\\u{1b}[1mlast"));
        assert_eq!(next_line(&mut stderr), None);
    }
}
