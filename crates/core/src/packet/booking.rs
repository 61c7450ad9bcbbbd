//! Finds a packet that is forgotten: one of the accounting that Rust drops while its run goes on.
//!
//! In builds without debug assertions all of this is of no size and does nothing.

#[cfg(debug_assertions)]
use std::sync::Arc;
#[cfg(debug_assertions)]
use std::sync::atomic::{AtomicBool, Ordering};

/// Of the accounting: whether it still is. What is dropped after it, as a run is taken down, is not forgotten. A clone is of the same
/// run, and the first that goes ends the watch.
#[derive(Clone, Debug, Default)]
pub(crate) struct Ledger {
    #[cfg(debug_assertions)]
    closed: Arc<AtomicBool>,
}

/// Of a packet: that some accounting waits for its end.
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
            let running = !closed.load(Ordering::Relaxed) && !std::thread::panicking();
            assert!(!running, "packet {id:#x} was forgotten: it ends by Cx::deliver, Cx::drop or Cx::absorb");
        }
    }
}
