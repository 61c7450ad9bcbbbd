//! The peer's receive window (RFC 9293 section 3.10.7.4).

use lopsided_core::Seq;

/// The peer's window and the segment that last set it.
#[derive(Debug)]
pub(crate) struct PeerWindow {
    size: u64,
    largest: u64,
    limit: u64,
    updated_by: Numbers,
}

/// The sequence and acknowledgement numbers of the segment that last set the window.
#[derive(Clone, Copy, Debug, Default)]
struct Numbers {
    seq: Seq,
    ack: Seq,
}

impl PeerWindow {
    pub fn new() -> PeerWindow {
        PeerWindow { size: 0, largest: 0, limit: u64::MAX, updated_by: Numbers::default() }
    }

    /// SND.WND in bytes.
    pub fn size(&self) -> u64 {
        self.size
    }

    /// The largest window that the peer has offered.
    pub fn largest(&self) -> u64 {
        self.largest
    }

    /// Largest window that the header can express, in bytes.
    pub fn limit(&self) -> u64 {
        self.limit
    }

    pub fn set_limit(&mut self, limit: u64) {
        self.limit = limit;
    }

    /// Sets the first window that the peer advertises.
    pub fn open(&mut self, size: u64, seq: Seq, ack: Seq) {
        self.size = size;
        self.largest = size;
        self.updated_by = Numbers { seq, ack };
    }

    /// Sets the window from a newer segment. Returns true if the window changed. `advances` is true if the segment
    /// acknowledges new data.
    pub fn update(&mut self, size: u64, seq: Seq, ack: Seq, advances: bool) -> bool {
        let last = self.updated_by;
        // RFC 9293 section 3.10.7.4: only a newer segment may change the window.
        let newer = last.seq.before(seq) || (last.seq == seq && last.ack.at_or_before(ack)) || advances;
        let changed = newer && self.size != size;
        if newer {
            self.size = size;
            // RFC 9293 section 3.8.6.2.1: Max(SND.WND) is used as an estimate of the peer's buffer size.
            self.largest = self.largest.max(size);
            self.updated_by = Numbers { seq, ack };
        }
        changed
    }
}
