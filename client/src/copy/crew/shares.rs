//! What each worker of a crew has still to carry.

use std::collections::VecDeque;
use std::sync::{Condvar, Mutex, MutexGuard, PoisonError};

use super::work::{Next, Stop, Supply};
use crate::exchange::Lost;
use crate::exit::Fatal;

/// Items that are queued below which more are dealt out.
pub(super) const ROOM: usize = 1024;

/// An item in a share.
enum Entry<T> {
    Fresh(T),
    /// Sent over a connection that was lost since.
    Doubtful(T),
}

/// The shares of all workers.
pub(super) struct Shares<T> {
    state: Mutex<State<T>>,
    changed: Condvar,
}

struct State<T> {
    queues: Vec<VecDeque<Entry<T>>>,
    /// Whether everything has been dealt out.
    closed: bool,
    /// Why everything stops.
    fatal: Option<Fatal>,
    /// Why the connections were lost that were lost.
    lost: Option<Lost>,
}

impl<T> State<T> {
    fn queued(&self) -> usize {
        self.queues.iter().map(VecDeque::len).sum()
    }
}

impl<T> Shares<T> {
    pub(super) fn new(workers: usize) -> Self {
        let queues = (0..workers).map(|_| VecDeque::new()).collect();
        let state = State { queues, closed: false, fatal: None, lost: None };
        Self { state: Mutex::new(state), changed: Condvar::new() }
    }

    fn lock(&self) -> MutexGuard<'_, State<T>> {
        self.state.lock().unwrap_or_else(PoisonError::into_inner)
    }

    /// The supply of one worker.
    pub(super) const fn of(&self, worker: usize) -> Share<'_, T> {
        Share { shares: self, worker }
    }

    /// Adds dealt items, each with its worker.
    pub(super) fn give(&self, dealt: impl Iterator<Item = (usize, T)>) {
        let mut state = self.lock();
        for (worker, item) in dealt {
            state.queues[worker].push_back(Entry::Fresh(item));
        }
        self.changed.notify_all();
    }

    /// Waits until fewer than [`ROOM`] items are queued; false where everything has stopped.
    pub(super) fn wait_for_room(&self) -> bool {
        let full = |state: &mut State<T>| state.fatal.is_none() && state.queued() >= ROOM;
        let state = self.changed.wait_while(self.lock(), full).unwrap_or_else(PoisonError::into_inner);
        state.fatal.is_none()
    }

    /// Says that everything has been dealt out.
    pub(super) fn close(&self) {
        self.lock().closed = true;
        self.changed.notify_all();
    }

    /// Whether there is nothing to carry any more.
    pub(super) fn are_empty(&self) -> bool {
        let state = self.lock();
        state.fatal.is_some() || (state.closed && state.queued() == 0)
    }

    /// Takes note of how a worker ended; what it left is for the others.
    pub(super) fn report(&self, result: Result<(), Stop<T>>) {
        let mut state = self.lock();
        match result {
            Ok(()) => {}
            Err(Stop::Lost { why, left }) if !matches!(why, Lost::Local(_)) => {
                state.lost = Some(why);
                let workers = state.queues.len();
                for (turn, item) in left.into_iter().enumerate() {
                    state.queues[turn % workers].push_back(Entry::Doubtful(item));
                }
            }
            Err(stop) => state.fatal = state.fatal.take().or(Some(stop.into_fatal())),
        }
        self.changed.notify_all();
    }

    /// What nobody carried, now that all workers have ended.
    pub(super) fn finish(self) -> Result<Vec<T>, Fatal> {
        let state = self.state.into_inner().unwrap_or_else(PoisonError::into_inner);
        if let Some(fatal) = state.fatal {
            return Err(fatal);
        }
        let entries = state.queues.into_iter().flatten();
        Ok(entries.map(|(Entry::Fresh(item) | Entry::Doubtful(item))| item).collect())
    }
}

/// One worker's view of the shares.
pub(super) struct Share<'s, T> {
    shares: &'s Shares<T>,
    worker: usize,
}

impl<T> Share<'_, T> {
    /// Hands out an entry, and wakes whoever waits for room when there is some: not for each item.
    fn taken(&self, entry: Entry<T>, state: &State<T>) -> Next<T> {
        if state.queued() + 1 == ROOM {
            self.shares.changed.notify_all();
        }
        match entry {
            Entry::Fresh(item) => Next::Item(item),
            Entry::Doubtful(item) => Next::Doubtful(item),
        }
    }
}

impl<T> Supply<T> for Share<'_, T> {
    fn next(&self) -> Next<T> {
        let mut state = self.shares.lock();
        if state.fatal.is_some() {
            return Next::End;
        }
        let entry = state.queues[self.worker].pop_front();
        entry.map_or(Next::Later, |entry| self.taken(entry, &state))
    }

    /// From the end of the longest share: its worker may have no connection yet, or none any more.
    fn of_others(&self) -> Next<T> {
        let mut state = self.shares.lock();
        if state.fatal.is_some() {
            return Next::End;
        }
        let longest = state.queues.iter_mut().max_by_key(|queue| queue.len());
        match longest.and_then(VecDeque::pop_back) {
            Some(entry) => self.taken(entry, &state),
            None if state.closed => Next::End,
            None => Next::Later,
        }
    }

    fn is_shared(&self) -> bool {
        true
    }

    fn wait(&self) {
        let nothing = |state: &mut State<T>| state.fatal.is_none() && !state.closed && state.queued() == 0;
        drop(self.shares.changed.wait_while(self.shares.lock(), nothing));
    }
}
