//! Accurate ECN feedback (RFC 9768): the counters at both ends, and the 3-bit field and the option that carry them.
//!
//! The receiver counts CE-marked packets, and bytes of data by codepoint. Each segment carries the last three bits of
//! the packet count. A segment with enough header space also carries an option with the byte counts, if they changed
//! since the last option. The option begins with the codepoint in use and contains only the counters in use. The
//! receiver sends an immediate ACK for data whose codepoint differs from that of the data before it, and for every
//! second marked packet (section 3.2.2.5.1).
//!
//! The sender uses the byte counts of the option. Without an option it uses the packet count and assumes full segments.
//! If one ACK covers so much data that the three bits may have wrapped, and no option has ever arrived, the sender
//! assumes the largest possible number of marks (section 3.2.2.5.2). If option and field disagree, the field decides
//! whether there were any marks (section 3.2.3.2.4).
//!
//! SACK blocks take precedence in the header. Left out: the test whether options pass the path (section 3.2.3.2),
//! because a segment without an option works too.

use super::feedback::{ace_of, flags_of, handshake_ace};
use lopsided_core::Ecn;
use lopsided_core::packet::{AccEcnOption, AccEcnOrder, Flags, TcpHeader};

/// Initial value of the packet counts of both ends (section 3.2.1). It is not zero, so that a field that a middlebox
/// has set to zero can be detected.
const FIRST_COUNT: u8 = 5;
/// Initial value of the byte counts of ECT(0) and ECT(1).
const FIRST_OCTETS: u32 = 1;
const OCTETS_MASK: u32 = (1 << AccEcnOption::COUNTER_BITS) - 1;
/// Number of marked packets that trigger an ACK if received data is not acknowledged yet.
const MARKS_WITH_DATA: u32 = 2;
/// Number of marked packets without data that trigger an ACK. It is higher than for packets with data, because
/// otherwise both ends could acknowledge each other's ACKs forever.
const MARKS_WITHOUT_DATA: u32 = 3;

/// The receiver's counters.
#[derive(Debug)]
pub(crate) struct AccEcnReceiver {
    /// The ECN field of the peer's SYN.
    pub syn_arrived_as: Ecn,
    /// Number of marked packets, modulo 8.
    packets: u8,
    /// Received bytes of data by codepoint.
    octets: Octets,
    /// ECN field of the last ECN-capable data segment.
    last: Ecn,
    /// Number of marked packets that arrived since this end last sent a segment.
    marks_since_ack: u32,
    /// ECN field of the SYN-ACK in coded form, which the next segment reports instead of the packet count.
    handshake: Option<u8>,
    /// The byte counts in the last option that was sent; `None` before the first.
    told: Option<Octets>,
}

/// Bytes of data by codepoint, modulo 2^24.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
struct Octets {
    ect0: u32,
    ect1: u32,
    ce: u32,
}

impl AccEcnReceiver {
    /// Creates the counters. `arrived` is the ECN field of the peer's SYN or SYN-ACK, which counts as a packet.
    pub fn new(arrived: Ecn) -> AccEcnReceiver {
        AccEcnReceiver {
            syn_arrived_as: arrived,
            packets: FIRST_COUNT + u8::from(arrived == Ecn::Ce),
            octets: Octets { ect0: FIRST_OCTETS, ect1: FIRST_OCTETS, ce: 0 },
            last: Ecn::NotEct,
            marks_since_ack: 0,
            handshake: None,
            told: None,
        }
    }

    /// Makes the next segment report `arrived`, the ECN field with which the SYN-ACK arrived.
    pub fn answer_handshake(&mut self, arrived: Ecn) {
        self.handshake = Some(handshake_ace(arrived));
    }

    /// Counts an arriving segment with `len` bytes of data. Returns true if it must be acknowledged at once.
    pub fn take(&mut self, ecn: Ecn, len: u32) -> bool {
        if ecn == Ecn::Ce {
            self.packets = (self.packets + 1) & 7;
            self.marks_since_ack += 1;
        }
        if len == 0 {
            return self.marks_since_ack >= MARKS_WITHOUT_DATA;
        }
        match ecn {
            Ecn::NotEct => return false,
            Ecn::Ect0 => self.octets.ect0 += len,
            Ecn::Ect1 => self.octets.ect1 += len,
            Ecn::Ce => self.octets.ce += len,
        }
        let Octets { ect0, ect1, ce } = self.octets;
        self.octets = Octets { ect0: ect0 & OCTETS_MASK, ect1: ect1 & OCTETS_MASK, ce: ce & OCTETS_MASK };
        // Section 3.2.2.5.1: a change of the codepoint requires an immediate ACK.
        let changed = std::mem::replace(&mut self.last, ecn) != ecn;
        changed || self.marks_since_ack >= MARKS_WITH_DATA
    }

