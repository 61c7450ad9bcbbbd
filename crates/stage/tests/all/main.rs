//! Tests of the public interface of stages.

mod ack_expand;
mod ack_pacing;
mod ack_reconstruct;
mod ack_thinning;
mod common;
mod interface;
mod mtu_gate;
mod starvation;
