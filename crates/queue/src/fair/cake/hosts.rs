//! Flow isolation: determines which packets share a queue, and which hosts share the rate of a tin.

use super::ways::{PLACES, Ways};
use crate::fair::flow_hash::FlowHash;
use lopsided_core::{Packet, Rng};
use lopsided_spec::Choice;

/// The flow isolation modes of tc-cake(8).
#[derive(Clone, Copy, Debug, PartialEq, Eq, Default)]
#[non_exhaustive]
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
    /// A queue for each flow, with fairness between source addresses.
    DualSrchost,
    /// A queue for each flow, with fairness between destination addresses.
    DualDsthost,
    /// A queue for each flow, with fairness between source addresses and between destination addresses.
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

/// The hash that selects a packet's queue, and the hashes of its hosts (`None` if the mode ignores a host).
#[derive(Clone, Copy, Debug)]
pub(super) struct Keys {
    pub flow: u64,
    pub source: Option<u64>,
    pub destination: Option<u64>,
}

/// Computes the keys of packets.
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
            // All other modes use one queue per flow. They differ only in the hosts among which the rate is shared.
            _ => self.hash.flow(packet),
        };
        let by_source = matches!(self.isolation, Isolation::DualSrchost | Isolation::TripleIsolate);
        let by_destination = matches!(self.isolation, Isolation::DualDsthost | Isolation::TripleIsolate);
        Keys { flow, source: by_source.then(source), destination: by_destination.then(destination) }
    }
}

/// The hosts of one kind, sources or destinations, and the number of busy flows of each.
#[derive(Debug)]
pub(super) struct Hosts {
    ways: Ways,
    hosts: Vec<Host>,
}

/// One host.
#[derive(Clone, Debug, Default)]
struct Host {
    /// Number of the host's flows that have an entry in the flow table.
    flows: u32,
    busy: u32,
}

impl Hosts {
    pub fn new() -> Hosts {
        Hosts { ways: Ways::new(), hosts: vec![Host::default(); PLACES] }
    }

    /// Finds or assigns the entry of a host, and increments the host's number of flows. Returns the index of the entry.
    pub fn hold(&mut self, hash: u64) -> usize {
        let hosts = &self.hosts;
        let (place, _) = self.ways.place(hash, |place| hosts[place].flows == 0);
        self.hosts[place].flows += 1;
        place
    }

    /// Decrements the number of flows of the host with this index.
    pub fn release(&mut self, host: usize) {
        self.hosts[host].flows -= 1;
    }

    /// Increments or decrements the host's number of busy flows.
    pub fn set_busy(&mut self, host: usize, busy: bool) {
        let flows = &mut self.hosts[host].busy;
        *flows = if busy { *flows + 1 } else { *flows - 1 };
    }

    /// Returns the number of the host's busy flows.
    pub fn load(&self, host: usize) -> u32 {
        self.hosts[host].busy
    }
}
