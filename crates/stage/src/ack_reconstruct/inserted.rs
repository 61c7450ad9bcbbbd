//! Code for both kinds of spacing: the mean time between ACKs, and the creation of ACKs.

use crate::held_acks::Ack;
use lopsided_core::packet::TcpHeader;
use lopsided_core::{Cx, Duration, NewPacket, Packet, Payload, Seq, Time, Transport};

/// Exponentially weighted mean time between ACKs, in nanoseconds. `None` before the first sample.
#[derive(Debug)]
pub(super) struct Mean(Option<f64>);

impl Mean {
    /// The mean starts at `given`, or at the first sample if `given` is `None`.
    pub fn new(given: Option<Duration>) -> Mean {
        Mean(given.map(|mean| mean.as_nanos() as f64))
    }

    /// Adds the time from `from` to `to` as a sample with the weight `gain`. Returns the new mean.
    pub fn sample(&mut self, gain: f64, from: Time, to: Time) -> f64 {
        let sample = (to - from).as_nanos() as f64;
        let mean = self.0.map_or(sample, |mean| mean + gain * (sample - mean));
        self.0 = Some(mean);
        mean
    }
}

/// Creates a copy of an ACK with another acknowledgement number and window.
pub(super) fn inserted(like: &Ack, number: Seq, window: u16, cx: &mut Cx<'_>) -> Packet {
    let header = TcpHeader { ack: number, window, ..like.header.clone() };
    cx.originate(NewPacket::new(like.packet.flow(), like.packet.ip(), Transport::Tcp(header), Payload::EMPTY))
}
