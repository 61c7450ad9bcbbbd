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

/// The limits that apply while the congestion window is full.
const BY_WINDOW: [Limit; 3] = [Limit::SlowStart, Limit::Avoidance, Limit::AckPath];

impl Bin {
    /// Returns the limit that applied for the longest time in this bin, and its share of the attributed time. `None` if
    /// no time is attributed.
    pub fn verdict(&self) -> Option<(Limit, f64)> {
        let total: u64 = self.limits.iter().sum();
        let (place, longest) = self.limits.iter().enumerate().max_by_key(|(_, time)| **time)?;
        (total > 0).then(|| (Limit::ALL[place], *longest as f64 / total as f64))
    }

    /// Returns the limit that applied for the longest time while the congestion window was full; `None` if the window
    /// was never full.
    fn window_limit(&self) -> Option<Limit> {
        let held = BY_WINDOW.into_iter().filter(|limit| self.limits[*limit as usize] > 0);
        held.max_by_key(|limit| self.limits[*limit as usize])
    }

    /// Returns copies of successive bins with settled pacing: see [`Bin::with_pacing_settled`].
    pub(crate) fn settled(bins: &[Bin], shows_pacing: bool) -> Vec<Bin> {
        let mut before = Limit::SlowStart;
        let settle = |bin: &Bin| {
            let settled = bin.with_pacing_settled(shows_pacing, before);
            // Loss recovery ends slow start.
            let repairs = bin.limits[Limit::Recovery as usize] > 0;
            before = if repairs { Limit::Avoidance } else { bin.window_limit().unwrap_or(before) };
            settled
        };
        bins.iter().map(settle).collect()
    }

    /// Returns a copy in which the times of pacing and of a full congestion window are added up. The sum counts as the
    /// limit that applied for longer, or as a full window if `shows_pacing` is false. If the window never limited the
    /// sender in this bin, it counts as limiting in the same way as `before`.
    pub(crate) fn with_pacing_settled(&self, shows_pacing: bool, before: Limit) -> Bin {
        let mut bin = *self;
        let pacing = self.limits[Limit::Pacing as usize];
        let longest = self.window_limit().unwrap_or(before);
        let by_window: u64 = BY_WINDOW.into_iter().map(|limit| self.limits[limit as usize]).sum();
        if !shows_pacing || pacing <= by_window {
            bin.limits[Limit::Pacing as usize] = 0;
            bin.limits[longest as usize] += pacing;
        } else if longest != Limit::AckPath {
            BY_WINDOW.into_iter().for_each(|limit| bin.limits[limit as usize] = 0);
            bin.limits[Limit::Pacing as usize] = pacing + by_window;
        }
        bin
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

/// BBR's window is this multiple of its bandwidth-delay product (`bbr_cwnd_gain`), plus `BBR_QUANTA` segments: three
/// bursts of two segments (`bbr_quantization_budget`), one segment to make the number even, and two segments because the
/// receiver delays ACKs (`bbr_ack_aggregation_cwnd`).
const BBR_GAIN: f64 = 2.0;
const BBR_QUANTA: f64 = 9.0;
/// BBR's minimum RTT is the smallest RTT of this time, in nanoseconds (`bbr_min_rtt_win_sec`).
const BBR_MEMORY: u64 = 10_000_000_000;

/// Corrects the limits of a BBR sender in bins of `width` nanoseconds: slow start counts as congestion avoidance. If the
/// capture cannot show pacing (`shows_pacing` is false), BBR is assumed to pace unless its window is full. `mss` is the
/// payload of a full segment in bytes.
///
/// By Little's law, the window is full if the RTT is the window divided by the rate.
pub(crate) fn settle_bbr(bins: &mut [Bin], width: u64, mss: u32, shows_pacing: bool) {
    let memory = (BBR_MEMORY / width.max(1)) as usize;
    let rtts_ms: Vec<f64> = bins.iter().map(|bin| bin.rtt_ms.mean()).collect();
    let acked_bytes: u64 = bins.iter().map(|bin| bin.acked_bytes).sum();
    let segment_ms = f64::from(mss) * (bins.len() as u64 * width) as f64 * 1e-6 / acked_bytes as f64;
    for (place, bin) in bins.iter_mut().enumerate() {
        let start = std::mem::take(&mut bin.limits[Limit::SlowStart as usize]);
        bin.limits[Limit::Avoidance as usize] += start;
        // `f64::min` ignores the NaN of a bin without an RTT.
        let least_ms = rtts_ms[place.saturating_sub(memory)..=place].iter().copied().fold(f64::NAN, f64::min);
        // Without an RTT in this bin, the window counts as not full.
        let is_full = rtts_ms[place] >= BBR_GAIN * least_ms + BBR_QUANTA * segment_ms;
        if !shows_pacing && !is_full {
            for limit in [Limit::Avoidance, Limit::AckPath] {
                let by_window = std::mem::take(&mut bin.limits[limit as usize]);
                bin.limits[Limit::Pacing as usize] += by_window;
            }
        }
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
        let last = self.bins.len() - 1;
        let bounds = self.begin + last as u64 * self.width..=self.begin + (last as u64 + 1) * self.width;
        if bounds.contains(&from) && bounds.contains(&to) {
            self.bins[last].limits[limit as usize] += to.saturating_sub(from);
            return;
        }
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

    /// Returns the shares of pacing and of a full window in the last of several bins of 1 s with these RTTs, in percent.
    /// The sender paces or waits for ACKs in each bin, and sends a segment in each millisecond.
    fn settled(rtts_ms: &[f64]) -> (u64, u64) {
        let mut bins = vec![Bin::default(); rtts_ms.len()];
        for (bin, rtt_ms) in bins.iter_mut().zip(rtts_ms) {
            bin.limits[Limit::Avoidance as usize] = 60;
            bin.limits[Limit::AckPath as usize] = 40;
            bin.acked_bytes = 1_000 * 1_448;
            bin.rtt_ms.add(*rtt_ms);
        }
        settle_bbr(&mut bins, 1_000_000_000, 1_448, false);
        let last = bins[bins.len() - 1].limits;
        (last[Limit::Pacing as usize], last[Limit::Avoidance as usize] + last[Limit::AckPath as usize])
    }

    #[test]
    fn a_bin_without_a_full_window_counts_like_the_bin_before_it_until_a_recovery() {
        let of = |limits: &[Limit]| {
            let mut bin = Bin::default();
            limits.iter().for_each(|limit| bin.limits[*limit as usize] = 50);
            bin
        };
        let bins = [of(&[Limit::SlowStart]), of(&[Limit::Pacing]), of(&[Limit::Recovery]), of(&[Limit::Pacing])];
        let settled = Bin::settled(&bins, false);
        assert_eq!(settled[1].limits[Limit::SlowStart as usize], 50);
        assert_eq!(settled[3].limits[Limit::Avoidance as usize], 50);
    }

    #[test]
    fn the_window_of_bbr_limits_once_the_rtt_exceeds_twice_the_minimum_and_nine_segments() {
        assert_eq!(settled(&[20.0, 48.0]), (100, 0));
        assert_eq!(settled(&[20.0, 50.0]), (0, 100));
    }

    #[test]
    fn bbr_forgets_the_minimum_rtt_after_ten_seconds() {
        let rtts_ms = |seconds: usize| [vec![20.0], vec![50.0; seconds]].concat();
        assert_eq!(settled(&rtts_ms(10)), (0, 100));
        assert_eq!(settled(&rtts_ms(11)), (100, 0));
    }
}
