//! The outstanding data: one record per segment, with its SACK, loss and retransmission state.
//!
//! A ring stores the records in stream order. Runs of SACKed segments are stored as intervals. A search skips these
//! intervals. Two sorted lists contain the segments to retransmit and the retransmitted segments. For n segments, any
//! order of SACKs, losses and retransmissions costs O(n log n) search steps. SACKs usually arrive in stream order and
//! change only the ends of the lists.

#[cfg(test)]
mod cost;
mod loss_marking;
#[cfg(test)]
mod model;
mod record;
mod resegment;
mod sack_ranges;
mod sorted;

use super::rate_sample::RateStamp;
use crate::cc::Lost;
use lopsided_core::Time;
pub(crate) use record::TxRecord;
use record::{APP_LIMITED, EVER_RETRANS, FATE, LOST, RETRANS, RatePart, SACKED};
use sack_ranges::{SackRange, SackRanges};
use sorted::Sorted;
use std::collections::VecDeque;

/// The capacity of the ring is a multiple of this number of records.
const STEP: usize = 8;
/// Capacity below which the ring does not shrink, in records.
const ROOMY: usize = 4 * STEP;

/// The segments that an acknowledgement covers.
#[derive(Debug)]
pub(crate) struct Covered {
    /// Time at which the first covered segment was sent.
    pub first_sent_at: Time,
    /// The last covered segment.
    pub newest: TxRecord,
    /// The stamp of the last covered segment.
    pub stamp: RateStamp,
    /// Number of covered segments.
    pub segments: u32,
    /// Total padding of the covered segments.
    pub padding: u64,
}

/// The records of the outstanding segments. Records are numbered in stream order, and a number is never reused.
#[derive(Debug, Default)]
pub(crate) struct Scoreboard {
    ring: VecDeque<TxRecord>,
    /// The second part of each record's stamp; `None` if the connection does not measure the delivery rate.
    #[expect(clippy::box_collection, reason = "most connections have none")]
    rates: Option<Box<VecDeque<RatePart>>>,
    /// Number of the first record in the ring.
    base: u64,
    /// The lists of marked segments; `None` if no segment is SACKed, lost or retransmitted.
    marks: Option<Box<Marks>>,
    sacked_bytes: u64,
    sacked_segments: u32,
    /// Number of SACKed segments whose length differs from the length of the preceding segment, which is SACKed too.
    uneven: u32,
    lost_bytes: u64,
    lost_segments: u32,
    /// Total padding of the records, in bytes of the congestion window.
    padding: u64,
    /// Total number of bytes marked lost, including lost retransmissions.
    total_lost: u64,
    retrans_bytes: u64,
    /// Number of outstanding retransmissions.
    retrans_out: u32,
    /// All records with a lower number are SACKed, lost or retransmitted.
    first_open: u64,
    /// Search bound: from this record on, every unmarked original transmission was sent after the newest delivered
    /// segment.
    not_before_newest: u64,
    /// Number of retransmissions that were lost.
    lost_retransmits: u64,
    /// Segments marked lost since the last [`Scoreboard::take_losses`]; `None` if losses are not recorded.
    losses: Option<Vec<Lost>>,
    #[cfg(test)]
    /// Number of search steps, for tests of the cost.
    steps: std::cell::Cell<u64>,
}

/// The lists of marked segments. They are in a box, because a receiver and most senders have no marked segment.
#[derive(Debug, Default)]
struct Marks {
    sack_ranges: SackRanges,
    /// Numbers of the lost segments that must be retransmitted.
    pending: Sorted<u64>,
    /// The outstanding retransmissions, ordered by send time and then by record number.
    retransmitted: Sorted<(Time, u64)>,
}

/// The lists of a scoreboard without marked segments.
static NO_MARKS: Marks = Marks { sack_ranges: SackRanges::new(), pending: Sorted::new(), retransmitted: Sorted::new() };

impl Scoreboard {
    /// The lists of marked segments.
    fn marks(&self) -> &Marks {
        self.marks.as_deref().unwrap_or(&NO_MARKS)
    }

    /// The lists of marked segments, to mark a segment.
    fn marks_mut(&mut self) -> &mut Marks {
        self.marks.get_or_insert_default()
    }

    pub fn is_empty(&self) -> bool {
        self.ring.is_empty()
    }

    pub fn segments(&self) -> u32 {
        self.ring.len() as u32
    }

    /// True if no segment is SACKed, lost or retransmitted.
    #[inline]
    pub fn is_unmarked(&self) -> bool {
        self.sacked_bytes | self.lost_bytes | self.retrans_bytes == 0
    }

