//! Progress and cancellation of runs, from other threads.

use lopsided_core::Duration;
use std::sync::atomic::{AtomicBool, AtomicU64, Ordering};

/// Progress and cancellation of one or several runs, shared between threads.
///
/// # Examples
///
/// ```
/// use lopsided_sim::Monitor;
///
/// let monitor = Monitor::default();
/// assert_eq!(monitor.fraction(), 0.0);
/// monitor.cancel();
/// assert!(monitor.is_cancelled());
/// ```
#[derive(Debug, Default)]
pub struct Monitor {
    cancelled: AtomicBool,
    done: AtomicU64,
    total: AtomicU64,
}

impl Monitor {
    /// Cancels the runs. They end with [`RunError::Cancelled`](crate::RunError::Cancelled) at their next check.
    pub fn cancel(&self) {
        self.cancelled.store(true, Ordering::Relaxed);
    }

    /// Returns true if the runs were cancelled.
    pub fn is_cancelled(&self) -> bool {
        self.cancelled.load(Ordering::Relaxed)
    }

    /// Returns the share of the simulated time that is finished, from 0 to 1.
    pub fn fraction(&self) -> f64 {
        let total = self.total.load(Ordering::Relaxed);
        if total == 0 { 0.0 } else { self.done.load(Ordering::Relaxed) as f64 / total as f64 }
    }

    /// Announces a run of this duration. [`Monitor::fraction`] is relative to the sum of all announced durations.
    pub fn expect(&self, span: Duration) {
        self.total.fetch_add(span.as_nanos(), Ordering::Relaxed);
    }

    pub(crate) fn advance(&self, span: Duration) {
        self.done.fetch_add(span.as_nanos(), Ordering::Relaxed);
    }
}
