//! One worker with one connection at a time.

use std::cell::RefCell;
use std::collections::VecDeque;

use super::Errand;
use crate::copy::dial::Dialer;
use crate::copy::resume::BATCH;
use crate::exchange::{Dead, Exchange, Lost};
use crate::exit::Fatal;

/// Bytes of content on their way with which a connection counts as nearly without work: what keeps it busy while
/// more is asked for, were it a fast one far away.
const NEARLY_THROUGH: u64 = 4 << 20;

/// Where a worker gets its items from.
pub(super) trait Supply<T> {
    /// Whether there are other workers, who take over what this one leaves.
    fn is_shared(&self) -> bool;

    /// The next item of its own, without waiting.
    fn next(&self) -> Next<T>;

    /// The next item that is another one's, without waiting.
    fn of_others(&self) -> Next<T>;

    /// Waits until [`of_others`](Self::of_others) has something else to say than Later.
    fn wait(&self);
}

/// What a supply has.
pub(super) enum Next<T> {
    Item(T),
    /// One that was sent over a connection that was lost since.
    Doubtful(T),
    Later,
    End,
}

/// Why a worker stops before its supply ends.
pub(super) enum Stop<T> {
    /// The connection was lost, and this was left.
    Lost { why: Lost, left: Vec<T> },
    /// Nothing can be carried any more.
    Fatal(Fatal),
}

impl<T> Stop<T> {
    pub(super) fn into_fatal(self) -> Fatal {
        match self {
            Self::Fatal(fatal) => fatal,
            Self::Lost { why, .. } => why.into_fatal(),
        }
    }
}

/// What a worker has taken from its supply and not sent yet. It outlives connections: what is in it is lost with none.
struct Hand<T> {
    /// What may be sent.
    ready: VecDeque<T>,
    /// What is to be looked at first, because it may be there.
    fresh: Vec<T>,
    /// What was sent over a connection that was lost since.
    doubtful: Vec<T>,
}

impl<T> Hand<T> {
    const fn new() -> Self {
        Self { ready: VecDeque::new(), fresh: Vec::new(), doubtful: Vec::new() }
    }

    /// Everything, for the others.
    fn all(self) -> impl Iterator<Item = T> {
        self.doubtful.into_iter().chain(self.ready).chain(self.fresh)
    }
}

/// Carries what the supply has. A connection that another server's refusal spoiled is replaced.
pub(super) fn work<E: Errand>(
    errand: &E,
    supply: &impl Supply<E::Item>,
    dialer: &mut Dialer<'_>,
    mut link: Exchange,
) -> Result<(), Stop<E::Item>> {
    let mut hand = Hand::new();
    loop {
        let done = send_all(errand, supply, &mut hand, &mut link);
        let ending = link.close();
        let why = match (done, ending.why) {
            (Ok(()), None) => return Ok(()),
            (_, why) => why.unwrap_or(Lost::Closed),
        };
        // What was on its way may have arrived or not; that is found out before it is sent again.
        hand.doubtful.extend(ending.left.into_iter().filter_map(|job| errand.item(job)));
        link = match why {
            Lost::Foreign => dialer.dial().map_err(Stop::Fatal)?,
            why if supply.is_shared() => return Err(Stop::Lost { why, left: hand.all().collect() }),
            why => dialer.redial(why).map_err(Stop::Fatal)?,
        };
    }
}

/// Settles what is in doubt, sends everything, waits for the last reply, and settles what was refused.
fn send_all<E: Errand>(
    errand: &E,
    supply: &impl Supply<E::Item>,
    hand: &mut Hand<E::Item>,
    link: &mut Exchange,
) -> Result<(), Dead> {
    loop {
        settle(errand, hand, link)?;
        send_some(errand, supply, hand, link)?;
        link.wait_for_all()?;
        settle(errand, hand, link)?;
        if hand.ready.is_empty() {
            return Ok(());
        }
    }
}

fn settle<E: Errand>(errand: &E, hand: &mut Hand<E::Item>, link: &mut Exchange) -> Result<(), Dead> {
    let again = errand.settle(link, &hand.doubtful)?;
    hand.doubtful.clear();
    hand.ready.extend(again);
    Ok(())
}

/// Sends what is in hand, and what the supply has until it ends.
fn send_some<E: Errand>(
    errand: &E,
    supply: &impl Supply<E::Item>,
    hand: &mut Hand<E::Item>,
    link: &mut Exchange,
) -> Result<(), Dead> {
    loop {
        if let Some(item) = hand.ready.pop_front() {
            errand.send(link, item)?;
            continue;
        }
        if hand.fresh.len() == BATCH {
            resume(errand, hand, link)?;
            continue;
        }
        let next = match supply.next() {
            // What is asked for cannot be taken back: another's item is taken only when the own ones are nearly
            // through, lest the connection that stands first have everything before the next one stands.
            Next::Later => {
                link.wait_below(NEARLY_THROUGH)?;
                supply.of_others()
            }
            next => next,
        };
        match next {
            Next::Item(item) if errand.resumes() => hand.fresh.push(item),
            Next::Item(item) => errand.send(link, item)?,
            Next::Doubtful(item) => hand.doubtful.push(item),
            Next::Later | Next::End if !hand.fresh.is_empty() => resume(errand, hand, link)?,
            Next::Later => {
                link.flush()?;
                supply.wait();
            }
            Next::End => return Ok(()),
        }
    }
}

/// Finds out which of the fresh items are still needed.
fn resume<E: Errand>(errand: &E, hand: &mut Hand<E::Item>, link: &mut Exchange) -> Result<(), Dead> {
    let needed = errand.resume(link, &hand.fresh)?;
    hand.fresh.clear();
    hand.ready.extend(needed);
    Ok(())
}

/// The supply of a worker without others.
pub(super) struct Alone<I, T> {
    items: RefCell<I>,
    doubtful: RefCell<Vec<T>>,
}

impl<T, I: Iterator<Item = T>> Alone<I, T> {
    pub(super) const fn new(items: I) -> Self {
        Self { items: RefCell::new(items), doubtful: RefCell::new(Vec::new()) }
    }
}

impl<T> Alone<std::iter::Empty<T>, T> {
    /// A supply of nothing but items that were sent before.
    pub(super) const fn doubtful(items: Vec<T>) -> Self {
        Self { items: RefCell::new(std::iter::empty()), doubtful: RefCell::new(items) }
    }
}

impl<T, I: Iterator<Item = T>> Supply<T> for Alone<I, T> {
    fn next(&self) -> Next<T> {
        match (self.items.borrow_mut().next(), self.doubtful.borrow_mut().pop()) {
            (Some(item), _) => Next::Item(item),
            (None, Some(item)) => Next::Doubtful(item),
            (None, None) => Next::End,
        }
    }

    fn of_others(&self) -> Next<T> {
        Next::End
    }

    fn is_shared(&self) -> bool {
        false
    }

    fn wait(&self) {}
}