    /// Total padding of the records, in bytes of the congestion window.
    #[inline]
    pub fn padding(&self) -> u64 {
        self.padding
    }

    pub fn sacked_bytes(&self) -> u64 {
        self.sacked_bytes
    }

    pub fn sacked_segments(&self) -> u32 {
        self.sacked_segments
    }

    /// Number of segments that remain of the SACKed segments if Linux merges adjacent segments of equal length.
    pub fn merged_segments(&self) -> u32 {
        if self.sacked_segments == 0 { 0 } else { self.marks().sack_ranges.merged() + self.uneven }
    }

    /// 1 if segment `number` and the preceding segment are SACKed and have different lengths; otherwise 0.
    fn unevenness(&self, number: u64) -> u32 {
        let index = (number - self.base) as usize;
        let pair = index.checked_sub(1).and_then(|before| Some((self.ring.get(before)?, self.ring.get(index)?)));
        pair.map_or(0, |(before, sent)| u32::from(before.is_sacked() && sent.is_sacked() && before.len() != sent.len()))
    }

    pub fn lost_bytes(&self) -> u64 {
        self.lost_bytes
    }

    pub fn total_lost(&self) -> u64 {
        self.total_lost
    }

    pub fn lost_segments(&self) -> u32 {
        self.lost_segments
    }

    /// Number of lost segments that must be retransmitted.
    pub fn retransmit_pending(&self) -> u32 {
        self.marks().pending.len() as u32
    }

    /// Start of the first lost segment that must be retransmitted; `None` if there is no such segment.
    pub fn first_pending(&self) -> Option<u64> {
        self.next_to_retransmit().map(|number| self.get(number).start())
    }

    pub fn retrans_bytes(&self) -> u64 {
        self.retrans_bytes
    }

    pub fn retrans_out(&self) -> u32 {
        self.retrans_out
    }

    pub fn lost_retransmits(&self) -> u64 {
        self.lost_retransmits
    }

    pub fn first(&self) -> Option<&TxRecord> {
        self.ring.front()
    }

    pub fn last_number(&self) -> Option<u64> {
        (!self.ring.is_empty()).then(|| self.base + self.ring.len() as u64 - 1)
    }

    pub fn first_number(&self) -> u64 {
        self.base
    }

    pub fn get(&self, number: u64) -> &TxRecord {
        &self.ring[(number - self.base) as usize]
    }

    fn get_mut(&mut self, number: u64) -> &mut TxRecord {
        &mut self.ring[(number - self.base) as usize]
    }

    fn next_number(&self) -> u64 {
        self.base + self.ring.len() as u64
    }

    /// End of the highest SACKed run; `None` if no segment is SACKed.
    pub fn highest_sacked(&self) -> Option<u64> {
        self.marks().sack_ranges.last().map(|run| run.end)
    }

    /// Frees a part of the ring's memory if the window has shrunk, for example after slow start.
    #[inline]
    pub fn give_back_room(&mut self) {
        let capacity = self.ring.capacity();
        // More than 1/3 of the ring is unused: free memory for other flows.
        if capacity > ROOMY && 3 * self.ring.len() < 2 * capacity {
            // Shrink by 25 % only, so that a window that grows again does not reallocate at once.
            let places = (capacity - capacity / 4) / STEP * STEP;
            self.ring.shrink_to(places);
            self.rates.iter_mut().for_each(|rates| rates.shrink_to(places));
        }
        if self.marks.is_some() && self.is_unmarked() {
            self.marks = None;
        }
    }

    /// Grows the ring in small steps, because doubling would waste memory.
    #[cold]
    fn grow_ring(&mut self) {
        let len = self.ring.len();
        let more = (len + len / 8 + 1).next_multiple_of(STEP) - len;
        self.ring.reserve_exact(more);
        self.rates.iter_mut().for_each(|rates| rates.reserve_exact(more));
    }

    /// True if a [`RatePart`] is stored for each record, as the delivery rate requires.
    #[inline]
    pub fn keeps_rates(&self) -> bool {
        self.rates.is_some()
    }

    /// Starts to store a [`RatePart`] for each record. For a segment that is already outstanding, the sampling interval
    /// begins with its transmission.
    pub fn keep_rates(&mut self) {
        let part = |sent: &TxRecord| RatePart {
            delivered_at: sent.sent_at,
            first_sent_at: sent.sent_at,
            in_flight: 0,
            lost: self.total_lost as u32,
        };
        let rates = || Box::new(self.ring.iter().map(part).collect());
        self.rates = self.rates.take().or_else(|| Some(rates()));
    }

