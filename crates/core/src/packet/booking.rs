//! Debug check for packets that disappear without [`crate::Cx::deliver`], `drop` or `absorb`.
//!
//! Without debug assertions these types have size 0 and no effect.

#[cfg(debug_assertions)]
use std::sync::Arc;
#[cfg(debug_assertions)]
use std::sync::atomic::{AtomicBool, Ordering};

/// Records whether the accounting still exists, because packets may be freed after the accounting. The check ends when
/// the first clone is freed.
#[derive(Clone, Debug, Default)]
pub(crate) struct Ledger {
    #[cfg(debug_assertions)]
    closed: Arc<AtomicBool>,
}

/// Owned by a packet. `open` becomes `None` when the packet is delivered, dropped or absorbed.
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
            // The accounting and the packet share this value, so that the packet's destructor can check whether the
            // accounting still exists.
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
    /// Records that the packet was delivered, dropped or absorbed.
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
            // During a panic, packets are dropped as the stack unwinds. A second panic would abort the process.
            let running = !closed.load(Ordering::Relaxed) && !std::thread::panicking();
            assert!(!running, "packet {id:#x} was forgotten: it ends by Cx::deliver, Cx::drop or Cx::absorb");
        }
    }
}
