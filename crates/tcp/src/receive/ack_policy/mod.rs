//! When the receiver acknowledges: the contract, and one file for each policy.

mod acc;
mod contract;
mod delayed;
mod immediate;
mod linux;
mod registry;
mod tack;

pub use contract::{AckDecision, AckPolicy, AckView, Arrival, ArrivedData, PeerFeedback, SenderView};
pub(crate) use registry::build;
pub use registry::{AckPolicyFactory, ack_policies, register_ack_policy};
