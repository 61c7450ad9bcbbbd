//! Measurements of one direction over time, in bins of equal width. Long connections have wider bins.

use crate::limit::Limit;

/// Initial width of a bin in nanoseconds.
const FIRST_WIDTH: u64 = 100_000_000;
/// Maximum number of bins of one direction. If this number is exceeded, neighbouring bins are merged in pairs.
const MOST_BINS: usize = 600;

/// Measurements in one bin of time.
#[derive(Clone, Copy, Debug)]
pub struct Bin {
    /// Nanoseconds attributed to each limit, in the order of [`Limit::ALL`].
    pub limits: [u64; Limit::ALL.len()],
    /// Frame numbers of the first and last packet with data or an ACK; 0 if the bin contains no such packet.
    pub packets: (u64, u64),
    /// Payload bytes sent, including retransmissions.
    pub sent_bytes: u64,
    /// Payload bytes newly acknowledged.
    pub acked_bytes: u64,
    /// Size of the IP packets with data, in bytes.
    pub wire_bytes: u64,
    /// Number of retransmitted segments.
    pub retransmitted: u32,
    /// Number of pure ACKs.
    pub acks: u32,
    /// RTT of the whole path in ms.
    pub rtt_ms: Spread,
    /// Queueing delay of data between the sender and the receiver, in ms.
    pub data_wait_ms: Spread,
    /// Queueing delay of ACKs between the receiver and the sender, in ms.
    pub ack_wait_ms: Spread,
    /// Largest flight as seen by the sender, in bytes.
    pub most_out: u32,
    /// Smallest receive window in bytes; `u32::MAX` if no ACK passed.
    pub window: u32,
}

impl Default for Bin {
    fn default() -> Bin {
        Bin {
            limits: [0; Limit::ALL.len()],
            packets: (0, 0),
            sent_bytes: 0,
            acked_bytes: 0,
            wire_bytes: 0,
            retransmitted: 0,
            acks: 0,
            rtt_ms: Spread::default(),
            data_wait_ms: Spread::default(),
            ack_wait_ms: Spread::default(),
            most_out: 0,
            window: u32::MAX,
        }
    }
}

impl Bin {
    /// Returns the limit that applied for the longest time in this bin, and its share of the attributed time. `None` if
    /// no time is attributed.
    pub fn verdict(&self) -> Option<(Limit, f64)> {
        let total: u64 = self.limits.iter().sum();
        let (place, longest) = self.limits.iter().enumerate().max_by_key(|(_, time)| **time)?;
        (total > 0).then(|| (Limit::ALL[place], *longest as f64 / total as f64))
    }

    /// Returns a copy in which the times of pacing and of a full congestion window are added up. The sum counts as the
    /// limit that applied for longer, or as a full window if `shows_pacing` is false.
    pub(crate) fn with_pacing_settled(&self, shows_pacing: bool) -> Bin {
        const BY_WINDOW: [Limit; 3] = [Limit::SlowStart, Limit::Avoidance, Limit::AckPath];
        let mut bin = *self;
        let pacing = self.limits[Limit::Pacing as usize];
        let longest =
            BY_WINDOW.into_iter().max_by_key(|limit| self.limits[*limit as usize]).unwrap_or(Limit::Avoidance);
        let by_window: u64 = BY_WINDOW.into_iter().map(|limit| self.limits[limit as usize]).sum();
        if !shows_pacing || pacing <= by_window {
            bin.limits[Limit::Pacing as usize] = 0;
            bin.limits[if by_window == 0 { Limit::Avoidance } else { longest } as usize] += pacing;
        } else if longest != Limit::AckPath {
            BY_WINDOW.into_iter().for_each(|limit| bin.limits[limit as usize] = 0);
            bin.limits[Limit::Pacing as usize] = pacing + by_window;
        }
        bin
    }

    /// Corrects the limits of a BBR sender: slow start counts as congestion avoidance. Without `shows_pacing`, BBR is
    /// assumed to pace unless its window is full. `floor_ms` is the minimum RTT.
    pub(crate) fn settle_bbr(&mut self, shows_pacing: bool, floor_ms: f64) {
        // BBR's window is two bandwidth-delay products (`bbr_cwnd_gain`). By Little's law, this window is full if the
        // RTT is twice the minimum RTT.
        const FULL_WINDOW: f64 = 2.0;
        let start = std::mem::take(&mut self.limits[Limit::SlowStart as usize]);
        self.limits[Limit::Avoidance as usize] += start;
        // Without an RTT in this bin, the mean is NaN, and the window counts as not full.
        let is_full = self.rtt_ms.mean() >= FULL_WINDOW * floor_ms;
        if !shows_pacing && !is_full {
            let by_window = std::mem::take(&mut self.limits[Limit::Avoidance as usize]);
            self.limits[Limit::Pacing as usize] += by_window;
        }
    }

    /// Merges a later bin into this bin.
    fn add(&mut self, other: &Bin) {
        for (mine, others) in self.limits.iter_mut().zip(other.limits) {
            *mine += others;
        }
        // 0 means that the bin contains no packet.
        self.packets.0 = if self.packets.0 == 0 { other.packets.0 } else { self.packets.0 };
        self.packets.1 = self.packets.1.max(other.packets.1);
        self.sent_bytes += other.sent_bytes;
        self.acked_bytes += other.acked_bytes;
        self.wire_bytes += other.wire_bytes;
        self.retransmitted += other.retransmitted;
        self.acks += other.acks;
        self.rtt_ms.add_all(&other.rtt_ms);
        self.data_wait_ms.add_all(&other.data_wait_ms);
        self.ack_wait_ms.add_all(&other.ack_wait_ms);
        self.most_out = self.most_out.max(other.most_out);
        self.window = self.window.min(other.window);
    }
}

