//! Whom CAKE is fair to: which packets share a queue, and between whom the queues of a tin share.

use super::ways::{PLACES, Ways};
use crate::flow_hash::FlowHash;
use lopsided_core::{Packet, Rng};
use lopsided_spec::Choice;

/// The flow isolation modes of tc-cake(8).
#[derive(Clone, Copy, Debug, PartialEq, Eq, Default)]
pub enum Isolation {
    /// One queue.
    Flowblind,
    /// A queue for each source address.
    Srchost,
    /// A queue for each destination address.
    Dsthost,
    /// A queue for each pair of addresses.
    Hosts,
    /// A queue for each flow.
    Flows,
    /// A queue for each flow, those of a source sharing.
    DualSrchost,
    /// A queue for each flow, those of a destination sharing.
    DualDsthost,
    /// A queue for each flow, fair to sources and destinations.
    #[default]
    TripleIsolate,
}

impl Choice for Isolation {
    const WORDS: &'static [(&'static str, Isolation)] = &[
        ("flowblind", Isolation::Flowblind),
        ("srchost", Isolation::Srchost),
        ("dsthost", Isolation::Dsthost),
        ("hosts", Isolation::Hosts),
        ("flows", Isolation::Flows),
        ("dual-srchost", Isolation::DualSrchost),
        ("dual-dsthost", Isolation::DualDsthost),
        ("triple-isolate", Isolation::TripleIsolate),
    ];
}

/// What a packet's queue and hosts are found by; `None` where a mode does not ask.
#[derive(Clone, Copy, Debug)]
pub(super) struct Keys {
    pub flow: u64,
    pub source: Option<u64>,
    pub destination: Option<u64>,
}

/// Makes the keys of packets.
#[derive(Debug)]
pub(super) struct FlowKeys {
    isolation: Isolation,
    hash: FlowHash,
}

impl FlowKeys {
    pub fn new(isolation: Isolation, rng: &mut Rng) -> FlowKeys {
        FlowKeys { isolation, hash: FlowHash::new(rng) }
    }

    pub fn of(&self, packet: &Packet) -> Keys {
        let (source, destination) = (|| self.hash.address(packet.src()), || self.hash.address(packet.dst()));
        let flow = match self.isolation {
            Isolation::Flowblind => 0,
            Isolation::Srchost => source(),
            Isolation::Dsthost => destination(),
            Isolation::Hosts => source() ^ destination().rotate_left(1),
            _ => self.hash.flow(packet),
        };
        let by_source = matches!(self.isolation, Isolation::DualSrchost | Isolation::TripleIsolate);
        let by_destination = matches!(self.isolation, Isolation::DualDsthost | Isolation::TripleIsolate);
        Keys { flow, source: by_source.then(source), destination: by_destination.then(destination) }
    }
}

/// A host that loses one of so many busy flows gives the others more than was expected.
pub(super) const LOST: u32 = 8;

/// The hosts of one kind, sources or destinations, and how busy they are.
#[derive(Debug)]
pub(super) struct Hosts {
    ways: Ways,
    /// Flows in the tables, and those of them that are busy.
    flows: Vec<u32>,
    busy: Vec<u32>,
    /// Of the busy ones those that rest, and how many were busy at most since one rests.
    resting: Vec<u32>,
    most_busy: Vec<u32>,
}

impl Hosts {
    pub fn new() -> Hosts {
        let zeroes = vec![0; PLACES];
        Hosts {
            ways: Ways::new(),
            flows: zeroes.clone(),
            busy: zeroes.clone(),
            resting: zeroes.clone(),
            most_busy: zeroes,
        }
    }

    /// The host's place, which one flow more holds.
    pub fn hold(&mut self, hash: u64) -> usize {
        let flows = &self.flows;
        let (place, _) = self.ways.place(hash, |place| flows[place] == 0);
        self.flows[place] += 1;
        place
    }

    pub fn release(&mut self, host: usize) {
        self.flows[host] -= 1;
    }

    /// Whether an eighth of the host's busy flows are gone since one of them rests: the others get more now than was
    /// expected.
    #[must_use]
    pub fn set_busy(&mut self, host: usize, busy: bool) -> bool {
        if busy {
            self.busy[host] += 1;
            self.note_most_busy(host);
            return false;
        }
        self.busy[host] -= 1;
        self.resting[host] > 0 && LOST * self.busy[host] < (LOST - 1) * self.most_busy[host]
    }

    pub fn set_resting(&mut self, host: usize, rests: bool) {
        if rests {
            self.resting[host] += 1;
            self.note_most_busy(host);
        } else {
            self.resting[host] -= 1;
            if self.resting[host] == 0 {
                self.most_busy[host] = 0;
            }
        }
    }

    fn note_most_busy(&mut self, host: usize) {
        if self.resting[host] > 0 {
            self.most_busy[host] = self.most_busy[host].max(self.busy[host]);
        }
    }

    /// Busy flows of the host.
    pub fn load(&self, host: usize) -> u32 {
        self.busy[host]
    }
}
