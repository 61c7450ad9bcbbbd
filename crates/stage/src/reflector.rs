//! The far end of active sensing: sends sensing packets back to their source, and forwards all other packets.
//!
//! The dissertation uses an iptables rule instead (Havey 2015, section 5.2). The stage is needed only if the far end is
//! several links away.

use crate::{Outlet, Stage, StageKind, StageRole, StageSide};
use lopsided_core::{Cx, Packet};
use lopsided_queue::turn;
use lopsided_spec::{Fault, Key, Part};

/// The settings of a reflector. Its table in a scenario has no keys.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
pub struct ReflectorConfig;

impl Part for ReflectorConfig {
    const NAME: &'static str = "reflector";
    const TEXT: &'static str =
        "After the line, returns the probe packets of asqm and bdp disciplines whose far_end is \"stage\".";
    const KEYS: &'static [Key<ReflectorConfig>] = &[];
}

impl StageKind for ReflectorConfig {
    fn side(&self) -> StageSide {
        StageSide::Exit
    }

    fn build(&self, _role: &StageRole<'_>) -> Result<Box<dyn Stage>, Fault> {
        Ok(Box::new(Reflector::default()))
    }
}

/// The stage that returns a discipline's probe packets to the discipline.
#[derive(Debug, Default)]
pub struct Reflector {
    turned: u64,
}

impl Stage for Reflector {
    fn handle_packet(&mut self, mut packet: Packet, out: &mut Outlet, cx: &mut Cx<'_>) {
        // `turn` returns false for a packet that was already sent back.
        if turn(&mut packet, cx) {
            self.turned += 1;
            out.reverse(packet);
        } else {
            out.forward(packet);
        }
    }

    /// Packets that are sent back leave in the opposite direction.
    fn sees_reverse(&self) -> bool {
        true
    }

    fn sample(&self, out: &mut dyn FnMut(&'static str, f64)) {
        out("turned_packets", self.turned as f64);
    }
}
