//! The IPv4 identifications of one end, whose gaps show packets that were dropped before the point of capture.
//!
//! Linux counts up by one for each packet of a connection (`inet_id`). Other stacks have one counter for a host.

/// Identifications that jump further than this are not counted as missing packets.
const FARTHEST: u16 = 256;
/// Identifications of both ends that are this near come from one counter.
const NEAR: u16 = 2048;
/// Packets that are needed before gaps count.
const ENOUGH: u64 = 20;

/// A series of identifications.
#[derive(Clone, Copy, Debug, Default)]
pub(crate) struct Ids {
    last: Option<u16>,
    seen: u64,
    missing: u64,
    /// Steps that this series alone does not explain: another counter, or one that others share.
    foreign: u64,
}

impl Ids {
    /// Records the identification of a packet; `other` is the latest of the packets in the other direction.
    pub(crate) fn add(&mut self, id: u16, other: Option<u16>) {
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

    /// Share of the packets that left the end and did not reach the point of capture. `None` if the series does not
    /// count the packets of one end.
    pub(crate) fn missing_share(&self) -> Option<f64> {
        let usable = self.seen >= ENOUGH && self.foreign * 20 <= self.seen;
        usable.then(|| self.missing as f64 / (self.missing + self.seen) as f64)
    }
}

#[cfg(test)]
mod tests {
    use super::Ids;

    #[test]
    fn gaps_are_missing_packets_and_jumps_are_another_counter() {
        let (mut thinned, mut random) = (Ids::default(), Ids::default());
        for number in 0..100_u16 {
            thinned.add(1 + 2 * number, None);
            random.add(1 + number.wrapping_mul(40_503), None);
        }
        assert_eq!(thinned.missing_share(), Some(0.5));
        assert_eq!(random.missing_share(), None);
    }
}
