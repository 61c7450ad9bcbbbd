//! Splits outstanding segments that exceed a new path MTU, so that each is retransmitted in several pieces.
//!
//! Linux counts segments, so each piece uses the space of a full segment in the congestion window. The space that
//! exceeds the length of the piece is called padding.

use super::sack_ranges::{SackRange, SackRanges};
use super::{Scoreboard, TxRecord};
use std::collections::VecDeque;

impl Scoreboard {
    /// Splits every record that is longer than `full` bytes, except SACKed records.
    pub fn cut_to(&mut self, full: u64) {
        let mut ring = VecDeque::with_capacity(2 * self.ring.len());
        let mut rates = VecDeque::new();
        // The new record number of each old record, and of the end of the list.
        let mut places = Vec::with_capacity(self.ring.len() + 1);
        for (index, sent) in self.ring.iter().enumerate() {
            places.push(self.base + ring.len() as u64);
            let mut start = sent.start();
            let rate = self.rates.as_ref().map(|rates| rates[index]);
            // SACKed data is never sent again, so it is not split.
            if sent.is_sacked() {
                ring.push_back(*sent);
                rates.extend(rate);
                continue;
            }
            while start < sent.end() {
                let end = sent.end().min(start + full);
                let is_piece = sent.pad > 0 || sent.len() > full;
                let pad = if is_piece { (full - (end - start)) as u16 } else { 0 };
                ring.push_back(sent.piece(start, end, pad));
                rates.extend(rate);
                start = end;
            }
        }
        places.push(self.base + ring.len() as u64);
        let place = |number: u64| places[(number - self.base) as usize];
        let mut ranges = SackRanges::default();
        for run in self.marks().sack_ranges.descending() {
            ranges.insert(SackRange { first: place(run.first), next: place(run.next), ..*run });
        }
        self.marks_mut().sack_ranges = ranges;
        self.ring = ring;
        self.rates = self.rates.is_some().then(|| Box::new(rates));
        self.recount();
    }

    /// Recomputes all sums and lists from the records.
    fn recount(&mut self) {
        let numbered = || (self.base..).zip(&self.ring);
        let chosen = |keep: fn(&TxRecord) -> bool| numbered().filter(move |(_, sent)| keep(sent));
        let sum = |keep: fn(&TxRecord) -> bool| {
            chosen(keep).fold((0, 0), |(octets, count), (_, sent)| (octets + sent.weight(), count + 1))
        };
        let (lost, again) = (sum(TxRecord::is_lost), sum(TxRecord::is_retransmitted));
        let pending = chosen(TxRecord::is_retransmit_pending).map(|(number, _)| number).collect();
        let retransmitted = chosen(TxRecord::is_timed).map(|(number, sent)| (sent.sent_at, number)).collect();
        let padding = numbered().map(|(_, sent)| u64::from(sent.pad)).sum();
        (self.lost_bytes, self.lost_segments) = lost;
        (self.retrans_bytes, self.retrans_out) = again;
        self.padding = padding;
        let marks = self.marks_mut();
        (marks.pending, marks.retransmitted) = (pending, retransmitted);
        self.uneven = (self.base..self.next_number()).map(|number| self.unevenness(number)).sum();
        // The record numbers have changed, so loss detection must start again at the first record.
        self.first_open = self.base;
        self.not_before_newest = self.base;
    }

    /// Marks every record longer than `longer_than` bytes as lost, unless it is SACKed.
    pub fn mark_too_long_lost(&mut self, longer_than: u64) {
        for number in self.base..self.next_number() {
            let sent = self.get(number);
            if !sent.is_sacked() && sent.len() > longer_than {
                self.mark_lost(number);
            }
        }
    }
}
