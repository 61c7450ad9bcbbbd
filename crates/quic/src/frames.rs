//! Parses unencrypted QUIC packets, for counters, qlog and tests: headers (RFC 9000, section 17) and frames (section
//! 19). An iteration ends at the first bytes that cannot be parsed.
//!
//! # Examples
//!
//! ```
//! use lopsided_quic::frames::{CID_LEN, Frame, PacketKind, TAG_LEN, packets};
//!
//! // A short header with a packet number of 1 byte, a PING frame, and the tag.
//! let mut datagram = vec![0x40];
//! datagram.extend([0; CID_LEN]);
//! datagram.extend([7, 0x01]);
//! datagram.extend([0; TAG_LEN]);
//!
//! let packet = packets(&datagram).next().unwrap();
//! assert_eq!((packet.kind, packet.number(None)), (PacketKind::OneRtt, 7));
//! assert!(matches!(packet.frames().next(), Some(Frame::Ping)));
//! ```

/// Length of the connection IDs that lopsided's endpoints choose, in bytes.
pub const CID_LEN: usize = 8;
/// Length of the AEAD tag at the end of each packet, in bytes.
pub const TAG_LEN: usize = 16;

/// Removes a variable-length integer (RFC 9000, section 16) from the front of `octets`. Returns `None` if bytes are
/// missing.
fn varint(octets: &mut &[u8]) -> Option<u64> {
    let first = *octets.first()?;
    let len = 1usize << (first >> 6);
    let whole = octets.get(..len)?;
    let rest = whole[1..].iter().fold(u64::from(first & 0x3f), |value, octet| value << 8 | u64::from(*octet));
    *octets = &octets[len..];
    Some(rest)
}

fn skip(octets: &mut &[u8], len: u64) -> Option<()> {
    *octets = octets.get(usize::try_from(len).ok()?..)?;
    Some(())
}

/// The type of a packet.
#[derive(Clone, Copy, Debug, PartialEq, Eq, PartialOrd, Ord)]
pub enum PacketKind {
    /// Initial packet.
    Initial,
    /// 0-RTT packet.
    ZeroRtt,
    /// Handshake packet.
    Handshake,
    /// Retry packet.
    Retry,
    /// Version Negotiation packet.
    VersionNegotiation,
    /// 1-RTT packet, the only type with a short header.
    OneRtt,
}

impl PacketKind {
    /// Returns the name of the type in qlog (draft-ietf-quic-qlog-quic-events, PacketType).
    pub fn name(self) -> &'static str {
        match self {
            PacketKind::Initial => "initial",
            PacketKind::ZeroRtt => "0RTT",
            PacketKind::Handshake => "handshake",
            PacketKind::Retry => "retry",
            PacketKind::VersionNegotiation => "version_negotiation",
            PacketKind::OneRtt => "1RTT",
        }
    }
}

/// One packet of a datagram.
#[derive(Clone, Copy, Debug)]
pub struct PacketView<'a> {
    /// Type of the packet.
    pub kind: PacketKind,
    /// Truncated packet number, as on the wire: the lowest `number_len` bytes.
    pub truncated_number: u64,
    /// Length of the packet number on the wire in bytes.
    pub number_len: usize,
    /// Length of the whole packet in bytes, including header and tag.
    pub size: usize,
    /// Bytes of the frames, without the tag.
    pub payload: &'a [u8],
}

impl PacketView<'_> {
    /// Returns the full packet number, given the largest packet number received before (RFC 9000, appendix A.3).
    pub fn number(&self, largest: Option<u64>) -> u64 {
        let expected = largest.map_or(0, |largest| largest + 1);
        // RFC 9000, appendix A.3: choose the number with these low bytes that is closest to the expected number.
        let window = 1u64 << (8 * self.number_len);
        let candidate = (expected & !(window - 1)) | self.truncated_number;
        if candidate + window / 2 <= expected && candidate < (1 << 62) - window {
            candidate + window
        } else if candidate > expected + window / 2 && candidate >= window {
            candidate - window
        } else {
            candidate
        }
    }

    /// Returns the frames of the packet.
    pub fn frames(&self) -> Frames<'_> {
        Frames { octets: self.payload }
    }
}

/// Returns the packets of a datagram, in order.
pub fn packets(datagram: &[u8]) -> Packets<'_> {
    Packets { octets: datagram }
}

