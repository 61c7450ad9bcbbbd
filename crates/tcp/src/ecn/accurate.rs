//! Accurate ECN feedback (RFC 9768): the counters at both ends, and the 3-bit field and the option that carry the
//! counters. If the RFC permits several rules, this file follows Linux 7.0.
//!
//! The receiver counts CE-marked packets, and bytes of data by codepoint. Each segment carries the last three bits of
//! the packet count and, if space permits, an option with the byte counts.
//!
//! If one ACK covers more than seven segments, the three bits may have wrapped. The sender then uses the byte counts.
//! Without byte counts, the sender assumes the largest possible number of marks (section 3.2.2.5.2), unless the ACKs
//! are thinned.

use super::feedback::{ace_of, flags_of, handshake_ace};
use lopsided_core::Ecn;
use lopsided_core::packet::{AccEcnOption, AccEcnOrder, Flags, TcpHeader};

/// Initial value of the packet counts on the wire (section 3.2.1). The value differs from 0, so that the peer can
/// detect a field that a middlebox has cleared.
const FIRST_COUNT: u8 = 5;
/// Initial values of the byte counts of ECT(0), ECT(1) and CE on the wire.
const FIRST_OCTETS: [u32; 3] = [1, 1, 0];
/// Number of marked packets after which an ACK is sent at once (Linux's TCP_ACCECN_ACE_MAX_DELTA). Two more marks could
/// wrap the field.
const MARKS_PER_ACK: u32 = 6;
/// The field cannot wrap if an ACK covers at most this number of segments.
const MOST_UNAMBIGUOUS: u64 = 7;
/// Fractional bits of the mean number of segments per ACK; a new ACK weighs 2^-`ACK_SHIFT` (Linux's PKTS_ACKED_PREC and
/// PKTS_ACKED_WEIGHT).
const ACK_SHIFT: u32 = 6;
/// ACKs count as thinned if they cover more than this number of segments on average (Linux's ACK_COMP_THRESH).
const THINNED_ACK: u64 = 4;

/// Bytes of data by codepoint: ECT(0), ECT(1), CE. The counters of the option are modulo 2^24.
type Octets = [u32; 3];

/// Returns the index of a codepoint in [`Octets`]; `None` for not-ECT, whose bytes are not counted.
fn place_of(ecn: Ecn) -> Option<usize> {
    match ecn {
        Ecn::NotEct => None,
        Ecn::Ect0 => Some(ECT0),
        Ecn::Ect1 => Some(ECT1),
        Ecn::Ce => Some(CE),
    }
}

const ECT0: usize = 0;
const ECT1: usize = 1;
const CE: usize = 2;

/// The receiver's counters.
#[derive(Debug)]
pub(crate) struct AccEcnReceiver {
    /// The ECN field of the peer's last SYN or SYN-ACK.
    pub syn_arrived_as: Ecn,
    /// Number of marked packets.
    packets: u64,
    /// Received bytes of data by codepoint.
    octets: Octets,
    /// ECN field of the last segment.
    last: Ecn,
    /// Number of marked packets that arrived since this end last sent a segment.
    marks_since_ack: u32,
    /// Code of the SYN-ACK's ECN field. The next segment carries this code instead of the packet count.
    handshake: Option<u8>,
    /// Number of counters that the next option must contain to report all bytes received since the last option.
    least_counters: u32,
    /// True if the peer has sent the option. This end then also sends the option (section 3.2.3.2.1).
    pub peer_sends_option: bool,
    /// True if the path appears to drop ACKs that carry the option (section 3.2.3.2.2).
    option_is_lost: bool,
    /// Start of the DSACK block in the last segment, if the segment also carried the option.
    dsack_with_option: Option<u64>,
}

/// Number of counters in the option of the next segment, and number of SACK blocks in the same segment.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(crate) struct OptionFit {
    pub counters: u32,
    pub sack_blocks: usize,
}

impl AccEcnReceiver {
    /// Creates the counters. `arrived` is the ECN field of the peer's SYN or SYN-ACK; CE counts as a mark.
    pub fn new(arrived: Ecn) -> AccEcnReceiver {
        AccEcnReceiver {
            syn_arrived_as: arrived,
            packets: u64::from(arrived == Ecn::Ce),
            octets: [0; 3],
            last: arrived,
            marks_since_ack: 0,
            handshake: None,
            least_counters: 0,
            peer_sends_option: false,
            option_is_lost: false,
            dsack_with_option: None,
        }
    }

