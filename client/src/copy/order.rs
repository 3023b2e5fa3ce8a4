//! Failures are named in the order of what was to be copied, however many connections copy it.

use std::collections::BTreeMap;

use super::outcomes::Failure;

/// The place of an item among those that are to be copied, counted from 0.
#[derive(Clone, Copy, PartialEq, Eq, PartialOrd, Ord, Default, Debug)]
pub(crate) struct Turn(pub(crate) u64);

/// What is known of items whose turn has not come: those before them are still on their way.
#[derive(Debug, Default)]
pub(super) struct Order {
    next: u64,
    known: BTreeMap<u64, Option<Failure>>,
}

impl Order {
    /// Takes note of an item that is done, or of how it failed; what can be said now is given to `say`.
    pub(super) fn settle(&mut self, turn: Turn, failure: Option<Failure>, mut say: impl FnMut(&Failure)) {
        self.known.insert(turn.0, failure);
        while let Some(failure) = self.known.remove(&self.next) {
            self.next += 1;
            failure.iter().for_each(&mut say);
        }
    }

    /// Everything that is left, in its order: nothing more will be known.
    pub(super) fn left(self) -> impl Iterator<Item = Failure> {
        self.known.into_values().flatten()
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_failure_is_said_when_all_before_it_are_known_and_at_the_end_at_the_latest() {
        let mut order = Order::default();
        let mut said = Vec::new();
        let failed = |n: u64| Some(Failure::new(n, "failed"));
        for (turn, failure) in [(2, failed(2)), (1, None), (5, failed(5)), (0, failed(0)), (4, failed(4))] {
            order.settle(Turn(turn), failure, |failure| said.push(failure.name.clone()));
        }
        assert_eq!(said, ["0", "2"]);
        assert_eq!(order.left().map(|failure| failure.name).collect::<Vec<_>>(), ["4", "5"]);
    }
}
