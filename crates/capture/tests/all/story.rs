//! Builds captures byte by byte. A client at 10.0.0.1 downloads from a server at 10.0.0.2. The captures are taken at
//! the server.

pub const CLIENT: [u8; 4] = [10, 0, 0, 1];
pub const SERVER: [u8; 4] = [10, 0, 0, 2];
pub const MSS: u32 = 1448;
const SYN: u8 = 2;
const PSH: u8 = 8;
const ACK: u8 = 16;

/// Capture time in nanoseconds, and the bytes of the packet.
pub type Timed = (u64, Vec<u8>);

/// Returns an IPv4 packet with a TCP segment. The caller pads the options to a multiple of 4 bytes.
pub fn packet(from_server: bool, seq: u32, ack: u32, flags: u8, window: u16, options: &[u8], len: u32) -> Vec<u8> {
    let (from, to) = if from_server { (SERVER, CLIENT) } else { (CLIENT, SERVER) };
    let ports: [u16; 2] = if from_server { [80, 40_000] } else { [40_000, 80] };
    let header = 20 + options.len();
    let total = (20 + header) as u32 + len;
    let mut octets = vec![0x45, 0];
    octets.extend((total as u16).to_be_bytes());
    octets.extend([0, 0, 0x40, 0, 64, 6, 0, 0]);
    octets.extend(from);
    octets.extend(to);
    octets.extend(ports[0].to_be_bytes());
    octets.extend(ports[1].to_be_bytes());
    octets.extend(seq.to_be_bytes());
    octets.extend(ack.to_be_bytes());
    octets.extend([(header / 4 * 16) as u8, flags]);
    octets.extend(window.to_be_bytes());
    octets.extend([0; 4]);
    octets.extend(options);
    octets.resize(total as usize, 0);
    octets
}

/// Returns the handshake of a connection with a round trip of 20 ms. The client advertises `window` bytes.
pub fn handshake(window: u16) -> Vec<Timed> {
    let mss = [2, 4, 0x05, 0xb4];
    vec![
        (0, packet(false, 999, 0, SYN, window, &mss, 0)),
        (10_000, packet(true, 4_999, 1_000, SYN | ACK, 65_535, &mss, 0)),
        (20_000_000, packet(false, 1_000, 5_000, ACK, window, &[], 0)),
    ]
}

/// Returns a data segment of the server at `offset` bytes of the stream.
pub fn data(at: u64, offset: u32, len: u32, pushed: bool) -> Timed {
    let flags = if pushed { ACK | PSH } else { ACK };
    (at, packet(true, 5_000 + offset, 1_000, flags, 65_535, &[], len))
}

/// Returns an ACK of the client for all bytes before `offset`.
pub fn ack(at: u64, offset: u32, window: u16) -> Timed {
    (at, packet(false, 1_000, 5_000 + offset, ACK, window, &[], 0))
}

/// Returns a pcap file of raw IP packets with times in nanoseconds.
pub fn pcap(packets: &[Timed]) -> Vec<u8> {
    framed(packets, 101, &[], true)
}

/// Returns a pcap file in which each packet follows the bytes of a link header.
pub fn framed(packets: &[Timed], link: u32, front: &[u8], nanoseconds: bool) -> Vec<u8> {
    let magic: u32 = if nanoseconds { 0xa1b2_3c4d } else { 0xa1b2_c3d4 };
    let mut file = magic.to_le_bytes().to_vec();
    file.extend([2, 0, 4, 0]);
    file.extend([0; 8]);
    file.extend(262_144_u32.to_le_bytes());
    file.extend(link.to_le_bytes());
    for (at, octets) in packets {
        let fraction = (at % 1_000_000_000) / if nanoseconds { 1 } else { 1_000 };
        let len = (front.len() + octets.len()) as u32;
        file.extend(((at / 1_000_000_000) as u32).to_le_bytes());
        file.extend((fraction as u32).to_le_bytes());
        file.extend(len.to_le_bytes());
        file.extend(len.to_le_bytes());
        file.extend(front);
        file.extend(octets);
    }
    file
}