    /// Schedules the report of the SYN-ACK's ECN field. The next segment carries the report.
    pub fn answer_handshake(&mut self, arrived: Ecn) {
        self.syn_arrived_as = arrived;
        self.handshake = Some(handshake_ace(arrived));
    }

    /// Counts an arriving segment with `len` bytes of data. Returns true if data must be acknowledged at once: the ECN
    /// field changed, or the 3-bit packet count could wrap.
    pub fn take(&mut self, ecn: Ecn, len: u32) -> bool {
        if ecn == Ecn::Ce {
            self.packets += 1;
            self.marks_since_ack += 1;
        }
        if let Some(place) = place_of(ecn).filter(|_| len > 0) {
            self.octets[place] = self.octets[place].wrapping_add(len);
            // The option carries the counters in the order ECT(1), CE, ECT(0).
            self.least_counters = self.least_counters.max([3, 1, 2][place]);
        }
        let changed = std::mem::replace(&mut self.last, ecn) != ecn;
        changed || self.marks_since_ack >= MARKS_PER_ACK
    }

    /// Returns the ACE bits of the next segment.
    pub fn flags(&mut self) -> Flags {
        self.marks_since_ack = 0;
        let count = FIRST_COUNT.wrapping_add(self.packets as u8);
        flags_of(self.handshake.take().unwrap_or(count))
    }

    /// Number of marked packets so far.
    pub fn packets(&self) -> u64 {
        self.packets
    }

    /// Fits the option into `room` bytes of header space, next to `sack_blocks` SACK blocks. Returns `None` if the
    /// segment carries no option.
    ///
    /// The option carries at least the changed counters. If they do not fit, SACK blocks are omitted until two blocks
    /// are left (Linux's tcp_options_fit_accecn).
    pub fn fit_option(&self, mut room: u32, mut sack_blocks: usize) -> Option<OptionFit> {
        if !self.peer_sends_option || self.option_is_lost {
            return None;
        }
        let least = self.least_counters.max(1);
        loop {
            let fitting = (least..=3).rev().find(|counters| AccEcnOption::padded_len_of(*counters) <= room);
            if let Some(counters) = fitting {
                return Some(OptionFit { counters, sack_blocks });
            }
            if sack_blocks <= 2 || self.least_counters == 0 {
                return None;
            }
            sack_blocks -= 1;
            room += 8;
        }
    }

    /// Returns the option with the first `counters` counters. The order is that of Linux: ECT(1), CE, ECT(0).
    pub fn option(&mut self, counters: u32) -> AccEcnOption {
        self.least_counters = 0;
        option_of(self.octets, counters)
    }

    /// Records that a segment was sent, with or without the option. `dsack` is the start of the segment's DSACK block.
    pub fn note_sent(&mut self, with_option: bool, dsack: Option<u64>) {
        self.dsack_with_option = dsack.filter(|_| with_option);
    }

    /// Records that data at `start` arrived again. If the last ACK reported this duplicate and carried the option, the
    /// path probably drops ACKs with the option, so this end stops sending the option (Linux's
    /// tcp_rcv_spurious_retrans).
    pub fn note_duplicate(&mut self, start: i64) {
        self.option_is_lost |= self.dsack_with_option.is_some_and(|dsack| dsack as i64 == start);
    }
}

fn option_of(octets: Octets, counters: u32) -> AccEcnOption {
    let on_wire = |place: usize| octets[place].wrapping_add(FIRST_OCTETS[place]);
    let all = [on_wire(ECT1), on_wire(CE), on_wire(ECT0)];
    AccEcnOption::new(AccEcnOrder::Ect1First, &all[..counters as usize])
}

/// Returns the option of a SYN-ACK, which is sent before any data has arrived.
pub(crate) fn first_option() -> AccEcnOption {
    option_of([0; 3], 3)
}

/// The peer's counters in an arriving segment.
#[derive(Clone, Copy, Debug)]
pub(crate) struct AceFeedback<'a> {
    packets: u8,
    option: Option<&'a AccEcnOption>,
    /// True if the segment has a newer timestamp than all segments before it.
    pub newer: bool,
}

