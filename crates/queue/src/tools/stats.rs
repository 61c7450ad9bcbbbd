//! Statistics of a queue of any discipline: packet counts, backlog over time and sojourn times, in a constant amount of
//! memory.

use crate::{Backlog, Histogram};
use lopsided_core::{Bytes, Count, Duration, Time};

/// The statistics of one queue since the start of the run.
///
/// A packet that arrives at `a` and departs at `b` adds `b - a` to the area under the curve of the backlog. The area is
/// a running sum: an arrival subtracts `a`, and a departure adds `b`. The sum may wrap around in between, because the
/// area itself does not overflow.
///
/// # Examples
///
/// ```
/// use lopsided_core::{Bytes, Duration, Time};
/// use lopsided_queue::{Backlog, QueueStats};
///
/// let mut stats = QueueStats::default();
/// let size = Bytes::new(1500);
/// stats.offered(Time::ZERO, size, Backlog { packets: 1, bytes: size });
/// stats.left(Time::from_nanos(4_000), Time::ZERO, size);
/// assert_eq!(stats.mean_sojourn(), Some(Duration::from_nanos(4_000)));
/// // One packet during 4 of 8 us.
/// assert_eq!(stats.mean_packets(Time::from_nanos(8_000)), 0.5);
/// ```
#[derive(Clone, Debug, Default)]
pub struct QueueStats {
    backlog: Backlog,
    sent_packets: u64,
    sent_bytes: u64,
    /// Sum of all sojourn times in nanoseconds.
    sojourn_sum: u64,
    /// Longest sojourn time since the last sample, in nanoseconds.
    recent_longest: u64,
    /// Longest sojourn time up to the last sample, in nanoseconds.
    longest: u64,
    max_packets: u32,
    max_bytes: u64,
    /// Area under the curve of the backlog, in packet-nanoseconds. Queued packets have no departure time in this sum
    /// yet.
    area_packets: u64,
    /// Area under the curve of the backlog, in byte-nanoseconds. Queued packets have no departure time in this sum yet.
    area_bytes: u128,
    dropped_packets: u64,
    dropped_bytes: u64,
    sojourns: Histogram,
    /// Number of packets sent up to the last sample.
    sampled_packets: u64,
    /// Sum of the sojourn times up to the last sample, in nanoseconds.
    sampled_sojourn: u64,
}

/// A sample of a queue: counts since the start, and sojourn times since the previous sample.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Default)]
pub struct QueueSample {
    /// Current backlog.
    pub backlog: Backlog,
    /// Packets that arrived, whether enqueued or not.
    pub arrived_packets: u64,
    /// Packets that the discipline dropped, on arrival or later.
    pub dropped_packets: u64,
    /// Packets that departed.
    pub sent_packets: u64,
    /// Bytes that departed.
    pub sent_bytes: Bytes,
    /// Mean sojourn time of the packets that departed since the previous sample. `None` if no packet departed.
    pub sojourn_mean: Option<Duration>,
    /// Longest sojourn time of the packets that departed since the previous sample. `None` if no packet departed.
    pub sojourn_max: Option<Duration>,
}

impl QueueStats {
    /// Records a packet that was offered at `now`. `backlog` is the backlog afterwards; packets that are missing from
    /// the backlog were dropped.
    pub fn offered(&mut self, now: Time, size: Bytes, backlog: Backlog) {
        self.came(now, size);
        self.settle(now, backlog);
        self.notice(self.backlog);
    }

    /// Records a packet that was enqueued at `now` without a drop of any packet.
    #[inline]
    pub fn entered(&mut self, now: Time, size: Bytes) {
        self.came(now, size);
        self.notice(self.backlog);
    }

    /// Records a packet that arrives at `now` and departs at `departs`. `backlog` includes the packet. The statistics
    /// must not be read before `departs`.
    #[inline(always)]
    pub fn crossed(&mut self, now: Time, departs: Time, size: Bytes, backlog: Backlog) {
        self.notice(backlog);
        // Fast path: a packet that does not wait adds nothing to the area.
        if departs == now {
            return self.sent_at_once(size);
        }
        debug_assert!(departs > now);
        // The packet is added to the backlog and subtracted again, so only the area changes.
        let sojourn = Duration::from_nanos(departs.as_nanos() - now.as_nanos());
        self.area_packets = self.area_packets.wrapping_add(sojourn.as_nanos());
        self.area_bytes = self.area_bytes.wrapping_add(u128::from(sojourn.as_nanos()) * u128::from(size.get()));
        self.sent(size, sojourn);
    }

    /// Records packets that arrived at different times, found the queue empty and departed at once. `largest` is the
    /// size of the largest packet.
    pub fn passed(&mut self, packets: Count, largest: Bytes) {
        if packets.packets > 0 {
            self.notice(Backlog { packets: 1, bytes: largest });
            self.sent_packets += packets.packets;
            self.sent_bytes += packets.bytes.get();
            self.sojourns.add_zeros(packets.packets as u32);
        }
    }

    /// Records the departure at `now` of a packet that was enqueued earlier.
    #[inline]
    pub fn left(&mut self, now: Time, enqueued_at: Time, size: Bytes) {
        self.gone(now, 1, size);
        self.sent(size, now.saturating_since(enqueued_at));
    }

    /// Records a departure with a sojourn time of zero.
    #[inline]
    fn sent_at_once(&mut self, size: Bytes) {
        self.sent_packets += 1;
        self.sent_bytes += size.get();
        self.sojourns.add(Duration::ZERO);
    }

