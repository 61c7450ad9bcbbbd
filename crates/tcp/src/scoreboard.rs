//! What was sent and not yet acknowledged: one record a segment, with what SACK, loss detection and retransmission made of it.
//!
//! Records lie in sequence order in a ring, so that the oldest go and the newest come in constant time. SACKed runs are kept as intervals:
//! a block that repeats what is known costs one look-up, and walks step over a run as a whole, so the cost of an ACK does not
//! grow with the window.

use crate::cc::Lost;
use lopsided_core::{Bytes, Time};
use std::collections::VecDeque;

/// One transmitted segment, `[start, end)` in stream offsets.
#[derive(Debug, Clone, Copy)]
pub(crate) struct Sent {
    pub start: u64,
    pub end: u64,
    /// Of the latest transmission.
    pub sent_at: Time,
    /// For the delivery rate: octets delivered, and when, as the segment was last sent; and when the first of that flight was sent.
    pub delivered: u64,
    pub delivered_at: Time,
    pub first_sent_at: Time,
    /// Octets in flight as it was last sent, its own included; and all octets ever marked lost by then, which wraps.
    pub in_flight: u32,
    pub lost: u32,
    pub app_limited: bool,
    state: u8,
}

const SACKED: u8 = 1;
const LOST: u8 = 2;
/// A retransmission is in the network.
const RETRANS: u8 = 4;
/// It was sent more than once.
const EVER_RETRANS: u8 = 8;

impl Sent {
    pub fn len(&self) -> u64 {
        self.end - self.start
    }

    pub fn is_sacked(&self) -> bool {
        self.state & SACKED != 0
    }

    pub fn is_lost(&self) -> bool {
        self.state & LOST != 0
    }

    /// Lost and not sent again yet.
    fn is_waiting(&self) -> bool {
        self.state & (LOST | RETRANS) == LOST
    }

    pub fn is_retransmitted(&self) -> bool {
        self.state & RETRANS != 0
    }

    pub fn was_ever_retransmitted(&self) -> bool {
        self.state & EVER_RETRANS != 0
    }
}

/// A run of SACKed segments: offsets `[start, end)` are records `first..next`.
#[derive(Debug, Clone, Copy)]
struct Run {
    start: u64,
    end: u64,
    first: u64,
    next: u64,
}

/// The send side's records. Segments are addressed by a number that never repeats.
#[derive(Debug, Default)]
pub(crate) struct Scoreboard {
    ring: VecDeque<Sent>,
    /// The number of the ring's first record.
    base: u64,
    runs: Vec<Run>,
    sacked_bytes: u64,
    sacked_segments: u32,
    lost_bytes: u64,
    lost_segments: u32,
    /// Of these, waiting to be sent again.
    waiting_segments: u32,
    /// Octets ever marked lost, again if a retransmission was lost too.
    ever_lost: u64,
    retrans_bytes: u64,
    retrans_segments: u32,
    /// No record before this one is lost and waiting to be sent again.
    next_lost: u64,
    /// No record before this one is an original transmission whose fate is open: all are SACKed, lost or sent again.
    first_open: u64,
    /// Retransmissions that were found lost themselves, ever.
    lost_retransmits: u64,
    /// Retransmissions in the order they were sent; entries that no longer match their record are stale.
    resent: VecDeque<(u64, Time)>,
    /// What was marked lost since it was last asked for, where anyone asks.
    losses: Option<Vec<Lost>>,
}

impl Scoreboard {
    pub fn is_empty(&self) -> bool {
        self.ring.is_empty()
    }

    pub fn segments(&self) -> u32 {
        self.ring.len() as u32
    }

    pub fn sacked_bytes(&self) -> u64 {
        self.sacked_bytes
    }

    pub fn sacked_segments(&self) -> u32 {
        self.sacked_segments
    }

    pub fn lost_bytes(&self) -> u64 {
        self.lost_bytes
    }

    pub fn ever_lost(&self) -> u64 {
        self.ever_lost
    }

    pub fn lost_segments(&self) -> u32 {
        self.lost_segments
    }

    pub fn retrans_bytes(&self) -> u64 {
        self.retrans_bytes
    }

    pub fn retrans_segments(&self) -> u32 {
        self.retrans_segments
    }

    pub fn lost_retransmits(&self) -> u64 {
        self.lost_retransmits
    }

    pub fn first(&self) -> Option<&Sent> {
        self.ring.front()
    }