    /// Returns the stamp of a record, given the record's index in the ring. If no [`RatePart`] is stored, only the
    /// fields that the record itself contains are set.
    #[inline(always)]
    fn stamp(&self, index: usize) -> RateStamp {
        let part = self.rates.as_ref().map_or_else(RatePart::default, |rates| rates[index]);
        part.stamp(&self.ring[index])
    }

    /// Appends a segment of new data. In the congestion window, the segment uses `pad` bytes more than its length.
    pub fn push(&mut self, start: u64, end: u64, pad: u16, now: Time, stamp: RateStamp) {
        self.padding += u64::from(pad);
        if self.ring.len() == self.ring.capacity() {
            self.grow_ring();
        }
        self.ring.push_back(TxRecord::new(start, end, pad, now, &stamp));
        if let Some(rates) = &mut self.rates {
            rates.push_back(RatePart::of(&stamp));
        }
    }

    /// Removes and returns the first segment if it ends at or before `una`, with its stamp; otherwise returns `None`.
    pub fn pop_acked(&mut self, una: u64) -> Option<(TxRecord, RateStamp)> {
        if self.ring.front()?.end() > una {
            return None;
        }
        if self.uneven > 0 {
            self.uneven -= self.unevenness(self.base + 1);
        }
        let sent = self.ring.pop_front()?;
        let part = self.rates.as_mut().and_then(|rates| rates.pop_front());
        let stamp = part.unwrap_or_default().stamp(&sent);
        self.base += 1;
        self.padding -= u64::from(sent.pad);
        // A segment without state flags, which is the usual case, contributes only to the sum of the padding.
        if sent.state() & FATE != 0 {
            self.forget_counts(self.base - 1, &sent);
            if sent.is_sacked() {
                let base = self.base;
                self.marks_mut().sack_ranges.cut(una, base);
            }
        }
        Some((sent, stamp))
    }

    /// Removes the segments before `una`, if none is SACKed, lost or retransmitted. Returns `None` and changes nothing if
    /// a segment has such a mark, or if `una` is not the end of a segment.
    #[inline(always)]
    pub fn pop_plain(&mut self, una: u64) -> Option<Covered> {
        let first_sent_at = self.ring.front()?.sent_at;
        let mut covered = 0;
        let mut ends = 0;
        let mut padding = 0;
        while let Some(sent) = self.ring.get(covered).filter(|sent| sent.end() <= una) {
            // A lost, SACKed or retransmitted segment also changes other sums, which the general path updates.
            if sent.state() & FATE != 0 {
                return None;
            }
            ends = sent.end();
            padding += u64::from(sent.pad);
            covered += 1;
        }
        // An ACK that ends within a segment requires the general path.
        if ends != una {
            return None;
        }
        self.base += covered as u64;
        self.padding -= padding;
        for _ in 1..covered {
            self.ring.pop_front();
        }
        let newest = self.ring.pop_front()?;
        let part = self.rates.as_mut().and_then(|rates| {
            for _ in 1..covered {
                rates.pop_front();
            }
            rates.pop_front()
        });
        let stamp = part.unwrap_or_default().stamp(&newest);
        Some(Covered { first_sent_at, newest, stamp, segments: covered as u32, padding })
    }

    /// Removes the acknowledged part of the first segment, if the acknowledgement ends within it.
    pub fn trim_first(&mut self, una: u64) {
        let Some(sent) = self.ring.front() else { return };
        if una <= sent.start() {
            return;
        }
        // Subtract the acknowledged part from the sums.
        let cut = una - sent.start();
        let state = sent.state();
        let uneven = self.unevenness(self.base + 1);
        self.ring[0].cut_before(una);
        if state & SACKED != 0 {
            self.sacked_bytes -= cut;
            let base = self.base;
            self.marks_mut().sack_ranges.cut(una, base);
            self.uneven = self.uneven - uneven + self.unevenness(self.base + 1);
        }
        if state & LOST != 0 {
            self.lost_bytes -= cut;
        }
        if state & RETRANS != 0 {
            self.retrans_bytes -= cut;
        }
    }