    /// Records a departure with this sojourn time.
    #[inline]
    fn sent(&mut self, size: Bytes, sojourn: Duration) {
        self.sent_packets += 1;
        self.sent_bytes += size.get();
        self.sojourn_sum += sojourn.as_nanos();
        self.recent_longest = self.recent_longest.max(sojourn.as_nanos());
        self.sojourns.add(sojourn);
    }

    /// Records the packets dropped since the last call. `backlog` is the backlog without the dropped packets.
    #[inline]
    pub fn settle(&mut self, now: Time, backlog: Backlog) {
        // In most calls no packet was dropped.
        if self.backlog != backlog {
            let packets = self.backlog.packets - backlog.packets;
            let bytes = self.backlog.bytes - backlog.bytes;
            self.gone(now, packets, bytes);
            self.dropped_packets += u64::from(packets);
            self.dropped_bytes += bytes.get();
        }
    }

    /// Updates the largest backlog in packets and the largest backlog in bytes.
    #[inline]
    pub fn notice(&mut self, backlog: Backlog) {
        self.max_packets = self.max_packets.max(backlog.packets);
        self.max_bytes = self.max_bytes.max(backlog.bytes.get());
    }

    /// Adds a packet to the backlog, and subtracts its arrival time from the area.
    #[inline]
    fn came(&mut self, now: Time, size: Bytes) {
        self.backlog.packets += 1;
        self.backlog.bytes += size;
        self.area_packets = self.area_packets.wrapping_sub(now.as_nanos());
        self.area_bytes = self.area_bytes.wrapping_sub(octet_nanos(now, size));
    }

    /// Removes packets from the backlog, and adds their departure time to the area.
    #[inline]
    fn gone(&mut self, now: Time, packets: u32, bytes: Bytes) {
        self.backlog.packets -= packets;
        self.backlog.bytes -= bytes;
        self.area_packets = self.area_packets.wrapping_add(now.as_nanos().wrapping_mul(u64::from(packets)));
        self.area_bytes = self.area_bytes.wrapping_add(octet_nanos(now, bytes));
    }

    /// Returns the current backlog.
    pub fn backlog(&self) -> Backlog {
        self.backlog
    }

    /// Returns the number of packets that arrived: the sum of departed, dropped and queued packets.
    pub fn arrived_packets(&self) -> u64 {
        self.sent_packets + self.dropped_packets + u64::from(self.backlog.packets)
    }

    /// Returns the number of packets that the discipline dropped, on arrival or later.
    pub fn dropped_packets(&self) -> u64 {
        self.dropped_packets
    }

    /// Returns the total size of the packets that the discipline dropped, on arrival or later.
    pub fn dropped_bytes(&self) -> Bytes {
        Bytes::new(self.dropped_bytes)
    }

    /// Returns the number of packets that departed.
    pub fn sent_packets(&self) -> u64 {
        self.sent_packets
    }

    /// Returns the total size of the packets that departed.
    pub fn sent_bytes(&self) -> Bytes {
        Bytes::new(self.sent_bytes)
    }

    /// Returns the largest backlog in packets and the largest backlog in bytes, which may have occurred at different
    /// times.
    pub fn max_backlog(&self) -> Backlog {
        Backlog { packets: self.max_packets, bytes: Bytes::new(self.max_bytes) }
    }

    /// Returns the mean backlog in packets from time zero to `now`.
    pub fn mean_packets(&self, now: Time) -> f64 {
        // Packets that are still queued have no departure time yet, so count them up to `now`.
        let waiting = now.as_nanos().wrapping_mul(u64::from(self.backlog.packets));
        self.area_packets.wrapping_add(waiting) as f64 / now.as_nanos() as f64
    }

    /// Returns the mean backlog in bytes from time zero to `now`.
    pub fn mean_bytes(&self, now: Time) -> f64 {
        let waiting = octet_nanos(now, self.backlog.bytes);
        self.area_bytes.wrapping_add(waiting) as f64 / now.as_nanos() as f64
    }

    /// Returns the mean sojourn time of the packets that departed. `None` if no packet has departed.
    pub fn mean_sojourn(&self) -> Option<Duration> {
        self.sojourn_sum.checked_div(self.sent_packets).map(Duration::from_nanos)
    }

    /// Returns the longest sojourn time of the packets that departed.
    pub fn max_sojourn(&self) -> Duration {
        Duration::from_nanos(self.longest.max(self.recent_longest))
    }

    /// Returns the sojourn times of the packets that departed.
    pub fn sojourns(&self) -> &Histogram {
        &self.sojourns
    }

    /// Takes a sample: the current state, and the sojourn times of the packets that departed since the previous sample.
    pub fn sample(&mut self) -> QueueSample {
        // Compute the mean from the differences of running sums.
        let left = self.sent_packets - self.sampled_packets;
        let mean = (self.sojourn_sum - self.sampled_sojourn).checked_div(left).map(Duration::from_nanos);
        let longest = (left > 0).then_some(Duration::from_nanos(self.recent_longest));
        // Keep the longest sojourn time of the whole run before `recent_longest` is reset.
        self.longest = self.longest.max(self.recent_longest);
        self.recent_longest = 0;
        self.sampled_packets = self.sent_packets;
        self.sampled_sojourn = self.sojourn_sum;
        QueueSample {
            backlog: self.backlog,
            arrived_packets: self.arrived_packets(),
            dropped_packets: self.dropped_packets,
            sent_packets: self.sent_packets,
            sent_bytes: self.sent_bytes(),
            sojourn_mean: mean,
            sojourn_max: longest,
        }
    }
}

/// Returns the product of `bytes` and the nanoseconds since time zero.
#[inline]
fn octet_nanos(now: Time, bytes: Bytes) -> u128 {
    u128::from(now.as_nanos()) * u128::from(bytes.get())
}
