//! Queue disciplines in Python: classes derived from `lopsided.QueueDiscipline` that are registered under a name for
//! scenarios.
//!
//! Packets are stored in Rust. The methods of the class receive packet fields as plain values. An exception in a method
//! ends the run and becomes the run's error.

mod base;
mod config;
mod discipline;
mod packet_view;

pub(crate) use base::{QueueDiscipline, QueueSetup};
pub(crate) use config::register_queue;
pub(crate) use packet_view::PacketView;

use crate::controller::RunAbort;
use std::cell::RefCell;
use std::sync::Arc;
use std::sync::atomic::{AtomicBool, Ordering};

/// Name of a user-defined queue discipline in error messages.
pub(crate) const QUEUE_DISCIPLINE: &str = "queue discipline";

thread_local! {
    /// The run that this thread is building. Queues read this variable when they are built.
    static CURRENT_RUN: RefCell<Option<Arc<RunAbort>>> = const { RefCell::new(None) };
}

static ANY_REGISTERED: AtomicBool = AtomicBool::new(false);

/// Returns true if a run could call a queue discipline in Python.
pub(crate) fn any_registered() -> bool {
    ANY_REGISTERED.load(Ordering::Relaxed)
}

/// Calls `act`, which builds a run. Through `abort`, the queues of the run can end it with an error.
pub(crate) fn within_run<T>(abort: &Arc<RunAbort>, act: impl FnOnce() -> T) -> T {
    CURRENT_RUN.with_borrow_mut(|run| *run = Some(Arc::clone(abort)));
    // `act` builds the queues on this thread.
    let done = act();
    CURRENT_RUN.with_borrow_mut(|run| *run = None);
    done
}
