//! The received data: the in-order data that the application has not read, and the out-of-order data behind gaps.

use super::records::Records;
use super::runs::Runs;
use super::sack_report::SackReport;
use crate::send::copied;
use lopsided_core::Payload;
use std::collections::{BTreeMap, VecDeque};
use std::ops::Range;

/// An amount of out-of-order data.
#[derive(Clone, Copy, Debug, Default)]
pub(super) struct Held {
    pub octets: u64,
    /// Number of memory records.
    pub records: u64,
}

/// The data at the time at which the last in-order segment had arrived and was not yet joined with out-of-order data.
#[derive(Clone, Copy, Debug, Default)]
pub(super) struct BeforeJoining {
    /// End of the segment, as a stream offset.
    pub end: u64,
    /// Number of memory records of all data.
    pub records: u64,
}

/// A read of in-order data.
#[derive(Clone, Copy, Debug)]
pub(super) struct Read {
    pub octets: u64,
    /// Number of bytes that come from the first memory record.
    pub first_record: u64,
}

/// The received data.
///
/// # Invariants
///
/// - All data before `next` has arrived. The application has read all of it except the last `unread` bytes.
/// - The runs of out-of-order data are disjoint and begin after `next`. `held_octets` is the sum of their lengths.
#[derive(Debug, Default)]
pub(super) struct Reassembly {
    /// Offset of the next expected byte.
    next: u64,
    /// Number of in-order bytes that the application has not read.
    unread: u64,
    held: Runs,
    held_octets: u64,
    records: Records,
    /// The out-of-order data before the last out-of-order segment arrived.
    held_before: Held,
    before_joining: BeforeJoining,
    /// Contents of the unread and out-of-order data; `None` while all data is synthetic.
    bytes: Option<Box<RealBytes>>,
}

/// Contents of received data that is not synthetic.
#[derive(Debug, Default)]
struct RealBytes {
    /// In-order bytes that are ready to be read.
    ready: VecDeque<u8>,
    /// Bytes that are out of order or were not moved to `ready` yet, keyed by stream offset.
    held: BTreeMap<u64, Vec<u8>>,
}

impl RealBytes {
    #[inline(never)]
    fn read(&mut self, count: usize) -> Payload {
        let octets = copied(&self.ready, 0..count);
        self.ready.drain(..count);
        Payload::real(octets)
    }
}

impl Reassembly {
    /// Sets the payload of full segments, in bytes.
    pub fn expect(&mut self, mss: u32) {
        self.records.expect(mss);
    }

    #[inline(always)]
    pub fn next(&self) -> u64 {
        self.next
    }

    #[inline(always)]
    pub fn unread(&self) -> u64 {
        self.unread
    }

    /// Number of memory records of the unread data.
    #[inline(always)]
    pub fn unread_records(&self) -> u64 {
        self.records.unread()
    }

    /// The out-of-order data.
    #[inline(always)]
    pub fn held(&self) -> Held {
        Held { octets: self.held_octets, records: self.records.held() }
    }

    pub fn held_before(&self) -> Held {
        self.held_before
    }

    #[inline(always)]
    pub fn before_joining(&self) -> BeforeJoining {
        self.before_joining
    }

    /// True if there is no out-of-order data.
    #[inline(always)]
    pub fn is_in_order(&self) -> bool {
        self.held.is_empty()
    }

    /// True if all data is synthetic.
    #[inline(always)]
    pub fn is_synthetic(&self) -> bool {
        self.bytes.is_none()
    }

    /// The gaps between `next` and `start`.
    pub fn gaps_before(&self, start: u64) -> Vec<Range<u64>> {
        let mut gaps = Vec::new();
        let mut reached = self.next;
        for (from, to) in self.held.touching(self.next, start) {
            gaps.push(reached..from);
            reached = to;
        }
        if reached < start {
            gaps.push(reached..start);
        }
        gaps
    }

    /// Moves `next` to `to`. There must be no out-of-order data and no contents.
    #[inline(always)]
    pub fn append(&mut self, to: u64) {
        self.unread += to - self.next;
        self.extend(to);
    }

    #[inline(always)]
    fn extend(&mut self, to: u64) {
        self.records.append(self.next, to);
        self.next = to;
        self.before_joining = BeforeJoining { end: to, records: self.records.unread() + self.records.held() };
    }

