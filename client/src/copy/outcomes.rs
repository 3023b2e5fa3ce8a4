//! What became of each file, gathered from both threads.

use std::fmt::Display;
use std::sync::atomic::{AtomicU64, Ordering};
use std::sync::{Arc, Mutex, MutexGuard, PoisonError};

use super::Settings;
use super::order::{Order, Turn};
use super::prove::Doubt;
use crate::plan::Item;
use crate::ui::{Meter, Status, Ui};

/// Something that failed: what, and why.
#[derive(Clone, PartialEq, Eq, Debug, thiserror::Error)]
#[error("{name}: {why}")]
pub(crate) struct Failure {
    pub(crate) name: String,
    pub(crate) why: String,
}

impl Failure {
    pub(crate) fn new(name: impl Display, why: impl Display) -> Self {
        let name = name.to_string();
        // The directory where the server, or this program, was started.
        Self { name: if name.is_empty() { ".".to_owned() } else { name }, why: why.to_string() }
    }
}

/// A file that is whole at its destination.
pub(crate) struct Copied<'a> {
    pub(crate) from: &'a dyn Display,
    pub(crate) to: &'a dyn Display,
    pub(crate) size: u64,
    /// BLAKE3, in hex; None where nobody computed it.
    pub(crate) hash: Option<&'a str>,
}

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
    /// Files whose sources changed while they were sent; each is sent once more.
    again: Mutex<Vec<Item>>,
    /// Files that are published, and whose content is still to be proven.
    doubts: Mutex<Vec<Doubt>>,
    /// None where items are copied one after another anyway.
    order: Mutex<Option<Order>>,
}

impl Outcomes {
    pub(crate) fn new(ui: Arc<Ui>, settings: Settings) -> Self {
        Self {
            ui,
            settings,
            failed: AtomicU64::new(0),
            refused: Mutex::default(),
            again: Mutex::default(),
            doubts: Mutex::default(),
            order: Mutex::default(),
        }
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
    pub(crate) fn fail(&self, name: impl Display, why: impl Display) {
        self.failed.fetch_add(1, Ordering::Relaxed);
        self.ui.failed(&Failure::new(name, why));
    }

    /// Names an item that failed, when it is its turn.
    pub(crate) fn fail_at(&self, turn: Turn, failure: Failure) {
        self.failed.fetch_add(1, Ordering::Relaxed);
        match &mut *self.order() {
            Some(order) => order.settle(turn, Some(failure), |failure| self.ui.failed(failure)),
            None => self.ui.failed(&failure),
        }
    }

    /// Names an item that is not copied, as was asked for.
    pub(crate) fn leave_out(&self, turn: Turn, failure: &Failure) {
        self.ui.left_out(failure);
        self.done(turn);
    }

    /// Counts content that was moved, and keeps to the rate.
    pub(crate) fn moved(&self, bytes: u64) {
        self.ui.moved(bytes);
        self.settings.pace.moved(bytes);
    }

    /// Names a file that would be copied.
    pub(crate) fn would(&self, turn: Turn, from: &dyn Display, to: &dyn Display, size: u64) {
        self.ui.file(Status::WouldCopy, &Copied { from, to, size, hash: None });
        self.done(turn);
    }

    /// Counts a file that was copied.
    pub(crate) fn copied(&self, turn: Turn, file: &Copied<'_>) {
        self.ui.meter.add_file(file.size);
        self.ui.file(Status::Copied, file);
        self.done(turn);
    }

    /// Counts a file that was there before, with the same content.
    pub(crate) fn already(&self, turn: Turn, file: &Copied<'_>) {
        self.ui.meter.add_already();
        self.ui.file(Status::Already, file);
        self.done(turn);
    }

    /// Takes note of an item of which nothing is to be said.
    pub(crate) fn done(&self, turn: Turn) {
        if let Some(order) = &mut *self.order() {
            order.settle(turn, None, |failure| self.ui.failed(failure));
        }
    }

    /// From now on failures wait for their turn, the first of which is 0.
    pub(crate) fn in_turn(&self) {
        *self.order() = Some(Order::default());
    }

    /// Names the failures that still wait for their turn: it will not come.
    pub(crate) fn name_all(&self) {
        let order = self.order().take();
        order.into_iter().flat_map(Order::left).for_each(|failure| self.ui.failed(&failure));
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
                Item::File(item) => self.fail_at(item.turn, Failure::new(item.local.display(), why)),
                Item::Dir { remote, turn } => self.fail_at(turn, Failure::new(remote, why)),
            }
        }
        for item in self.take_again() {
            if let Item::File(item) = item {
                self.fail_at(item.turn, Failure::new(item.local.display(), "changed while it was copied"));
            }
        }
        for doubt in self.take_doubts() {
            self.fail_at(doubt.turn, doubt.unproven("the connection was lost"));
        }
    }

    /// Takes the refusals that are to be settled.
    pub(crate) fn take_refused(&self) -> Vec<Refused> {
        std::mem::take(&mut *self.refused.lock().unwrap_or_else(PoisonError::into_inner))
    }

    /// Keeps a file to be sent once more.
    pub(crate) fn send_again(&self, item: Item) {
        self.again.lock().unwrap_or_else(PoisonError::into_inner).push(item);
    }

    /// Takes the files that are to be sent once more.
    pub(crate) fn take_again(&self) -> Vec<Item> {
        std::mem::take(&mut *self.again.lock().unwrap_or_else(PoisonError::into_inner))
    }

    /// Keeps a published file whose content is to be proven.
    pub(crate) fn doubt(&self, doubt: Doubt) {
        self.doubts.lock().unwrap_or_else(PoisonError::into_inner).push(doubt);
    }

    /// Takes the files whose content is to be proven.
    pub(crate) fn take_doubts(&self) -> Vec<Doubt> {
        std::mem::take(&mut *self.doubts.lock().unwrap_or_else(PoisonError::into_inner))
    }
}
