//! The unacknowledged data of one direction at the point of capture, and the RTT samples from its ACKs.

use lopsided_core::{Duration, Seq, Time};
use std::collections::VecDeque;

/// The segment after a lost segment shows the delay at the loss only if it was sent soon after the lost segment: within
/// this share of its own RTT.
const SOON: f64 = 0.25;

/// A segment that passed the point of capture and has not been acknowledged.
#[derive(Clone, Copy, Debug)]
pub struct Sent {
    /// First sequence number.
    pub start: Seq,
    /// Sequence number after the last byte.
    pub end: Seq,
    /// Capture time of the first copy.
    pub at: Time,
    /// Time at which the ACK that released the first copy passed the point of capture.
    pub released_at: Time,
    /// Capture time of the latest retransmission; `None` if the segment was not retransmitted.
    pub again_at: Option<Time>,
    /// True if a SACK block covered the segment.
    pub sacked: bool,
}

impl Sent {
    fn len(&self) -> u32 {
        self.end.since(self.start)
    }
}

/// The data that a SACK block reports as received, and that no earlier SACK block reported.
#[derive(Clone, Copy, Debug, Default, PartialEq)]
pub struct Sacked {
    /// Number of bytes that no earlier SACK block reported.
    pub bytes: u32,
    /// RTT of the newest segment that no earlier block reported; `None` if the segment was retransmitted.
    pub rtt: Option<Duration>,
    /// RTT of the whole path, by the same rule.
    pub whole_rtt: Option<Duration>,
    /// RTT of the block's newest segment, which shows the queue at the loss; `None` unless the block reveals a new
    /// hole.
    pub after_loss: Option<Duration>,
}

/// The data that an ACK acknowledges for the first time.
#[derive(Clone, Copy, Debug, Default, PartialEq)]
pub struct Covered {
    /// Bytes that the ACK newly acknowledges.
    pub bytes: u32,
    /// The part of `bytes` that no earlier SACK block reported.
    pub delivered: u32,
    /// Time from the newest acknowledged segment to the ACK. `None` if the segment was reported by SACK before, if the
    /// ACK ends inside a segment, or after a retransmission (Karn's algorithm, RFC 6298, section 3).
    pub rtt: Option<Duration>,
    /// RTT of the whole path: the time from the release of the newest acknowledged segment to the ACK. `None` if `rtt`
    /// is `None`.
    pub whole_rtt: Option<Duration>,
    /// Capture time of the newest acknowledged segment.
    pub newest_at: Option<Time>,
}

/// The unacknowledged segments of one direction, ordered by sequence number.
///
/// # Examples
///
/// ```
/// use lopsided_capture::Flight;
/// use lopsided_core::{Duration, Seq, Time};
///
/// let mut flight = Flight::new(Seq::new(1));
/// flight.sent(Time::from_nanos(0), Seq::new(1), Seq::new(1449));
/// let covered = flight.acked_to(Time::from_nanos(20_000_000), Seq::new(1449)).unwrap();
/// assert_eq!(covered.rtt, Some(Duration::from_millis(20)));
/// ```
#[derive(Clone, Debug)]
pub struct Flight {
    held: VecDeque<Sent>,
    next: Seq,
    acked: Seq,
    /// Sequence number after the highest byte that any SACK block covers.
    sacked_to: Option<Seq>,
    /// Bytes above `acked` that SACK blocks cover.
    sacked_bytes: u32,
}

impl Flight {
    /// Creates an empty flight; `start` is the first sequence number of data.
    pub fn new(start: Seq) -> Flight {
        Flight { held: VecDeque::new(), next: start, acked: start, sacked_to: None, sacked_bytes: 0 }
    }

    /// Returns the sequence number after the highest byte that passed the point of capture.
    pub fn next(&self) -> Seq {
        self.next
    }

    /// Returns the highest acknowledgement number.
    pub fn acked(&self) -> Seq {
        self.acked
    }

    /// Returns the number of bytes that passed the point of capture and have not been acknowledged.
    pub fn outstanding(&self) -> u32 {
        self.next.since(self.acked)
    }

    /// Returns the number of bytes above [`Flight::acked`] that SACK blocks report as received.
    pub fn sacked_bytes(&self) -> u32 {
        self.sacked_bytes
    }

