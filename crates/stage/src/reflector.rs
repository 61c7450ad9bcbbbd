//! The far end of a discipline's sensing: it returns sensing packets to their source, and all other packets pass.
//!
//! The dissertation uses a rule of iptables at the IP layer of the link's other end (Havey 2015 section 5.2). A
//! discipline whose sensing packets turn at the end of its own link has a reflector there by itself. This stage is for a
//! far end that is several links away, such as a modem behind a shared channel.

use crate::{Outlet, Stage, StageKind, StageRole, StageSide};
use lopsided_core::{Cx, Packet};
use lopsided_queue::turn;
use lopsided_spec::{Fault, Key, Part};

/// The settings of a reflector: there are none.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
pub struct ReflectorConfig;

impl Part for ReflectorConfig {
    const NAME: &'static str = "reflector";
    const TEXT: &'static str =
        "Behind the line: returns the sensing packets of asqm and bdp whose far_end is \"stage\".";
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

/// The far end of a direction.
#[derive(Debug, Default)]
pub struct Reflector {
    turned: u64,
}

impl Stage for Reflector {
    fn handle_packet(&mut self, mut packet: Packet, out: &mut Outlet, cx: &mut Cx<'_>) {
        if turn(&mut packet, cx) {
            self.turned += 1;
            out.reverse(packet);
        } else {
            out.forward(packet);
        }
    }

    /// Returned packets leave in the other direction.
    fn sees_reverse(&self) -> bool {
        true
    }

    fn sample(&self, out: &mut dyn FnMut(&'static str, f64)) {
        out("turned_packets", self.turned as f64);
    }
}
