//! The receive side: what arrived, the window that is offered, and when it is acknowledged.

pub(crate) mod ack_policy;
mod receiver;

pub(crate) use ack_policy::{AckPolicy, Arrival};
pub(crate) use receiver::{Receiver, window_scale};