impl<'a> AceFeedback<'a> {
    pub fn of(header: &'a TcpHeader, newer: bool) -> AceFeedback<'a> {
        AceFeedback { packets: ace_of(header.flags), option: header.options.accurate_ecn(), newer }
    }

    /// True if the packet count is zero: a middlebox has probably cleared the field (section 3.2.2.4).
    pub fn is_zeroed(&self) -> bool {
        self.packets == 0 && self.option.and_then(AccEcnOption::ce).unwrap_or(0) == 0
    }
}

/// The data that an ACK delivered. The interpretation of the ACK's counters depends on the amount of this data.
#[derive(Clone, Copy, Debug)]
pub(crate) struct NewlyDelivered {
    /// Newly delivered bytes.
    pub octets: u64,
    /// Payload of a full segment, in bytes.
    pub mss: u64,
    /// True if `octets` is exact: with SACK, or while no loss is being repaired.
    pub exact: bool,
}

/// The peer's reports about the packets that this end sent.
#[derive(Debug, Default)]
pub(crate) struct AccEcnSender {
    /// Number of packets that the peer has reported as marked.
    packets: u64,
    /// Bytes by codepoint, as reported by the option or estimated from delivered bytes.
    octets: Octets,
    /// The only codepoint whose byte count grew in the last option. If an ACK carries no option, its delivered bytes
    /// are added to the count of this codepoint.
    growing: Option<usize>,
    /// Mean number of segments per ACK, in units of 1/64; 0 before the first ACK.
    acked: u64,
    /// True if the field is assumed not to have wrapped while ACKs are thinned.
    expects_thinning: bool,
}

impl AccEcnSender {
    /// Creates the sender's counters. `marked` is the number of marked packets in the handshake.
    pub fn new(marked: u64, expects_thinning: bool) -> AccEcnSender {
        AccEcnSender { packets: marked, expects_thinning, ..AccEcnSender::default() }
    }

    /// Number of packets that the peer has reported as marked.
    pub fn packets(&self) -> u64 {
        self.packets
    }

    /// Bytes by codepoint, modulo 2^32: ECT(0), ECT(1), CE.
    pub fn octets(&self) -> [u32; 3] {
        self.octets
    }

    /// Returns the number of packets that an ACK newly reports as marked. The caller ignores ACKs that may be old.
    pub fn newly_marked(&mut self, counts: AceFeedback<'_>, delivery: NewlyDelivered) -> u64 {
        let marked_before = self.octets[CE];
        let octets_are_known = self.take_option(counts.option, delivery.octets);
        let segments = delivery.octets.div_ceil(delivery.mss);
        self.note_segments(segments);
        let count = counts.packets.wrapping_sub(FIRST_COUNT).wrapping_sub(self.packets as u8) & 7;
        let marked_octets = u64::from(self.octets[CE].wrapping_sub(marked_before));
        let marked = self.resolve(u64::from(count), segments, octets_are_known.then_some(marked_octets), delivery);
        self.packets += marked;
        marked
    }

    /// Stores the peer's byte counts. Returns true if the byte counts show unambiguously which codepoint the newly
    /// delivered bytes had.
    fn take_option(&mut self, option: Option<&AccEcnOption>, delivered: u64) -> bool {
        let expected = self.growing;
        let Some(option) = option else {
            if let Some(place) = expected {
                self.octets[place] = self.octets[place].wrapping_add(delivered as u32);
            }
            return expected.is_some();
        };
        let (mut grown, mut clear) = (None, true);
        for (place, counter) in [(ECT0, option.ect0()), (ECT1, option.ect1()), (CE, option.ce())] {
            let Some(counter) = counter else { continue };
            let difference = counter.wrapping_sub(FIRST_OCTETS[place]).wrapping_sub(self.octets[place]);
            // Counters have 24 bits. A negative difference corrects an estimate that was too high.
            let difference = (difference << 8) as i32 >> 8;
            self.octets[place] = self.octets[place].wrapping_add_signed(difference);
            clear &= difference >= 0;
            if difference != 0 && expected != Some(place) {
                clear &= grown.is_none();
                grown = Some(place);
            }
        }
        self.growing = if clear { grown.or(expected) } else { None };
        clear && expected.is_some()
    }

