//! Trace events for segments that are marked lost.

use crate::send::Flight;
use lopsided_core::tcp_event::{LossRule, TcpEvent, TcpEventMask};

/// Calls `mark` and records the number of segments that it marked as lost.
#[inline]
pub(in crate::recovery) fn mark_lost<R>(flight: &mut Flight, rule: LossRule, mark: impl FnOnce(&mut Flight) -> R) -> R {
    let before = flight.scoreboard.retransmit_pending();
    let result = mark(flight);
    let pending = flight.scoreboard.retransmit_pending();
    if pending > before && flight.trace.wants(TcpEventMask::LOSS) {
        let start = flight.scoreboard.first_pending().unwrap_or(flight.una());
        flight.trace.emit(TcpEventMask::LOSS, || TcpEvent::Lost { start, segments: pending - before, rule });
    }
    result
}
