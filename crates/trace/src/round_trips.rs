//! RTT samples of TCP data from a capture taken at the sender.
//!
//! Each ACK of new data produces one sample, measured from the newest segment that the ACK covers (Karn's algorithm,
//! RFC 6298, section 3).

use lopsided_capture::Flight;
use lopsided_core::packet::Flags;
use lopsided_core::{Duration, Packet, Time};
use std::collections::BTreeMap;
use std::net::IpAddr;

/// One RTT sample of a flow.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct RoundTrip {
    /// The flow's number, as given to [`RoundTrips::of`].
    pub flow: u32,
    /// Time at which the ACK passed the point of capture.
    pub at: Time,
    /// The RTT: time from the newest segment that the ACK covers to the ACK, at the point of capture.
    pub took: Duration,
}

/// Collects the RTT samples of flows. The receiver's port identifies the flow of a packet.
///
/// A flow may have many connections.
#[derive(Debug)]
pub struct RoundTrips {
    ports: BTreeMap<u16, u32>,
    flights: BTreeMap<(IpAddr, u16, u16), Flight>,
    found: Vec<RoundTrip>,
}

impl RoundTrips {
    /// Creates an empty collection. `ports` maps each receiver's port to the number of its flow.
    pub fn of(ports: BTreeMap<u16, u32>) -> RoundTrips {
        RoundTrips { ports, flights: BTreeMap::new(), found: Vec::new() }
    }

    /// Adds the next packet of the capture. Packets of other flows, and packets of protocols other than TCP, are
    /// ignored.
    pub fn observe(&mut self, at: Time, packet: &Packet) {
        let Some(header) = packet.tcp() else { return };
        let length = packet.payload().len();
        // The receiver's port identifies the flow: it is the destination of data and the source of ACKs.
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

    /// Returns all samples in the order of the ACKs.
    pub fn found(self) -> Vec<RoundTrip> {
        self.found
    }
}
