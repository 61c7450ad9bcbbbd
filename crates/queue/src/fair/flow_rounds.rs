//! The order in which many flows are served: new flows first, then old flows in turn (RFC 8290, section 4.2).
//!
//! A flow becomes old when it has used its quantum, or when it is found empty while old flows wait.

use std::collections::VecDeque;

/// The lists of new and old flows. Flows are identified by number.
#[derive(Clone, Debug, Default)]
pub(crate) struct FlowRounds {
    new: VecDeque<u32>,
    old: VecDeque<u32>,
}

impl FlowRounds {
    /// Adds a flow to the new flows. The flow must be in neither list.
    pub fn begin(&mut self, flow: u32) {
        self.new.push_back(flow);
    }

    /// Returns the flow that has the turn; `None` if both lists are empty.
    pub fn head(&self) -> Option<u32> {
        self.new.front().or(self.old.front()).copied()
    }

    /// Moves the flow at the head, which has used its quantum, to the end of the old flows.
    pub fn spent(&mut self) {
        let flow = self.take_head();
        self.old.extend(flow);
    }

    /// Handles an empty flow at the head. Returns true if the flow was removed from both lists.
    pub fn emptied(&mut self) -> bool {
        let was_new = !self.new.is_empty();
        let flow = self.take_head();
        // RFC 8290, section 4.2: an empty new flow first moves to the old flows. Otherwise a flow that is often empty
        // could stay new and starve the old flows.
        if was_new && !self.old.is_empty() {
            self.old.extend(flow);
            return false;
        }
        true
    }

    /// Returns all flows in the lists, new flows first.
    pub fn iter(&self) -> impl Iterator<Item = u32> + '_ {
        self.new.iter().chain(&self.old).copied()
    }

    /// Returns the number of new flows.
    pub fn new_flows(&self) -> usize {
        self.new.len()
    }

    /// Returns the number of flows in the lists: flows with packets, and empty flows that still wait for their turn.
    pub fn active(&self) -> usize {
        self.new.len() + self.old.len()
    }

    /// Removes and returns the flow that has the turn.
    fn take_head(&mut self) -> Option<u32> {
        self.new.pop_front().or_else(|| self.old.pop_front())
    }
}