    /// Returns the first unacknowledged segment.
    pub fn first(&self) -> Option<&Sent> {
        self.held.front()
    }

    /// Frees the memory of the segments.
    pub fn clear(&mut self) {
        self.held = VecDeque::new();
    }

    /// Records a segment. Returns `None` for new data. For retransmitted data, returns the earlier state of the data.
    pub fn sent(&mut self, at: Time, start: Seq, end: Seq) -> Option<Again> {
        self.record(at, at, start, end)
    }

    /// Like [`Flight::sent`]. `released_at` is the time at which the ACK that released the segment passed the point of
    /// capture.
    pub(crate) fn record(&mut self, at: Time, released_at: Time, start: Seq, end: Seq) -> Option<Again> {
        if !start.before(self.next) {
            self.held.push_back(Sent { start, end, at, released_at, again_at: None, sacked: false });
            self.next = end;
            return None;
        }
        let mut again = Again { first_at: None, sacked: false, acked: end.at_or_before(self.acked) };
        // A retransmission can have other boundaries than the first copies, so visit every segment that overlaps it.
        let from = self.held.partition_point(|held| held.end.at_or_before(start));
        for held in self.held.iter_mut().skip(from).take_while(|held| held.start.before(end)) {
            again.first_at.get_or_insert(held.at);
            again.sacked |= held.sacked;
            held.again_at = Some(at);
        }
        self.next = self.next.later_of(end);
        Some(again)
    }

    /// Records an ACK. Returns `None` if the ACK acknowledges no new data.
    pub fn acked_to(&mut self, at: Time, ack: Seq) -> Option<Covered> {
        // A FIN occupies a sequence number that is not a byte of data.
        let ack = ack.earlier_of(self.next);
        if !ack.after(self.acked) {
            return None;
        }
        let mut covered = Covered { bytes: ack.since(self.acked), ..Covered::default() };
        self.acked = ack;
        let count = self.held.partition_point(|segment| segment.end.at_or_before(ack));
        let again = self.held.range(..count).any(|segment| segment.again_at.is_some());
        let sacked: u32 = self.held.range(..count).filter(|segment| segment.sacked).map(Sent::len).sum();
        covered.delivered = covered.bytes.saturating_sub(sacked);
        self.sacked_bytes = self.sacked_bytes.saturating_sub(sacked);
        // If an ACK ends inside a record (TSO, GRO), a packet of this record caused the ACK, and no older packet.
        let is_part = self.held.get(count).is_some_and(|segment| segment.start.before(ack));
        if let Some(newest) = self.held.drain(..count).next_back() {
            covered.newest_at = Some(newest.at);
            // If a SACK block had covered the newest segment, the segment arrived earlier. This ACK then only reports
            // that the hole below the segment is filled.
            let is_sample = !again && !newest.sacked && !is_part;
            covered.rtt = is_sample.then(|| at.saturating_since(newest.at));
            covered.whole_rtt = is_sample.then(|| at.saturating_since(newest.released_at));
        }
        Some(covered)
    }

    /// Records a SACK block. Returns `None` if the block is a DSACK, malformed or not new.
    pub fn sacked(&mut self, at: Time, start: Seq, end: Seq) -> Option<Sacked> {
        if !start.before(end) || !self.acked.before(start) || end.after(self.next) {
            return None;
        }
        // Only a block above all earlier blocks reveals a new hole.
        let above = self.sacked_to.is_none_or(|to| start.after(to) || !to.after(self.acked));
        self.sacked_to = Some(self.sacked_to.map_or(end, |to| to.later_of(end)));
        let from = self.held.partition_point(|held| held.start.before(start));
        let before = from.checked_sub(1).map(|place| self.held[place]).filter(|held| !held.sacked);
        let mut newest = None;
        let mut bytes = 0;
        for held in self.held.iter_mut().skip(from).take_while(|held| held.end.at_or_before(end)) {
            if !held.sacked {
                held.sacked = true;
                newest = Some((held.at, held.released_at, held.again_at));
                bytes += held.len();
            }
        }
        self.sacked_bytes += bytes;
        newest.map(|(sent, released, again)| {
            let rtt = at.saturating_since(sent);
            let whole_rtt = again.is_none().then(|| at.saturating_since(released));
            // If the end of a burst was lost, the next segment was sent much later, after the queue had drained.
            let soon = |lost: Sent| sent.saturating_since(lost.at).as_nanos() as f64 <= SOON * rtt.as_nanos() as f64;
            let shows_queue = above && again.is_none() && before.is_some_and(soon);
            Sacked { bytes, rtt: again.is_none().then_some(rtt), whole_rtt, after_loss: shows_queue.then_some(rtt) }
        })
    }

