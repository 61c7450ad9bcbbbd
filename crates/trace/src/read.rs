//! Reads captures, pcap and pcapng, made here or elsewhere.
//!
//! Understands raw IP, IPv4 and Ethernet (with VLAN tags). Packets of other protocols than IPv4, and fragments, are
//! counted and passed over. A packet longer than its length field can say, as hosts with BIG TCP hand over, is as long
//! as its record.

use lopsided_core::{Packet, Time, wire};
use pcap_parser::traits::PcapNGPacketBlock;
use pcap_parser::{Block, Linktype, PcapBlockOwned, PcapError, PcapHeader, create_reader};
use std::fmt;
use std::io::Read;

/// Octets held of a capture, until a record needs more.
const FIRST_ROOM: usize = 1 << 16;
/// Characters of the parser's reason that are passed on.
const LONGEST_REASON: usize = 200;
/// A record that says it is longer than this is no record.
const LARGEST_RECORD: usize = 1 << 24;

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

/// Why a trace could not be read to its end.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct ReadError(String);

/// Hands each packet of a capture to `each` with its time since the epoch of the file (1970, or the beginning of a
/// run).
pub fn read(input: impl Read + Send, mut each: impl FnMut(Time, &Packet)) -> Result<TraceRead, ReadError> {
    let mut room = FIRST_ROOM;
    let mut reader = create_reader(room, input).map_err(|error| ReadError(error.to_string()))?;
    let mut source = Source::default();
    let mut done = TraceRead::default();
    let mut stuck = false;
    loop {
        match reader.next() {
            Ok((consumed, block)) => {
                stuck = false;
                match source.take(&block) {
                    Taken::Packet(at, packet) => {
                        done.packets += 1;
                        each(at, &packet);
                    }
                    Taken::PassedOver => done.passed_over += 1,
                    Taken::Other => {}
                }
                reader.consume(consumed);
            }
            Err(PcapError::Eof) => return Ok(done),
            // Pipes and buffered readers give a long record in pieces.
            Err(PcapError::Incomplete(_)) if !stuck => {
                let held = reader.data().len();
                reader.refill().map_err(|error| ReadError(error.to_string()))?;
                stuck = reader.data().len() == held;
            }
            // Hosts that offload segmentation hand over records longer than any packet on the wire.
            Err(PcapError::BufferTooSmall) if room < LARGEST_RECORD => {
                room *= 2;
                reader.grow(room);
                reader.refill().map_err(|error| ReadError(error.to_string()))?;
            }
            // A killed tcpdump or a full disk cuts a capture within a record.
            Err(_) if done.packets > 0 => return Ok(TraceRead { cut: true, ..done }),
            Err(error) => {
                // The library's text may hold the whole of its input.
                let text: String = error.to_string().chars().take(LONGEST_REASON).collect();
                return Err(ReadError(text));
            }
        }
    }
}

/// What the file has said of itself so far.
#[derive(Default)]
struct Source {
    legacy: Option<PcapHeader>,
    interfaces: Vec<Interface>,
}

struct Interface {
    link: Linktype,
    ticks_per_second: u64,
    offset_seconds: i64,
}

enum Taken {
    Packet(Time, Box<Packet>),
    PassedOver,
    Other,
}

impl Source {
    fn take(&mut self, block: &PcapBlockOwned<'_>) -> Taken {
        match block {
            PcapBlockOwned::LegacyHeader(header) => {
                self.legacy = Some(header.clone());
                Taken::Other
            }
            PcapBlockOwned::Legacy(frame) => {
                let Some(header) = &self.legacy else { return Taken::PassedOver };
                let fraction = u64::from(frame.ts_usec) * if header.is_nanosecond_precision() { 1 } else { 1_000 };
                let at = Time::from_nanos(u64::from(frame.ts_sec) * 1_000_000_000 + fraction);
                understood(at, header.network, frame.data)
            }
            PcapBlockOwned::NG(Block::SectionHeader(_)) => {
                self.interfaces.clear();
                Taken::Other
            }
            PcapBlockOwned::NG(Block::InterfaceDescription(interface)) => {
                self.interfaces.push(Interface {
                    link: interface.linktype,
                    ticks_per_second: interface.ts_resolution().unwrap_or(1_000_000),
                    offset_seconds: interface.ts_offset(),
                });
                Taken::Other
            }
            PcapBlockOwned::NG(Block::EnhancedPacket(frame)) => {
                let Some(interface) = self.interfaces.get(frame.if_id as usize) else { return Taken::PassedOver };
                let ticks = (u64::from(frame.ts_high) << 32) | u64::from(frame.ts_low);
                understood(interface.time(ticks), interface.link, frame.packet_data())
            }
            PcapBlockOwned::NG(_) => Taken::Other,
        }
    }
}

impl Interface {
    fn time(&self, ticks: u64) -> Time {
        let nanos = i128::from(ticks) * 1_000_000_000 / i128::from(self.ticks_per_second.max(1));
        let nanos = nanos + i128::from(self.offset_seconds) * 1_000_000_000;
        Time::from_nanos(nanos.clamp(0, i128::from(u64::MAX)) as u64)
    }
}

fn understood(at: Time, link: Linktype, frame: &[u8]) -> Taken {
    match ip_packet(link, frame).and_then(|octets| wire::parse_captured(octets).ok()) {
        Some(packet) => Taken::Packet(at, Box::new(packet)),
        None => Taken::PassedOver,
    }
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

impl fmt::Display for ReadError {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        write!(f, "not a readable capture: {}", self.0)
    }
}

impl std::error::Error for ReadError {}
