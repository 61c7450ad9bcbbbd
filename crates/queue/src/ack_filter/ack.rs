//! The fields of an acknowledgement that a filter compares.

use lopsided_core::packet::{AccEcnOption, Flags, SackBlock, TcpHeader, TcpOptions, Timestamps};
use lopsided_core::{Packet, Seq};

/// True if the segment belongs to an established connection and has the ACK flag.
#[inline]
pub(super) fn acknowledges(header: &TcpHeader) -> bool {
    header.flags.0 & (Flags::ACK.0 | Flags::SYN.0 | Flags::RST.0) == Flags::ACK.0
}

/// True if the segment is a pure ACK: no data, only ACK and ECN flags, and only comparable options.
#[inline]
pub(super) fn is_pure(packet: &Packet, header: &TcpHeader) -> bool {
    // The last condition excludes packets from real hosts whose headers could not be parsed completely.
    packet.payload_len() == 0
        && header.flags.0 & !(Flags::ACK.0 | FEEDBACK) == 0
        && (header.options.are_usual() || are_known(&header.options))
        && (!packet.is_foreign() || packet.is_read_whole())
}

/// True if the segment has no options other than timestamps, SACK and accurate ECN.
fn are_known(options: &TcpOptions) -> bool {
    options.other().is_empty()
        && options.mss().is_none()
        && options.window_scale().is_none()
        && !options.sack_permitted()
}

/// The two fields that the paper's rules compare: acknowledgement number and window.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(super) struct Numbers {
    pub number: Seq,
    pub window: u16,
}

impl Numbers {
    #[inline]
    pub fn of(header: &TcpHeader) -> Numbers {
        Numbers { number: header.ack, window: header.window }
    }

    /// True if `newer` makes this ACK superfluous: `newer` has a larger number or, if `also_windows` is true, the same
    /// number and a different window.
    #[inline]
    pub fn is_outnumbered(&self, newer: &Numbers, also_windows: bool) -> bool {
        self.number.before(newer.number) || also_windows && self.number == newer.number && self.window != newer.window
    }
}

/// All fields of an ACK that the rules compare.
#[derive(Clone, Debug)]
pub(super) struct Ack {
    /// Acknowledgement number.
    pub number: Seq,
    pub flags: Flags,
    pub timestamps: Option<Timestamps>,
    /// The options other than timestamps. Boxed because these options are rare, and a small `Ack` is cheaper to move.
    others: Option<Box<TcpOptions>>,
    /// True if the connection's next segment was a data segment with different ECN flags.
    pub parted: bool,
}

impl Ack {
    #[inline]
    pub fn of(header: &TcpHeader) -> Ack {
        let options = &header.options;
        Ack {
            number: header.ack,
            flags: header.flags,
            timestamps: options.timestamps,
            others: if options.are_usual() { None } else { Some(Box::new(options.clone())) },
            parted: false,
        }
    }

    /// Returns the SACK blocks.
    #[inline]
    pub fn sack(&self) -> &[SackBlock] {
        self.others.as_ref().map_or(&[], |options| options.sack().as_slice())
    }

    /// Returns the accurate ECN option.
    #[inline]
    pub fn accurate_ecn(&self) -> Option<&AccEcnOption> {
        self.others.as_ref()?.accurate_ecn()
    }

    /// Returns the ACE field of accurate ECN (RFC 9768, section 3.2.2): the number of CE marks modulo 8.
    pub fn ace(&self) -> u16 {
        let bit = |flag, value| if self.flags.has(flag) { value } else { 0 };
        bit(Flags::AE, 4) + bit(Flags::CWR, 2) + bit(Flags::ECE, 1)
    }

    /// Returns the flags that carry ECN feedback, classic or accurate.
    #[inline]
    pub fn feedback(&self) -> u16 {
        self.flags.0 & FEEDBACK
    }

    /// True if neither the acknowledgement number nor the timestamps of this ACK are older than those of `other`.
    #[inline]
    pub fn is_at_least(&self, other: &Ack) -> bool {
        // Timestamps wrap around, so interpret their difference as a signed number (RFC 7323).
        let behind = |other: u32, own: u32| own.wrapping_sub(other) as i32 >= 0;
        let timed = match (other.timestamps, self.timestamps) {
            (None, _) => true,
            (Some(_), None) => false,
            (Some(other), Some(own)) => behind(other.value, own.value) && behind(other.echo, own.echo),
        };
        timed && !other.number.after(self.number)
    }

    /// Compares the SACK blocks of this ACK with those of `other`. Returns `None` if a block of `other` is not covered.
    /// A D-SACK block (RFC 2883) is never covered.
    #[inline]
    pub fn covers_sack_of(&self, other: &Ack) -> Option<SackCover> {
        // Fast path: almost no ACK contains SACK blocks.
        if other.others.is_none() && self.others.is_none() {
            Some(SackCover::Same)
        } else {
            self.covers_blocks_of(other)
        }
    }

    fn covers_blocks_of(&self, other: &Ack) -> Option<SackCover> {
        let (older, newer) = (other.sack(), self.sack());
        let within =
            |inner: &SackBlock, outer: &SackBlock| !outer.start.after(inner.start) && !inner.end.after(outer.end);
        let covered = older
            .iter()
            .all(|block| !other.number.after(block.start) && newer.iter().any(|outer| within(block, outer)));
        // The newer blocks cover all older blocks. They report additional data if their total size is larger.
        let octets =
            |blocks: &[SackBlock]| blocks.iter().map(|block| u64::from(block.end.since(block.start))).sum::<u64>();
        covered.then(|| if octets(newer) > octets(older) { SackCover::More } else { SackCover::Same })
    }
}

/// The flags with which a receiver reports ECN marks to the sender.
const FEEDBACK: u16 = Flags::ECE.0 | Flags::CWR.0 | Flags::AE.0;

/// Compares newer SACK blocks with the older blocks that they cover.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(super) enum SackCover {
    /// The newer and the older blocks report the same bytes.
    Same,
    /// The newer blocks report more bytes than the older blocks.
    More,
}
