//! Which connection carries which file: longest processing time first.
//!
//! Files dealt out in turn leave one connection with all the large ones; the heaviest first, each to whoever has
//! least, ends within a third of the best there is (Graham 1969).

/// What each worker has been given so far.
#[derive(Clone, PartialEq, Eq, Debug)]
pub(crate) struct Loads(Vec<u64>);

impl Loads {
    /// Workers that have nothing yet; at least one.
    pub(crate) fn new(workers: usize) -> Self {
        Self(vec![0; workers.max(1)])
    }

    /// Deals out files of the given sizes in bytes; returns the worker of each. A file counts for at least one
    /// unit, so that empty ones are spread, too. Ties go to the first, of files as of workers.
    pub(crate) fn deal(&mut self, sizes: &[u64]) -> Vec<usize> {
        let mut order: Vec<usize> = (0..sizes.len()).collect();
        order.sort_by_key(|file| std::cmp::Reverse(sizes[*file]));
        let mut dealt = vec![0; sizes.len()];
        for file in order {
            let least = (0..self.0.len()).min_by_key(|worker| self.0[*worker]).unwrap_or(0);
            self.0[least] = self.0[least].saturating_add(sizes[file].max(1));
            dealt[file] = least;
        }
        dealt
    }

    /// What each worker has, in units.
    #[cfg(test)]
    fn units(&self) -> &[u64] {
        &self.0
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn large_and_small_in_turn_come_out_even() {
        let mut loads = Loads::new(2);
        loads.deal(&[15, 1, 14, 1, 13, 1, 12, 1]);
        assert_eq!(loads.units(), [29, 29]);
    }

    #[test]
    fn empty_files_are_spread_over_all() {
        let mut loads = Loads::new(3);
        let dealt = loads.deal(&[0; 9]);
        assert_eq!(dealt, [0, 1, 2, 0, 1, 2, 0, 1, 2]);
        assert_eq!(loads.units(), [3, 3, 3]);
    }

    #[test]
    fn ties_go_to_the_first_file_and_the_first_worker() {
        assert_eq!(Loads::new(2).deal(&[5, 5, 5]), [0, 1, 0]);
        assert_eq!(Loads::new(2).deal(&[5, 5, 5]), Loads::new(2).deal(&[5, 5, 5]));
    }

    #[test]
    fn sizes_beyond_counting_do_not_wrap_round() {
        let mut loads = Loads::new(2);
        let dealt = loads.deal(&[u64::MAX, u64::MAX, u64::MAX, 1]);
        assert_eq!(dealt, [0, 1, 0, 0]);
        assert_eq!(loads.units(), [u64::MAX, u64::MAX]);
    }

    #[test]
    fn what_was_dealt_before_counts() {
        let mut loads = Loads::new(2);
        assert_eq!(loads.deal(&[10]), [0]);
        assert_eq!(loads.deal(&[4, 4, 4]), [1, 1, 1]);
    }

    #[test]
    fn no_worker_is_one() {
        assert_eq!(Loads::new(0).deal(&[1, 2]), [0, 0]);
    }
}
