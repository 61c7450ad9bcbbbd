//! Writes pcapng files (draft-ietf-opsawg-pcapng) with one section, nanosecond timestamps, directions and comments.
//!
//! The link type of all interfaces is raw IP (LINKTYPE_RAW).

use lopsided_core::{BitRate, Time};
use std::io::{self, Write};

const SECTION_HEADER: u32 = 0x0a0d_0d0a;
const INTERFACE_DESCRIPTION: u32 = 1;
const ENHANCED_PACKET: u32 = 6;
const BYTE_ORDER_MAGIC: u32 = 0x1a2b_3c4d;
const LINKTYPE_RAW: u16 = 101;

const COMMENT: u16 = 1;
const PACKET_FLAGS: u16 = 2;
const INTERFACE_NAME: u16 = 2;
const INTERFACE_SPEED: u16 = 8;
const INTERFACE_TIME_RESOLUTION: u16 = 9;
const SECTION_APPLICATION: u16 = 4;

/// The direction in which a packet passed an interface, encoded as in the packet flags option.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(crate) enum Direction {
    Inbound = 1,
    Outbound = 2,
}

pub(crate) fn write_section(out: &mut dyn Write) -> io::Result<()> {
    let mut body = Vec::new();
    body.extend_from_slice(&BYTE_ORDER_MAGIC.to_le_bytes());
    // Version 1.0 of the format.
    body.extend_from_slice(&[1, 0, 0, 0]);
    // Section length -1: unknown, because the section is still being written.
    body.extend_from_slice(&u64::MAX.to_le_bytes());
    option(&mut body, SECTION_APPLICATION, concat!("lopsided ", env!("CARGO_PKG_VERSION")).as_bytes());
    end_of_options(&mut body);
    block(out, SECTION_HEADER, &body)
}

/// Writes the description of the next interface. Interfaces are numbered from 0 in the order of these calls.
pub(crate) fn write_interface(out: &mut dyn Write, name: &str, speed: Option<BitRate>) -> io::Result<()> {
    let mut body = Vec::new();
    body.extend_from_slice(&LINKTYPE_RAW.to_le_bytes());
    body.extend_from_slice(&[0, 0]);
    // Snapshot length 0: packets are never truncated.
    body.extend_from_slice(&0u32.to_le_bytes());
    option(&mut body, INTERFACE_NAME, name.as_bytes());
    if let Some(speed) = speed {
        option(&mut body, INTERFACE_SPEED, &speed.as_bps().to_le_bytes());
    }
    // if_tsresol 9: timestamps count units of 10^-9 s.
    option(&mut body, INTERFACE_TIME_RESOLUTION, &[9]);
    end_of_options(&mut body);
    block(out, INTERFACE_DESCRIPTION, &body)
}

/// A packet to write.
#[derive(Debug)]
pub(crate) struct PacketBlock<'a> {
    pub interface: u32,
    pub at: Time,
    pub direction: Option<Direction>,
    /// The captured bytes, from the start of the IP header.
    pub octets: &'a [u8],
    pub original_len: u32,
    pub comment: Option<&'a str>,
}

pub(crate) fn write_packet(out: &mut dyn Write, packet: &PacketBlock<'_>) -> io::Result<()> {
    let mut body = Vec::with_capacity(packet.octets.len() + 64);
    let nanos = packet.at.as_nanos();
    // The timestamp consists of two words of 32 bits, the high word first.
    for word in [packet.interface, (nanos >> 32) as u32, nanos as u32, packet.octets.len() as u32, packet.original_len]
    {
        body.extend_from_slice(&word.to_le_bytes());
    }
    body.extend_from_slice(packet.octets);
    pad(&mut body);
    if let Some(direction) = packet.direction {
        option(&mut body, PACKET_FLAGS, &(direction as u32).to_le_bytes());
    }
    if let Some(comment) = packet.comment {
        option(&mut body, COMMENT, comment.as_bytes());
    }
    end_of_options(&mut body);
    block(out, ENHANCED_PACKET, &body)
}

fn block(out: &mut dyn Write, kind: u32, body: &[u8]) -> io::Result<()> {
    let total = (body.len() + 12) as u32;
    out.write_all(&kind.to_le_bytes())?;
    out.write_all(&total.to_le_bytes())?;
    out.write_all(body)?;
    out.write_all(&total.to_le_bytes())
}

fn option(body: &mut Vec<u8>, code: u16, value: &[u8]) {
    body.extend_from_slice(&code.to_le_bytes());
    body.extend_from_slice(&(value.len() as u16).to_le_bytes());
    body.extend_from_slice(value);
    pad(body);
}

fn end_of_options(body: &mut Vec<u8>) {
    body.extend_from_slice(&[0, 0, 0, 0]);
}

fn pad(body: &mut Vec<u8>) {
    // Options and packet data are padded to 32 bits, so blocks need no additional padding.
    body.resize(body.len().next_multiple_of(4), 0);
}
