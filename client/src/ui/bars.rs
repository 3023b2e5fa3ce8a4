//! Bars on a terminal: one for everything, and one for each connection where there are several.

use std::fmt::Write;
use std::sync::{Arc, OnceLock};
use std::time::Duration;

use bcmr_wire::shown::shown;
use indicatif::{MultiProgress, ProgressBar, ProgressDrawTarget, ProgressState, ProgressStyle};
use rustix::termios::tcgetwinsize;

use super::{Meter, summary};

/// How often a bar is drawn again.
const TICK: Duration = Duration::from_millis(100);

/// Columns from which on there is room for more than the most important.
const WIDE: u16 = 70;

/// Columns where a terminal does not say how many it has.
const USUAL: u16 = 80;

/// All bars of a command.
#[derive(Debug)]
pub(super) struct Bars {
    all: MultiProgress,
    total: ProgressBar,
    meter: Arc<Meter>,
}

impl Bars {
    pub(super) fn new(meter: &Arc<Meter>) -> Self {
        let all = MultiProgress::with_draw_target(ProgressDrawTarget::stderr());
        let total = all.add(ProgressBar::new_spinner());
        total.set_style(style("{spinner} {progress}", meter));
        total.enable_steady_tick(TICK);
        total.tick();
        Self { all, total, meter: Arc::clone(meter) }
    }

    /// How much there is to copy.
    pub(super) fn expect(&self, bytes: u64) {
        self.total.set_length(self.total.length().unwrap_or(0) + bytes);
        self.total.set_style(style("{percent:>3}% {wide_bar} {progress}", &self.meter));
    }

    pub(super) fn moved(&self, bytes: u64) {
        self.total.inc(bytes);
    }

    /// Gives a connection a bar.
    pub(super) fn show(&self, lane: &Lane, number: usize) {
        let _ = lane.0.get_or_init(|| {
            let bar = self.all.add(ProgressBar::new(0).with_prefix(number.to_string()));
            bar.set_style(style("{prefix:>3} {bar:10} {percent:>3}% {wide_msg}", &self.meter));
            bar
        });
    }

    /// Takes the bars away for as long as something is written.
    pub(super) fn suspend(&self, write: impl FnOnce()) {
        self.all.suspend(write);
    }

    /// Takes the bars away.
    pub(super) fn clear(&self) {
        self.total.finish_and_clear();
        // Nothing can be done where the terminal is gone.
        let _ = self.all.clear();
    }
}

/// The bar of a connection, and of those that take its place; empty where none is shown.
#[derive(Clone, Default, Debug)]
pub(crate) struct Lane(Arc<OnceLock<ProgressBar>>);

impl Lane {
    /// A file of `size` bytes is its turn now. The name may be anybody's.
    pub(crate) fn begin(&self, name: impl FnOnce() -> String, size: u64) {
        if let Some(bar) = self.0.get() {
            bar.set_length(size);
            bar.set_position(0);
            bar.set_message(shown(&name()).to_string());
        }
    }

    /// Content of that file was moved.
    pub(crate) fn moved(&self, bytes: u64) {
        if let Some(bar) = self.0.get() {
            bar.inc(bytes);
        }
    }
}

/// A template, in which `progress` is what there is to say.
fn style(template: &str, meter: &Arc<Meter>) -> ProgressStyle {
    let style = ProgressStyle::with_template(template).unwrap_or_else(|_| ProgressStyle::default_spinner());
    let meter = Arc::clone(meter);
    style.progress_chars("=> ").with_key("progress", move |state: &ProgressState, out: &mut dyn Write| {
        let _ = out.write_str(&if columns() < WIDE {
            summary::narrow(&meter, state.elapsed())
        } else {
            summary::progress(&meter, state.elapsed())
        });
    })
}

/// The width of the terminal now: it may be resized.
fn columns() -> u16 {
    tcgetwinsize(std::io::stderr()).map_or(USUAL, |size| if size.ws_col == 0 { USUAL } else { size.ws_col })
}
