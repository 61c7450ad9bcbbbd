//! The common part of both spacings: the mean time between ACKs, and the inserted ACKs.

use crate::held_acks::Ack;
use lopsided_core::packet::TcpHeader;
use lopsided_core::{Cx, Duration, NewPacket, Packet, Payload, Seq, Time, Transport};

/// The mean time between ACKs, in nanoseconds: an average that forgets.
#[derive(Debug)]
pub(super) struct Mean(Option<f64>);

impl Mean {
    /// `given`: before any is known.
    pub fn new(given: Option<Duration>) -> Mean {
        Mean(given.map(|mean| mean.as_nanos() as f64))
    }

    pub fn sample(&mut self, gain: f64, from: Time, to: Time) -> f64 {
        let sample = (to - from).as_nanos() as f64;
        let mean = self.0.map_or(sample, |mean| mean + gain * (sample - mean));
        self.0 = Some(mean);
        mean
    }
}

/// An ACK like this one with another number.
pub(super) fn inserted(like: &Ack, number: Seq, window: u16, cx: &mut Cx<'_>) -> Packet {
    let header = TcpHeader { ack: number, window, ..like.header.clone() };
    cx.originate(NewPacket::new(like.packet.flow(), like.packet.ip(), Transport::Tcp(header), Payload::EMPTY))
}
