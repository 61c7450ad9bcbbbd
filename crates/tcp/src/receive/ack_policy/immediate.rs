//! Sends an ACK at once for every segment.

use super::contract::{AckDecision, AckPolicy, AckView, Arrival, ArrivedData};
use lopsided_core::Time;
use lopsided_core::tcp_event::AckReason;

#[derive(Debug)]
pub(super) struct Immediate;

impl AckPolicy for Immediate {
    fn name(&self) -> &'static str {
        "immediate"
    }

    fn on_data(&mut self, _now: Time, data: &ArrivedData, _view: &AckView) -> AckDecision {
        AckDecision::Now(match data.arrival {
            Arrival::InOrder { .. } => AckReason::EverySegment,
            Arrival::OutOfOrder => AckReason::OutOfOrder,
            Arrival::Duplicate => AckReason::Duplicate,
        })
    }
}
