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
    skipping: u32,
    /// Maximum of `busy` since `skipping` was last 0.
    most_busy: u32,
    /// Total service, in quanta, of one busy flow of the host before `round`. Each round adds 1 / `busy`.
    shared: f64,
    round: u64,
}

impl Host {
    fn shared_until(&self, round: u64) -> f64 {
        // The busy flows of a host share one quantum per round.
        self.shared + (round - self.round) as f64 / f64::from(self.busy.max(1))
    }
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

    /// Increments or decrements the host's number of busy flows. After a decrement, returns true if flows of the host
    /// skip rounds and fewer than half of `most_busy` flows are busy. The service per round of the skipping flows has
    /// then more than doubled.
    #[must_use]
    pub fn set_busy(&mut self, host: usize, busy: bool, round: u64) -> bool {
        let host = &mut self.hosts[host];
        // Add the service of the past rounds before the number of busy flows changes.
        host.shared = host.shared_until(round);
        host.round = round;
        if busy {
            host.busy += 1;
            host.most_busy = host.most_busy.max(host.busy);
            return false;
        }
        // With fewer busy flows, each busy flow receives more service per round.
        host.busy -= 1;
        host.skipping > 0 && 2 * host.busy < host.most_busy
    }

    /// Increments the number of the host's flows that skip rounds, or decrements this number if `skips` is false.
    pub fn set_skipping(&mut self, host: usize, skips: bool) {
        let host = &mut self.hosts[host];
        if !skips {
            host.skipping -= 1;
            return;
        }
        // No other flow of the host is skipping rounds, so restart the maximum of busy flows.
        if host.skipping == 0 {
            host.most_busy = host.busy;
        }
        host.skipping += 1;
    }

    /// Returns the number of the host's busy flows.
    pub fn load(&self, host: usize) -> u32 {
        self.hosts[host].busy
    }

    /// Returns the service, in quanta, that each busy flow of the host received before this round.
    pub fn shared(&self, host: usize, round: u64) -> f64 {
        self.hosts[host].shared_until(round)
    }
}
