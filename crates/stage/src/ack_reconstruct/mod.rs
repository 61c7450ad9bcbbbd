//! ACK reconstruction (Balakrishnan, Padmanabhan and Katz, The Effects of Asymmetry on TCP Performance, 1999, section
//! 6.4; RFC 3449 section 5.3.1): behind a slow line, the ACKs that were filtered or dropped in front of it are made
//! anew, so that a sender which grows by the ACK and sends on each sees a smooth stream.
//!
//! Where an ACK says more than `threshold` segments beyond the one before, ACKs are inserted between the two, each
//! `every` segments, and all of them, the arriving one last, are spread over the mean time between arriving ACKs. That
//! is an average with the weight `gain`. The gap of `d` segments takes `ceil(d / every) - 1` ACKs, which fills it
//! evenly; the paper prints one fewer, `text = true`.
//!
//! With `spacing = "interval"` it is a pacer, as the authors' code in ns-2 runs (`interval.rs`).
//!
//! Nothing is acknowledged that was not: inserted numbers lie between two that arrived. An inserted ACK is the arriving
//! one with its number and the smaller of the two windows. Only plain ACKs are spread. One with data, flags, SACK
//! blocks or counts of marks goes on at once, behind those that wait. State is soft; an ACK waits no longer than
//! `max_delay`.

mod interval;
mod share;

use crate::held_acks::{Ack, HeldAcks};
use crate::{Stage, StageKind, StageRole, StageSide};
use interval::ByInterval;
use lopsided_core::packet::TcpHeader;
use lopsided_core::{Bytes, Cx, Duration, NewPacket, Packet, Payload, Seq, Time, Transport};
use lopsided_spec::{Choice, Fault, Key, Part, key};
use share::ByShare;

/// ACK reconstruction as plain data.
#[derive(Clone, Copy, Debug, PartialEq)]
pub struct AckReconstructConfig {
    pub side: StageSide,
    pub every: u32,
    pub threshold: u32,
    pub gain: f64,
    /// The mean time between ACKs before any is known; `None`: the first such time.
    pub interval: Option<Duration>,
    pub segment: Bytes,
    pub max_delay: Duration,
    pub text: bool,
    pub spacing: Spacing,
}

/// How far apart the ACKs of a gap go on.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Default)]
pub enum Spacing {
    /// By their share of the gap, in the mean interval.
    #[default]
    Share,
    /// A mean interval, each, as the authors' code runs.
    Interval,
}

impl Choice for Spacing {
    const WORDS: &'static [(&'static str, Spacing)] = &[("share", Spacing::Share), ("interval", Spacing::Interval)];
}

impl Default for AckReconstructConfig {
    fn default() -> AckReconstructConfig {
        AckReconstructConfig {
            side: StageSide::Exit,
            every: 2,
            threshold: 2,
            gain: 0.25,
            interval: None,
            segment: Bytes::new(1448),
            max_delay: Duration::from_millis(100),
            text: false,
            spacing: Spacing::Share,
        }
    }
}

impl Part for AckReconstructConfig {
    const NAME: &'static str = "ack_reconstruct";
    const TEXT: &'static str = "Fills the gaps between ACKs with new ones, and spreads them in time.";
    const KEYS: &'static [Key<AckReconstructConfig>] = &[
        key("side", |part: &mut Self| &mut part.side, "Before the queue (entry) or behind the line (exit)."),
        key("every", |part: &mut Self| &mut part.every, "An ACK for every so many segments."),
        key("threshold", |part: &mut Self| &mut part.threshold, "A gap of more segments than this is filled."),
        key("gain", |part: &mut Self| &mut part.gain, "The weight of a new sample in the mean time between ACKs."),
        key(
            "interval",
            |part: &mut Self| &mut part.interval,
            "The mean time between ACKs before any is known: the authors' scripts have 10 ms.",
        )
        .none_word("the first"),
        key("segment", |part: &mut Self| &mut part.segment, "The data of a full segment."),
        key("max_delay", |part: &mut Self| &mut part.max_delay, "An ACK is held for this long at most."),
        key("text", |part: &mut Self| &mut part.text, "One ACK fewer for each gap, as balakrishnan1999 prints it."),
        key(
            "spacing",
            |part: &mut Self| &mut part.spacing,
            "The ACKs of a gap share the mean time between ACKs (share), or go on one such time apart (interval).",
        ),
    ];

    fn check(&self) -> Result<(), Fault> {
        if self.every == 0 {
            return Err(Fault::new("every", "an ACK stands for one segment at least"));
        }
        if self.segment == Bytes::ZERO {
            return Err(Fault::new("segment", "a segment has one octet at least"));
        }
        if !(self.gain > 0.0 && self.gain <= 1.0) {
            return Err(Fault::new("gain", "a gain is above 0 and at most 1"));
        }
        if self.text && self.spacing == Spacing::Interval {
            return Err(Fault::new("text", "the text has the ACKs share the time: leave out `spacing`"));
        }
        Ok(())
    }
}

impl StageKind for AckReconstructConfig {
    fn side(&self) -> StageSide {
        self.side
    }

    fn build(&self, _role: &StageRole<'_>) -> Result<Box<dyn Stage>, Fault> {
        self.check()?;
        Ok(match self.spacing {
            Spacing::Share => Box::new(HeldAcks::new(ByShare::new(*self))),
            Spacing::Interval => Box::new(HeldAcks::new(ByInterval::new(*self))),
        })
    }
}

/// The mean time between ACKs, in nanoseconds: an average that forgets.
#[derive(Debug)]
struct Mean(Option<f64>);

impl Mean {
    /// `given`: before any is known.
    fn new(given: Option<Duration>) -> Mean {
        Mean(given.map(|mean| mean.as_nanos() as f64))
    }

    fn sample(&mut self, gain: f64, from: Time, to: Time) -> f64 {
        let sample = (to - from).as_nanos() as f64;
        let mean = self.0.map_or(sample, |mean| mean + gain * (sample - mean));
        self.0 = Some(mean);
        mean
    }
}

impl AckReconstructConfig {
    /// The octets for which there is an ACK.
    fn step(&self) -> u32 {
        self.every * self.segment.get() as u32
    }

    /// Whether so many octets are a gap.
    fn is_gap(&self, octets: u32) -> bool {
        u64::from(octets) > u64::from(self.threshold) * self.segment.get()
    }
}

/// An ACK like this one with another number.
fn inserted(like: &Ack, number: Seq, window: u16, cx: &mut Cx<'_>) -> Packet {
    let header = TcpHeader { ack: number, window, ..like.header.clone() };
    cx.originate(NewPacket::new(like.packet.flow(), *like.packet.ip(), Transport::Tcp(header), Payload::EMPTY))
}
