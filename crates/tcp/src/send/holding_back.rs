//! Which short segments are kept back: the profile's rule (RFC 9293 section 3.7.4), TCP_NODELAY and TCP_CORK as Linux
//! has them.

use crate::profile::Nagle;

#[derive(Debug, Default)]
pub(crate) struct HoldingBack {
    nodelay: bool,
    corked: bool,
    /// What is there goes, whatever the rules say: until more is written.
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

    /// Whether a short segment with nothing behind it waits. `outstanding`: something is out; `short_out`: a short
    /// segment is.
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
