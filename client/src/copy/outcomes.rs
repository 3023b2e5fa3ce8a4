//! What became of each file, gathered from both threads.

use std::sync::atomic::{AtomicU64, Ordering};
use std::sync::{Arc, Mutex, PoisonError};

use super::Settings;
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
}

impl Outcomes {
    pub(crate) fn new(ui: Arc<Ui>, settings: Settings) -> Self {
        Self { ui, settings, failed: AtomicU64::new(0), refused: Mutex::default() }
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

    /// Names a file that failed.
    pub(crate) fn fail(&self, text: &str) {
        self.failed.fetch_add(1, Ordering::Relaxed);
        self.ui.error(text);
    }

    /// Keeps a refusal to be settled.
    pub(crate) fn refuse(&self, item: Item, why: String) {
        self.refused.lock().unwrap_or_else(PoisonError::into_inner).push(Refused { item, why });
    }

    /// Names what was refused, where nothing more can be found out about it.
    pub(crate) fn fail_refused(&self) {
        for Refused { item, why } in self.take_refused() {
            match item {
                Item::File(item) => self.fail(&format!("{}: {why}", item.local.display())),
                Item::Dir { remote } => self.fail(&format!("{remote}: {why}")),
            }
        }
    }

    /// Takes the refusals that are to be settled.
    pub(crate) fn take_refused(&self) -> Vec<Refused> {
        std::mem::take(&mut *self.refused.lock().unwrap_or_else(PoisonError::into_inner))
    }
}
