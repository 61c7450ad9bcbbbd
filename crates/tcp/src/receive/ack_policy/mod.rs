//! Policies that decide when the receiver sends an ACK: their trait, and one file per policy.

mod acc;
mod ace;
#[cfg(test)]
mod arrivals;
mod contract;
mod delayed;
mod growing;
mod immediate;
mod linux;
mod registry;
mod rfc5690;
mod tack;
mod tarr;

pub use contract::{AckDecision, AckPolicy, AckView, Arrival, ArrivedData, PeerFeedback, SenderView};
pub(crate) use registry::build;
pub use registry::{AckPolicyFactory, ack_policies, register_ack_policy};
