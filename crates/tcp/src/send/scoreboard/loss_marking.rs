//! Marks segments as lost by time (RACK, RFC 8985), distance (FACK), count (RFC 6675), a timeout, or a partial
//! acknowledgement. Also removes the marks.

use super::Scoreboard;
use super::record::{LOST, RETRANS, RatePart, SACKED, TxRecord, UNDONE, UNTIMED};
use crate::cc::Lost;
use lopsided_core::{Bytes, Time};

impl Scoreboard {
    /// Starts recording each segment that is marked lost, for [`Scoreboard::take_losses`].
    pub fn watch_losses(&mut self) {
        self.losses = Some(Vec::new());
        self.keep_rates();
    }

    /// True if [`Scoreboard::take_losses`] would return a loss.
    #[inline]
    pub fn has_losses(&self) -> bool {
        self.losses.as_ref().is_some_and(|losses| !losses.is_empty())
    }

    /// Returns the segments marked lost since the last call.
    pub fn take_losses(&mut self) -> Vec<Lost> {
        self.losses.as_mut().map(std::mem::take).unwrap_or_default()
    }

    /// Removes all loss marks.
    pub fn unmark_lost(&mut self) {
        for number in self.base..self.next_number() {
            let sent = self.get_mut(number);
            // The retransmission of a tail loss probe is not marked lost, so this undo does not concern it.
            let undone = if sent.is_lost() && sent.is_retransmitted() { UNDONE } else { 0 };
            sent.set_state(sent.state() & !LOST | undone);
        }
        self.lost_bytes = 0;
        self.lost_segments = 0;
        if let Some(marks) = &mut self.marks {
            marks.pending.clear();
        }
        self.first_open = self.base;
        self.not_before_newest = self.base;
    }

    /// Clears the loss and retransmission marks of retransmitted segments, because FreeBSD starts each recovery with an
    /// empty scoreboard.
    pub fn settle_retransmissions(&mut self) {
        for sent in self.ring.iter_mut().filter(|sent| sent.is_retransmitted()) {
            if sent.is_lost() {
                self.lost_bytes -= sent.weight();
                self.lost_segments -= 1;
            }
            sent.set_state(sent.state() & !(LOST | RETRANS | UNDONE | UNTIMED));
        }
        if let Some(marks) = &mut self.marks {
            marks.retransmitted.clear();
        }
        self.retrans_bytes = 0;
        self.retrans_out = 0;
        self.first_open = self.base;
    }

    /// RACK (RFC 8985 section 6.2 step 5): checks the segments that were sent before the newest delivered segment,
    /// which was sent at `sent_at` and ends at `end`. Marks a segment as lost if `wait` returns `None` for its send
    /// time. Returns the longest wait of the segments that are not marked.
    pub fn mark_lost_by_time(
        &mut self,
        sent_at: Time,
        end: u64,
        wait: impl Fn(Time) -> Option<lopsided_core::Duration>,
    ) -> Option<lopsided_core::Duration> {
        let before_newest = |sent: &TxRecord| sent.sent_at < sent_at || (sent.sent_at == sent_at && sent.end() < end);
        // Original transmissions are ordered by send time, so the overdue segments come first. The last segment that is
        // not overdue has the longest wait.
        let mut longest = None;
        let mut number = self.first_open.max(self.base);
        while number < self.next_number() {
            let sent = *self.get(number);
            self.count_step();
            if sent.is_sacked() {
                number = self.sack_range_of(number).next;
            } else if sent.was_ever_retransmitted() || sent.is_lost() {
                number += 1;
            } else if !before_newest(&sent) {
                break;
            } else if wait(sent.sent_at).is_none() {
                self.mark_lost(number);
                number += 1;
            } else {
                longest = self.last_open_before_newest(number, before_newest).and_then(|last| wait(last.sent_at));
                break;
            }
        }
        self.first_open = number;
        // Check the retransmissions too, in order of send time.
        while let Some((when, number)) = self.marks().retransmitted.first() {
            let sent = self.get(number);
            if !before_newest(sent) || wait(when).is_some() {
                break;
            }
            if sent.state() & (LOST | UNDONE) == UNDONE {
                self.mark_lost_after_undo(number);
            } else {
                self.mark_lost(number);
            }
        }
        if self.marks().retransmitted.is_empty() {
            return longest;
        }
        let newest = self.locate_end(end);
        let last = self.marks().retransmitted.before((sent_at, newest));
        longest.max(last.and_then(|(when, _)| wait(when)))
    }

