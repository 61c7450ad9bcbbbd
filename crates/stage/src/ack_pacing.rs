//! ACK pacing (Partridge's ACK spacing: ACK Spacing for High Delay-Bandwidth Paths with Insufficient Buffering, 1998;
//! RFC 2760, section 3.3.3). The ACKs of a burst leave with gaps. A gap lasts until a sender at `rate` has sent the
//! data that the previous ACK released. The sender therefore sends no burst.
//!
//! Only plain ACKs for new data are delayed, by at most `max_delay`. All other segments are forwarded at once, after
//! the waiting ACKs of their connection. An `ack_reconstruct` stage before this stage can split stretch ACKs.

use crate::held_acks::{Ack, HeldAcks, Rule, Waiting};
use crate::{Outlet, Stage, StageKind, StageRole, StageSide};
use lopsided_core::packet::TcpHeader;
use lopsided_core::{BitRate, Bytes, Cx, Duration, Seq, Time};
use lopsided_spec::{Fault, Key, Part, key};

/// The settings of ACK pacing.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct AckPacingConfig {
    /// The side of the queue on which the stage is placed.
    pub side: StageSide,
    /// Rate at which the sender may send the data that ACKs release.
    pub rate: BitRate,
    /// Maximum delay of an ACK.
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
    const TEXT: &'static str = "Forwards ACKs at the rate of the data that they release.";
    const KEYS: &'static [Key<AckPacingConfig>] = &[
        key(
            "side",
            |part: &mut Self| &mut part.side,
            "Position of the stage: before the queue (entry) or after the line (exit).",
        ),
        key(
            "rate",
            |part: &mut Self| &mut part.rate,
            "Rate of the data that the forwarded ACKs release at the sender; usually the rate of the line in the other direction.",
        )
        .required("\"10 Mbit/s\""),
        key("max_delay", |part: &mut Self| &mut part.max_delay, "Longest time for which an ACK is held."),
    ];

    fn check(&self) -> Result<(), Fault> {
        if self.rate.as_bps() == 0 {
            return Err(Fault::new("rate", "at a rate of zero, only the first ACK would be forwarded"));
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

/// Paces the ACKs of each connection.
#[derive(Debug)]
struct Pacing {
    config: AckPacingConfig,
    delayed: u64,
}

/// The pacing of one connection.
#[derive(Debug)]
struct Pace {
    /// Highest acknowledgement number so far.
    newest: Seq,
    /// Time at which a sender with the rate `rate` has sent all data that earlier ACKs released.
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
        // The ACK releases as many bytes of data as it newly acknowledges.
        let octets = Bytes::new(u64::from(header.ack.since(pace.newest)));
        let (data, _) = self.config.rate.time_to_send(octets, 0);
        // The ACK leaves at its pacing time, but after at most `max_delay`, and never before an earlier ACK of its
        // connection.
        let in_order = waiting.last(connection).unwrap_or(now);
        let goes = pace.free_at.min(now + self.config.max_delay).max(in_order).max(now);
        // The next ACK waits until the data that this ACK releases has been sent at `rate`.
        *pace = Pace { newest: header.ack, free_at: goes + data };
        self.delayed += u64::from(goes > now);
        waiting.hold(connection, goes, packet);
        waiting.release(connection, now, out);
    }

    fn passes(pace: &mut Pace, header: &TcpHeader, _now: Time) {
        pace.newest = pace.newest.later_of(header.ack);
    }

    /// Calls `out` with `delayed_packets`, the number of ACKs that have been delayed since the start of the run.
    fn sample(&self, out: &mut dyn FnMut(&'static str, f64)) {
        out("delayed_packets", self.delayed as f64);
    }
}
