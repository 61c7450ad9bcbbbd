//! Statistics of the ACKs for one direction of data: bytes per ACK, bursts, queueing delays and dropped ACKs.

use crate::ids::Ids;
use crate::segment::Segment;
use crate::sketch::Sketch;

/// Longest gap between two consecutive ACKs of a burst, in nanoseconds.
const BURST_GAP: u64 = 500_000;
/// Smallest number of ACKs that form a burst.
const BURST: u32 = 3;
/// Maximum number of segments per regular ACK (RFC 5681, section 4.2). A stretch ACK covers more segments (RFC 2525,
/// section 2.13).
const MOST_SEGMENTS: u32 = 2;

/// Counters and distributions of the ACKs of one direction.
#[derive(Clone, Debug)]
pub struct AckPath {
    /// Number of pure ACKs: segments without data, SYN, FIN or RST.
    pub pure: u64,
    /// Total size of the IP packets of pure ACKs, in bytes.
    pub wire_bytes: u64,
    /// Number of ACKs that acknowledge new data while the sender is not in loss recovery.
    pub advancing: u64,
    /// Number of advancing ACKs that cover more than two segments.
    pub stretch: u64,
    /// Bytes that each advancing ACK newly acknowledges.
    pub covered_bytes: Sketch,
    /// Rate of each advancing ACK in bit/s: the data that it newly acknowledges, divided by the time since the previous
    /// advancing ACK.
    pub rate_bps: Sketch,
    /// Queueing delay of ACKs between the receiver and the sender, in ms.
    pub wait_ms: Sketch,
    /// Number of ACKs that arrived after an ACK with a higher acknowledgement number.
    pub reordered: u64,
    /// Time from the start of one burst to the start of the next, in ms.
    burst_gap_ms: Sketch,
    burst_acks: u64,
    last_at: Option<u64>,
    burst: Option<(u64, u32)>,
    ids: Ids,
}

impl AckPath {
    /// The state before the first ACK.
    pub const NONE: AckPath = AckPath {
        pure: 0,
        wire_bytes: 0,
        advancing: 0,
        stretch: 0,
        covered_bytes: Sketch::EMPTY,
        rate_bps: Sketch::EMPTY,
        wait_ms: Sketch::EMPTY,
        reordered: 0,
        burst_gap_ms: Sketch::EMPTY,
        burst_acks: 0,
        last_at: None,
        burst: None,
        ids: Ids::NONE,
    };

    /// Records a pure ACK.
    pub(crate) fn passed(&mut self, segment: &Segment) {
        self.pure += 1;
        self.wire_bytes += u64::from(segment.ip_len);
        match self.burst {
            Some((begin, count)) if segment.at.saturating_sub(self.last_at.unwrap_or(begin)) <= BURST_GAP => {
                self.burst = Some((begin, count + 1));
            }
            Some((begin, count)) => {
                // Bursts of fewer ACKs are normal ACK clocking.
                if count >= BURST {
                    self.burst_acks += u64::from(count);
                    self.burst_gap_ms.add((segment.at.saturating_sub(begin)) as f64 * 1e-6);
                }
                self.burst = Some((segment.at, 1));
            }
            None => self.burst = Some((segment.at, 1)),
        }
    }

    /// Records the IPv4 identification of a packet from the data receiver. `other` is the latest identification from
    /// the data sender.
    pub(crate) fn identified(&mut self, id: Option<u16>, other: Option<u16>) {
        if let Some(id) = id {
            self.ids.add(id, other);
        }
    }

    /// Records an ACK that acknowledges `bytes` of new data while the sender is not in loss recovery.
    pub(crate) fn advanced(&mut self, at: u64, bytes: u32, mss: u32) {
        self.advancing += 1;
        self.stretch += u64::from(mss > 0 && bytes > MOST_SEGMENTS * mss);
        self.covered_bytes.add(f64::from(bytes));
        if let Some(last) = self.last_at {
            // If one interrupt delivers two ACKs, both can have the same capture time.
            let gap = at.saturating_sub(last).max(1);
            self.rate_bps.add(f64::from(bytes) * 8e9 / gap as f64);
        }
        self.last_at = Some(at);
    }

    /// Returns the interval between bursts of ACKs, in ms. `None` unless most ACKs arrive in bursts and the interval is
    /// regular.
    pub fn batching_ms(&self) -> Option<f64> {
        let (period, share) = self.burst_gap_ms.mode()?;
        // The interval is regular if at least half of the gaps are within 10 % of the most frequent gap.
        let regular = self.burst_gap_ms.count() >= 20 && share >= 0.5;
        (regular && self.burst_acks * 2 > self.pure).then_some(period)
    }

    /// Returns the fraction of the receiver's packets that were lost before the point of capture, from gaps in their
    /// IPv4 identifications. `None` unless the receiver counts each connection separately.
    pub fn missing_share(&self) -> Option<f64> {
        self.ids.missing_share()
    }
}