    /// Returns the last open original transmission before the newest delivered segment. The search starts at record
    /// `number`.
    fn last_open_before_newest(&mut self, number: u64, before_newest: impl Fn(&TxRecord) -> bool) -> Option<TxRecord> {
        let is_open = |sent: &TxRecord| !sent.is_sacked() && !sent.was_ever_retransmitted() && !sent.is_lost();
        // Resume the search at the last bound. The newest delivered segment never becomes older, so the bound is still
        // valid.
        let mut beyond = self.not_before_newest.max(number);
        while beyond < self.next_number() {
            let sent = *self.get(beyond);
            self.count_step();
            if sent.is_sacked() {
                beyond = self.sack_range_of(beyond).next;
                continue;
            }
            if is_open(&sent) && !before_newest(&sent) {
                break;
            }
            beyond += 1;
        }
        self.not_before_newest = beyond;
        while beyond > number {
            let sent = *self.get(beyond - 1);
            self.count_step();
            if is_open(&sent) {
                return Some(sent);
            }
            beyond = if sent.is_sacked() { self.sack_range_of(beyond - 1).first } else { beyond - 1 };
        }
        None
    }

    /// Marks the holes below the highest SACKed byte as lost, except retransmitted holes and holes beyond `upto`.
    pub fn mark_lost_below_highest_sack(&mut self, upto: u64) {
        let Some(last) = self.marks().sack_ranges.last().copied() else { return };
        self.mark_holes_before(last.first.min(self.locate(upto)));
    }

    /// Marks all holes below the highest SACKed byte as lost, including retransmitted holes.
    pub fn mark_holes_lost_again(&mut self) {
        let Some(last) = self.marks().sack_ranges.last().copied() else { return };
        for number in self.base..last.first {
            if !self.get(number).is_sacked() {
                self.mark_lost(number);
            }
        }
    }

    /// FACK: marks holes at least `threshold` segments below the highest SACKed run as lost. The first `least` records
    /// are marked at any distance. Retransmitted holes and holes beyond `upto` stay unmarked.
    pub fn mark_lost_by_distance(&mut self, threshold: u32, least: u64, upto: u64) {
        let forward = self.marks().sack_ranges.last().map_or(0, |run| run.next.saturating_sub(u64::from(threshold)));
        self.mark_holes_before(forward.max(self.base + least).min(self.locate(upto)));
    }

    /// FACK: marks a retransmission as lost if it was sent before the highest SACKed segment. Marks nothing if the
    /// highest SACKed segment was itself retransmitted.
    pub fn mark_lost_retransmissions(&mut self) {
        let Some(run) = self.marks().sack_ranges.last() else { return };
        let highest = *self.get(run.next - 1);
        if highest.was_ever_retransmitted() {
            return;
        }
        while let Some((when, number)) = self.marks().retransmitted.first() {
            if when >= highest.sent_at {
                return;
            }
            self.mark_lost(number);
        }
    }

    /// Marks each hole as lost that has at least `threshold` SACKed segments above it (RFC 6675 IsLost).
    pub fn mark_lost_by_count(&mut self, threshold: u32) {
        let mut above = 0;
        let mut limit = None;
        for run in self.marks().sack_ranges.descending() {
            // RFC 6675 section 4, IsLost: count the SACKed segments from the highest down.
            above += run.next - run.first;
            if above >= u64::from(threshold) {
                limit = Some(run.first);
                break;
            }
        }
        if let Some(limit) = limit {
            self.mark_holes_before(limit);
        }
    }

    /// Marks all holes before the record `limit` as lost, except retransmitted holes.
    fn mark_holes_before(&mut self, limit: u64) {
        let mut number = self.first_open.max(self.base);
        while number < limit {
            let sent = self.get(number);
            self.count_step();
            if sent.is_sacked() {
                number = self.sack_range_of(number).next;
                continue;
            }
            // A retransmission from a recovery that was undone does not protect the segment from another loss mark.
            if !sent.is_retransmitted() && !sent.is_lost() {
                self.mark_lost(number);
            }
            number += 1;
        }
        self.first_open = self.first_open.max(limit);
    }

