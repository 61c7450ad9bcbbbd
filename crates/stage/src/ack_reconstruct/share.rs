//! ACK reconstruction as in the paper's text: all ACKs of a gap are spread over one mean interval between ACKs.

use super::config::AckReconstructConfig;
use super::mean::Mean;
use crate::Outlet;
use crate::held_acks::{Ack, Rule, Waiting, inserted};
use lopsided_core::packet::{Flags, TcpHeader};
use lopsided_core::{Cx, Duration, Seq, Time};

/// Spreads the ACKs of a gap over one mean interval.
#[derive(Debug)]
pub(super) struct ByShare {
    config: AckReconstructConfig,
    inserted: u64,
}

/// The state of one connection: acknowledgement number, window and arrival time of the last ACK, and the mean interval.
#[derive(Debug)]
pub(super) struct Stream {
    number: Seq,
    window: u16,
    came: Time,
    mean: Mean,
}

impl ByShare {
    pub fn new(config: AckReconstructConfig) -> ByShare {
        ByShare { config, inserted: 0 }
    }
}

impl Rule for ByShare {
    type Stream = Stream;

    /// Creates the state at the first ACK after the handshake.
    fn begin(&self, header: &TcpHeader, now: Time) -> Option<Stream> {
        let mean = Mean::new(self.config.interval);
        let begun = Stream { number: header.ack, window: header.window, came: now, mean };
        (!header.flags.has(Flags::SYN)).then_some(begun)
    }

    fn takes(stream: &Stream, header: &TcpHeader) -> bool {
        header.ack.after(stream.number)
    }

    fn take(&mut self, stream: &mut Stream, ack: Ack, waiting: &mut Waiting, out: &mut Outlet, cx: &mut Cx<'_>) {
        let AckReconstructConfig { gain, max_delay, text, .. } = self.config;
        let (now, step) = (cx.now(), self.config.step());
        let mean = stream.mean.sample(gain, stream.came, now);
        let gap = ack.header.ack.since(stream.number);
        let missing =
            if self.config.is_gap(gap) { gap.div_ceil(step).saturating_sub(if text { 2 } else { 1 }) } else { 0 };
        let first = waiting.last(ack.connection).unwrap_or(now).max(now);
        // No ACK may wait longer than `max_delay`, except to keep the ACKs in order.
        let latest = (now + max_delay).max(first);
        // The delay of an inserted ACK is proportional to the number of bytes from the start of the gap to its
        // acknowledgement number. The arriving ACK leaves last.
        let share = f64::from(step) / f64::from(gap.max(1));
        let at = |number: u32| {
            (first + Duration::from_nanos((mean * (share * f64::from(number)).min(1.0)) as u64)).min(latest)
        };
        // An inserted ACK must not advertise a larger window than the ACK before the gap or the ACK after it.
        let window = stream.window.min(ack.header.window);
        for number in 1..=missing {
            let made = inserted(&ack.packet, &ack.header, stream.number + number * step, window, cx);
            waiting.hold(ack.connection, at(number), made);
        }
        self.inserted += u64::from(missing);
        (stream.number, stream.window, stream.came) = (ack.header.ack, ack.header.window, now);
        waiting.hold(ack.connection, if missing > 0 { at(u32::MAX) } else { first }, ack.packet);
        waiting.release(ack.connection, now, out);
    }

    fn passes(stream: &mut Stream, header: &TcpHeader, now: Time) {
        if header.ack.after(stream.number) {
            (stream.number, stream.came) = (header.ack, now);
        }
        stream.window = header.window;
    }

    /// Calls `out` with `inserted_packets`, the number of ACKs created since the start of the run.
    fn sample(&self, out: &mut dyn FnMut(&'static str, f64)) {
        out("inserted_packets", self.inserted as f64);
    }
}
