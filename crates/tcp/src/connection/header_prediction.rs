//! Header prediction: a segment that brings nothing unusual, as most do, is taken in by one call (Van Jacobson's, in
//! 4.4BSD; RFC 1323 section 4.2.2 has its conditions with timestamps).
//!
//! What is taken for granted stands in [`Connection::predicts`] and in the two functions behind it, each with its
//! reason. All else goes the long way in `input`, and so could these: `tests/prediction.rs` holds both ways to the same
//! segments, timers and counts.

use super::Connection;
use super::input::DataSegment;
use crate::ecn::Feedback;
use crate::receive::ack_policy::Arrival;
use crate::send::AckInfo;
use lopsided_core::packet::{Flags, TcpHeader};
use lopsided_core::tcp_event::State;
use lopsided_core::{Ecn, Payload, Time};

/// How a test tells both ways apart.
#[cfg(test)]
#[derive(Debug, Default)]
pub(crate) struct Watched {
    /// All segments go the long way.
    pub off: bool,
    /// Segments that were taken in here.
    pub taken: u64,
}

impl Connection {
    /// Takes in a segment that is only progress: an acknowledgement of new data, or the next data. False if it is
    /// anything else, and then nothing has happened.
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

    /// Whether the connection is open and the segment is the next in order, with no flag but PSH, no option but
    /// timestamps that are not older than the last, and no marks to feed back: then it is acceptable, and only its
    /// acknowledgement and its data count. An open connection has closed in neither direction.
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
            && self.ecn.feedback() == Feedback::None
            && self.acks.option_room() == 0
    }

    /// A predicted segment without data: takes it in if it acknowledges new data, and the sender finds nothing unusual
    /// in that.
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

    /// A predicted segment with data: takes it in if nothing is missing before it, nothing is out for it to
    /// acknowledge, and it fits the window.
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
        let arrival = Arrival::InOrder { closed_gap: false, gaps_left: false };
        let segment = DataSegment { header, payload, ecn, start: before as i64 };
        self.settle_arrival(now, &segment, before, arrival, false);
        true
    }

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
