//! Header prediction: a fast path for segments that only acknowledge new data, or only carry the next data in order
//! (Van Jacobson, in 4.4BSD). RFC 1323 section 4.2.2 lists the conditions with timestamps.
//!
//! The fast path and the general path produce the same result: `tests/prediction.rs` compares their segments, timers
//! and counters.

use super::Connection;
use super::input::DataSegment;
use crate::cc::Feedback;
use crate::receive::ack_policy::Arrival;
use crate::send::AckInfo;
use lopsided_core::packet::{Flags, TcpHeader};
use lopsided_core::tcp_event::State;
use lopsided_core::{Ecn, Payload, Time};

/// Lets a test compare the fast path with the general path.
#[cfg(test)]
#[derive(Debug, Default)]
pub(crate) struct Watched {
    /// True if all segments must take the general path.
    pub off: bool,
    /// Number of segments that took the fast path.
    pub taken: u64,
}

impl Connection {
    /// Processes a segment on the fast path. Returns false and changes nothing if the segment needs the general path.
    #[inline(always)]
    pub(super) fn take_predicted(&mut self, now: Time, header: &TcpHeader, payload: &Payload, ecn: Ecn) -> bool {
        if !self.predicts(header) {
            return false;
        }
        let taken = if payload.is_empty() {
            self.take_progress(now, header)
        } else {
            self.take_next(now, header, payload, ecn)
        };
        #[cfg(test)]
        {
            self.prediction.taken += u64::from(taken);
        }
        taken
    }

    /// True if the connection is established, and the segment is the next in order and has no special flags or options.
    #[inline(always)]
    fn predicts(&self, header: &TcpHeader) -> bool {
        #[cfg(test)]
        if self.prediction.off {
            return false;
        }
        let stamps_advance = match header.options.timestamps {
            Some(stamps) => self.options.timestamps && stamps.value.wrapping_sub(self.ts_recent) as i32 >= 0,
            None => !self.options.timestamps,
        };
        self.state == State::Established
            && header.flags.with(Flags::PSH) == Flags::ACK.with(Flags::PSH)
            && header.seq == self.recv.ack()
            && header.options.are_usual()
            && stamps_advance
            // ECN feedback and options of the ACK policy need the general path.
            && self.ecn.feedback() == Feedback::None
            && self.acks.option_room() == 0
    }

    /// Processes a segment without data. Returns false if the segment acknowledges no new data, or if the sender has
    /// losses.
    #[inline(always)]
    fn take_progress(&mut self, now: Time, header: &TcpHeader) -> bool {
        let flight = &self.send.flight;
        let acked = u64::from(header.ack.get().wrapping_sub(self.send.seq(flight.una()).get()));
        if acked == 0 || acked > flight.outstanding() {
            return false;
        }
        let info = self.plain_ack_info(header, flight.una() + acked, false);
        if !self.send.take_plain_ack(now, &info) {
            return false;
        }
        self.last_ack_recv = Some(now);
        self.note_timestamp(header);
        self.note_echo(now, header, 0);
        true
    }

    /// Processes a segment with data. Returns false if data is missing or outstanding, or if the data exceeds the
    /// window.
    #[inline(always)]
    fn take_next(&mut self, now: Time, header: &TcpHeader, payload: &Payload, ecn: Ecn) -> bool {
        let una = self.send.flight.una();
        let info = self.plain_ack_info(header, una, true);
        if header.ack != self.send.seq(una) || !self.recv.takes_next(payload) || !self.send.has_nothing_to_learn(&info)
        {
            return false;
        }
        self.send.take_window(now, &info);
        self.last_ack_recv = Some(now);
        self.note_timestamp(header);
        self.note_data(now, header, payload);
        let before = self.recv.next();
        self.recv.take_next(payload.len());
        // The segment was the next in order and no out-of-order data is buffered, so it cannot close a gap.
        let arrival = Arrival::InOrder { closed_gap: false, gaps_left: false };
        let segment = DataSegment { header, payload, ecn, start: before as i64 };
        self.settle_arrival(now, &segment, before, arrival, false);
        true
    }

    /// Returns the input of the sender for a segment without SACK blocks and without ECN marks.
    #[inline(always)]
    fn plain_ack_info(&self, header: &TcpHeader, ack: u64, has_data: bool) -> AckInfo<'static> {
        let stamps = header.options.timestamps;
        AckInfo {
            seq: header.seq,
            ack_number: header.ack,
            ack,
            window: u64::from(header.window) << self.options.snd_wscale,
            sack: &[],
            echo: stamps.map(|stamps| stamps.echo),
            forward_ms: stamps.map(|stamps| stamps.value.wrapping_sub(stamps.echo)),
            ecn_echo: false,
            counts: None,
            asks_retransmit: false,
            has_data,
        }
    }
}