    pub fn last_number(&self) -> Option<u64> {
        (!self.ring.is_empty()).then(|| self.base + self.ring.len() as u64 - 1)
    }

    pub fn first_number(&self) -> u64 {
        self.base
    }

    pub fn get(&self, number: u64) -> &Sent {
        &self.ring[(number - self.base) as usize]
    }

    fn get_mut(&mut self, number: u64) -> &mut Sent {
        &mut self.ring[(number - self.base) as usize]
    }

    fn next_number(&self) -> u64 {
        self.base + self.ring.len() as u64
    }

    /// The end of the highest SACKed run.
    pub fn highest_sacked(&self) -> Option<u64> {
        self.runs.last().map(|run| run.end)
    }

    pub fn push(&mut self, start: u64, end: u64, now: Time, stamp: RateStamp) {
        self.ring.push_back(Sent {
            start,
            end,
            sent_at: now,
            delivered: stamp.delivered,
            delivered_at: stamp.delivered_at,
            first_sent_at: stamp.first_sent_at,
            in_flight: stamp.in_flight,
            lost: stamp.lost,
            app_limited: stamp.app_limited,
            state: 0,
        });
    }

    /// The first segment, if `una` covers it whole; the counts forget it.
    pub fn pop_acked(&mut self, una: u64) -> Option<Sent> {
        let sent = *self.ring.front()?;
        if sent.end > una {
            return None;
        }
        self.ring.pop_front();
        self.base += 1;
        if sent.state != 0 {
            self.forget_counts(&sent);
            while let Some(run) = self.runs.first_mut() {
                if run.end > una {
                    // A run that begins below the acknowledgement is cut to what is left of it.
                    run.start = run.start.max(una);
                    run.first = run.first.max(self.base);
                    break;
                }
                self.runs.remove(0);
            }
        }
        Some(sent)
    }

    /// An acknowledgement within a segment: what it covers is gone.
    pub fn trim_first(&mut self, una: u64) {
        let Some(sent) = self.ring.front_mut() else { return };
        if una <= sent.start {
            return;
        }
        let cut = una - sent.start;
        sent.start = una;
        let state = sent.state;
        if state & SACKED != 0 {
            self.sacked_bytes -= cut;
            self.runs[0].start = una;
        }
        if state & LOST != 0 {
            self.lost_bytes -= cut;
        }
        if state & RETRANS != 0 {
            self.retrans_bytes -= cut;
        }
    }

    fn forget_counts(&mut self, sent: &Sent) {
        if sent.is_sacked() {
            self.sacked_bytes -= sent.len();
            self.sacked_segments -= 1;
        }
        if sent.is_lost() {
            self.lost_bytes -= sent.len();
            self.lost_segments -= 1;
            self.waiting_segments -= u32::from(sent.is_waiting());
        }
        if sent.is_retransmitted() {
            self.retrans_bytes -= sent.len();
            self.retrans_segments -= 1;
        }
    }

    /// The number of the record that holds `offset`, or that begins behind it.
    fn locate(&self, offset: u64) -> u64 {
        self.base + self.ring.partition_point(|sent| sent.end <= offset) as u64
    }

    /// Marks what `[start, end)` newly covers as SACKed and calls `seen` with each such record as it was. Only whole segments count.
    pub fn sack(&mut self, start: u64, end: u64, mut seen: impl FnMut(&Sent)) {
        // The first run that ends at or behind the start may touch the block.
        let mut at = self.runs.partition_point(|run| run.end < start);
        if let Some(run) = self.runs.get(at)
            && run.start <= start
            && end <= run.end
        {
            return;
        }
        let (mut low, mut low_number) = match self.runs.get(at) {
            Some(run) if run.start <= start => (run.end, run.next),
            _ => {
                let number = self.locate(start);
                if number >= self.next_number() {
                    return;
                }
                // A block that begins inside a segment leaves that segment open.
                if self.get(number).start < start {
                    if number + 1 >= self.next_number() {
                        return;
                    }
                    (self.get(number + 1).start, number + 1)
                } else {
                    (start.max(self.get(number).start), number)
                }
            }
        };
        let mut joined: Option<Run> = match self.runs.get(at) {
            Some(run) if run.start <= start => Some(self.runs.remove(at)),
            _ => None,
        };
        loop {
            let gap_end = self.runs.get(at).map_or(end, |run| run.start.min(end));
            let mut number = low_number;
            while number < self.next_number() && self.get(number).end <= gap_end {
                self.mark_sacked(number, &mut seen);
                number += 1;
            }
            if number > low_number {
                let reach = self.get(number - 1).end;
                match &mut joined {
                    Some(run) => {
                        run.end = reach;
                        run.next = number;
                    }
                    None => joined = Some(Run { start: low, end: reach, first: low_number, next: number }),
                }
            }
            // Go on behind the next run if the block reaches it and the gap is closed.
            match (self.runs.get(at).copied(), &mut joined) {
                (Some(run), Some(whole)) if run.start <= end && whole.end == run.start => {
                    whole.end = run.end;
                    whole.next = run.next;
                    low = run.end;
                    low_number = run.next;
                    self.runs.remove(at);
                    if low >= end {
                        break;
                    }
                }
                // The block began inside the segment before the run.
                (Some(run), None) if run.start <= end && low == run.start => {
                    low = run.end;
                    low_number = run.next;
                    joined = Some(run);
                    self.runs.remove(at);
                }
                _ => break,
            }
        }
        if let Some(run) = joined {
            at = at.min(self.runs.len());
            self.runs.insert(at, run);
        }
    }

