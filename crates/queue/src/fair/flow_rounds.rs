//! The order of service of many flows: new flows first, then old ones in turn (RFC 8290, section 4.2).
//!
//! A flow that was empty and gets a packet is new. It becomes old when it has used its quantum, or when it is found
//! empty while old flows wait. A flow that never has more than one packet thus cannot stay new forever.

use std::collections::VecDeque;

/// The lists of new and of old flows, by number.
#[derive(Clone, Debug, Default)]
pub(crate) struct FlowRounds {
    new: VecDeque<u32>,
    old: VecDeque<u32>,
}

impl FlowRounds {
    /// Adds a flow that is on neither list, as a new one.
    pub fn begin(&mut self, flow: u32) {
        self.new.push_back(flow);
    }

    /// Returns the flow whose turn it is.
    pub fn head(&self) -> Option<u32> {
        self.new.front().or(self.old.front()).copied()
    }

    /// Moves the flow at the head, which has used its quantum, to the end of the old flows.
    pub fn spent(&mut self) {
        let flow = self.take_head();
        self.old.extend(flow);
    }

    /// Handles an empty flow at the head. Returns true if the flow leaves the lists.
    pub fn emptied(&mut self) -> bool {
        let was_new = !self.new.is_empty();
        let flow = self.take_head();
        // RFC 8290, section 4.2: an empty new flow passes once through the old list, so that it cannot starve old
        // flows.
        if was_new && !self.old.is_empty() {
            self.old.extend(flow);
            return false;
        }
        true
    }

    /// Returns all flows on the lists, new ones first.
    pub fn iter(&self) -> impl Iterator<Item = u32> + '_ {
        self.new.iter().chain(&self.old).copied()
    }

    /// Returns the number of new flows.
    pub fn new_flows(&self) -> usize {
        self.new.len()
    }

    /// Returns the number of flows on the lists: flows with packets, and flows not yet found empty.
    pub fn active(&self) -> usize {
        self.new.len() + self.old.len()
    }

    /// Removes the flow whose turn it is.
    fn take_head(&mut self) -> Option<u32> {
        self.new.pop_front().or_else(|| self.old.pop_front())
    }
}
