//! What the command tells: people by lines and bars on stderr, programs by JSON on stdout, one object per line.

mod bars;
mod json;
mod meter;
mod summary;

use std::io::{IsTerminal, Write};
use std::sync::{Arc, Mutex, MutexGuard, OnceLock, PoisonError};
use std::time::{Duration, Instant};

use bcmr_wire::shown::shown;
use serde_json::Value;

use crate::cli::Progress;
use crate::copy::{Copied, Ended, Failure, Way};
use bars::Bars;
pub(crate) use bars::Lane;
pub(crate) use json::line as json_line;
pub(crate) use meter::Meter;

/// How often a plain line of progress is written.
const PLAIN: Duration = Duration::from_secs(5);

/// How often a program is told of progress.
const JSON: Duration = Duration::from_secs(1);

/// What one command tells.
#[derive(Debug)]
pub(crate) struct Ui {
    face: Face,
    quiet: bool,
    /// Whether every file is named.
    verbose: bool,
    pub(crate) meter: Arc<Meter>,
    start: Instant,
    over: Over,
}

/// Whether the summary was told, after which nothing is, and held while something is told.
type Over = Arc<Mutex<bool>>;

fn hold(over: &Over) -> MutexGuard<'_, bool> {
    over.lock().unwrap_or_else(PoisonError::into_inner)
}

/// Whom it is told.
#[derive(Debug)]
enum Face {
    /// Somebody who reads lines.
    Lines,
    /// Somebody at a terminal. Nothing is drawn before the server has greeted: until then there may be questions.
    Bars(OnceLock<Bars>),
    /// A program.
    Json,
}

/// What became of a file.
#[derive(Clone, Copy, PartialEq, Eq, Debug)]
pub(crate) enum Status {
    Copied,
    /// It was there before, with the same content.
    Already,
    WouldCopy,
}

impl Ui {
    pub(crate) fn new(quiet: bool, verbose: bool, progress: Progress, json: bool) -> Self {
        let (meter, start) = (Arc::new(Meter::default()), Instant::now());
        let (moving, over) = (!quiet && progress != Progress::Off, Over::default());
        let face = match progress {
            _ if json => Face::Json,
            Progress::Bar if moving => Face::Bars(OnceLock::new()),
            Progress::Auto if moving && terminal() => Face::Bars(OnceLock::new()),
            _ => Face::Lines,
        };
        match face {
            Face::Json if moving => every(JSON, &meter, &over, move |meter| {
                json::print(&json::progress(meter, start.elapsed()));
            }),
            Face::Lines if moving && progress == Progress::Plain => {
                every(PLAIN, &meter, &over, move |meter| {
                    let _ = writeln!(std::io::stderr(), "{}", summary::progress(meter, start.elapsed()));
                });
            }
            _ => {}
        }
        Self { face, quiet, verbose, meter, start, over }
    }

    /// For commands that copy nothing.
    pub(crate) fn asking() -> Self {
        Self::new(false, false, Progress::Off, false)
    }

    /// The server has greeted: nobody is asked anything any more.
    pub(crate) fn greeted(&self) {
        if let Face::Bars(bars) = &self.face {
            let _ = bars.get_or_init(|| Bars::new(&self.meter));
        }
    }

    fn bars(&self) -> Option<&Bars> {
        if let Face::Bars(bars) = &self.face { bars.get() } else { None }
    }

    /// Tells a program what begins.
    pub(crate) fn begin(&self, way: &Way) {
        self.json(|| json::start(way));
    }

    /// What there is to copy, as soon as that is known.
    pub(crate) fn expect(&self, bytes: u64) {
        self.meter.expect(bytes);
        if let Some(bars) = self.bars() {
            bars.expect(bytes);
        }
    }

    /// Counts content that was moved.
    pub(crate) fn moved(&self, bytes: u64) {
        self.meter.add_moved(bytes);
        if let Some(bars) = self.bars() {
            bars.moved(bytes);
        }
    }

    /// Has a connection show what it copies, in a line of its own.
    pub(crate) fn show(&self, lane: &Lane, number: usize) {
        if let Some(bars) = self.bars() {
            bars.show(lane, number);
        }
    }