    /// Returns true if a SACK block reports data above the highest acknowledgement number.
    pub fn has_hole(&self) -> bool {
        self.sacked_to.is_some_and(|to| to.after(self.acked))
    }
}

/// State of the data when it was retransmitted.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct Again {
    /// Capture time of the first copy; `None` if the capture lacks the first copy or the data was already acknowledged.
    pub first_at: Option<Time>,
    /// True if a SACK block had covered a part of the data.
    pub sacked: bool,
    /// True if all of the data had been acknowledged.
    pub acked: bool,
}

#[cfg(test)]
mod tests {
    use super::*;

    fn at(ms: u64) -> Time {
        Time::from_nanos(ms * 1_000_000)
    }

    #[test]
    fn an_ack_samples_the_rtt_of_the_newest_covered_segment_unless_one_was_retransmitted() {
        // Let the sequence numbers wrap at 32 bits in the middle of the segments.
        let first = Seq::new(u32::MAX - 50);
        let mut flight = Flight::new(first);
        let sent = |flight: &mut Flight, number: u32, ms| {
            flight.sent(at(ms), first + 100 * number, first + 100 * (number + 1));
        };
        let rtt = |flight: &mut Flight, octets| flight.acked_to(at(10), first + octets).and_then(|covered| covered.rtt);
        sent(&mut flight, 0, 1);
        sent(&mut flight, 1, 2);
        assert_eq!(rtt(&mut flight, 0), None);
        assert_eq!(rtt(&mut flight, 200), Some(Duration::from_millis(8)));
        assert_eq!(rtt(&mut flight, 200), None);
        sent(&mut flight, 2, 3);
        sent(&mut flight, 3, 4);
        sent(&mut flight, 2, 5);
        sent(&mut flight, 4, 6);
        assert_eq!(rtt(&mut flight, 400), None);
        assert_eq!(rtt(&mut flight, 500), Some(Duration::from_millis(4)));
        // An ACK inside a segment belongs to a part of that segment.
        sent(&mut flight, 5, 7);
        sent(&mut flight, 6, 8);
        assert_eq!(rtt(&mut flight, 650), None);
        assert_eq!(rtt(&mut flight, 700), Some(Duration::from_millis(2)));
    }

    #[test]
    fn the_rtt_of_the_whole_path_begins_at_the_ack_that_released_the_segment() {
        let seq = |number: u32| Seq::new(100 * number);
        let mut flight = Flight::new(seq(0));
        flight.record(at(10), at(4), seq(0), seq(1));
        flight.record(at(11), at(6), seq(1), seq(2));
        let covered = flight.acked_to(at(30), seq(1)).expect("this ACK is new");
        assert_eq!(
            (covered.rtt, covered.whole_rtt),
            (Some(Duration::from_millis(20)), Some(Duration::from_millis(26)))
        );
        flight.record(at(12), at(8), seq(2), seq(3));
        let sacked = flight.sacked(at(32), seq(2), seq(3)).expect("this SACK block is new");
        assert_eq!((sacked.rtt, sacked.whole_rtt), (Some(Duration::from_millis(20)), Some(Duration::from_millis(24))));
    }

    #[test]
    fn a_sack_block_samples_the_queue_at_a_loss_only_if_its_segment_was_sent_soon_after_the_lost_segment() {
        let seq = |number: u32| Seq::new(100 * number);
        let after_loss = |pause: u64| {
            let mut flight = Flight::new(seq(0));
            flight.sent(at(0), seq(0), seq(1));
            flight.sent(at(pause), seq(1), seq(2));
            flight.sacked(at(pause + 40), seq(1), seq(2)).expect("this SACK block is new").after_loss
        };
        assert_eq!(after_loss(2), Some(Duration::from_millis(40)));
        assert_eq!(after_loss(30), None);
    }
}
