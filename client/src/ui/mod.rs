//! What the person sees: lines on stderr, a bar where stderr is a terminal, one summary. stdout stays empty.

mod meter;
mod summary;

use std::io::{IsTerminal, Write};
use std::sync::Arc;
use std::time::{Duration, Instant};

use bcmr_wire::shown::shown;
use indicatif::{ProgressBar, ProgressDrawTarget, ProgressStyle};

pub(crate) use meter::Meter;

/// How often a bar is drawn again.
const TICK: Duration = Duration::from_millis(100);

/// Bars and lines for one command.
#[derive(Debug)]
pub(crate) struct Ui {
    bar: Option<ProgressBar>,
    quiet: bool,
    pub(crate) meter: Arc<Meter>,
    start: Instant,
}

impl Ui {
    pub(crate) fn new(quiet: bool) -> Self {
        let meter = Arc::new(Meter::default());
        let bar = (!quiet && terminal()).then(|| bar(&meter));
        Self { bar, quiet, meter, start: Instant::now() }
    }

    /// Writes a line to stderr, above the bar where there is one. Nothing can be done where that fails.
    pub(crate) fn line(&self, line: &str) {
        let write = || {
            let _ = writeln!(std::io::stderr(), "{line}");
        };
        match &self.bar {
            Some(bar) => bar.suspend(write),
            None => write(),
        }
    }

    /// Says that something failed. Names in it may be anybody's.
    pub(crate) fn error(&self, text: &str) {
        self.line(&format!("bcmr: {}", shown(text)));
    }

    /// Takes the bar away and writes the summary.
    pub(crate) fn finish(&self) {
        if let Some(bar) = &self.bar {
            bar.finish_and_clear();
        }
        if !self.quiet {
            self.line(&summary::summary(&self.meter, self.start.elapsed()));
        }
    }

    /// Takes the bar away, without a summary.
    pub(crate) fn clear(&self) {
        if let Some(bar) = &self.bar {
            bar.finish_and_clear();
        }
    }
}

/// Whether stderr is a terminal that understands how to move its cursor.
fn terminal() -> bool {
    std::io::stderr().is_terminal()
        && std::env::var_os("TERM").is_some_and(|term| term != "dumb" && !term.is_empty())
}

fn bar(meter: &Arc<Meter>) -> ProgressBar {
    let bar = ProgressBar::with_draw_target(None, ProgressDrawTarget::stderr());
    let shown = Arc::clone(meter);
    let style = ProgressStyle::with_template("{spinner} {progress}")
        .unwrap_or_else(|_| ProgressStyle::default_spinner());
    bar.set_style(style.with_key(
        "progress",
        move |state: &indicatif::ProgressState, out: &mut dyn std::fmt::Write| {
            let _ = out.write_str(&summary::progress(&shown, state.elapsed()));
        },
    ));
    bar.enable_steady_tick(TICK);
    bar
}