/// Iterates over the packets of a datagram.
#[derive(Clone, Debug)]
pub struct Packets<'a> {
    octets: &'a [u8],
}

impl<'a> Iterator for Packets<'a> {
    type Item = PacketView<'a>;

    fn next(&mut self) -> Option<PacketView<'a>> {
        let whole = std::mem::take(&mut self.octets);
        let first = *whole.first()?;
        // RFC 9000, section 17.3: a short header extends to the end of the datagram.
        if first & 0x80 == 0 {
            return one(PacketKind::OneRtt, first, whole, 1 + CID_LEN, whole.len());
        }
        let mut rest = whole.get(1..)?;
        let version = u32::from_be_bytes(rest.get(..4)?.try_into().ok()?);
        skip(&mut rest, 4)?;
        for _cid in 0..2 {
            let len = *rest.first()?;
            skip(&mut rest, 1 + u64::from(len))?;
        }
        let kind = match (version, first >> 4 & 3) {
            // RFC 9000, section 17.2.1: version 0 marks Version Negotiation.
            (0, _) => PacketKind::VersionNegotiation,
            (_, 0) => PacketKind::Initial,
            (_, 1) => PacketKind::ZeroRtt,
            (_, 2) => PacketKind::Handshake,
            _ => PacketKind::Retry,
        };
        if matches!(kind, PacketKind::VersionNegotiation | PacketKind::Retry) {
            return Some(PacketView { kind, truncated_number: 0, number_len: 1, size: whole.len(), payload: &[] });
        }
        if kind == PacketKind::Initial {
            // RFC 9000, section 17.2.2: only Initial packets carry a token.
            let token = varint(&mut rest)?;
            skip(&mut rest, token)?;
        }
        let len = usize::try_from(varint(&mut rest)?).ok()?;
        let at = whole.len() - rest.len();
        let end = at.checked_add(len)?;
        let packet = whole.get(..end)?;
        self.octets = &whole[end..];
        one(kind, first, packet, at, end)
    }
}

/// Parses a packet whose packet number starts at byte `at`.
fn one(kind: PacketKind, first: u8, packet: &[u8], at: usize, size: usize) -> Option<PacketView<'_>> {
    // RFC 9000, section 17.2: the low 2 bits contain the length of the packet number minus 1.
    let number_len = usize::from(first & 3) + 1;
    let number = packet.get(at..at + number_len)?;
    let truncated_number = number.iter().fold(0, |value, octet| value << 8 | u64::from(*octet));
    let payload = packet.get(at + number_len..packet.len().checked_sub(TAG_LEN)?)?;
    Some(PacketView { kind, truncated_number, number_len, size, payload })
}

