//! The data of one direction that passed the point of capture and is not yet acknowledged, and the round trips that
//! its acknowledgements time.

use lopsided_core::{Duration, Seq, Time};
use std::collections::VecDeque;

/// A segment that is not yet acknowledged.
#[derive(Clone, Copy, Debug)]
pub struct Sent {
    /// Its first sequence number.
    pub start: Seq,
    /// One past its last.
    pub end: Seq,
    /// When it passed first.
    pub at: Time,
    /// When it passed last, if it passed more than once.
    pub again_at: Option<Time>,
    /// A SACK block covered it.
    pub sacked: bool,
}

impl Sent {
    fn len(&self) -> u32 {
        self.end.since(self.start)
    }
}

/// The data that a SACK block covered for the first time.
#[derive(Clone, Copy, Debug, Default, PartialEq)]
pub struct Sacked {
    /// Octets.
    pub bytes: u32,
    /// The round trip of the newest segment, if the block shows a hole that none showed before: the segment followed a
    /// lost one, and waited as long as the lost one would have.
    pub after_loss: Option<Duration>,
}

/// The data that an acknowledgement covered when it advanced.
#[derive(Clone, Copy, Debug, Default, PartialEq)]
pub struct Covered {
    /// Octets that it acknowledges for the first time.
    pub bytes: u32,
    /// Those of them that no SACK block had covered before.
    pub delivered: u32,
    /// From the passing of the newest segment that it covers to the acknowledgement. `None` if it covers a segment that
    /// passed more than once, because it is unknown which of the two it answers (Karn's rule, RFC 6298, section 3), or if
    /// a SACK block had covered the newest segment.
    pub rtt: Option<Duration>,
    /// When the newest segment that it covers passed.
    pub newest_at: Option<Time>,
}

/// The segments of one direction that are not yet acknowledged, in order of sequence.
#[derive(Clone, Debug)]
pub struct Flight {
    held: VecDeque<Sent>,
    next: Seq,
    acked: Seq,
    /// One past the highest sequence number that a SACK block covered.
    sacked_to: Option<Seq>,
}

impl Flight {
    /// Nothing was sent before this sequence number.
    pub fn new(start: Seq) -> Flight {
        Flight { held: VecDeque::new(), next: start, acked: start, sacked_to: None }
    }

    /// One past the highest octet that passed.
    pub fn next(&self) -> Seq {
        self.next
    }

    /// The highest acknowledgement.
    pub fn acked(&self) -> Seq {
        self.acked
    }

    /// Octets from the highest acknowledgement to the highest octet that passed.
    pub fn outstanding(&self) -> u32 {
        self.next.since(self.acked)
    }

    /// The first segment that is not acknowledged.
    pub fn first(&self) -> Option<&Sent> {
        self.held.front()
    }

    /// Frees the memory of the segments.
    pub fn clear(&mut self) {
        self.held = VecDeque::new();
    }

    /// Records a segment that passes. Returns what passed before of it, if it begins before the highest octet.
    pub fn sent(&mut self, at: Time, start: Seq, end: Seq) -> Option<Again> {
        if !start.before(self.next) {
            self.held.push_back(Sent { start, end, at, again_at: None, sacked: false });
            self.next = end;
            return None;
        }
        let mut again = Again { first_at: None, sacked: false, acked: end.at_or_before(self.acked) };
        let from = self.held.partition_point(|held| held.end.at_or_before(start));
        for held in self.held.iter_mut().skip(from).take_while(|held| held.start.before(end)) {
            again.first_at.get_or_insert(held.at);
            again.sacked |= held.sacked;
            held.again_at = Some(at);
        }
        self.next = self.next.later_of(end);
        Some(again)
    }

    /// Records an acknowledgement. `None` if it does not advance.
    pub fn acked_to(&mut self, at: Time, ack: Seq) -> Option<Covered> {
        // A FIN takes a number of its own, which is not an octet of data.
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
        if let Some(newest) = self.held.drain(..count).next_back() {
            covered.newest_at = Some(newest.at);
            // A segment that SACK had covered arrived earlier: the hole below it was filled, not the segment timed.
            covered.rtt = (!again && !newest.sacked).then(|| at.saturating_since(newest.at));
        }
        Some(covered)
    }

    /// Records a SACK block above the acknowledgement. `None` if it covers no segment for the first time.
    pub fn sacked(&mut self, at: Time, start: Seq, end: Seq) -> Option<Sacked> {
        if !start.before(end) || !self.acked.before(start) || end.after(self.next) {
            return None;
        }
        let above = self.sacked_to.is_none_or(|to| start.after(to) || !to.after(self.acked));
        self.sacked_to = Some(self.sacked_to.map_or(end, |to| to.later_of(end)));
        let from = self.held.partition_point(|held| held.start.before(start));
        let lost = from > 0 && !self.held[from - 1].sacked;
        let mut newest = None;
        let mut bytes = 0;
        for held in self.held.iter_mut().skip(from).take_while(|held| held.end.at_or_before(end)) {
            if !held.sacked {
                held.sacked = true;
                newest = Some((held.at, held.again_at));
                bytes += held.len();
            }
        }
        newest.map(|(sent, again)| Sacked {
            bytes,
            after_loss: (above && lost && again.is_none()).then(|| at.saturating_since(sent)),
        })
    }

    /// True if a SACK block above the highest acknowledgement shows a hole.
    pub fn has_hole(&self) -> bool {
        self.sacked_to.is_some_and(|to| to.after(self.acked))
    }
}

/// The state of a segment that passed before.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct Again {
    /// When it passed first, if it is not yet acknowledged.
    pub first_at: Option<Time>,
    /// A SACK block had covered it already.
    pub sacked: bool,
    /// It had been acknowledged already.
    pub acked: bool,
}

#[cfg(test)]
mod tests {
    use super::*;

    fn at(ms: u64) -> Time {
        Time::from_nanos(ms * 1_000_000)
    }

    #[test]
    fn an_ack_times_the_newest_segment_that_it_covers_unless_one_passed_twice() {
        // Across the end of the sequence numbers.
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
    }
}
