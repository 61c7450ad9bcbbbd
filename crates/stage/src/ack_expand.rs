//! The expander of ACK compaction and companding (RFC 3449, section 5.3.2). An `ack_filter` with a `prefix` writes the
//! number of removed ACKs into each remaining ACK. Behind the line, the expander deletes the prefix and creates the
//! same number of ACKs.
//!
//! If the prefix contains the mean time between the removed ACKs (companding), the ACKs leave with this spacing, and
//! the arriving ACK leaves last. Otherwise (compaction) all ACKs leave at once.
//!
//! A new ACK is a copy of the arriving ACK with a smaller acknowledgement number. Packets of a connection stay in
//! order. At most `most` ACKs are created per arriving ACK, because an attacker could use an expander as an amplifier
//! (section 6).

use crate::held_acks::{Waiting, inserted, is_plain};
use crate::{Outlet, Stage, StageKind, StageRole, StageSide};
use lopsided_core::packet::AckPrefix;
use lopsided_core::{Count, Cx, Duration, Packet, Time};
use lopsided_spec::{Fault, Key, Part, key};

/// The settings of the expander.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct AckExpandConfig {
    /// The side of the queue on which the stage is placed.
    pub side: StageSide,
    /// Maximum number of ACKs that are created for one arriving ACK.
    pub most: u32,
    /// Maximum delay of an ACK.
    pub max_delay: Duration,
}

impl Default for AckExpandConfig {
    fn default() -> AckExpandConfig {
        AckExpandConfig { side: StageSide::Exit, most: 255, max_delay: Duration::from_millis(100) }
    }
}

impl Part for AckExpandConfig {
    const NAME: &'static str = "ack_expand";
    const TEXT: &'static str = "Regenerates, after the line, the ACKs that an ack_filter with a prefix has removed.";
    const KEYS: &'static [Key<AckExpandConfig>] = &[
        key(
            "side",
            |part: &mut Self| &mut part.side,
            "Position of the stage: before the queue (entry) or after the line (exit).",
        ),
        key("most", |part: &mut Self| &mut part.most, "Largest number of ACKs regenerated for each arriving ACK."),
        key("max_delay", |part: &mut Self| &mut part.max_delay, "Longest time for which an ACK is held."),
    ];
}

impl StageKind for AckExpandConfig {
    fn side(&self) -> StageSide {
        self.side
    }

    fn build(&self, _role: &StageRole<'_>) -> Result<Box<dyn Stage>, Fault> {
        Ok(Box::new(Expander { config: *self, waiting: Waiting::default(), expanded: 0 }))
    }
}

/// Expands compacted ACKs.
#[derive(Debug)]
struct Expander {
    config: AckExpandConfig,
    waiting: Waiting,
    expanded: u64,
}

impl Stage for Expander {
    fn handle_packet(&mut self, mut packet: Packet, out: &mut Outlet, cx: &mut Cx<'_>) {
        let Some(header) = packet.tcp() else { return out.forward(packet) };
        let connection = ((packet.src(), header.src_port), (packet.dst(), header.dst_port));
        let (now, last) = (cx.now(), self.waiting.last(connection));
        let Some(prefix) = AckPrefix::of(&header.options) else {
            match last.filter(|_| is_plain(&packet, header)) {
                Some(last) => self.waiting.hold(connection, last, packet),
                None => {
                    self.waiting.release(connection, Time::MAX, out);
                    out.forward(packet);
                }
            }
            return;
        };
        // The rewrite cannot fail, because the options become shorter.
        _ = cx.rewrite(&mut packet, |editor| editor.tcp(|header| AckPrefix::clear(&mut header.options)));
        let header = packet.tcp().expect("a packet with a prefix is a TCP segment").clone();
        let more = u32::from(prefix.removed).min(self.config.most);
        let first = last.unwrap_or(now).max(now);
        // No ACK may wait longer than `max_delay`, except to keep the ACKs in order.
        let latest = (now + self.config.max_delay).max(first);
        let gap = prefix.spacing.unwrap_or(Duration::ZERO);
        let goes = |place: u32| (first + gap * u64::from(place)).min(latest);
        for place in 0..more {
            let number = header.ack - (more - place) * u32::from(prefix.octets);
            let made = inserted(&packet, &header, number, header.window, cx);
            self.waiting.hold(connection, goes(place), made);
        }
        self.expanded += u64::from(more);
        self.waiting.hold(connection, goes(more), packet);
        self.waiting.release(connection, now, out);
    }

    fn poll_timeout(&self) -> Option<Time> {
        self.waiting.next()
    }

    fn handle_timeout(&mut self, out: &mut Outlet, cx: &mut Cx<'_>) {
        while let Some(connection) = self.waiting.due(cx.now()) {
            self.waiting.release(connection, cx.now(), out);
        }
    }

    fn held(&self) -> Count {
        self.waiting.held()
    }

    /// Calls `out` with `expanded_packets`, the number of ACKs created since the start of the run.
    fn sample(&self, out: &mut dyn FnMut(&'static str, f64)) {
        out("expanded_packets", self.expanded as f64);
    }
}
