//! The ACKs of one direction of data: how much each says, how they bunch, how long they wait, and whether the network
//! thinned them.

use crate::ids::Ids;
use crate::segment::Segment;
use crate::sketch::Sketch;

/// ACKs that are less far apart belong to one burst, in nanoseconds.
const BURST_GAP: u64 = 500_000;
/// A burst has at least this many ACKs.
const BURST: u32 = 3;
/// A receiver acknowledges at least every second segment (RFC 5681, section 4.2); more is a stretch ACK (RFC 2525).
const MOST_SEGMENTS: u32 = 2;

/// Counts and distributions of the ACKs of one direction.
#[derive(Clone, Debug, Default)]
pub struct AckPath {
    /// ACKs without data, SYN, FIN or RST.
    pub pure: u64,
    /// Octets of their IP packets.
    pub wire_bytes: u64,
    /// Acknowledgements that advance, outside repairs.
    pub advancing: u64,
    /// Those that cover more than two segments.
    pub stretch: u64,
    /// Octets that each of them covers.
    pub covered_bytes: Sketch,
    /// Octets that each covers over the time since the one before, in bit/s.
    pub rate_bps: Sketch,
    /// Milliseconds that ACKs waited on their way.
    pub wait_ms: Sketch,
    /// ACKs whose number is older than that of one before: they overtook each other.
    pub reordered: u64,
    /// Milliseconds from burst to burst.
    burst_gap_ms: Sketch,
    burst_acks: u64,
    last_at: Option<u64>,
    burst: Option<(u64, u32)>,
    ids: Ids,
}

impl AckPath {
    /// Records an ACK without data.
    pub(crate) fn passed(&mut self, segment: &Segment) {
        self.pure += 1;
        self.wire_bytes += u64::from(segment.ip_len);
        match self.burst {
            Some((begin, count)) if segment.at.saturating_sub(self.last_at.unwrap_or(begin)) <= BURST_GAP => {
                self.burst = Some((begin, count + 1));
            }
            Some((begin, count)) => {
                if count >= BURST {
                    self.burst_acks += u64::from(count);
                    self.burst_gap_ms.add((segment.at.saturating_sub(begin)) as f64 * 1e-6);
                }
                self.burst = Some((segment.at, 1));
            }
            None => self.burst = Some((segment.at, 1)),
        }
    }

    /// Records the identification of any packet of the receiver; `other` is the latest of the data's.
    pub(crate) fn identified(&mut self, id: Option<u16>, other: Option<u16>) {
        if let Some(id) = id {
            self.ids.add(id, other);
        }
    }

    /// Records an acknowledgement that advances by these octets, outside repairs.
    pub(crate) fn advanced(&mut self, at: u64, bytes: u32, mss: u32) {
        self.advancing += 1;
        self.stretch += u64::from(mss > 0 && bytes > MOST_SEGMENTS * mss);
        self.covered_bytes.add(f64::from(bytes));
        if let Some(last) = self.last_at {
            let gap = at.saturating_sub(last).max(1);
            self.rate_bps.add(f64::from(bytes) * 8e9 / gap as f64);
        }
        self.last_at = Some(at);
    }

    /// Milliseconds from one burst of ACKs to the next, if most ACKs come in bursts at one interval.
    pub fn batching_ms(&self) -> Option<f64> {
        let (period, share) = self.burst_gap_ms.mode()?;
        let regular = self.burst_gap_ms.count() >= 20 && share >= 0.5;
        (regular && self.burst_acks * 2 > self.pure).then_some(period)
    }

    /// Share of the receiver's packets that left it and did not reach the point of capture, by their identifications.
    /// `None` if the identifications are not those of the connection alone.
    pub fn missing_share(&self) -> Option<f64> {
        self.ids.missing_share()
    }
}
