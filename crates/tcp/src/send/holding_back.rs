//! The rules that delay short segments: the profile's Nagle rule (RFC 9293 section 3.7.4), TCP_NODELAY and TCP_CORK as
//! in Linux.

use crate::profile::Nagle;

#[derive(Debug, Default)]
pub(crate) struct HoldingBack {
    nodelay: bool,
    corked: bool,
    /// True if the waiting data must be sent although it does not fill a segment. The next write resets the flag.
    pushed: bool,
}

impl HoldingBack {
    pub fn set_nodelay(&mut self, on: bool) {
        self.nodelay = on;
        self.pushed |= on;
    }

    pub fn set_cork(&mut self, on: bool) {
        self.corked = on;
        self.pushed |= !on && self.nodelay;
    }

    pub fn on_write(&mut self) {
        self.pushed = false;
    }

    /// True if a short last segment must wait. `outstanding` is true if any data is outstanding; `short_out` is true if
    /// a short segment is outstanding.
    pub fn holds(&self, rule: Nagle, outstanding: bool, short_out: bool) -> bool {
        if self.pushed {
            return false;
        }
        let waits = match rule {
            Nagle::BehindAny => outstanding,
            Nagle::BehindShort => short_out,
        };
        self.corked || (waits && !self.nodelay)
    }
}