/// A frame (RFC 9000, section 19).
#[derive(Clone, Copy, Debug)]
pub enum Frame<'a> {
    /// A run of PADDING frames, with its length in bytes.
    Padding(u64),
    /// PING.
    Ping,
    /// ACK.
    Ack {
        /// Largest packet number acknowledged.
        largest: u64,
        /// Delay of the ACK as encoded: in units of 2^`ack_delay_exponent` microseconds.
        delay: u64,
        /// The acknowledged ranges.
        blocks: AckBlocks<'a>,
        /// Numbers of packets received with ECT(0), ECT(1) and CE; `None` if the frame does not report them.
        counts: Option<[u64; 3]>,
    },
    /// RESET_STREAM.
    ResetStream {
        /// Stream ID.
        id: u64,
        /// Error code defined by the application.
        code: u64,
        /// Total length of the stream in bytes.
        final_size: u64,
    },
    /// STOP_SENDING.
    StopSending {
        /// Stream ID.
        id: u64,
        /// Error code defined by the application.
        code: u64,
    },
    /// CRYPTO.
    Crypto {
        /// Offset of the data in bytes.
        offset: u64,
        /// Length of the data in bytes.
        len: u64,
    },
    /// NEW_TOKEN.
    NewToken {
        /// Length of the token in bytes.
        len: u64,
    },
    /// STREAM.
    Stream {
        /// Stream ID.
        id: u64,
        /// Offset of the data in the stream, in bytes.
        offset: u64,
        /// Length of the data in bytes.
        len: u64,
        /// True if the data ends the stream.
        fin: bool,
    },
    /// MAX_DATA.
    MaxData {
        /// Limit of the connection's data in bytes.
        maximum: u64,
    },
    /// MAX_STREAM_DATA.
    MaxStreamData {
        /// Stream ID.
        id: u64,
        /// Limit of the stream's data in bytes.
        maximum: u64,
    },
    /// MAX_STREAMS.
    MaxStreams {
        /// True if the limit is for bidirectional streams.
        bidi: bool,
        /// Limit of the number of streams.
        maximum: u64,
    },
    /// DATA_BLOCKED.
    DataBlocked {
        /// The connection's data limit that blocks the sender, in bytes.
        limit: u64,
    },
    /// STREAM_DATA_BLOCKED.
    StreamDataBlocked {
        /// Stream ID.
        id: u64,
        /// The stream's data limit that blocks the sender, in bytes.
        limit: u64,
    },
    /// STREAMS_BLOCKED.
    StreamsBlocked {
        /// True if the limit is for bidirectional streams.
        bidi: bool,
        /// The limit on the number of streams that blocks the sender.
        limit: u64,
    },
    /// NEW_CONNECTION_ID.
    NewConnectionId {
        /// Sequence number of the connection ID.
        sequence: u64,
        /// Connection IDs with smaller sequence numbers are retired.
        retire_prior_to: u64,
        /// The connection ID.
        id: &'a [u8],
    },
    /// RETIRE_CONNECTION_ID.
    RetireConnectionId {
        /// Sequence number of the connection ID.
        sequence: u64,
    },
    /// PATH_CHALLENGE.
    PathChallenge,
    /// PATH_RESPONSE.
    PathResponse,
    /// CONNECTION_CLOSE.
    ConnectionClose {
        /// True if the application closed the connection; false if the transport did.
        by_application: bool,
        /// Error code.
        code: u64,
    },
    /// HANDSHAKE_DONE.
    HandshakeDone,
    /// ACK_FREQUENCY (draft-ietf-quic-ack-frequency).
    AckFrequency {
        /// Maximum number of ack-eliciting packets that the receiver may get without sending an ACK.
        threshold: u64,
        /// Requested maximum delay of an ACK, in microseconds.
        max_delay_us: u64,
        /// Reordering threshold in packets.
        reordering: u64,
    },
    /// IMMEDIATE_ACK (draft-ietf-quic-ack-frequency).
    ImmediateAck,
    /// DATAGRAM (RFC 9221).
    Datagram {
        /// Length of the data in bytes.
        len: u64,
    },
}

impl Frame<'_> {
    /// Returns true if a packet with this frame must be acknowledged (RFC 9002, section 2).
    pub fn is_ack_eliciting(&self) -> bool {
        !matches!(self, Frame::Padding(_) | Frame::Ack { .. } | Frame::ConnectionClose { .. })
    }
}

/// The blocks of an ACK frame: inclusive ranges of packet numbers, the highest first.
#[derive(Clone, Copy, Debug)]
pub struct AckBlocks<'a> {
    octets: &'a [u8],
    left: u64,
    /// Largest packet number of the next block, or `None` after the last block.
    end: Option<u64>,
}

impl Iterator for AckBlocks<'_> {
    type Item = (u64, u64);

    fn next(&mut self) -> Option<(u64, u64)> {
        let end = self.end.take()?;
        let start = end.checked_sub(varint(&mut self.octets)?)?;
        if self.left > 0 {
            self.left -= 1;
            let gap = varint(&mut self.octets)?;
            // RFC 9000, section 19.3.1: the next range ends at (smallest number of the previous range) - gap - 2.
            self.end = start.checked_sub(gap.checked_add(2)?);
        }
        Some((start, end))
    }
}

/// Iterates over the frames of a packet.
#[derive(Clone, Copy, Debug)]
pub struct Frames<'a> {
    octets: &'a [u8],
}

impl<'a> Iterator for Frames<'a> {
    type Item = Frame<'a>;

    fn next(&mut self) -> Option<Frame<'a>> {
        let mut rest = std::mem::take(&mut self.octets);
        let frame = read(&mut rest)?;
        self.octets = rest;
        Some(frame)
    }
}