    /// Moves `next` to `to`, and then past all out-of-order data that is now in order.
    pub fn advance(&mut self, to: u64, report: &mut SackReport) {
        let before = self.next;
        self.extend(to);
        if !self.held.is_empty() {
            let mut covered = false;
            while let Some((start, end)) = self.held.pop_reached(self.next) {
                self.next = self.next.max(end);
                self.held_octets -= end - start;
                // The segment overlaps data that was received out of order: report the overlap as a duplicate.
                if start < to {
                    report.extend_duplicate(start, to.min(end));
                }
                covered = true;
            }
            if covered {
                self.records.advance(self.next);
                report.acknowledge(self.next);
            }
        }
        self.unread += self.next - before;
        if self.bytes.is_some() {
            self.make_readable();
        }
    }

    /// Stores the bytes `[from, to)` behind a gap.
    pub fn hold(&mut self, from: u64, to: u64, report: &mut SackReport) {
        self.held_before = self.held();
        // Usual case: the segment extends or follows the last run.
        if self.held.append(from, to) {
            self.held_octets += to - from;
            self.records.hold(from, to);
            return report.remember(from, to);
        }
        let (mut duplicate, mut covered) = (None, false);
        for (start, end) in self.held.touching(from, to) {
            let (first, last) = (from.max(start), to.min(end));
            if first < last {
                duplicate = Some((first, last));
                // Part of the segment was received before: report the last overlap as a duplicate.
            }
            if start <= from && to <= end {
                covered = true;
            }
        }
        if let Some((first, last)) = duplicate {
            report.report_duplicate(first, last);
        }
        if !covered {
            let joined = self.held.insert(from, to);
            let octets: u64 = joined.iter().map(|(start, end)| end - start).sum();
            let whole = joined.iter().fold((from, to), |all, run| (all.0.min(run.0), all.1.max(run.1)));
            self.held_octets = self.held_octets + (whole.1 - whole.0) - octets;
            self.records.hold(from, to);
        }
        report.remember(from, to);
    }

    /// Reads up to `limit` bytes. The caller takes the contents with [`Reassembly::contents`].
    #[inline(always)]
    pub fn read(&mut self, limit: u64) -> Read {
        let octets = self.unread.min(limit);
        let from = self.next - self.unread;
        let first_record = self.records.first_end().map_or(octets, |end| octets.min(end.saturating_sub(from)));
        self.unread -= octets;
        self.records.release(self.next - self.unread);
        Read { octets, first_record }
    }

    /// Returns the next `octets` bytes. If the data is synthetic, the payload is synthetic too.
    #[inline(always)]
    pub fn contents(&mut self, octets: u64) -> Payload {
        match &mut self.bytes {
            Some(bytes) => bytes.read(octets as usize),
            None => Payload::virtual_len(octets as u32),
        }
    }

    /// Stores the contents of `[from, to)` if they are real. `start` is the stream offset of the payload.
    #[inline]
    pub fn keep_bytes(&mut self, from: u64, to: u64, start: i64, payload: &Payload) {
        if let Some(real) = payload.bytes() {
            self.keep_real_bytes(from, to, start, real);
        }
    }

    fn keep_real_bytes(&mut self, from: u64, to: u64, start: i64, real: &[u8]) {
        let unread = self.unread as usize;
        let bytes = self.bytes.get_or_insert_with(|| {
            Box::new(RealBytes { ready: VecDeque::from(vec![0; unread]), held: BTreeMap::new() })
        });
        let part = &real[(from as i64 - start) as usize..(to as i64 - start) as usize];
        match bytes.held.get(&from) {
            Some(old) if old.len() >= part.len() => {}
            _ => drop(bytes.held.insert(from, part.to_vec())),
        }
    }

    /// Moves stored contents that are now in order to the readable bytes.
    fn make_readable(&mut self) {
        let Some(bytes) = &mut self.bytes else { return };
        let mut reached = self.next - (self.unread - bytes.ready.len() as u64);
        while let Some(entry) = bytes.held.first_entry() {
            let start = *entry.key();
            if start > reached || start >= self.next {
                break;
            }
            let part = entry.remove();
            let end = start + part.len() as u64;
            if end > reached {
                bytes.ready.extend(&part[(reached - start) as usize..]);
                reached = end;
            }
        }
    }
}
