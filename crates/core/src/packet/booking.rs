//! Finds a forgotten packet: one that the accounting still counts when Rust drops it during a run.
//!
//! Without debug assertions these types have no size and do nothing.

#[cfg(debug_assertions)]
use std::sync::Arc;
#[cfg(debug_assertions)]
use std::sync::atomic::{AtomicBool, Ordering};

/// Belongs to the accounting, and records whether the accounting still exists. A packet that is dropped after its
/// accounting, at the end of a run, is not forgotten. Clones belong to the same run; the first clone that is dropped
/// ends the check.
#[derive(Clone, Debug, Default)]
pub(crate) struct Ledger {
    #[cfg(debug_assertions)]
    closed: Arc<AtomicBool>,
}

/// Belongs to a packet, and records whether an accounting still waits for the packet's end.
#[derive(Debug, Default)]
pub(crate) struct Booking {
    #[cfg(debug_assertions)]
    open: Option<(u64, Arc<AtomicBool>)>,
}

impl Ledger {
    #[inline]
    #[cfg_attr(not(debug_assertions), allow(unused_variables))]
    pub fn book(&self, id: u64) -> Booking {
        Booking {
            #[cfg(debug_assertions)]
            // Shared with the accounting, so that the packet detects when the accounting is dropped.
            open: Some((id, self.closed.clone())),
        }
    }
}

#[cfg(debug_assertions)]
impl Drop for Ledger {
    fn drop(&mut self) {
        self.closed.store(true, Ordering::Relaxed);
    }
}

impl Booking {
    /// The packet ended as it should.
    #[inline]
    pub fn end(&mut self) {
        #[cfg(debug_assertions)]
        {
            self.open = None;
        }
    }
}

#[cfg(debug_assertions)]
impl Drop for Booking {
    fn drop(&mut self) {
        if let Some((id, closed)) = &self.open {
            // While a test panics, packets are dropped on the way; a second panic would abort.
            let running = !closed.load(Ordering::Relaxed) && !std::thread::panicking();
            assert!(!running, "packet {id:#x} was forgotten: it ends by Cx::deliver, Cx::drop or Cx::absorb");
        }
    }
}
