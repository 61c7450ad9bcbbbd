//! Reads the packets of captures in the formats pcap and pcapng, written by this crate or by other tools.
//!
//! Supported link types are raw IP, IPv4, and Ethernet with VLAN tags. Fragments and packets other than IP are counted
//! and skipped. The length of a BIG TCP packet does not fit into IP's length field, so it is taken from the record.

use lopsided_capture::{Frame, frames};
use lopsided_core::{Packet, Time, wire};
use pcap_parser::Linktype;
use std::io::Read;

pub use lopsided_capture::ReadError;

/// Counters of a finished read.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
pub struct TraceRead {
    /// Number of packets passed to the caller.
    pub packets: u64,
    /// Number of packets skipped because they are not IP, are fragments, or cannot be parsed.
    pub passed_over: u64,
    /// True if the file ends within a record or contains invalid data. All packets before that place were read.
    pub cut: bool,
}

/// Calls `each` for every packet of a capture, with its time since 1970 or the start of the run.
///
/// # Errors
/// Returns an error if the input is not a capture, or if it contains no readable packet.
pub fn read(input: impl Read + Send, mut each: impl FnMut(Time, &Packet)) -> Result<TraceRead, ReadError> {
    let mut done = TraceRead::default();
    let read = frames(input, |frame| {
        match understood(&frame) {
            Some(packet) => {
                done.packets += 1;
                each(Time::from_nanos(frame.at), &packet);
            }
            None => done.passed_over += 1,
        }
        true
    })?;
    Ok(TraceRead { cut: read.cut, ..done })
}

fn understood(frame: &Frame<'_>) -> Option<Packet> {
    ip_packet(frame.link, frame.data).and_then(|octets| wire::parse_captured(octets).ok())
}

fn ip_packet(link: Linktype, frame: &[u8]) -> Option<&[u8]> {
    match link {
        Linktype::RAW | Linktype::IPV4 => Some(frame),
        Linktype::ETHERNET => after_ethernet(frame.get(12..)?),
        _ => None,
    }
}

/// Skips the VLAN tags of an Ethernet frame, from its type field on, and returns the IP packet.
fn after_ethernet(from_type: &[u8]) -> Option<&[u8]> {
    match from_type {
        [0x08, 0x00, packet @ ..] | [0x86, 0xdd, packet @ ..] => Some(packet),
        [0x81, 0x00, _, _, tagged @ ..] | [0x88, 0xa8, _, _, tagged @ ..] => after_ethernet(tagged),
        _ => None,
    }
}
