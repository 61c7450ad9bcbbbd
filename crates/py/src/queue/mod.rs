//! Queue disciplines in Python: a class derived from `lopsided.QueueDiscipline`, registered under a name for scenarios.
//!
//! Packets stay in Rust. The object receives each packet as plain values and decides what happens to it. An exception
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

/// The name of these objects in messages.
pub(crate) const QUEUE_DISCIPLINE: &str = "queue discipline";

thread_local! {
    /// The run of this thread. Queues are built within it.
    static CURRENT_RUN: RefCell<Option<Arc<RunAbort>>> = const { RefCell::new(None) };
}

static ANY_REGISTERED: AtomicBool = AtomicBool::new(false);

/// True if any run may call a discipline in Python.
pub(crate) fn any_registered() -> bool {
    ANY_REGISTERED.load(Ordering::Relaxed)
}

/// Calls `act`, which makes a run. The run's queues can end it through `abort`.
pub(crate) fn within_run<T>(abort: &Arc<RunAbort>, act: impl FnOnce() -> T) -> T {
    CURRENT_RUN.with_borrow_mut(|run| *run = Some(Arc::clone(abort)));
    // Queues are built inside `act`, on this thread.
    let done = act();
    CURRENT_RUN.with_borrow_mut(|run| *run = None);
    done
}