    fn mark_sacked(&mut self, number: u64, seen: &mut impl FnMut(&Sent)) {
        let before = *self.get(number);
        debug_assert!(!before.is_sacked());
        seen(&before);
        self.forget_counts(&before);
        self.sacked_bytes += before.len();
        self.sacked_segments += 1;
        let sent = self.get_mut(number);
        sent.state = (before.state & EVER_RETRANS) | SACKED;
    }

    fn mark_lost(&mut self, number: u64) {
        let before = self.ever_lost;
        let sent = self.get_mut(number);
        debug_assert!(!sent.is_sacked());
        let (len, was_waiting) = (sent.len(), sent.is_waiting());
        if sent.state & RETRANS != 0 {
            // The retransmission was lost too.
            sent.state &= !RETRANS;
            self.lost_retransmits += 1;
            self.retrans_bytes -= len;
            self.retrans_segments -= 1;
            self.ever_lost += len;
        }
        let sent = self.get_mut(number);
        if sent.state & LOST == 0 {
            sent.state |= LOST;
            self.lost_bytes += len;
            self.lost_segments += 1;
            self.ever_lost += len;
        }
        self.waiting_segments += u32::from(!was_waiting);
        self.next_lost = self.next_lost.min(number);
        if self.ever_lost > before {
            self.note_loss(number);
        }
    }

    fn note_loss(&mut self, number: u64) {
        let Some(losses) = &mut self.losses else { return };
        let sent = &self.ring[(number - self.base) as usize];
        losses.push(Lost {
            start: sent.start,
            end: sent.end,
            tx_in_flight: Bytes::new(u64::from(sent.in_flight)),
            lost_since_sent: Bytes::new(u64::from((self.ever_lost as u32).wrapping_sub(sent.lost))),
            app_limited: sent.app_limited,
        });
    }

    /// From now on remembers each segment that is marked lost until it is asked for.
    pub fn watch_losses(&mut self) {
        self.losses = Some(Vec::new());
    }

    pub fn take_losses(&mut self) -> Vec<Lost> {
        self.losses.as_mut().map(std::mem::take).unwrap_or_default()
    }

    /// Takes every loss mark back: what was thought lost was not.
    pub fn unmark_lost(&mut self) {
        for number in self.base..self.next_number() {
            let sent = self.get_mut(number);
            sent.state &= !LOST;
        }
        self.lost_bytes = 0;
        self.lost_segments = 0;
        self.waiting_segments = 0;
        self.next_lost = self.next_number();
        self.first_open = self.base;
    }

    /// The first lost segment that was not sent again yet.
    pub fn next_to_resend(&mut self) -> Option<u64> {
        if self.waiting_segments == 0 {
            return None;
        }
        let mut number = self.next_lost.max(self.base);
        let end = self.next_number();
        while number < end {
            let sent = self.get(number);
            if sent.is_sacked() {
                number = self.run_of(number).next;
                continue;
            }
            if sent.is_lost() && !sent.is_retransmitted() {
                self.next_lost = number;
                return Some(number);
            }
            number += 1;
        }
        self.next_lost = end;
        None
    }

    fn run_of(&self, number: u64) -> Run {
        self.runs[self.runs.partition_point(|run| run.next <= number)]
    }

