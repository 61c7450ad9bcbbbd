//! Explicit congestion notification: negotiation and feedback.

mod accurate;
mod feedback;
mod negotiation;

pub(crate) use accurate::{AccEcnSender, AceFeedback, NewlyDelivered, OptionFit};
#[cfg(test)]
pub(crate) use feedback::flags_of;
pub(crate) use negotiation::EcnState;
