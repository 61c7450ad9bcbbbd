//! The number of a node in its network.

/// The number of a node in its network, counted from 0.
#[derive(Clone, Copy, Debug, PartialEq, Eq, PartialOrd, Ord, Hash)]
pub struct NodeId(pub u32);

impl NodeId {
    /// Returns the node's index in lists of nodes.
    pub fn index(self) -> usize {
        self.0 as usize
    }
}
