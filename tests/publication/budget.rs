//! How much of a sweep is run: all of it, or as many of its points as a time allows.
//!
//! `BCMR_SWEEP_SECONDS` is how long each sweep may take: 15 s where nobody says, so that every run of the tests
//! tries some hundred points, spread evenly over the scenes and calls; 0 for every point there is, which takes
//! some minutes a sweep:
//!
//! ```sh
//! BCMR_SWEEP_SECONDS=0 cargo nextest run -p bcmr-tests --test publication --run-ignored all --no-capture sweep
//! ```
//!
//! Which points are tried within a time is the same in every run. How many of how many it were is printed.

use std::fmt::Display;
use std::panic::{AssertUnwindSafe, catch_unwind, resume_unwind};
use std::sync::Mutex;
use std::sync::atomic::{AtomicUsize, Ordering};
use std::thread;
use std::time::{Duration, Instant};

/// Seconds that each sweep may take; 0 for as long as it takes to try every point.
const SECONDS: &str = "BCMR_SWEEP_SECONDS";

/// Where nobody says.
const DEFAULT: u64 = 15;

/// Points that are tried at once: most of their time is spent waiting for processes to start.
const AT_ONCE: usize = 3;

/// Tries the points, those of a lower rank first, else in an order that looks like chance and is always the
/// same. Prints how many were tried; with the time spent, the rest is left out.
pub(crate) fn sweep<P: Display + Sync>(
    what: &str,
    points: Vec<P>,
    rank: impl Fn(&P) -> u32,
    try_one: impl Fn(&P) + Sync,
) {
    let seconds = std::env::var(SECONDS).ok().map_or(DEFAULT, |text| text.parse().unwrap());
    let all = points.len();
    let mut points: Vec<_> = points
        .into_iter()
        .map(|p| ((rank(&p), *blake3::hash(p.to_string().as_bytes()).as_bytes()), p))
        .collect();
    points.sort_by_key(|(key, _)| *key);
    let (start, next) = (Instant::now(), AtomicUsize::new(0));
    let first_failure = Mutex::new(None);
    let tried = AtomicUsize::new(0);
    thread::scope(|scope| {
        for _ in 0..AT_ONCE {
            scope.spawn(|| {
                while seconds == 0 || start.elapsed() < Duration::from_secs(seconds) {
                    let Some((_, point)) = points.get(next.fetch_add(1, Ordering::Relaxed)) else { break };
                    if let Err(panic) = catch_unwind(AssertUnwindSafe(|| try_one(point))) {
                        println!("{what}: failed at {point}");
                        next.store(all, Ordering::Relaxed);
                        first_failure.lock().unwrap().get_or_insert(panic);
                    }
                    tried.fetch_add(1, Ordering::Relaxed);
                }
            });
        }
    });
    let tried = tried.into_inner();
    println!("{what}: tried {tried} of {all} points in {:.1} s", start.elapsed().as_secs_f64());
    if let Some(panic) = first_failure.into_inner().unwrap() {
        resume_unwind(panic);
    }
    assert!(tried > 0, "{what}: nothing was tried");
}
