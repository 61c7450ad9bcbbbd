//! Reads captures, pcap and pcapng, made here or elsewhere, into packets.
//!
//! Understands raw IP, IPv4 and Ethernet (with VLAN tags); the file itself is read by [`lopsided_capture::frames`].
//! Packets of other protocols than IPv4, and fragments, are counted and passed over. A packet longer than its length
//! field can say, as hosts with BIG TCP hand over, is as long as its record.

use lopsided_capture::{Frame, frames};
use lopsided_core::{Packet, Time, wire};
use pcap_parser::Linktype;
use std::io::Read;

pub use lopsided_capture::ReadError;

/// What reading a trace came to.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
pub struct TraceRead {
    /// Packets handed on.
    pub packets: u64,
    /// Packets passed over: not IPv4, fragments, or not to be understood.
    pub passed_over: u64,
    /// The file ends within a record, or something that is no record follows: what lies before was read.
    pub cut: bool,
}

/// Hands each packet of a capture to `each` with its time since the epoch of the file (1970, or the beginning of a
/// run).
///
/// # Errors
/// If the input is no capture, or nothing of it can be read.
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

/// Follows the type fields of an Ethernet frame through its VLAN tags to IP.
fn after_ethernet(from_type: &[u8]) -> Option<&[u8]> {
    match from_type {
        [0x08, 0x00, packet @ ..] | [0x86, 0xdd, packet @ ..] => Some(packet),
        [0x81, 0x00, _, _, tagged @ ..] | [0x88, 0xa8, _, _, tagged @ ..] => after_ethernet(tagged),
        _ => None,
    }
}