fn read<'a>(octets: &mut &'a [u8]) -> Option<Frame<'a>> {
    let number = |octets: &mut &'a [u8]| varint(octets);
    Some(match varint(octets)? {
        0x00 => {
            let len = octets.iter().take_while(|octet| **octet == 0).count();
            *octets = &octets[len..];
            Frame::Padding(1 + len as u64)
        }
        0x01 => Frame::Ping,
        kind @ (0x02 | 0x03) => {
            let (largest, delay, left) = (number(octets)?, number(octets)?, number(octets)?);
            // `blocks` parses the ranges on demand. Skip the ranges now to find the end of the frame.
            let blocks = AckBlocks { octets, left, end: Some(largest) };
            number(octets)?;
            for _ in 0..left {
                number(octets)?;
                number(octets)?;
            }
            let counts = if kind == 0x03 { Some([number(octets)?, number(octets)?, number(octets)?]) } else { None };
            Frame::Ack { largest, delay, blocks, counts }
        }
        0x04 => Frame::ResetStream { id: number(octets)?, code: number(octets)?, final_size: number(octets)? },
        0x05 => Frame::StopSending { id: number(octets)?, code: number(octets)? },
        0x06 => {
            let (offset, len) = (number(octets)?, number(octets)?);
            skip(octets, len)?;
            Frame::Crypto { offset, len }
        }
        0x07 => {
            let len = number(octets)?;
            skip(octets, len)?;
            Frame::NewToken { len }
        }
        kind @ 0x08..=0x0f => {
            let id = number(octets)?;
            // RFC 9000, section 19.8: bits of the frame type show whether offset and length are present.
            let offset = if kind & 4 != 0 { number(octets)? } else { 0 };
            let len = if kind & 2 != 0 { number(octets)? } else { octets.len() as u64 };
            skip(octets, len)?;
            Frame::Stream { id, offset, len, fin: kind & 1 != 0 }
        }
        0x10 => Frame::MaxData { maximum: number(octets)? },
        0x11 => Frame::MaxStreamData { id: number(octets)?, maximum: number(octets)? },
        kind @ (0x12 | 0x13) => Frame::MaxStreams { bidi: kind == 0x12, maximum: number(octets)? },
        0x14 => Frame::DataBlocked { limit: number(octets)? },
        0x15 => Frame::StreamDataBlocked { id: number(octets)?, limit: number(octets)? },
        kind @ (0x16 | 0x17) => Frame::StreamsBlocked { bidi: kind == 0x16, limit: number(octets)? },
        0x18 => {
            let (sequence, retire_prior_to) = (number(octets)?, number(octets)?);
            // The frame contains a length byte, the connection ID, and a stateless reset token of 16 bytes.
            let len = *octets.first()?;
            let id = octets.get(1..1 + usize::from(len))?;
            skip(octets, 1 + u64::from(len) + 16)?;
            Frame::NewConnectionId { sequence, retire_prior_to, id }
        }
        0x19 => Frame::RetireConnectionId { sequence: number(octets)? },
        kind @ (0x1a | 0x1b) => {
            skip(octets, 8)?;
            if kind == 0x1a { Frame::PathChallenge } else { Frame::PathResponse }
        }
        kind @ (0x1c | 0x1d) => {
            let code = number(octets)?;
            if kind == 0x1c {
                number(octets)?;
            }
            let len = number(octets)?;
            skip(octets, len)?;
            Frame::ConnectionClose { by_application: kind == 0x1d, code }
        }
        0x1e => Frame::HandshakeDone,
        0x1f => Frame::ImmediateAck,
        0x30 => {
            let len = octets.len() as u64;
            skip(octets, len)?;
            Frame::Datagram { len }
        }
        0x31 => {
            let len = number(octets)?;
            skip(octets, len)?;
            Frame::Datagram { len }
        }
        0xaf => {
            number(octets)?;
            Frame::AckFrequency {
                threshold: number(octets)?,
                max_delay_us: number(octets)?,
                reordering: number(octets)?,
            }
        }
        _ => return None,
    })
}

/// Returns the length of a variable-length integer in bytes.
pub fn varint_len(value: u64) -> usize {
    match value {
        0..=0x3f => 1,
        0x40..=0x3fff => 2,
        0x4000..=0x3fff_ffff => 4,
        _ => 8,
    }
}

/// Appends a variable-length integer.
pub fn put_varint(to: &mut Vec<u8>, value: u64) {
    let (len, prefix) = match varint_len(value) {
        1 => (1, 0),
        2 => (2, 1u64),
        4 => (4, 2),
        _ => (8, 3),
    };
    let word = value | prefix << (8 * len - 2);
    to.extend_from_slice(&word.to_be_bytes()[8 - len..]);
}
