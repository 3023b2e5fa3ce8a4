//! What became of each file, gathered from both threads.

use std::fmt::Display;
use std::sync::atomic::{AtomicU64, Ordering};
use std::sync::{Arc, Mutex, MutexGuard, PoisonError};

use super::Settings;
use super::order::{Order, Turn};
use crate::plan::Item;
use crate::ui::{Meter, Ui};

/// An upload that the server refused; whether it counts as failed is settled later.
#[derive(Clone, PartialEq, Eq, Debug)]
pub(crate) struct Refused {
    pub(crate) item: Item,
    pub(crate) why: String,
}

/// What is known of the files so far.
#[derive(Debug)]
pub(crate) struct Outcomes {
    ui: Arc<Ui>,
    pub(crate) settings: Settings,
    failed: AtomicU64,
    refused: Mutex<Vec<Refused>>,
    /// None where items are copied one after another anyway.
    order: Mutex<Option<Order>>,
}

impl Outcomes {
    pub(crate) fn new(ui: Arc<Ui>, settings: Settings) -> Self {
        Self { ui, settings, failed: AtomicU64::new(0), refused: Mutex::default(), order: Mutex::default() }
    }

    pub(crate) fn ui(&self) -> &Arc<Ui> {
        &self.ui
    }

    pub(crate) fn meter(&self) -> &Meter {
        &self.ui.meter
    }

    /// Files that failed so far.
    pub(crate) fn failed(&self) -> u64 {
        self.failed.load(Ordering::Relaxed)
    }

    /// Names something that failed before it became an item.
    pub(crate) fn fail(&self, text: &str) {
        self.failed.fetch_add(1, Ordering::Relaxed);
        self.ui.error(text);
    }

    /// Names an item that failed, when it is its turn.
    pub(crate) fn fail_at(&self, turn: Turn, text: String) {
        self.failed.fetch_add(1, Ordering::Relaxed);
        match &mut *self.order() {
            Some(order) => order.settle(turn, Some(text), |text| self.ui.error(text)),
            None => self.ui.error(&text),
        }
    }

    /// Counts content that was moved, and keeps to the rate.
    pub(crate) fn moved(&self, bytes: u64) {
        self.ui.meter.add_moved(bytes);
        self.settings.pace.moved(bytes);
    }

    /// Names a file that was copied, where every one is to be named.
    pub(crate) fn tell(&self, from: &dyn Display, to: &dyn Display) {
        if self.settings.verbose {
            self.ui.note(&format!("{from} -> {to}"));
        }
    }

    /// Names a file that would be copied.
    pub(crate) fn would(&self, from: &dyn Display, to: &dyn Display) {
        self.ui.note(&format!("would copy {from} -> {to}"));
    }

    /// Counts a file of `size` bytes that was copied.
    pub(crate) fn copied(&self, turn: Turn, size: u64) {
        self.ui.meter.add_file(size);
        self.done(turn);
    }

    /// Counts a file that was there before, with the same content.
    pub(crate) fn already(&self, turn: Turn) {
        self.ui.meter.add_already();
        self.done(turn);
    }

    /// Takes note of an item of which nothing is to be said.
    pub(crate) fn done(&self, turn: Turn) {
        if let Some(order) = &mut *self.order() {
            order.settle(turn, None, |text| self.ui.error(text));
        }
    }

    /// From now on failures wait for their turn, the first of which is 0.
    pub(crate) fn in_turn(&self) {
        *self.order() = Some(Order::default());
    }

    /// Names the failures that still wait for their turn: it will not come.
    pub(crate) fn name_all(&self) {
        let order = self.order().take();
        order.into_iter().flat_map(Order::left).for_each(|text| self.ui.error(&text));
    }

    fn order(&self) -> MutexGuard<'_, Option<Order>> {
        self.order.lock().unwrap_or_else(PoisonError::into_inner)
    }

    /// Keeps a refusal to be settled.
    pub(crate) fn refuse(&self, item: Item, why: String) {
        self.refused.lock().unwrap_or_else(PoisonError::into_inner).push(Refused { item, why });
    }

    /// Names what was refused, where nothing more can be found out about it.
    pub(crate) fn fail_refused(&self) {
        for Refused { item, why } in self.take_refused() {
            match item {
                Item::File(item) => self.fail_at(item.turn, format!("{}: {why}", item.local.display())),
                Item::Dir { remote, turn } => self.fail_at(turn, format!("{remote}: {why}")),
            }
        }
    }

    /// Takes the refusals that are to be settled.
    pub(crate) fn take_refused(&self) -> Vec<Refused> {
        std::mem::take(&mut *self.refused.lock().unwrap_or_else(PoisonError::into_inner))
    }
}