    /// The ACE bits of the next segment.
    pub fn flags(&mut self) -> Flags {
        self.marks_since_ack = 0;
        flags_of(self.handshake.take().unwrap_or(self.packets))
    }

    /// The option for a segment with `room` bytes of header space; `None` if it does not fit or no counter has changed.
    pub fn option(&mut self, room: u32) -> Option<AccEcnOption> {
        let Octets { ect0, ect1, ce } = self.octets;
        if self.told == Some(self.octets) {
            return None;
        }
        // If ECT(1) is in use, the peer uses L4S: put its counter first.
        let low_latency = ect1 != FIRST_OCTETS;
        let (order, first, last) =
            if low_latency { (AccEcnOrder::Ect1First, ect1, ect0) } else { (AccEcnOrder::Ect0First, ect0, ect1) };
        let all = [first, ce, last];
        let used = if last == FIRST_OCTETS { 2 } else { 3 };
        if AccEcnOption::padded_len_of(used) > room {
            return None;
        }
        self.told = Some(self.octets);
        Some(AccEcnOption::new(order, &all[..used as usize]))
    }
}

/// The peer's counters in an arriving segment.
#[derive(Clone, Copy, Debug)]
pub(crate) struct AceFeedback<'a> {
    packets: u8,
    option: Option<&'a AccEcnOption>,
}

impl<'a> AceFeedback<'a> {
    pub fn of(header: &'a TcpHeader) -> AceFeedback<'a> {
        AceFeedback { packets: ace_of(header.flags), option: header.options.accurate_ecn() }
    }

    /// True if the packet count is zero. A correct count cannot be zero before packets are marked, so a middlebox has
    /// probably cleared the field (section 3.2.2.4).
    pub fn is_zeroed(&self) -> bool {
        self.packets == 0 && self.option.and_then(AccEcnOption::ce).unwrap_or(0) == 0
    }
}

/// The peer's reports about the packets that this end sent.
#[derive(Debug)]
pub(crate) struct AccEcnSender {
    /// The packet count in the last segment.
    packets: u8,
    /// Number of CE-marked bytes modulo 2^24, as reported by the option or estimated from the packet count.
    octets: u32,
    /// True if an option has ever arrived.
    option_seen: bool,
}

impl Default for AccEcnSender {
    fn default() -> AccEcnSender {
        AccEcnSender { packets: FIRST_COUNT, octets: 0, option_seen: false }
    }
}

impl AccEcnSender {
    /// Returns how many bytes an ACK newly reports as marked. The ACK delivers `delivered` bytes in segments of `mss`
    /// bytes.
    pub fn newly_marked(&mut self, counts: AceFeedback<'_>, delivered: u64, mss: u64) -> u64 {
        let field = u64::from(counts.packets.wrapping_sub(self.packets) & 7);
        self.packets = counts.packets;
        let reported = counts.option.and_then(AccEcnOption::ce);
        self.option_seen |= reported.is_some();
        match reported {
            Some(octets) => {
                let outcome = octets.wrapping_sub(self.octets) & OCTETS_MASK;
                self.octets = octets;
                // A negative difference means that an estimate made before the first option was too high, so no byte is
                // newly marked.
                let outcome = if outcome > OCTETS_MASK / 2 { 0 } else { u64::from(outcome) };
                // Section 3.2.3.2.4: an unchanged field means that no packet was marked.
                if field == 0 && outcome < mss { 0 } else { outcome.min(delivered.max(outcome.min(mss))) }
            }
            None => {
                let segments = delivered.div_ceil(mss);
                // Section 3.2.2.5.2: the 3-bit field may have wrapped once per 8 delivered segments.
                let rounds = if self.option_seen { 0 } else { segments.saturating_sub(field) / 8 };
                let guess = ((field + 8 * rounds) * mss).min(delivered.max(field.min(1) * mss));
                self.octets = (self.octets + guess as u32) & OCTETS_MASK;
                guess
            }
        }
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    const MSS: u64 = 1000;

    fn feedback(packets: u8, option: Option<&AccEcnOption>) -> AceFeedback<'_> {
        AceFeedback { packets, option }
    }