    /// Subtracts a removed record from all sums and deletes it from the lists.
    fn forget_counts(&mut self, number: u64, sent: &TxRecord) {
        if sent.is_sacked() {
            self.sacked_bytes -= sent.weight();
            self.sacked_segments -= 1;
        }
        if sent.is_lost() {
            self.lost_bytes -= sent.weight();
            self.lost_segments -= 1;
            if sent.is_retransmit_pending() {
                self.marks_mut().pending.remove(number);
            }
        }
        if sent.is_retransmitted() {
            self.retrans_bytes -= sent.weight();
            self.retrans_out -= 1;
        }
        if sent.is_timed() {
            self.marks_mut().retransmitted.remove((sent.sent_at, number));
        }
    }

    /// Number of the record that contains `offset`, or of the first record after it.
    fn locate(&self, offset: u64) -> u64 {
        self.base + self.ring.partition_point(|sent| sent.end() <= offset) as u64
    }

    /// Number of the record that ends at `offset` or contains it.
    fn locate_end(&self, offset: u64) -> u64 {
        self.base + self.ring.partition_point(|sent| sent.end() < offset) as u64
    }

    /// Counts one search step, for the tests of the cost.
    #[inline]
    fn count_step(&self) {
        #[cfg(test)]
        self.steps.set(self.steps.get() + 1);
    }

    /// Marks the segments that `[start, end)` covers completely as SACKed. Calls `seen` with each of these records
    /// before it is marked.
    pub fn sack(&mut self, start: u64, end: u64, mut seen: impl FnMut(&TxRecord, RateStamp)) {
        // The block may touch or overlap the first run that ends at or after the start of the block.
        let mut above = self.marks().sack_ranges.reaching(start);
        let mut joined: Option<SackRange> = None;
        // True if the block extends a stored run, which is then changed in place.
        let mut extends = false;
        let (mut low, mut low_number) = match above {
            Some(run) if run.start <= start => {
                if end <= run.end {
                    return;
                }
                joined = Some(run);
                extends = true;
                above = self.marks().sack_ranges.beginning_at_or_above(run.end);
                (run.end, run.next)
            }
            _ => {
                let number = self.locate(start);
                if number >= self.next_number() {
                    return;
                }
                // A block that begins within a segment does not cover that segment.
                if self.get(number).start() < start {
                    if number + 1 >= self.next_number() {
                        return;
                    }
                    (self.get(number + 1).start(), number + 1)
                } else {
                    (start.max(self.get(number).start()), number)
                }
            }
        };
        loop {
            let gap_end = above.map_or(end, |run| run.start.min(end));
            let mut number = low_number;
            while number < self.next_number() && self.get(number).end() <= gap_end {
                self.mark_sacked(number, &mut seen);
                number += 1;
            }
            if number > low_number {
                let reach = self.get(number - 1).end();
                match &mut joined {
                    Some(run) => {
                        run.end = reach;
                        run.next = number;
                    }
                    None => joined = Some(SackRange { start: low, end: reach, first: low_number, next: number }),
                }
            }
            // If the block reaches the next run, continue after the next run.
            let Some(run) = above.filter(|run| run.start <= end) else { break };
            match &mut joined {
                Some(whole) if whole.end == run.start => {
                    whole.end = run.end;
                    whole.next = run.next;
                }
                // The block began within the segment just before the run.
                None if low == run.start => joined = Some(run),
                _ => break,
            }
            self.marks_mut().sack_ranges.remove(run.start);
            above = self.marks().sack_ranges.beginning_at_or_above(run.end);
            (low, low_number) = (run.end, run.next);
            if low >= end {
                break;
            }
        }
        match joined {
            Some(run) if extends => self.marks_mut().sack_ranges.replace(run),
            Some(run) => self.marks_mut().sack_ranges.insert(run),
            None => {}
        }
    }

    fn mark_sacked(&mut self, number: u64, seen: &mut impl FnMut(&TxRecord, RateStamp)) {
        let before = *self.get(number);
        debug_assert!(!before.is_sacked());
        seen(&before, self.stamp((number - self.base) as usize));
        self.forget_counts(number, &before);
        self.sacked_bytes += before.weight();
        self.sacked_segments += 1;
        let sent = self.get_mut(number);
        sent.set_state((before.state() & (EVER_RETRANS | APP_LIMITED)) | SACKED);
        self.uneven += self.unevenness(number) + self.unevenness(number + 1);
    }

    /// Number of the first segment that is marked lost and was not retransmitted since; `None` if there is no such
    /// segment.
    pub fn next_to_retransmit(&self) -> Option<u64> {
        self.marks().pending.first()
    }