    /// Segment `number` goes out again.
    pub fn resend(&mut self, number: u64, now: Time, stamp: RateStamp) {
        let sent = self.get_mut(number);
        sent.sent_at = now;
        sent.delivered = stamp.delivered;
        sent.delivered_at = stamp.delivered_at;
        sent.first_sent_at = stamp.first_sent_at;
        sent.in_flight = stamp.in_flight;
        sent.lost = stamp.lost;
        sent.app_limited = stamp.app_limited;
        let (len, was_out, was_waiting) = (sent.len(), sent.is_retransmitted(), sent.is_waiting());
        sent.state |= RETRANS | EVER_RETRANS;
        self.waiting_segments -= u32::from(was_waiting);
        if !was_out {
            self.retrans_bytes += len;
            self.retrans_segments += 1;
        }
        self.resent.push_back((number, now));
    }

    /// RACK (RFC 8985 section 6.2 step 5): marks as lost each segment sent before the newest delivered one (`sent_at`, `end`) for which
    /// `wait` gives no time left. Returns the longest wait of the others.
    pub fn mark_lost_by_time(
        &mut self,
        sent_at: Time,
        end: u64,
        wait: impl Fn(Time) -> Option<lopsided_core::Span>,
    ) -> Option<lopsided_core::Span> {
        let before_newest = |sent: &Sent| sent.sent_at < sent_at || (sent.sent_at == sent_at && sent.end < end);
        let mut longest = None;
        // Original transmissions lie in the order they were sent.
        let mut number = self.first_open.max(self.base);
        let mut all_closed = true;
        while number < self.next_number() {
            let sent = *self.get(number);
            if sent.is_sacked() {
                number = self.run_of(number).next;
            } else if sent.was_ever_retransmitted() || sent.is_lost() {
                number += 1;
            } else if !before_newest(&sent) {
                break;
            } else {
                match wait(sent.sent_at) {
                    None => self.mark_lost(number),
                    Some(left) => {
                        all_closed = false;
                        longest = longest.max(Some(left));
                    }
                }
                number += 1;
            }
            if all_closed {
                self.first_open = number;
            }
        }
        // Retransmissions lie in the order they were sent again: the overdue come first, and the last of the others waits longest.
        while let Some(&(number, when)) = self.resent.front() {
            if self.is_latest(number, when) {
                if !before_newest(self.get(number)) || wait(when).is_some() {
                    break;
                }
                self.mark_lost(number);
            }
            self.resent.pop_front();
        }
        let older = self.resent.partition_point(|&(_, when)| when <= sent_at);
        let mut of_older = self.resent.range(..older).rev();
        let last = of_older.find(|&&(number, when)| self.is_latest(number, when) && before_newest(self.get(number)));
        longest.max(last.and_then(|&(_, when)| wait(when)))
    }

    /// The segment's latest transmission was a second or later one, at `when`, and is not known to be lost.
    fn is_latest(&self, number: u64, when: Time) -> bool {
        number >= self.base && self.get(number).is_retransmitted() && self.get(number).sent_at == when
    }

    /// All holes below the highest SACKed octet are lost, except those sent again since.
    pub fn mark_lost_below_highest_sack(&mut self) {
        let Some(last) = self.runs.last().copied() else { return };
        self.mark_holes_before(last.first);
    }

    /// FACK: holes with at least `threshold` segments between them and the highest SACKed one (counted) are lost, and the first `least`
    /// records in any case; none that reaches beyond the offset `upto`, and none sent again since.
    pub fn mark_lost_by_distance(&mut self, threshold: u32, least: u64, upto: u64) {
        let forward = self.runs.last().map_or(0, |run| run.next.saturating_sub(u64::from(threshold)));
        self.mark_holes_before(forward.max(self.base + least).min(self.locate(upto)));
    }

    /// FACK: retransmissions are lost that went out before the highest SACKed segment did. If that was itself sent again, who knows when
    /// which copy went.
    pub fn mark_lost_retransmissions(&mut self) {
        let Some(run) = self.runs.last() else { return };
        let highest = *self.get(run.next - 1);
        if highest.was_ever_retransmitted() {
            return;
        }
        while let Some(&(number, when)) = self.resent.front() {
            let live = number >= self.base && {
                let sent = self.get(number);
                sent.is_retransmitted() && sent.sent_at == when
            };
            if live {
                if when >= highest.sent_at {
                    return;
                }
                self.mark_lost(number);
            }
            self.resent.pop_front();
        }
    }

