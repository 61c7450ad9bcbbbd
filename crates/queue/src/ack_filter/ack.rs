//! What an acknowledgement says, as far as a filter knows.

use lopsided_core::packet::{AccEcnOption, Flags, SackBlock, SackBlocks, Timestamps};
use lopsided_core::{Packet, Seq};

/// What an acknowledgement says.
#[derive(Clone, Debug)]
pub(super) struct Ack {
    pub number: Seq,
    pub window: u16,
    pub flags: Flags,
    pub timestamps: Option<Timestamps>,
    pub sack: SackBlocks,
    pub accurate_ecn: Option<AccEcnOption>,
    /// It says nothing else: no data, no other flag, no option that the filter does not know.
    pub is_pure: bool,
}

impl Ack {
    /// Of a segment in the midst of a connection; `None` for any other.
    pub fn of(packet: &Packet) -> Option<Ack> {
        let header = packet.tcp()?;
        if !header.flags.has(Flags::ACK) || header.flags.has(Flags::SYN) || header.flags.has(Flags::RST) {
            return None;
        }
        let options = &header.options;
        let known = options.other().is_empty()
            && options.mss.is_none()
            && options.window_scale.is_none()
            && !options.sack_permitted
            && packet.is_read_whole();
        let only_ack = header.flags.0 & !(Flags::ACK.0 | FEEDBACK) == 0;
        Some(Ack {
            number: header.ack,
            window: header.window,
            flags: header.flags,
            timestamps: options.timestamps,
            sack: options.sack.clone(),
            accurate_ecn: options.accurate_ecn().copied(),
            is_pure: packet.payload().is_empty() && known && only_ack,
        })
    }

    /// The count of marks modulo 8 that accurate ECN has in the three flags (RFC 9768 section 3.2.2).
    pub fn ace(&self) -> u16 {
        let bit = |flag, value| if self.flags.has(flag) { value } else { 0 };
        bit(Flags::AE, 4) + bit(Flags::CWR, 2) + bit(Flags::ECE, 1)
    }

    /// The flags of ECN, of whatever kind.
    pub fn feedback(&self) -> u16 {
        self.flags.0 & FEEDBACK
    }

    /// Neither number nor timestamps of the other are ahead of this one's.
    pub fn is_at_least(&self, other: &Ack) -> bool {
        let behind = |other: u32, own: u32| own.wrapping_sub(other) as i32 >= 0;
        let timed = match (other.timestamps, self.timestamps) {
            (None, _) => true,
            (Some(_), None) => false,
            (Some(other), Some(own)) => behind(other.value, own.value) && behind(other.echo, own.echo),
        };
        timed && !other.number.after(self.number)
    }

    /// Whether this one reports all that the other's SACK blocks do, and if so whether it reports more. A block below its own
    /// number tells of a duplicate (RFC 2883), which nothing covers.
    pub fn covers_sack_of(&self, other: &Ack) -> Option<SackCover> {
        let (older, newer) = (other.sack.as_slice(), self.sack.as_slice());
        let within =
            |inner: &SackBlock, outer: &SackBlock| !outer.start.after(inner.start) && !inner.end.after(outer.end);
        let covered = older
            .iter()
            .all(|block| !other.number.after(block.start) && newer.iter().any(|outer| within(block, outer)));
        let octets =
            |blocks: &[SackBlock]| blocks.iter().map(|block| u64::from(block.end.since(block.start))).sum::<u64>();
        covered.then(|| if octets(newer) > octets(older) { SackCover::More } else { SackCover::Same })
    }
}

/// The flags by which a receiver of data feeds marks back.
const FEEDBACK: u16 = Flags::ECE.0 | Flags::CWR.0 | Flags::AE.0;

/// What newer SACK blocks say beside all that the older ones do.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(super) enum SackCover {
    Same,
    More,
}
