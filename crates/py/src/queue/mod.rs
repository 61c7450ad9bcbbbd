//! Queue disciplines written in Python: a class derived from `lopsided.QueueDiscipline`, known to scenarios by a name.
//!
//! Packets stay in Rust: the object sees each as plain values and says what becomes of it. What it raises ends the run,
//! and becomes that run's error.

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

/// What these are called in messages.
pub(crate) const QUEUE_DISCIPLINE: &str = "queue discipline";

thread_local! {
    /// The run that this thread makes: queues are built within it.
    static CURRENT_RUN: RefCell<Option<Arc<RunAbort>>> = const { RefCell::new(None) };
}

static ANY_REGISTERED: AtomicBool = AtomicBool::new(false);

/// Whether a run may ask a discipline in Python.
pub(crate) fn any_registered() -> bool {
    ANY_REGISTERED.load(Ordering::Relaxed)
}

/// Lets `act` make a run, whose queues end it by `abort`.
pub(crate) fn within_run<T>(abort: &Arc<RunAbort>, act: impl FnOnce() -> T) -> T {
    CURRENT_RUN.with_borrow_mut(|run| *run = Some(Arc::clone(abort)));
    let done = act();
    CURRENT_RUN.with_borrow_mut(|run| *run = None);
    done
}
