//! Whose turn it is among many flows: new ones first, then old ones in a circle (RFC 8290 section 4.2).
//!
//! A flow that was empty and gets a packet is new. It becomes old when it has used up its turn, or when it is found
//! empty while old ones wait, so that a flow of one packet at a time cannot stay new for ever.

use std::collections::VecDeque;

/// The two lists, of flows by their number.
#[derive(Clone, Debug, Default)]
pub(crate) struct FlowRounds {
    new: VecDeque<u32>,
    old: VecDeque<u32>,
}

impl FlowRounds {
    /// A flow that is on no list gets a packet.
    pub fn begin(&mut self, flow: u32) {
        self.new.push_back(flow);
    }

    /// The flow whose turn it is.
    pub fn head(&self) -> Option<u32> {
        self.new.front().or(self.old.front()).copied()
    }

    /// The flow at the head has used up its turn.
    pub fn spent(&mut self) {
        let flow = self.take_head();
        self.old.extend(flow);
    }

    /// The flow at the head is empty. True if it leaves the lists.
    pub fn emptied(&mut self) -> bool {
        let was_new = !self.new.is_empty();
        let flow = self.take_head();
        if was_new && !self.old.is_empty() {
            self.old.extend(flow);
            return false;
        }
        true
    }

    /// All flows on the lists, new ones first.
    pub fn iter(&self) -> impl Iterator<Item = u32> + '_ {
        self.new.iter().chain(&self.old).copied()
    }

    pub fn new_flows(&self) -> usize {
        self.new.len()
    }

    /// Number of flows with packets, and of those that are about to be found empty.
    pub fn active(&self) -> usize {
        self.new.len() + self.old.len()
    }

    fn take_head(&mut self) -> Option<u32> {
        self.new.pop_front().or_else(|| self.old.pop_front())
    }
}
