//! What other threads see of runs under way, and how they end them.

use lopsided_core::Duration;
use std::sync::atomic::{AtomicBool, AtomicU64, Ordering};

/// Seen from other threads: how far the work is; and the way to end it early.
#[derive(Debug, Default)]
pub struct Monitor {
    cancelled: AtomicBool,
    done: AtomicU64,
    total: AtomicU64,
}

impl Monitor {
    pub fn cancel(&self) {
        self.cancelled.store(true, Ordering::Relaxed);
    }

    pub fn is_cancelled(&self) -> bool {
        self.cancelled.load(Ordering::Relaxed)
    }

    /// The share of the simulated time that is done, from 0 to 1.
    pub fn fraction(&self) -> f64 {
        let total = self.total.load(Ordering::Relaxed);
        if total == 0 { 0.0 } else { self.done.load(Ordering::Relaxed) as f64 / total as f64 }
    }

    pub(crate) fn expect(&self, span: Duration) {
        self.total.fetch_add(span.as_nanos(), Ordering::Relaxed);
    }

    pub(crate) fn advance(&self, span: Duration) {
        self.done.fetch_add(span.as_nanos(), Ordering::Relaxed);
    }
}
