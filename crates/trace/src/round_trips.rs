//! The round trips of TCP data in a capture at its sender, one for each acknowledgement that times one.
//!
//! An acknowledgement is timed from the passing of the newest segment that it covers. One that covers a segment sent
//! more than once is not timed (Karn's rule, RFC 6298, section 3).

use lopsided_capture::Flight;
use lopsided_core::packet::Flags;
use lopsided_core::{Duration, Packet, Time};
use std::collections::BTreeMap;
use std::net::IpAddr;

/// A round trip of a flow.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct RoundTrip {
    /// The flow, by the number that its port was given.
    pub flow: u32,
    /// When the acknowledgement passed.
    pub at: Time,
    /// From the passing of the newest segment that the acknowledgement covers.
    pub took: Duration,
}

/// Collects the round trips of flows, which differ by the port of their receivers.
///
/// The connections of a flow differ by the receiver's address and the sender's port.
#[derive(Debug)]
pub struct RoundTrips {
    ports: BTreeMap<u16, u32>,
    flights: BTreeMap<(IpAddr, u16, u16), Flight>,
    found: Vec<RoundTrip>,
}

impl RoundTrips {
    /// `ports` gives the number of the flow of each receiver's port.
    pub fn of(ports: BTreeMap<u16, u32>) -> RoundTrips {
        RoundTrips { ports, flights: BTreeMap::new(), found: Vec::new() }
    }

    /// Records the next packet of the capture. Ignores packets of other flows, and packets that are not TCP.
    pub fn observe(&mut self, at: Time, packet: &Packet) {
        let Some(header) = packet.tcp() else { return };
        let length = packet.payload().len();
        if length > 0 && self.ports.contains_key(&header.dst_port) {
            let key = (packet.dst(), header.dst_port, header.src_port);
            let flight = self.flights.entry(key).or_insert_with(|| Flight::new(header.seq));
            flight.sent(at, header.seq, header.seq + length);
        }
        if let Some(&flow) = self.ports.get(&header.src_port).filter(|_| header.flags.has(Flags::ACK)) {
            let flight = self.flights.get_mut(&(packet.src(), header.src_port, header.dst_port));
            let covered = flight.and_then(|flight| flight.acked_to(at, header.ack));
            if let Some(took) = covered.and_then(|covered| covered.rtt) {
                self.found.push(RoundTrip { flow, at, took });
            }
        }
    }

    /// All round trips, in the order of the acknowledgements.
    pub fn found(self) -> Vec<RoundTrip> {
        self.found
    }
}