/// Minimum, maximum, sum and number of the recorded values. All are 0 without values.
#[derive(Clone, Copy, Debug, Default)]
pub struct Spread {
    /// Smallest value.
    pub least: f32,
    /// Largest value.
    pub most: f32,
    /// Sum of the values.
    pub sum: f32,
    /// Number of values.
    pub count: u32,
}

impl Spread {
    /// Adds a value.
    pub fn add(&mut self, value: f64) {
        self.add_all(&Spread { least: value as f32, most: value as f32, sum: value as f32, count: 1 });
    }

    /// Returns the mean of the values; NaN without values.
    pub fn mean(&self) -> f64 {
        if self.count == 0 { f64::NAN } else { f64::from(self.sum) / f64::from(self.count) }
    }

    fn add_all(&mut self, other: &Spread) {
        if other.count == 0 {
            return;
        }
        self.least = if self.count == 0 { other.least } else { self.least.min(other.least) };
        self.most = self.most.max(other.most);
        self.sum += other.sum;
        self.count += other.count;
    }
}

/// The bins of one direction.
///
/// # Examples
///
/// ```
/// use lopsided_capture::{Limit, Timeline};
///
/// let mut timeline = Timeline::new(0);
/// timeline.held(Limit::Pacing, 0, 250_000_000);
/// assert_eq!(timeline.bins().len(), 3);
/// assert_eq!(timeline.bins()[2].limits[Limit::Pacing as usize], 50_000_000);
/// ```
#[derive(Clone, Debug)]
pub struct Timeline {
    begin: u64,
    width: u64,
    bins: Vec<Bin>,
}

impl Timeline {
    /// Creates a timeline whose first bin starts at `begin`, in nanoseconds since the epoch of the file's clock.
    pub fn new(begin: u64) -> Timeline {
        Timeline { begin, width: FIRST_WIDTH, bins: Vec::new() }
    }

    /// Returns the start of the first bin, in nanoseconds since the epoch of the file's clock.
    pub fn begin(&self) -> u64 {
        self.begin
    }

    /// Returns the width of a bin in nanoseconds. The width doubles each time the timeline is full.
    pub fn width(&self) -> u64 {
        self.width
    }

    /// Returns the bins, ordered by time.
    pub fn bins(&self) -> &[Bin] {
        &self.bins
    }

    /// Returns the bin of a time, in nanoseconds of the file's clock; the first bin for earlier times.
    pub fn at(&mut self, at: u64) -> &mut Bin {
        let since = at.saturating_sub(self.begin);
        // Most times are in the last bin, and a division takes long.
        let last = self.bins.len().wrapping_sub(1);
        if since.wrapping_sub((last as u64).wrapping_mul(self.width)) < self.width && last < MOST_BINS {
            return &mut self.bins[last];
        }
        let mut place = (since / self.width) as usize;
        while place >= MOST_BINS {
            self.widen();
            place = (since / self.width) as usize;
        }
        if place >= self.bins.len() {
            self.bins.resize(place + 1, Bin::default());
        }
        &mut self.bins[place]
    }

    /// Records the frame number of a packet in the bin of its time, and returns this bin.
    pub fn packet(&mut self, at: u64, number: u64) -> &mut Bin {
        let bin = self.at(at);
        bin.packets.0 = if bin.packets.0 == 0 { number } else { bin.packets.0 };
        bin.packets.1 = number;
        bin
    }

    /// Attributes the time between `from` and `to` to a limit, in nanoseconds of the file's clock.
    pub fn held(&mut self, limit: Limit, from: u64, to: u64) {
        if to <= from {
            return;
        }
        // Create the last bin first. Its creation may widen all bins, and the loop needs a constant width.
        self.at(to - 1);
        let mut from = from.max(self.begin);
        while from < to {
            let place = (from - self.begin) / self.width;
            let until = (self.begin + (place + 1) * self.width).min(to);
            self.bins[place as usize].limits[limit as usize] += until - from;
            from = until;
        }
    }

    /// Merges all bins from a time on, in nanoseconds of the file's clock. Returns the start of the first merged bin,
    /// and the result.
    pub fn since(&self, at: u64) -> Option<(u64, Bin)> {
        let first = at.saturating_sub(self.begin).div_ceil(self.width);
        let mut bins = self.bins.get(first as usize..)?.iter();
        let mut merged = *bins.next()?;
        bins.for_each(|bin| merged.add(bin));
        Some((self.begin + first * self.width, merged))
    }

    /// Frees the unused capacity. Call this after the connection has ended.
    pub fn close(&mut self) {
        self.bins.shrink_to_fit();
    }

    /// Merges neighbouring bins in pairs, into bins of twice the width.
    fn widen(&mut self) {
        self.width *= 2;
        let mut merged: Vec<Bin> = Vec::with_capacity(MOST_BINS / 2);
        for pair in self.bins.chunks(2) {
            let mut bin = pair[0];
            pair[1..].iter().for_each(|other| bin.add(other));
            merged.push(bin);
        }
        self.bins = merged;
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn the_window_of_bbr_limits_once_the_rtt_is_twice_the_minimum() {
        let settled = |rtt_ms: f64| {
            let mut bin = Bin::default();
            bin.limits[Limit::Avoidance as usize] = 100;
            bin.rtt_ms.add(rtt_ms);
            bin.settle_bbr(false, 20.0);
            (bin.limits[Limit::Pacing as usize], bin.limits[Limit::Avoidance as usize])
        };
        assert_eq!(settled(39.0), (100, 0));
        assert_eq!(settled(41.0), (0, 100));
    }
}
