//! A queue between two threads that wakes neither for a single item.
//!
//! A queue that lets its sender go on as soon as one place is free makes two threads take turns, item by item, where
//! the receiver is the slower one: a wake-up, and a flush of one request, for every file. Here who found it full
//! goes on when all of it was taken, and who found it empty takes all that came.

use std::collections::VecDeque;
use std::sync::{Arc, Condvar, Mutex, MutexGuard, PoisonError};

/// A queue of at most `most` items; besides, the receiver holds as many as it took at once.
pub(crate) fn queue<T>(most: usize) -> (Sender<T>, Receiver<T>) {
    let state = State { items: VecDeque::new(), waiting: false, sender_gone: false, receiver_gone: false };
    let shared = Arc::new(Shared { most, state: Mutex::new(state), changed: Condvar::new() });
    (Sender(Arc::clone(&shared)), Receiver { shared, taken: VecDeque::new() })
}

#[derive(Debug)]
struct Shared<T> {
    most: usize,
    state: Mutex<State<T>>,
    changed: Condvar,
}

#[derive(Debug)]
struct State<T> {
    items: VecDeque<T>,
    /// Whether one end waits for the other: to wake nobody is a system call, too. Both never wait at once.
    waiting: bool,
    sender_gone: bool,
    receiver_gone: bool,
}

impl<T> Shared<T> {
    fn lock(&self) -> MutexGuard<'_, State<T>> {
        self.state.lock().unwrap_or_else(PoisonError::into_inner)
    }

    /// Waits until `condition` is false.
    fn wait_while<'s>(
        &self,
        mut state: MutexGuard<'s, State<T>>,
        condition: impl Fn(&State<T>) -> bool,
    ) -> MutexGuard<'s, State<T>> {
        while condition(&state) {
            state.waiting = true;
            state = self.changed.wait(state).unwrap_or_else(PoisonError::into_inner);
        }
        state
    }

    /// Lets the other end look again.
    fn wake(&self, mut state: MutexGuard<'_, State<T>>) {
        if std::mem::take(&mut state.waiting) {
            drop(state);
            self.changed.notify_one();
        }
    }
}

/// The receiver is gone, and the item with it.
#[derive(Clone, Copy, PartialEq, Eq, Debug)]
pub(crate) struct Gone;

/// The end that gives.
#[derive(Debug)]
pub(crate) struct Sender<T>(Arc<Shared<T>>);

impl<T> Sender<T> {
    /// Whether an item would have to wait.
    pub(crate) fn is_full(&self) -> bool {
        self.0.lock().items.len() >= self.0.most
    }

    /// Adds an item; waits, where the queue is full, until the receiver has taken what is in it.
    pub(crate) fn send(&self, item: T) -> Result<(), Gone> {
        let mut state = self.0.lock();
        if state.items.len() >= self.0.most {
            state = self.0.wait_while(state, |state| !state.receiver_gone && !state.items.is_empty());
        }
        if state.receiver_gone {
            return Err(Gone);
        }
        state.items.push_back(item);
        self.0.wake(state);
        Ok(())
    }
}

impl<T> Drop for Sender<T> {
    fn drop(&mut self) {
        let mut state = self.0.lock();
        state.sender_gone = true;
        self.0.wake(state);
    }
}

/// The end that takes; an iterator that ends when everything was taken and the sender is gone.
#[derive(Debug)]
pub(crate) struct Receiver<T> {
    shared: Arc<Shared<T>>,
    /// What was taken together with the last item and not given out yet.
    taken: VecDeque<T>,
}

impl<T> Iterator for Receiver<T> {
    type Item = T;

    fn next(&mut self) -> Option<T> {
        if self.taken.is_empty() {
            let nothing = |state: &State<T>| state.items.is_empty() && !state.sender_gone;
            let mut state = self.shared.wait_while(self.shared.lock(), nothing);
            std::mem::swap(&mut state.items, &mut self.taken);
            self.shared.wake(state);
        }
        self.taken.pop_front()
    }
}

impl<T> Drop for Receiver<T> {
    fn drop(&mut self) {
        let mut state = self.shared.lock();
        state.receiver_gone = true;
        self.shared.wake(state);
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn everything_comes_in_order_through_a_queue_that_is_often_full() {
        let (sender, receiver) = queue(3);
        std::thread::scope(|scope| {
            scope.spawn(move || (0..10_000).for_each(|n| sender.send(n).unwrap()));
            assert!(receiver.eq(0..10_000));
        });
    }

    #[test]
    fn who_found_it_full_goes_on_when_all_of_it_was_taken() {
        let (sender, mut receiver) = queue(2);
        sender.send(1).unwrap();
        assert!(!sender.is_full());
        sender.send(2).unwrap();
        assert!(sender.is_full());
        assert_eq!(receiver.next(), Some(1));
        assert!(!sender.is_full());
        sender.send(3).unwrap();
        drop(sender);
        assert_eq!(receiver.collect::<Vec<_>>(), [2, 3]);
    }

    #[test]
    fn a_sender_whose_receiver_goes_does_not_wait_for_ever() {
        let (sender, receiver) = queue(1);
        sender.send(1).unwrap();
        std::thread::scope(|scope| {
            let waiting = scope.spawn(move || sender.send(2));
            std::thread::sleep(std::time::Duration::from_millis(20));
            drop(receiver);
            assert_eq!(waiting.join().unwrap(), Err(Gone));
        });
    }
}
