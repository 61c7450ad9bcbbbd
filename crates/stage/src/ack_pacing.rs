//! ACK pacing (Partridge's ACK spacing: ACK Spacing for High Delay-Bandwidth Paths with Insufficient Buffering, 1998;
//! RFC 2760 section 3.3.3): ACKs that come in a bunch go on with the time between them that the data for which they ask
//! takes at `rate`, so that a sender does not send it in a burst.
//!
//! An ACK for so many new octets holds back the next one of its connection for the time of those octets. One that
//! stands for many (a stretch ACK) is not divided: `ack_reconstruct` in front does that. Only plain ACKs for new data
//! wait, no longer than `max_delay`. One with data, flags, SACK blocks or counts of marks, or a duplicate, goes on at
//! once, behind those that wait.

use crate::held_acks::{Ack, HeldAcks, Rule, Waiting};
use crate::{Outlet, Stage, StageKind, StageRole, StageSide};
use lopsided_core::packet::TcpHeader;
use lopsided_core::{BitRate, Bytes, Cx, Duration, Seq, Time};
use lopsided_spec::{Fault, Key, Part, key};

/// ACK pacing as plain data.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct AckPacingConfig {
    /// The side of the queue that the stage is on.
    pub side: StageSide,
    /// The rate of the data that the ACKs may release.
    pub rate: BitRate,
    /// The longest delay of an ACK.
    pub max_delay: Duration,
}

impl Default for AckPacingConfig {
    fn default() -> AckPacingConfig {
        AckPacingConfig {
            side: StageSide::Exit,
            rate: BitRate::from_bps(10_000_000),
            max_delay: Duration::from_millis(100),
        }
    }
}

impl Part for AckPacingConfig {
    const NAME: &'static str = "ack_pacing";
    const TEXT: &'static str = "ACKs go on at the pace of the data that they ask for.";
    const KEYS: &'static [Key<AckPacingConfig>] = &[
        key("side", |part: &mut Self| &mut part.side, "Before the queue (entry) or behind the line (exit)."),
        key(
            "rate",
            |part: &mut Self| &mut part.rate,
            "The pace of the data: what the line of the other direction carries.",
        )
        .required("\"10 Mbit/s\""),
        key("max_delay", |part: &mut Self| &mut part.max_delay, "An ACK is held for this long at most."),
    ];

    fn check(&self) -> Result<(), Fault> {
        if self.rate.as_bps() == 0 {
            return Err(Fault::new("rate", "at a rate of zero no ACK would follow another"));
        }
        Ok(())
    }
}

impl StageKind for AckPacingConfig {
    fn side(&self) -> StageSide {
        self.side
    }

    fn build(&self, _role: &StageRole<'_>) -> Result<Box<dyn Stage>, Fault> {
        self.check()?;
        Ok(Box::new(HeldAcks::new(Pacing { config: *self, delayed: 0 })))
    }
}

/// Paces the ACKs of every connection that passes.
#[derive(Debug)]
struct Pacing {
    config: AckPacingConfig,
    delayed: u64,
}

/// One connection's ACKs.
#[derive(Debug)]
struct Pace {
    newest: Seq,
    /// When the data is through for which the ACKs before asked.
    free_at: Time,
}

impl Rule for Pacing {
    type Stream = Pace;

    fn begin(&self, header: &TcpHeader, now: Time) -> Option<Pace> {
        Some(Pace { newest: header.ack, free_at: now })
    }

    fn takes(pace: &Pace, header: &TcpHeader) -> bool {
        header.ack.after(pace.newest)
    }

    fn take(&mut self, pace: &mut Pace, ack: Ack, waiting: &mut Waiting, out: &mut Outlet, cx: &mut Cx<'_>) {
        let (Ack { connection, header, packet }, now) = (ack, cx.now());
        let octets = Bytes::new(u64::from(header.ack.since(pace.newest)));
        let (data, _) = self.config.rate.time_to_send(octets, 0);
        let in_order = waiting.last(connection).unwrap_or(now);
        let goes = pace.free_at.min(now + self.config.max_delay).max(in_order).max(now);
        *pace = Pace { newest: header.ack, free_at: goes + data };
        self.delayed += u64::from(goes > now);
        waiting.hold(connection, goes, packet);
        waiting.release(connection, now, out);
    }

    fn passes(pace: &mut Pace, header: &TcpHeader, _now: Time) {
        pace.newest = pace.newest.later_of(header.ack);
    }

    /// `delayed_packets` counts the ACKs that waited since the beginning.
    fn sample(&self, out: &mut dyn FnMut(&'static str, f64)) {
        out("delayed_packets", self.delayed as f64);
    }
}
