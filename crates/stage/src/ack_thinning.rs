//! ACK thinning: of the pure cumulative ACKs of a connection, only every n-th goes on (RFC 3449 section 5.2.2 has the
//! family).
//!
//! An ACK is thinned where a later one says all that it says: it has no payload, SYN, FIN, RST, ECE, CWR or AE, no SACK
//! blocks and no accurate ECN option, and it acknowledges new data. Anything else goes on at once, a duplicate above
//! all, and takes with it the ACK that is held. With accurate ECN (RFC 9768) every ACK carries counters, so none is
//! thinned.
//!
//! The newest thinned ACK is held, not dropped: it goes on when the n-th comes, or after `max_delay`, so that the
//! sender learns of all data even where no further ACK follows. A held ACK gives way to a newer one of its connection,
//! which inherits its time.
//!
//! Left out: thinning by what waits in the queue; a stage does not see the queue.

use crate::spread::{Connection, connection};
use crate::{Outlet, Stage, StageKind, StageRole, StageSide};
use lopsided_core::packet::{Flags, TcpHeader};
use lopsided_core::{Count, Cx, DropReason, Duration, Packet, Seq, Time};
use lopsided_spec::{Fault, Key, Part, key};
use std::collections::{BTreeMap, BTreeSet};

/// ACK thinning as plain data.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct AckThinningConfig {
    pub side: StageSide,
    /// One of so many goes on.
    pub keep: u32,
    pub max_delay: Duration,
}

impl Default for AckThinningConfig {
    fn default() -> AckThinningConfig {
        AckThinningConfig { side: StageSide::Entry, keep: 4, max_delay: Duration::from_millis(10) }
    }
}

impl Part for AckThinningConfig {
    const NAME: &'static str = "ack_thinning";
    const TEXT: &'static str =
        "Lets every n-th pure cumulative ACK of a connection pass, and all others that say more.";
    const KEYS: &'static [Key<AckThinningConfig>] = &[
        key("side", |thinning: &mut Self| &mut thinning.side, "Before the queue (entry) or behind the line (exit)."),
        key("keep", |thinning: &mut Self| &mut thinning.keep, "One of so many pure cumulative ACKs passes."),
        key("max_delay", |thinning| &mut thinning.max_delay, "An ACK is held for this long at most."),
    ];

    fn check(&self) -> Result<(), Fault> {
        if self.keep == 0 {
            return Err(Fault::new("keep", "one of none cannot pass").help("keep = 1 lets all ACKs pass"));
        }
        Ok(())
    }
}

impl StageKind for AckThinningConfig {
    fn side(&self) -> StageSide {
        self.side
    }

    fn build(&self, _role: &StageRole<'_>) -> Result<Box<dyn Stage>, Fault> {
        self.check()?;
        Ok(Box::new(AckThinning::new(*self)))
    }
}

/// Thins the ACKs of every connection that passes.
#[derive(Debug)]
pub struct AckThinning {
    config: AckThinningConfig,
    connections: BTreeMap<Connection, Thinned>,
    /// When each held ACK goes on.
    deadlines: BTreeSet<(Time, Connection)>,
    held: Count,
    thinned: u64,
}

/// One connection's ACKs.
#[derive(Debug)]
struct Thinned {
    /// The highest acknowledgement number that came.
    newest: Seq,
    /// Thinned since the last one that went on.
    count: u32,
    held: Option<(Time, Packet)>,
}

impl AckThinning {
    pub fn new(config: AckThinningConfig) -> AckThinning {
        let (connections, deadlines) = (BTreeMap::new(), BTreeSet::new());
        AckThinning { config, connections, deadlines, held: Count::ZERO, thinned: 0 }
    }

    /// Counts an ACK that covers new data, and says whether its turn to pass has come; `None` for any other.
    fn count(&mut self, connection: Connection, ack: Seq) -> Option<bool> {
        let known = self.connections.get_mut(&connection)?;
        if !ack.after(known.newest) {
            return None;
        }
        known.newest = ack;
        known.count += 1;
        let passes = known.count >= self.config.keep;
        if passes {
            known.count = 0;
        }
        Some(passes)
    }

    /// A segment that is not thinned goes on: counting begins anew.
    fn note(&mut self, connection: Connection, ack: Seq, flags: Flags) {
        if flags.has(Flags::FIN) || flags.has(Flags::RST) {
            self.connections.remove(&connection);
        } else if flags.has(Flags::ACK) {
            let known = self.connections.entry(connection).or_insert(Thinned { newest: ack, count: 0, held: None });
            known.count = 0;
        }
    }

    /// Takes the ACK of this connection that is held.
    fn take_held(&mut self, connection: Connection) -> Option<(Time, Packet)> {
        let (deadline, packet) = self.connections.get_mut(&connection)?.held.take()?;
        self.deadlines.remove(&(deadline, connection));
        self.held.remove(packet.size());
        Some((deadline, packet))
    }

    fn hold(&mut self, connection: Connection, packet: Packet, deadline: Time) {
        self.held.record(packet.size());
        self.deadlines.insert((deadline, connection));
        self.connections.get_mut(&connection).expect("only a known connection's").held = Some((deadline, packet));
    }
}

impl Stage for AckThinning {
    fn handle_packet(&mut self, packet: Packet, out: &mut Outlet, cx: &mut Cx<'_>) {
        let Some((connection, header)) = connection(&packet) else { return out.forward(packet) };
        let pure = is_pure(&packet, header);
        let (ack, flags) = (header.ack, header.flags);
        let Some(passes) = self.count(connection, ack).filter(|_| pure) else {
            self.take_held(connection).into_iter().for_each(|(_, held)| out.forward(held));
            self.note(connection, ack, flags);
            return out.forward(packet);
        };
        let mut deadline = cx.now() + self.config.max_delay;
        if let Some((earlier, covered)) = self.take_held(connection) {
            // What the covered one says must not wait longer for the change.
            deadline = earlier;
            self.thinned += 1;
            cx.drop(covered, DropReason::AckThinned);
        }
        if passes { out.forward(packet) } else { self.hold(connection, packet, deadline) }
    }

    fn poll_timeout(&self) -> Option<Time> {
        self.deadlines.first().map(|(deadline, _)| *deadline)
    }

    fn handle_timeout(&mut self, out: &mut Outlet, cx: &mut Cx<'_>) {
        while let Some(&(deadline, connection)) = self.deadlines.first() {
            if deadline > cx.now() {
                return;
            }
            self.take_held(connection).into_iter().for_each(|(_, held)| out.forward(held));
            if let Some(known) = self.connections.get_mut(&connection) {
                known.count = 0;
            }
        }
    }

    fn held(&self) -> Count {
        self.held
    }

    /// `thinned_packets` counts the ACKs that were dropped since the beginning.
    fn sample(&self, out: &mut dyn FnMut(&'static str, f64)) {
        out("thinned_packets", self.thinned as f64);
    }
}

/// Whether it only acknowledges: a later ACK says all that it says.
fn is_pure(packet: &Packet, header: &TcpHeader) -> bool {
    let options = &header.options;
    packet.payload().is_empty()
        && header.flags == Flags::ACK
        && options.sack.is_empty()
        && options.accurate_ecn().is_none()
        && options.other().is_empty()
        && packet.is_read_whole()
}
