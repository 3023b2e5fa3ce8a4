//! What the person sees: lines on stderr, a bar where stderr is a terminal, one summary. stdout stays empty.

mod meter;
mod summary;

use std::io::{IsTerminal, Write};
use std::sync::Arc;
use std::time::{Duration, Instant};

use bcmr_wire::shown::shown;
use indicatif::{ProgressBar, ProgressDrawTarget, ProgressStyle};

use crate::cli::Progress;
pub(crate) use meter::Meter;

/// How often a bar is drawn again.
const TICK: Duration = Duration::from_millis(100);

/// How often a plain line of progress is written.
const PLAIN: Duration = Duration::from_secs(5);

/// Bars and lines for one command.
#[derive(Debug)]
pub(crate) struct Ui {
    bar: Option<ProgressBar>,
    quiet: bool,
    pub(crate) meter: Arc<Meter>,
    start: Instant,
}

impl Ui {
    pub(crate) fn new(quiet: bool, progress: Progress) -> Self {
        let (meter, start) = (Arc::new(Meter::default()), Instant::now());
        let barred = match progress {
            Progress::Auto => !quiet && terminal(),
            Progress::Bar => !quiet,
            Progress::Plain | Progress::Off => false,
        };
        if progress == Progress::Plain && !quiet {
            plain(&meter, start);
        }
        Self { bar: barred.then(|| bar(&meter)), quiet, meter, start }
    }

    /// Says something that is no error. Names in it may be anybody's.
    pub(crate) fn note(&self, text: &str) {
        if !self.quiet {
            self.line(&shown(text).to_string());
        }
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

/// Writes a line of progress now and then, as long as the command runs.
fn plain(meter: &Arc<Meter>, start: Instant) {
    let meter = Arc::downgrade(meter);
    // Where no thread can be started there is no progress to be seen.
    let _ = std::thread::Builder::new().name("progress".to_owned()).stack_size(64 * 1024).spawn(move || {
        loop {
            std::thread::sleep(PLAIN);
            let Some(meter) = meter.upgrade() else { return };
            let _ = writeln!(std::io::stderr(), "{}", summary::progress(&meter, start.elapsed()));
        }
    });
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
