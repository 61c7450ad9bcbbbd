//! The encoding of changes that RFC 1144 and RFC 2507 share: one flag for each changed field, two special combinations
//! of flags, and differences of 1 or 3 bytes.

/// Flags that both RFCs define (RFC 1144, section 3.2.2; RFC 2507, section 6).
pub(super) const NEW_ID: u8 = 0x20;
pub(super) const PUSH: u8 = 0x10;
const NEW_SEQ: u8 = 0x08;
const NEW_ACK: u8 = 0x04;
const NEW_WINDOW: u8 = 0x02;
const NEW_URGENT: u8 = 0x01;
/// Special case: sequence and acknowledgement number both advance by the previous packet's data, as echoed typing does.
const SPECIAL_INTERACTIVE: u8 = NEW_SEQ | NEW_WINDOW | NEW_URGENT;
/// Special case: only the sequence number advances, by the previous packet's data, as one-way bulk data does.
const SPECIAL_DATA: u8 = NEW_SEQ | NEW_ACK | NEW_WINDOW | NEW_URGENT;
/// Mask of the flags of changed fields, special cases included.
const FIELDS: u8 = SPECIAL_DATA;

/// Differences of TCP's fields between one packet and the next.
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
        // The special cases assume that the packet continues the data of the previous one.
        let follows = u32::from(self.seq) == payload_before;
        match fields.iter().filter(|(_, delta)| *delta != 0).fold(0, |bits, (bit, _)| bits | bit) {
            bits if bits == NEW_SEQ | NEW_ACK && self.seq == self.ack && follows => SPECIAL_INTERACTIVE,
            NEW_SEQ if follows => SPECIAL_DATA,
            bits => bits,
        }
    }

    /// True if the packet is probably a retransmission or a window probe, so that the far end may have lost its
    /// context.
    pub fn repeat(self, payload_before: u32, payload: u32) -> bool {
        // RFC 1144, section 3.2.3: an unchanged header is normal only for data that follows a pure ACK.
        self == Deltas { window: 0, ack: 0, seq: 0 } && (payload == 0 || payload_before > 0)
    }

    /// Appends the differences that the flags alone do not determine.
    pub fn push(self, bits: u8, octets: &mut Vec<u8>) {
        // A special combination of flags stands for the differences of sequence and acknowledgement number.
        if !is_special(bits) {
            for (bit, delta) in [(NEW_WINDOW, self.window), (NEW_ACK, self.ack), (NEW_SEQ, self.seq)] {
                if bits & bit != 0 {
                    push_delta(octets, delta);
                }
            }
        }
    }

    /// Reads the differences for these flags. `payload_before` is the previous packet's payload. `None` if bytes are
    /// missing.
    pub fn take(bits: u8, octets: &mut impl Iterator<Item = u8>, payload_before: u32) -> Option<Deltas> {
        // Longer payloads never get here: a difference above 16 bits is not compressed.
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

/// Appends a difference: 1 to 255 in one byte, other values in three bytes, the first of them zero.
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