    /// Tells what became of a file: a program always, a person where that was asked for.
    pub(crate) fn file(&self, status: Status, file: &Copied<'_>) {
        let (from, to) = (file.from, file.to);
        match (&self.face, status) {
            (Face::Json, _) => self.json(|| json::file(status, file)),
            (_, Status::Copied) if self.verbose => self.note(&format!("{from} -> {to}")),
            (_, Status::WouldCopy) => self.note(&format!("would copy {from} -> {to}")),
            _ => {}
        }
    }

    /// Says that something failed. Names in it may be anybody's.
    pub(crate) fn failed(&self, failure: &Failure) {
        match self.face {
            Face::Json => self.json(|| json::failed(failure)),
            _ => self.error(&format!("{}: {}", failure.name, failure.why)),
        }
    }

    /// Says that something is not copied, as was asked for.
    pub(crate) fn left_out(&self, failure: &Failure) {
        match self.face {
            Face::Json => self.json(|| json::left_out(failure)),
            _ => self.note(&format!("{}: {}", failure.name, failure.why)),
        }
    }

    /// Says something that no file is to blame for, and that may be of no consequence.
    pub(crate) fn note(&self, text: &str) {
        match self.face {
            Face::Json => self.warn(text),
            _ if self.quiet => {}
            _ => self.line(&shown(text).to_string()),
        }
    }

    /// Says that something went wrong. Names in it may be anybody's.
    pub(crate) fn error(&self, text: &str) {
        match self.face {
            Face::Json => self.warn(text),
            _ => self.line(&format!("bcmr: {}", shown(text))),
        }
    }

    /// Passes on a line of ssh or of the server that has been made harmless.
    pub(crate) fn passed_on(&self, line: &str) {
        match self.face {
            Face::Json => self.warn(line),
            _ => self.line(line),
        }
    }

    fn warn(&self, text: &str) {
        self.json(|| json::warning(text));
    }

    fn json(&self, event: impl FnOnce() -> Value) {
        if let Face::Json = self.face {
            let over = hold(&self.over);
            if !*over {
                json::print(&event());
            }
        }
    }

    /// Writes a line to stderr, above the bars where there are some. Nothing can be done where that fails.
    fn line(&self, line: &str) {
        let write = || {
            let _ = writeln!(std::io::stderr(), "{line}");
        };
        match self.bars() {
            Some(bars) => bars.suspend(write),
            None => write(),
        }
    }

    /// Takes the bars away, and says how it all ended.
    pub(crate) fn end(&self, ended: &Ended) {
        if let Some(bars) = self.bars() {
            bars.clear();
        }
        *hold(&self.over) = true;
        if let Face::Json = self.face {
            json::print(&json::summary(&self.meter, ended, self.start.elapsed()));
            return;
        }
        // What was copied before something ended it all is worth a summary, too.
        let worth = (ended.result.is_ok() && !ended.by_scp) || self.meter.files() > 0;
        if worth && !self.quiet {
            self.line(&summary::summary(&self.meter, self.start.elapsed()));
        }
        if let Err(fatal) = &ended.result {
            self.error(&fatal.message);
        }
    }

    /// Lets another program have the terminal.
    pub(crate) fn hand_over(&self) {
        if let Some(bars) = self.bars() {
            bars.clear();
        }
    }
}

/// Whether stderr is a terminal that understands how to move its cursor.
fn terminal() -> bool {
    std::io::stderr().is_terminal()
        && std::env::var_os("TERM").is_some_and(|term| term != "dumb" && !term.is_empty())
}

/// Tells of progress now and then, as long as the command runs.
fn every(pause: Duration, meter: &Arc<Meter>, over: &Over, tell: impl Fn(&Meter) + Send + 'static) {
    let (meter, over) = (Arc::downgrade(meter), Arc::clone(over));
    // Where no thread can be started there is no progress to be seen.
    let _ = std::thread::Builder::new().name("progress".to_owned()).stack_size(64 * 1024).spawn(move || {
        loop {
            std::thread::sleep(pause);
            let Some(meter) = meter.upgrade() else { return };
            let over = hold(&over);
            if *over {
                return;
            }
            tell(&meter);
        }
    });
}