    /// Holes with at least `threshold` SACKed segments above them are lost (RFC 6675 IsLost).
    pub fn mark_lost_by_count(&mut self, threshold: u32) {
        let mut above = 0;
        for at in (0..self.runs.len()).rev() {
            above += self.runs[at].next - self.runs[at].first;
            if above >= u64::from(threshold) {
                self.mark_holes_before(self.runs[at].first);
                return;
            }
        }
    }

    fn mark_holes_before(&mut self, limit: u64) {
        let mut number = self.first_open.max(self.base);
        while number < limit {
            let sent = self.get(number);
            if sent.is_sacked() {
                number = self.run_of(number).next;
                continue;
            }
            // What was sent again in a repair that was taken back since may be found lost anew.
            if !sent.is_retransmitted() && !sent.is_lost() {
                self.mark_lost(number);
            }
            number += 1;
        }
        self.first_open = self.first_open.max(limit);
    }

    /// The first segment is lost (a partial acknowledgement without SACK, or the third duplicate).
    pub fn mark_first_lost(&mut self) {
        if self.ring.front().is_some_and(|sent| !sent.is_sacked()) {
            self.mark_lost(self.base);
        }
    }

    /// After a timeout all that is not SACKed is lost, but for what `spare` excepts; the first segment always is.
    pub fn mark_all_lost(&mut self, forget_sack: bool, spare: impl Fn(Time) -> bool) {
        if forget_sack {
            for sent in &mut self.ring {
                sent.state &= !SACKED;
            }
            self.runs.clear();
            self.sacked_bytes = 0;
            self.sacked_segments = 0;
        }
        for number in self.base..self.next_number() {
            let sent = self.get(number);
            if sent.is_sacked() || (number != self.base && spare(sent.sent_at)) {
                continue;
            }
            self.mark_lost(number);
        }
        self.next_lost = self.base;
    }

    /// The receiver dropped what it had SACKed: an acknowledgement stops right below a SACKed segment (RFC 2018 section 8).
    pub fn is_reneged(&self) -> bool {
        self.ring.front().is_some_and(Sent::is_sacked)
    }
}

/// What a segment remembers of the delivery rate at its sending.
#[derive(Debug, Clone, Copy)]
pub(crate) struct RateStamp {
    pub delivered: u64,
    pub delivered_at: Time,
    pub first_sent_at: Time,
    /// Octets in flight with this segment, and ever marked lost.
    pub in_flight: u32,
    pub lost: u32,
    pub app_limited: bool,
}

#[cfg(test)]
impl Scoreboard {
    /// Recounts everything from the records and compares.
    pub fn check(&self) {
        let sum = |keep: fn(&Sent) -> bool| {
            let chosen = self.ring.iter().filter(|sent| keep(sent));
            chosen.fold((0u64, 0u32), |(bytes, count), sent| (bytes + sent.len(), count + 1))
        };
        assert_eq!(sum(Sent::is_sacked), (self.sacked_bytes, self.sacked_segments), "sacked");
        assert_eq!(sum(Sent::is_lost), (self.lost_bytes, self.lost_segments), "lost");
        assert_eq!(sum(Sent::is_waiting).1, self.waiting_segments, "waiting");
        assert_eq!(sum(Sent::is_retransmitted), (self.retrans_bytes, self.retrans_segments), "sent again");
        for pair in self.ring.iter().zip(self.ring.iter().skip(1)) {
            assert_eq!(pair.0.end, pair.1.start, "records tile the stream");
        }
        let in_runs: u64 = self.runs.iter().map(|run| run.next - run.first).sum();
        assert_eq!(in_runs, u64::from(self.sacked_segments), "{:?}", self.runs);
        for run in &self.runs {
            assert!(run.first < run.next && run.start < run.end);
            for number in run.first..run.next {
                assert!(self.get(number).is_sacked());
            }
            assert_eq!((self.get(run.first).start, self.get(run.next - 1).end), (run.start, run.end));
        }
        for pair in self.runs.windows(2) {
            assert!(pair[0].end < pair[1].start, "{:?}", self.runs);
        }
        for number in self.base..self.next_number() {
            let sent = self.get(number);
            if sent.is_lost() && !sent.is_retransmitted() {
                assert!(number >= self.next_lost, "a lost segment lies before the resend cursor");
            }
            let open = !sent.is_sacked() && !sent.is_lost() && !sent.was_ever_retransmitted();
            assert!(!open || number >= self.first_open, "an open segment lies before the detection cursor");
        }
    }
}
