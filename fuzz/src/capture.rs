//! Arbitrary capture files. Each is read until its end or an error, and flow statistics are computed from its packets.

use crate::Input;
use arbitrary::Arbitrary;
use lopsided_trace::{FlowTable, read};

/// A capture in the pcap format, possibly truncated. Its frames contain arbitrary bytes after valid IPv4 and TCP
/// headers.
#[derive(Debug, Arbitrary)]
struct File {
    swapped: bool,
    link: Link,
    cut: Option<u16>,
}

#[derive(Debug, Arbitrary, Clone, Copy)]
enum Link {
    Ethernet,
    Raw,
    Ipv4,
}

#[derive(Debug, Arbitrary)]
struct Frame {
    at: (u32, u32),
    /// Length field of the record, if it differs from the frame's real length.
    claimed: Option<u16>,
    ports: (u8, u8),
    numbers: (u32, u32),
    flags: u8,
    header_words: u8,
    rest: [u8; 24],
    len: u8,
}

/// Reads a capture and computes statistics of its flows.
pub fn run(octets: &[u8]) {
    follow(octets);
    let mut input = Input::new(octets);
    let Some(file) = input.next() else { return };
    let frames: Vec<Frame> = input.all().take(50).collect();
    follow(&pcap(&file, &frames));
}

fn follow(file: &[u8]) {
    let mut flows = FlowTable::default();
    let mut packets = 0;
    let done = read(file, |at, packet| {
        packets += 1;
        flows.observe(at, packet);
    });
    if let Ok(done) = done {
        assert_eq!(done.packets, packets);
    }
    for flow in flows.summaries() {
        assert!(flow.goodput_bps() >= 0.0, "{flow:?}");
    }
}

fn pcap(file: &File, frames: &[Frame]) -> Vec<u8> {
    let File { swapped, link, cut } = *file;
    let word = |value: u32| if swapped { value.to_be_bytes() } else { value.to_le_bytes() };
    let number = match link {
        Link::Ethernet => 1,
        Link::Raw => 101,
        Link::Ipv4 => 228,
    };
    // Magic number, version 2.4, time zone, accuracy, snapshot length, link type. The version consists of two 16-bit
    // words.
    let version = if swapped { [0, 2, 0, 4] } else { [2, 0, 4, 0] };
    let mut file = [word(0xa1b2_c3d4), version, word(0), word(0), word(65_535), word(number)].concat();
    for frame in frames {
        let octets = frame.octets(link);
        let length = frame.claimed.map_or(octets.len() as u32, u32::from);
        file.extend([word(frame.at.0), word(frame.at.1), word(length), word(length)].concat());
        file.extend(octets);
    }
    file.truncate(cut.map_or(usize::MAX, usize::from));
    file
}

impl Frame {
    fn octets(&self, link: Link) -> Vec<u8> {
        let mut tcp = vec![0, self.ports.0 % 4, 0, self.ports.1 % 4];
        tcp.extend(self.numbers.0.to_be_bytes());
        tcp.extend(self.numbers.1.to_be_bytes());
        tcp.extend([self.header_words, self.flags, 200, 0, 0, 0, 0, 0]);
        tcp.extend(&self.rest[..usize::from(self.len) % 25]);
        let total = (20 + tcp.len()).min(65_535) as u16;
        let mut packet = if let Link::Ethernet = link { [&[0u8; 12][..], &[8, 0]].concat() } else { Vec::new() };
        packet.extend([0x45, 0]);
        packet.extend(total.to_be_bytes());
        packet.extend([0, 0, 0, 0, 64, 6, 0, 0, 10, 0, 0, self.ports.0 % 4, 10, 0, 0, self.ports.1 % 4]);
        packet.extend(tcp);
        packet
    }
}