    #[test]
    fn the_field_alone_tells_segments_and_the_safest_case_where_it_may_have_gone_round() {
        let mut reported = AccEcnSender::default();
        assert_eq!(reported.newly_marked(feedback(5, None), 2 * MSS, MSS), 0);
        assert_eq!(reported.newly_marked(feedback(7, None), 2 * MSS, MSS), 2 * MSS);
        assert_eq!(reported.newly_marked(feedback(0, None), 2 * MSS, MSS), MSS);
        // One ACK covers 20 segments, and the count advances by 2, so 2, 10 or 18 packets are marked.
        assert_eq!(reported.newly_marked(feedback(2, None), 20 * MSS, MSS), 18 * MSS);
    }

    #[test]
    fn an_option_settles_how_often_the_field_went_round() {
        let mut reported = AccEcnSender::default();
        let option = AccEcnOption::new(AccEcnOrder::Ect0First, &[10_001, 10_000]);
        assert_eq!(reported.newly_marked(feedback(7, Some(&option)), 20 * MSS, MSS), 10 * MSS);
        // After an option has arrived once, an ACK without an option no longer implies the worst case.
        assert_eq!(reported.newly_marked(feedback(1, None), 20 * MSS, MSS), 2 * MSS);
        // Bytes that were already counted by the estimate are not counted again.
        let option = AccEcnOption::new(AccEcnOrder::Ect0First, &[10_001, 12_500]);
        assert_eq!(reported.newly_marked(feedback(2, Some(&option)), MSS, MSS), 500);
    }

    #[test]
    fn counters_wrap() {
        let mut reported = AccEcnSender { octets: OCTETS_MASK - 200, ..AccEcnSender::default() };
        let option = AccEcnOption::new(AccEcnOrder::Ect1First, &[7, 799]);
        assert_eq!(reported.newly_marked(feedback(6, Some(&option)), MSS, MSS), MSS);
        let mut received = AccEcnReceiver::new(Ecn::NotEct);
        for _ in 0..20_000 {
            received.take(Ecn::Ce, 1448);
        }
        let option = received.option(40).unwrap();
        assert_eq!(option.ce(), Some(20_000 * 1448 % (1 << 24)));
        assert_eq!(ace_of(received.flags()), ((5 + 20_000) % 8) as u8);
    }

    #[test]
    fn the_option_has_the_counters_in_use_and_goes_out_when_they_changed() {
        let mut received = AccEcnReceiver::new(Ecn::NotEct);
        let first = received.option(40).unwrap();
        assert_eq!((first.order, first.counters()), (AccEcnOrder::Ect0First, &[1, 0][..]));
        assert_eq!(received.option(40), None);
        received.take(Ecn::Ect1, 100);
        assert_eq!(received.option(7), None, "no room");
        let low_latency = received.option(8).unwrap();
        assert_eq!((low_latency.order, low_latency.counters()), (AccEcnOrder::Ect1First, &[101, 0][..]));
        received.take(Ecn::Ect0, 10);
        let both = received.option(12).unwrap();
        assert_eq!((both.ect1(), both.ce(), both.ect0()), (Some(101), Some(0), Some(11)));
        received.take(Ecn::NotEct, 10);
        received.take(Ecn::Ce, 0);
        assert_eq!(received.option(40), None, "octets of data are counted");
    }

    #[test]
    fn a_change_and_every_second_mark_are_acknowledged_at_once() {
        let mut received = AccEcnReceiver::new(Ecn::NotEct);
        received.take(Ecn::Ect0, 1000);
        assert!(!received.take(Ecn::Ect0, 1000));
        assert!(received.take(Ecn::Ce, 1000), "the first mark");
        received.flags();
        assert!(!received.take(Ecn::Ce, 1000));
        assert!(received.take(Ecn::Ce, 1000), "the second since an ACK");
        received.flags();
        assert!(received.take(Ecn::Ect0, 1000), "the end of the marks");
        assert!(!received.take(Ecn::NotEct, 1000), "a retransmission");
        let bare = (0..3).map(|_| received.take(Ecn::Ce, 0)).collect::<Vec<_>>();
        assert_eq!(bare, [false, false, true], "ACKs are not answered as readily");
    }
}
