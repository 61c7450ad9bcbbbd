//! ACK pacing (Partridge's ACK spacing: ACK Spacing for High Delay-Bandwidth Paths with Insufficient Buffering, 1998;
//! RFC 2760 section 3.3.3): ACKs that come in a bunch go on with the time between them that the data for which they ask
//! takes at `rate`, so that a sender does not send it in a burst.
//!
//! An ACK for so many new octets holds back the next one of its connection for the time of those octets. One that
//! stands for many (a stretch ACK) is not divided: `ack_reconstruct` in front does that. Only plain ACKs for new data
//! wait, no longer than `max_delay`. One with data, flags, SACK blocks or counts of marks, or a duplicate, goes on at
//! once, behind those that wait.

use crate::ack_reconstruct::is_plain;
use crate::spread::{Connection, Spread, connection};
use crate::{Outlet, Stage, StageKind, StageRole, StageSide};
use lopsided_core::packet::Flags;
use lopsided_core::{BitRate, Bytes, Count, Cx, Duration, Packet, Seq, Time};
use lopsided_spec::{Fault, Key, Part, key};
use std::collections::BTreeMap;

/// ACK pacing as plain data.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct AckPacingConfig {
    pub side: StageSide,
    pub rate: BitRate,
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
        Ok(Box::new(AckPacing::new(*self)))
    }
}

/// Paces the ACKs of every connection that passes.
#[derive(Debug)]
pub struct AckPacing {
    config: AckPacingConfig,
    connections: BTreeMap<Connection, Pace>,
    spread: Spread,
    delayed: u64,
}

/// One connection's ACKs.
#[derive(Debug)]
struct Pace {
    newest: Seq,
    /// When the data is through for which the ACKs before asked.
    free_at: Time,
}

impl AckPacing {
    pub fn new(config: AckPacingConfig) -> AckPacing {
        AckPacing { config, connections: BTreeMap::new(), spread: Spread::default(), delayed: 0 }
    }

    /// When an ACK goes on, if it is one for new data.
    fn schedule(&mut self, connection: Connection, ack: Seq, now: Time) -> Option<Time> {
        let pace = self.connections.get_mut(&connection).filter(|pace| ack.after(pace.newest))?;
        let octets = Bytes::new(u64::from(ack.since(pace.newest)));
        let (data, _) = self.config.rate.time_to_send(octets, 0);
        let in_order = self.spread.last(connection).unwrap_or(now);
        let goes = pace.free_at.min(now + self.config.max_delay).max(in_order).max(now);
        (pace.newest, pace.free_at) = (ack, goes + data);
        Some(goes)
    }

    /// What a segment says that goes on at once.
    fn note(&mut self, connection: Connection, ack: Seq, flags: Flags, now: Time) {
        if flags.has(Flags::FIN) || flags.has(Flags::RST) {
            self.connections.remove(&connection);
        } else if flags.has(Flags::ACK) {
            let pace = self.connections.entry(connection).or_insert(Pace { newest: ack, free_at: now });
            if ack.after(pace.newest) {
                pace.newest = ack;
            }
        }
    }
}

impl Stage for AckPacing {
    fn handle_packet(&mut self, packet: Packet, out: &mut Outlet, cx: &mut Cx<'_>) {
        let Some((connection, header)) = connection(&packet) else { return out.forward(packet) };
        let (ack, flags, plain, now) = (header.ack, header.flags, is_plain(&packet, header), cx.now());
        if let Some(goes) = plain.then(|| self.schedule(connection, ack, now)).flatten() {
            if goes > now {
                self.delayed += 1;
                return self.spread.hold(connection, goes, packet);
            }
        } else {
            self.spread.release(connection, Time::MAX, out);
            self.note(connection, ack, flags, now);
        }
        out.forward(packet);
    }

    fn poll_timeout(&self) -> Option<Time> {
        self.spread.next()
    }

    fn handle_timeout(&mut self, out: &mut Outlet, cx: &mut Cx<'_>) {
        while let Some(connection) = self.spread.due(cx.now()) {
            self.spread.release(connection, cx.now(), out);
        }
    }

    fn held(&self) -> Count {
        self.spread.held()
    }

    /// `delayed_packets` counts the ACKs that waited since the beginning.
    fn sample(&self, out: &mut dyn FnMut(&'static str, f64)) {
        out("delayed_packets", self.delayed as f64);
    }
}
