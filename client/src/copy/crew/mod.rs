//! Carrying many items over one connection, or over several at once.
//!
//! What is carried, and how, is an [`Errand`]'s business. Here items are dealt out, connections are opened and
//! replaced, and what a lost connection left goes to the others.

mod shares;
mod work;

use std::time::Duration;

use super::dial::Dialer;
use crate::exchange::{Dead, Exchange, Job, Lost};
use crate::exit::Fatal;
use crate::schedule::Loads;
use shares::Shares;
use work::{Alone, Stop, work};

/// Items that are looked at together when they are dealt out; bounds memory, not the number of files.
const HAND: usize = 2048;

/// Pauses before an extra connection that was refused is tried again: sshd refuses for moments (MaxStartups) or
/// for as long as others last (MaxSessions).
const PAUSES: [Duration; 3] =
    [Duration::from_millis(200), Duration::from_millis(600), Duration::from_millis(2000)];

/// What is carried.
pub(super) trait Errand: Sync {
    /// One file, or directory.
    type Item: Clone + Send;

    /// Bytes, as far as they are known.
    fn weight(&self, item: &Self::Item) -> u64;

    /// Sends the requests of an item, without waiting for replies.
    fn send(&self, link: &mut Exchange, item: Self::Item) -> Result<(), Dead>;

    /// Settles what was refused, and what a lost connection left in doubt; returns what is to be sent again. Where
    /// this connection is lost meanwhile nothing is settled.
    fn settle(&self, link: &mut Exchange, doubtful: &[Self::Item]) -> Result<Vec<Self::Item>, Dead>;

    /// Whether what is there already is to be found out before anything is sent.
    fn resumes(&self) -> bool;

    /// Finds that out; returns what is to be sent.
    fn resume(&self, link: &mut Exchange, items: &[Self::Item]) -> Result<Vec<Self::Item>, Dead>;

    /// The item of a job that was not answered; None where nobody cares any more.
    fn item(&self, job: Job) -> Option<Self::Item>;
}

/// Carries all items: over `link`, and over `parallel` − 1 more connections where that is above 1.
pub(super) fn carry<E: Errand>(
    errand: &E,
    items: impl Iterator<Item = E::Item>,
    dialer: &mut Dialer<'_>,
    link: Exchange,
    parallel: usize,
) -> Result<(), Fatal> {
    if parallel <= 1 {
        return work(errand, &Alone::new(items), dialer, link).map_err(Stop::into_fatal);
    }
    let shares = Shares::new(parallel);
    std::thread::scope(|scope| {
        for worker in 1..parallel {
            let (shares, mut dialer) = (&shares, dialer.extra());
            dialer.show(worker + 1);
            scope.spawn(move || {
                // Where it gets no connection the others take its share.
                if let Some(link) = dial_patiently(&mut dialer, shares) {
                    shares.report(work(errand, &shares.of(worker), &mut dialer, link));
                }
            });
        }
        let shares = &shares;
        let mut first = dialer.again();
        first.show(1);
        scope.spawn(move || shares.report(work(errand, &shares.of(0), &mut first, link)));
        deal(errand, items, shares, parallel);
    });
    let left = shares.finish()?;
    if left.is_empty() {
        return Ok(());
    }
    // Connections were lost when the others had gone home already.
    let link = dialer.redial(Lost::Closed)?;
    work(errand, &Alone::doubtful(left), dialer, link).map_err(Stop::into_fatal)
}

/// Deals out items, a hand at a time, each hand while the one before is being carried.
fn deal<E: Errand>(
    errand: &E,
    items: impl Iterator<Item = E::Item>,
    shares: &Shares<E::Item>,
    workers: usize,
) {
    let mut loads = Loads::new(workers);
    let mut items = items.peekable();
    while items.peek().is_some() && shares.wait_for_room() {
        let hand: Vec<_> = items.by_ref().take(HAND).collect();
        let sizes: Vec<_> = hand.iter().map(|item| errand.weight(item)).collect();
        shares.give(loads.deal(&sizes).into_iter().zip(hand));
    }
    shares.close();
}

/// Opens an extra connection, with pauses where it is refused, as long as there is work for it.
fn dial_patiently<T>(dialer: &mut Dialer<'_>, shares: &Shares<T>) -> Option<Exchange> {
    for pause in PAUSES {
        match dialer.dial() {
            Ok(link) => return Some(link),
            Err(_) if shares.are_empty() => return None,
            Err(_) => std::thread::sleep(pause),
        }
    }
    dialer.dial().ok()
}