    fn note_segments(&mut self, segments: u64) {
        if segments > 0 {
            let old = if self.acked == 0 { segments << ACK_SHIFT } else { self.acked };
            let sum = (old << ACK_SHIFT) - old + (segments << ACK_SHIFT);
            self.acked = (sum >> ACK_SHIFT).min(u64::from(u16::MAX));
        }
    }

    /// Returns the number of newly marked packets from the 3-bit field's increase (RFC 9768, appendix A.2).
    /// `marked_octets` is the increase of CE's byte count.
    fn resolve(&self, count: u64, segments: u64, marked_octets: Option<u64>, delivery: NewlyDelivered) -> u64 {
        if segments <= MOST_UNAMBIGUOUS {
            return count;
        }
        // The largest number of marks that this ACK can report.
        let most = segments - ((segments - count) & 7);
        let Some(marked) = marked_octets else {
            let thinned = self.expects_thinning && self.acked > THINNED_ACK << ACK_SHIFT;
            return if thinned { count } else { most };
        };
        if marked == 0 {
            return count;
        }
        if segments > 2 * MOST_UNAMBIGUOUS + 1 && delivery.exact {
            if delivery.octets <= marked {
                return most;
            }
            let estimate = (marked * segments).div_ceil(delivery.octets);
            return most.min(count + (estimate & !7));
        }
        if marked > count * delivery.mss { most } else { count }
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    const MSS: u64 = 1000;

    fn feedback(packets: u8, option: Option<&AccEcnOption>) -> AceFeedback<'_> {
        AceFeedback { packets, option, newer: true }
    }

    fn delivery(segments: u64) -> NewlyDelivered {
        NewlyDelivered { octets: segments * MSS, mss: MSS, exact: true }
    }

    /// An option that reports `ect0` bytes with ECT(0) and `ce` bytes with CE.
    fn reported(ect0: u64, ce: u64) -> AccEcnOption {
        option_of([(ect0 * MSS) as u32, 0, (ce * MSS) as u32], 3)
    }

    #[test]
    fn the_field_counts_marks_and_the_largest_count_is_assumed_if_it_may_have_wrapped() {
        let mut sender = AccEcnSender::default();
        assert_eq!(sender.newly_marked(feedback(5, None), delivery(2)), 0);
        assert_eq!(sender.newly_marked(feedback(7, None), delivery(2)), 2);
        assert_eq!(sender.newly_marked(feedback(0, None), delivery(2)), 1);
        // One ACK covers 20 segments, and the 3-bit count advances by 2, so 2, 10 or 18 packets were marked.
        assert_eq!(sender.newly_marked(feedback(2, None), delivery(20)), 18);
        assert_eq!(sender.packets(), 21);
    }

    #[test]
    fn ack_thinning_is_not_taken_for_a_wrap() {
        // Linux 7.0: if ACKs cover more than four segments on average, the field is assumed not to have wrapped.
        let mut sender = AccEcnSender::new(0, true);
        assert_eq!(sender.newly_marked(feedback(5, None), delivery(10)), 0);
        assert_eq!(sender.newly_marked(feedback(6, None), delivery(10)), 1);
        let mut older = AccEcnSender::new(0, false);
        assert_eq!(older.newly_marked(feedback(5, None), delivery(10)), 8);
        // An ACK per segment reduces the mean below the threshold again.
        for _ in 0..100 {
            assert_eq!(sender.newly_marked(feedback(6, None), delivery(1)), 0);
        }
        assert_eq!(sender.newly_marked(feedback(6, None), delivery(10)), 8);
    }

    #[test]
    fn an_option_decides_whether_the_field_wrapped() {
        // The second ACK covers 10 segments; its option reports the number of marked bytes.
        for (marked, field, packets) in [(0, 5, 0), (1, 6, 1), (8, 5, 8), (10, 7, 10)] {
            let mut sender = AccEcnSender::default();
            assert_eq!(sender.newly_marked(feedback(5, Some(&reported(1, 0))), delivery(1)), 0);
            let option = reported(11 - marked, marked);
            let ack = feedback(field, Some(&option));
            // One ACK may increase the byte counts of both codepoints.
            assert_eq!(sender.newly_marked(ack, delivery(10)), packets, "{marked} segments marked");
        }
        // If an ACK covers 16 or more segments, the number of marks is computed from the share of marked bytes.
        let mut sender = AccEcnSender::default();
        sender.newly_marked(feedback(5, Some(&reported(1, 0))), delivery(1));
        assert_eq!(sender.newly_marked(feedback(6, Some(&reported(12, 9))), delivery(20)), 9);
    }