    /// Marks the first segment as lost. Used after a partial ACK without SACK, and after the third duplicate ACK.
    pub fn mark_first_lost(&mut self) {
        if self.ring.front().is_some_and(|sent| !sent.is_sacked()) {
            self.mark_lost(self.base);
        }
    }

    /// Marks all segments as lost after a timeout, except SACKed segments and segments for whose send time `spare`
    /// returns true. The first segment is always marked.
    pub fn mark_all_lost(&mut self, forget_sack: bool, spare: impl Fn(Time) -> bool) {
        // RFC 2018, section 8: a receiver may discard SACKed data, so its SACK information is no longer valid.
        if forget_sack {
            for sent in &mut self.ring {
                sent.set_state(sent.state() & !SACKED);
            }
            if let Some(marks) = &mut self.marks {
                marks.sack_ranges.clear();
            }
            self.sacked_bytes = 0;
            self.sacked_segments = 0;
            self.uneven = 0;
            self.not_before_newest = self.base;
        }
        for number in self.base..self.next_number() {
            let sent = self.get(number);
            // tcp_timeout_mark_lost: the first segment is always lost, because its timer expired. RACK may spare later
            // segments.
            if sent.is_sacked() || (number != self.base && spare(sent.sent_at)) {
                continue;
            }
            self.mark_lost(number);
        }
    }

    /// Marks a segment as lost. If a retransmission of the segment is outstanding, the retransmission counts as lost
    /// too.
    pub(super) fn mark_lost(&mut self, number: u64) {
        let before = self.total_lost;
        let sent = self.get_mut(number);
        debug_assert!(!sent.is_sacked());
        let (len, was_pending) = (sent.weight(), sent.is_retransmit_pending());
        if sent.is_retransmitted() {
            // The retransmission was lost too.
            let (sent_at, was_timed) = (sent.sent_at, sent.is_timed());
            sent.set_state(sent.state() & !(RETRANS | UNDONE | UNTIMED));
            if was_timed {
                self.marks_mut().retransmitted.remove((sent_at, number));
            }
            self.lost_retransmits += 1;
            self.retrans_bytes -= len;
            self.retrans_out -= 1;
            self.total_lost += len;
        }
        let sent = self.get_mut(number);
        if sent.state() & LOST == 0 {
            sent.set_state(sent.state() | LOST);
            self.lost_bytes += len;
            self.lost_segments += 1;
            self.total_lost += len;
        }
        if !was_pending {
            self.marks_mut().pending.insert(number);
        }
        if self.total_lost > before {
            self.note_loss(number);
        }
    }

    /// Marks a segment as lost whose loss mark was undone while its retransmission was outstanding. The retransmission
    /// stays outstanding, and RACK does not check it again.
    fn mark_lost_after_undo(&mut self, number: u64) {
        // tcp_mark_skb_lost ends a retransmission only if the segment is already marked, but an undo leaves the mark of
        // the retransmission. tcp_rack_detect_loss removes each segment that it marks from the list by send time. Linux
        // then repeats the segment only after a timeout.
        let sent = self.get_mut(number);
        let (len, sent_at) = (sent.weight(), sent.sent_at);
        sent.set_state(sent.state() | LOST | UNTIMED);
        self.marks_mut().retransmitted.remove((sent_at, number));
        self.lost_bytes += len;
        self.lost_segments += 1;
        self.total_lost += len;
        self.note_loss(number);
    }

    /// Stores a loss for [`Scoreboard::take_losses`].
    fn note_loss(&mut self, number: u64) {
        let Some(losses) = &mut self.losses else { return };
        let index = (number - self.base) as usize;
        let sent = &self.ring[index];
        let rate = self.rates.as_ref().map_or_else(RatePart::default, |rates| rates[index]);
        losses.push(Lost {
            start: sent.start(),
            end: sent.end(),
            tx_in_flight: Bytes::new(u64::from(rate.in_flight)),
            lost_since_sent: Bytes::new(u64::from((self.total_lost as u32).wrapping_sub(rate.lost))),
            app_limited: sent.is_app_limited(),
        });
    }
}
