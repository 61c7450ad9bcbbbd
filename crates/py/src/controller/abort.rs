//! Ends a run after an error in user code.

use lopsided_core::Time;
use lopsided_sim::Monitor;
use pyo3::PyErr;
use std::sync::{Arc, Mutex, PoisonError};

/// An exception in a method of a user's congestion control or queue discipline.
#[derive(Debug)]
pub(crate) struct ControllerFailure {
    /// Kind of the user's class: "congestion control" or "queue discipline".
    pub(crate) what: &'static str,
    /// Name by which the scenario selects the congestion control or queue discipline.
    pub(crate) name: String,
    /// Name of the method that raised the exception, such as `Gentle.on_ack`.
    pub(crate) called: String,
    /// Virtual time of the call.
    pub(crate) at: Time,
    pub(crate) error: PyErr,
}

/// Lets user code end its run with an error. Only the first error is kept.
#[derive(Debug)]
pub(crate) struct RunAbort {
    monitor: Arc<Monitor>,
    raised: Mutex<Option<ControllerFailure>>,
}

impl RunAbort {
    pub(crate) fn new(monitor: Arc<Monitor>) -> RunAbort {
        RunAbort { monitor, raised: Mutex::new(None) }
    }

    pub(crate) fn take(&self) -> Option<ControllerFailure> {
        self.raised.lock().unwrap_or_else(PoisonError::into_inner).take()
    }

    pub(crate) fn end(&self, raised: ControllerFailure) {
        // Keep the first error, because later errors are often its consequences.
        self.raised.lock().unwrap_or_else(PoisonError::into_inner).get_or_insert(raised);
        self.monitor.cancel();
    }

    pub(crate) fn is_over(&self) -> bool {
        self.monitor.is_cancelled()
    }
}