    #[test]
    fn an_ack_without_option_continues_the_codepoint_that_grew() {
        let mut sender = AccEcnSender::default();
        sender.newly_marked(feedback(5, Some(&reported(1, 0))), delivery(1));
        assert_eq!(sender.newly_marked(feedback(5, None), delivery(10)), 0, "no byte is assumed to be marked");
        assert_eq!(sender.octets(), [11_000, 0, 0]);
        // The next option corrects the estimate.
        sender.newly_marked(feedback(6, Some(&reported(10, 1))), delivery(1));
        assert_eq!(sender.octets(), [10_000, 0, 1000]);
    }

    #[test]
    fn counters_wrap() {
        let mut received = AccEcnReceiver::new(Ecn::NotEct);
        for _ in 0..20_000 {
            received.take(Ecn::Ce, 1448);
        }
        let option = received.option(2);
        assert_eq!(option.ce(), Some(20_000 * 1448 % (1 << 24)));
        assert_eq!(ace_of(received.flags()), ((5 + 20_000) % 8) as u8);
        let mut sender = AccEcnSender { octets: [0, 0, 20_000 * 1448 - 1000], packets: 19_999, ..Default::default() };
        assert_eq!(sender.newly_marked(feedback(5, Some(&option)), delivery(1)), 1);
        assert_eq!(sender.octets()[CE], 20_000 * 1448);
    }

    #[test]
    fn the_option_contains_all_counters_or_the_changed_ones() {
        let mut received = AccEcnReceiver::new(Ecn::NotEct);
        assert_eq!(received.fit_option(40, 0), None, "the peer has sent no option");
        received.peer_sends_option = true;
        let fit = |counters, sack_blocks| Some(OptionFit { counters, sack_blocks });
        assert_eq!(received.fit_option(12, 0), fit(3, 0));
        assert_eq!(received.fit_option(8, 3), fit(2, 3));
        assert_eq!(received.fit_option(4, 3), None, "nothing has changed");
        received.take(Ecn::Ect1, 100);
        received.take(Ecn::Ce, 100);
        assert_eq!(received.fit_option(0, 3), fit(2, 2), "one SACK block is omitted");
        received.take(Ecn::Ect0, 100);
        assert_eq!(received.fit_option(0, 3), None, "two SACK blocks stay");
        let all = received.option(3);
        assert_eq!((all.order, all.counters()), (AccEcnOrder::Ect1First, &[101, 100, 101][..]));
        received.take(Ecn::NotEct, 10);
        received.take(Ecn::Ce, 0);
        assert_eq!(received.fit_option(4, 0), None, "only bytes of data with a codepoint are counted");
    }

    #[test]
    fn a_changed_codepoint_and_every_sixth_mark_are_acknowledged_at_once() {
        let mut received = AccEcnReceiver::new(Ecn::NotEct);
        assert!(received.take(Ecn::Ect0, 1000));
        assert!(!received.take(Ecn::Ect0, 1000));
        assert!(received.take(Ecn::Ce, 1000), "the first mark");
        received.flags();
        let marks = (0..6).map(|_| received.take(Ecn::Ce, 1000)).collect::<Vec<_>>();
        assert_eq!(marks, [false, false, false, false, false, true]);
        received.flags();
        assert!(received.take(Ecn::Ect0, 0), "the end of the marks");
    }

    #[test]
    fn lost_acks_with_the_option_end_its_use() {
        let mut received = AccEcnReceiver::new(Ecn::NotEct);
        received.peer_sends_option = true;
        received.note_duplicate(0);
        received.note_sent(true, Some(0));
        received.note_duplicate(1000);
        assert!(received.fit_option(12, 0).is_some());
        received.note_sent(false, Some(0));
        received.note_duplicate(0);
        assert!(received.fit_option(12, 0).is_some(), "the last ACK had no option");
        received.note_sent(true, Some(0));
        received.note_duplicate(0);
        assert_eq!(received.fit_option(12, 0), None);
    }
}
