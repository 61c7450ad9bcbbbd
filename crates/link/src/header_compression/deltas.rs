//! The encoding of changes in RFC 1144 and RFC 2507: one flag for each changed field, two special combinations of
//! flags, and differences of 1 or 3 bytes.

/// Flags that both RFCs define for the changed fields (RFC 1144, section 3.2.2; RFC 2507, section 6).
pub(super) const NEW_ID: u8 = 0x20;
pub(super) const PUSH: u8 = 0x10;
const NEW_SEQ: u8 = 0x08;
const NEW_ACK: u8 = 0x04;
const NEW_WINDOW: u8 = 0x02;
const NEW_URGENT: u8 = 0x01;
/// Special case: the sequence and acknowledgement numbers both advance by the previous packet's payload length, as with
/// echoed keystrokes.
const SPECIAL_INTERACTIVE: u8 = NEW_SEQ | NEW_WINDOW | NEW_URGENT;
/// Special case: only the sequence number advances, by the previous packet's payload length, as in a one-way bulk
/// transfer.
const SPECIAL_DATA: u8 = NEW_SEQ | NEW_ACK | NEW_WINDOW | NEW_URGENT;
/// Mask of all flags for changed fields, including the special cases.
const FIELDS: u8 = SPECIAL_DATA;

/// Differences between the TCP fields of two consecutive packets.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(super) struct Deltas {
    pub window: u16,
    pub ack: u16,
    pub seq: u16,
}

impl Deltas {
    /// Returns the flags for these differences. `payload_before` is the previous packet's payload in bytes.
    pub fn bits(self, payload_before: u32) -> u8 {
        let fields = [(NEW_WINDOW, self.window), (NEW_ACK, self.ack), (NEW_SEQ, self.seq)];
        // The special cases apply only if the data of this packet directly follows the data of the previous packet.
        let follows = u32::from(self.seq) == payload_before;
        match fields.iter().filter(|(_, delta)| *delta != 0).fold(0, |bits, (bit, _)| bits | bit) {
            bits if bits == NEW_SEQ | NEW_ACK && self.seq == self.ack && follows => SPECIAL_INTERACTIVE,
            NEW_SEQ if follows => SPECIAL_DATA,
            bits => bits,
        }
    }

    /// True if the packet is probably a retransmission or a window probe.
    pub fn repeat(self, payload_before: u32, payload: u32) -> bool {
        // RFC 1144, section 3.2.3: an unchanged header is expected only if the packet carries data and the previous
        // packet did not.
        self == Deltas { window: 0, ack: 0, seq: 0 } && (payload == 0 || payload_before > 0)
    }

    /// Appends the differences that the flags do not already determine.
    pub fn push(self, bits: u8, octets: &mut Vec<u8>) {
        // A special case already determines the differences of the sequence and acknowledgement numbers.
        if !is_special(bits) {
            for (bit, delta) in [(NEW_WINDOW, self.window), (NEW_ACK, self.ack), (NEW_SEQ, self.seq)] {
                if bits & bit != 0 {
                    push_delta(octets, delta);
                }
            }
        }
    }

    /// Reads the differences that these flags announce. `payload_before` is the previous packet's payload in bytes.
    /// `None` if bytes are missing.
    pub fn take(bits: u8, octets: &mut impl Iterator<Item = u8>, payload_before: u32) -> Option<Deltas> {
        // Truncation is harmless. If the payload length does not fit in 16 bits, the difference does not fit either,
        // and the packet is sent in full.
        let follows = payload_before as u16;
        let mut delta = |bit| if bits & bit == 0 { Some(0) } else { take_delta(octets) };
        Some(match bits & FIELDS {
            SPECIAL_INTERACTIVE => Deltas { window: 0, ack: follows, seq: follows },
            SPECIAL_DATA => Deltas { window: 0, ack: 0, seq: follows },
            _ => Deltas { window: delta(NEW_WINDOW)?, ack: delta(NEW_ACK)?, seq: delta(NEW_SEQ)? },
        })
    }
}

fn is_special(bits: u8) -> bool {
    [SPECIAL_INTERACTIVE, SPECIAL_DATA].contains(&(bits & FIELDS))
}

/// Appends a difference. Values from 1 to 255 take 1 byte. Other values take 3 bytes, the first of which is zero.
pub(super) fn push_delta(octets: &mut Vec<u8>, delta: u16) {
    match u8::try_from(delta) {
        Ok(small @ 1..) => octets.push(small),
        _ => {
            octets.push(0);
            octets.extend(delta.to_be_bytes());
        }
    }
}

/// Reads a difference that [`push_delta`] wrote. `None` if bytes are missing.
pub(super) fn take_delta(octets: &mut impl Iterator<Item = u8>) -> Option<u16> {
    match octets.next()? {
        // RFC 1144, section 3.2.2: a zero byte announces a difference of 16 bits.
        0 => Some(u16::from_be_bytes([octets.next()?, octets.next()?])),
        small => Some(u16::from(small)),
    }
}
