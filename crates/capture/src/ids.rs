//! The IPv4 identifications of one endpoint. Gaps between them show packets that were lost before the point of capture.
//!
//! Linux increments the identification by one for each packet of a connection (`inet_id`). Other stacks use one counter
//! for the whole host.

/// If the difference of two identifications is larger than this, they come from different counters, and there is no
/// gap.
const FARTHEST: u16 = 256;
/// If the identifications of the two endpoints differ by less than this, both endpoints use the same counter.
const NEAR: u16 = 2048;
/// Minimum number of packets from which the fraction of missing packets is computed.
const ENOUGH: u64 = 20;

/// The IPv4 identifications that one endpoint of a connection, or one host, has sent.
#[derive(Clone, Copy, Debug, Default)]
pub(crate) struct Ids {
    last: Option<u16>,
    seen: u64,
    missing: u64,
    /// Number of steps that cannot come from a counter of this endpoint alone.
    foreign: u64,
}

impl Ids {
    /// The state before the first packet.
    pub(crate) const NONE: Ids = Ids { last: None, seen: 0, missing: 0, foreign: 0 };

    /// Records the identification of a packet. `other` is the latest identification in the opposite direction.
    pub(crate) fn add(&mut self, id: u16, other: Option<u16>) {
        // RFC 6864, section 4.1: a packet that must not be fragmented may have any identification. Many stacks send 0.
        if id == 0 {
            return;
        }
        if let Some(last) = self.last {
            let step = id.wrapping_sub(last);
            self.seen += 1;
            let near_other = other.is_some_and(|other| other.wrapping_sub(id).min(id.wrapping_sub(other)) < NEAR);
            if step == 0 || step > FARTHEST || near_other {
                self.foreign += 1;
            } else {
                self.missing += u64::from(step - 1);
            }
        }
        self.last = Some(id);
    }

    /// Returns the fraction of the packets that were lost before the point of capture. `None` if fewer than 20 packets
    /// were seen, or if more than 5 % of the steps cannot come from this endpoint's own counter.
    pub(crate) fn missing_share(&self) -> Option<f64> {
        let usable = self.seen >= ENOUGH && self.foreign * 20 <= self.seen;
        usable.then(|| self.missing as f64 / (self.missing + self.seen) as f64)
    }
}

#[cfg(test)]
mod tests {
    use super::Ids;

    #[test]
    fn gaps_count_as_missing_packets_and_random_ids_are_ignored() {
        let (mut thinned, mut random) = (Ids::default(), Ids::default());
        for number in 0..100_u16 {
            thinned.add(1 + 2 * number, None);
            random.add(1 + number.wrapping_mul(40_503), None);
        }
        assert_eq!(thinned.missing_share(), Some(0.5));
        assert_eq!(random.missing_share(), None);
    }
}
