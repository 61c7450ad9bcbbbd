//! ACK thinning: only every n-th pure cumulative ACK of a connection is forwarded (see RFC 3449, section 5.2.2).
//!
//! Only ACKs for new data without other information are dropped. They have no payload, no flags (SYN, FIN, RST, ECE,
//! CWR, AE), no SACK blocks and no accurate ECN option. Any other segment is forwarded at once, after the held ACK.
//! With accurate ECN (RFC 9768), no ACK is dropped.
//!
//! The newest ACK is held until the n-th ACK arrives, but at most for `max_delay`. A newer ACK of the connection
//! replaces the held ACK and keeps its deadline.

use crate::held_acks::{Ack, HeldAcks, Rule, Waiting};
use crate::{Outlet, Stage, StageKind, StageRole, StageSide};
use lopsided_core::packet::TcpHeader;
use lopsided_core::{Cx, DropReason, Duration, Seq, Time};
use lopsided_spec::{Fault, Key, Part, key};

/// The settings of ACK thinning.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct AckThinningConfig {
    /// The side of the queue on which the stage is placed.
    pub side: StageSide,
    /// The `n` of "every n-th ACK": one of `keep` ACKs is forwarded.
    pub keep: u32,
    /// Maximum delay of an ACK.
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
        "Forwards only every n-th pure cumulative ACK of a connection, and all ACKs that carry other information.";
    const KEYS: &'static [Key<AckThinningConfig>] = &[
        key(
            "side",
            |thinning: &mut Self| &mut thinning.side,
            "Position of the stage: before the queue (entry) or after the line (exit).",
        ),
        key(
            "keep",
            |thinning: &mut Self| &mut thinning.keep,
            "The stage forwards one out of every `keep` pure cumulative ACKs.",
        ),
        key("max_delay", |thinning| &mut thinning.max_delay, "Longest time for which an ACK is held."),
    ];

    fn check(&self) -> Result<(), Fault> {
        if self.keep == 0 {
            return Err(Fault::new("keep", "`keep` must be at least 1").help("keep = 1 forwards all ACKs"));
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
        Ok(Box::new(HeldAcks::new(Thinning { config: *self, thinned: 0 })))
    }
}

/// Thins the ACKs of each connection.
#[derive(Debug)]
struct Thinning {
    config: AckThinningConfig,
    thinned: u64,
}

/// The state of one connection.
#[derive(Debug)]
struct Thinned {
    /// The highest acknowledgement number so far.
    newest: Seq,
    /// Number of ACKs that arrived since the last forwarded ACK.
    count: u32,
}

impl Rule for Thinning {
    type Stream = Thinned;

    fn begin(&self, header: &TcpHeader, _now: Time) -> Option<Thinned> {
        Some(Thinned { newest: header.ack, count: 0 })
    }

    fn takes(known: &Thinned, header: &TcpHeader) -> bool {
        header.ack.after(known.newest)
    }

    fn take(&mut self, known: &mut Thinned, ack: Ack, waiting: &mut Waiting, out: &mut Outlet, cx: &mut Cx<'_>) {
        *known = Thinned { newest: ack.header.ack, count: known.count + 1 };
        let mut deadline = cx.now() + self.config.max_delay;
        // At most one ACK of a connection waits. The new ACK replaces the waiting ACK.
        for (earlier, covered) in waiting.take(ack.connection) {
            // Keep the deadline of the replaced ACK, so that its data are acknowledged in time.
            deadline = earlier;
            self.thinned += 1;
            cx.drop(covered, DropReason::AckThinned);
        }
        // Hold the newest ACK until `keep` ACKs have arrived or the deadline expires.
        if known.count < self.config.keep {
            return waiting.hold(ack.connection, deadline, ack.packet);
        }
        known.count = 0;
        out.forward(ack.packet);
    }

    fn passes(known: &mut Thinned, header: &TcpHeader, _now: Time) {
        // The forwarded segment carries the latest acknowledgement number, so the count restarts.
        *known = Thinned { newest: known.newest.later_of(header.ack), count: 0 };
    }

    fn went_on(known: &mut Thinned, _number: Seq) {
        known.count = 0;
    }

    /// Calls `out` with `thinned_packets`, the number of ACKs dropped since the start of the run.
    fn sample(&self, out: &mut dyn FnMut(&'static str, f64)) {
        out("thinned_packets", self.thinned as f64);
    }
}