    /// The run that contains the SACKed segment `number`.
    fn sack_range_of(&self, number: u64) -> SackRange {
        let within = self.marks().sack_ranges.at_or_below(self.get(number).start());
        within.expect("a segment that is SACKed is in a run")
    }

    /// Records a retransmission of segment `number`.
    pub fn retransmit(&mut self, number: u64, now: Time, stamp: RateStamp) {
        let sent = self.get_mut(number);
        let was_timed = sent.is_timed();
        let sent_before = std::mem::replace(&mut sent.sent_at, now);
        sent.set_stamp(&stamp);
        // A segment may be retransmitted again while its last retransmission is outstanding.
        let (len, was_out, was_pending) = (sent.weight(), sent.is_retransmitted(), sent.is_retransmit_pending());
        sent.set_state(sent.state() | RETRANS | EVER_RETRANS);
        if let Some(rates) = &mut self.rates {
            rates[(number - self.base) as usize] = RatePart::of(&stamp);
        }
        if was_pending {
            self.marks_mut().pending.remove(number);
        }
        if was_timed {
            self.marks_mut().retransmitted.remove((sent_before, number));
        }
        if !was_out {
            self.retrans_bytes += len;
            self.retrans_out += 1;
        }
        self.marks_mut().retransmitted.insert((now, number));
    }

    /// True if the receiver discarded SACKed data: the cumulative acknowledgement ends directly below a SACKed segment
    /// (RFC 2018 section 8).
    pub fn is_reneged(&self) -> bool {
        self.ring.front().is_some_and(TxRecord::is_sacked)
    }
}

#[cfg(test)]
impl Scoreboard {
    /// Recomputes all sums and lists from the records and compares the results, for tests.
    pub fn check(&self) {
        let sum = |keep: fn(&TxRecord) -> bool| {
            let chosen = self.ring.iter().filter(|sent| keep(sent));
            chosen.fold((0u64, 0u32), |(bytes, count), sent| (bytes + sent.weight(), count + 1))
        };
        assert_eq!(sum(TxRecord::is_sacked), (self.sacked_bytes, self.sacked_segments), "sacked");
        let uneven = (self.base..self.next_number()).map(|number| self.unevenness(number)).sum::<u32>();
        assert_eq!(uneven, self.uneven, "segments of unequal length");
        assert_eq!(sum(TxRecord::is_lost), (self.lost_bytes, self.lost_segments), "lost");
        assert_eq!(sum(TxRecord::is_retransmit_pending).1, self.retransmit_pending(), "waiting");
        assert_eq!(sum(TxRecord::is_retransmitted), (self.retrans_bytes, self.retrans_out), "sent again");
        assert_eq!(self.ring.iter().map(|sent| u64::from(sent.pad)).sum::<u64>(), self.padding, "padding");
        assert!(self.rates.as_ref().is_none_or(|rates| rates.len() == self.ring.len()), "a part for each record");
        assert_eq!(
            self.marks().retransmitted.len(),
            sum(TxRecord::is_timed).1 as usize,
            "in the order they were sent again"
        );
        for pair in self.ring.iter().zip(self.ring.iter().skip(1)) {
            assert_eq!(pair.0.end(), pair.1.start(), "records tile the stream");
        }
        let in_runs: u64 = self.marks().sack_ranges.ascending().map(|run| run.next - run.first).sum();
        assert_eq!(in_runs, u64::from(self.sacked_segments), "{:?}", self.marks().sack_ranges);
        for run in self.marks().sack_ranges.ascending() {
            assert!(run.first < run.next && run.start < run.end);
            for number in run.first..run.next {
                assert!(self.get(number).is_sacked());
            }
            assert_eq!((self.get(run.first).start(), self.get(run.next - 1).end()), (run.start, run.end));
        }
        // Adjacent ranges must have been merged into one.
        for (run, above) in self.marks().sack_ranges.ascending().zip(self.marks().sack_ranges.ascending().skip(1)) {
            assert!(run.end < above.start, "{:?}", self.marks().sack_ranges);
        }
        for number in self.base..self.next_number() {
            let sent = self.get(number);
            assert_eq!(sent.is_retransmit_pending(), self.marks().pending.contains(number));
            assert_eq!(sent.is_timed(), self.marks().retransmitted.contains((sent.sent_at, number)));
            // Loss detection starts at `first_open`, so it would never examine an open segment with a lower number.
            let open = !sent.is_sacked() && !sent.is_lost() && !sent.was_ever_retransmitted();
            assert!(!open || number >= self.first_open, "an open segment lies before the detection cursor");
        }
    }
}
