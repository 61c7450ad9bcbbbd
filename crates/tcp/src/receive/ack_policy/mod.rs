//! When the receiver acknowledges: the contract, and one file for each policy.

mod contract;
mod delayed;
mod immediate;
mod linux;
mod registry;
mod tack;

pub use contract::{AckDecision, AckPolicy, AckView, Arrival, ArrivedData, PeerFeedback, SenderView};
pub(crate) use registry::built_in;
pub use registry::{ACK_POLICIES, AckPolicies, AckPolicyFactory};
