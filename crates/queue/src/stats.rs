//! Measurements of a queue, for any discipline: counts, backlog over time, sojourn times. Constant memory.

use crate::{Backlog, Histogram};
use lopsided_core::{Bytes, Count, Duration, Time};

/// The statistics of one queue since the start.
///
/// The area under the backlog's curve needs no running integral: a packet that arrived at `a` and left at `b` adds `b -
/// a`, so the area is the sum of departure times minus the sum of arrival times, plus the current backlog times now.
/// The sums wrap, which is harmless because the area itself fits.
#[derive(Clone, Debug, Default)]
pub struct QueueStats {
    backlog: Backlog,
    sent_packets: u64,
    sent_bytes: u64,
    sojourn_sum: u64,
    /// The longest wait since the last sample.
    recent_longest: u64,
    longest: u64,
    max_packets: u32,
    max_bytes: u64,
    /// Packet-nanoseconds, less backlog times now.
    area_packets: u64,
    /// Byte-nanoseconds, minus the backlog times now.
    area_bytes: u128,
    dropped_packets: u64,
    dropped_bytes: u64,
    sojourns: Histogram,
    sampled_packets: u64,
    sampled_sojourn: u64,
}

/// A queue at one instant: counts since the start, and sojourn times of the packets that left since the last sample.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Default)]
pub struct QueueSample {
    pub backlog: Backlog,
    /// Packets that arrived, enqueued or not.
    pub arrived_packets: u64,
    pub dropped_packets: u64,
    pub sent_packets: u64,
    pub sent_bytes: Bytes,
    /// `None` if no packet left in the interval.
    pub sojourn_mean: Option<Duration>,
    pub sojourn_max: Option<Duration>,
}

impl QueueStats {
    /// A packet was offered to the queue at `now`, and this is the backlog since: it, or others, may have been dropped.
    pub fn offered(&mut self, now: Time, size: Bytes, backlog: Backlog) {
        self.came(now, size);
        self.settle(now, backlog);
        self.notice(self.backlog);
    }

    /// A packet was taken in at `now`, and no other dropped.
    #[inline]
    pub fn entered(&mut self, now: Time, size: Bytes) {
        self.came(now, size);
        self.notice(self.backlog);
    }

    /// Records a packet that arrives at `now` and departs at `departs`, with no query in between, and the backlog at
    /// its arrival.
    #[inline(always)]
    pub fn crossed(&mut self, now: Time, departs: Time, size: Bytes, backlog: Backlog) {
        self.notice(backlog);
        if departs == now {
            return self.sent_at_once(size);
        }
        debug_assert!(departs > now);
        let sojourn = Duration::from_nanos(departs.as_nanos() - now.as_nanos());
        self.area_packets = self.area_packets.wrapping_add(sojourn.as_nanos());
        self.area_bytes = self.area_bytes.wrapping_add(u128::from(sojourn.as_nanos()) * u128::from(size.get()));
        self.sent(size, sojourn);
    }

    /// Records packets that each departed at once, the largest with this size; none arrived together with another.
    pub fn passed(&mut self, packets: Count, largest: Bytes) {
        if packets.packets > 0 {
            self.notice(Backlog { packets: 1, bytes: largest });
            self.sent_packets += packets.packets;
            self.sent_bytes += packets.bytes.get();
            self.sojourns.add_zeros(packets.packets as u32);
        }
    }

    /// A packet left for the line at `now`, having waited since `since`.
    #[inline]
    pub fn left(&mut self, now: Time, enqueued_at: Time, size: Bytes) {
        self.gone(now, 1, size);
        self.sent(size, now.saturating_since(enqueued_at));
    }

    /// Records a departure without waiting.
    #[inline]
    fn sent_at_once(&mut self, size: Bytes) {
        self.sent_packets += 1;
        self.sent_bytes += size.get();
        self.sojourns.add(Duration::ZERO);
    }

    /// Records a departure after this sojourn time.
    #[inline]
    fn sent(&mut self, size: Bytes, sojourn: Duration) {
        self.sent_packets += 1;
        self.sent_bytes += size.get();
        self.sojourn_sum += sojourn.as_nanos();
        self.recent_longest = self.recent_longest.max(sojourn.as_nanos());
        self.sojourns.add(sojourn);
    }

    /// Brings the accounting in line with a discipline that dropped packets on its own account, at `now`.
    #[inline]
    pub fn settle(&mut self, now: Time, backlog: Backlog) {
        if self.backlog != backlog {
            let packets = self.backlog.packets - backlog.packets;
            let bytes = self.backlog.bytes - backlog.bytes;
            self.gone(now, packets, bytes);
            self.dropped_packets += u64::from(packets);
            self.dropped_bytes += bytes.get();
        }
    }

    /// Raises the largest backlog to this one.
    #[inline]
    pub fn notice(&mut self, backlog: Backlog) {
        self.max_packets = self.max_packets.max(backlog.packets);
        self.max_bytes = self.max_bytes.max(backlog.bytes.get());
    }

    #[inline]
    fn came(&mut self, now: Time, size: Bytes) {
        self.backlog.packets += 1;
        self.backlog.bytes += size;
        self.area_packets = self.area_packets.wrapping_sub(now.as_nanos());
        self.area_bytes = self.area_bytes.wrapping_sub(octet_nanos(now, size));
    }

    #[inline]
    fn gone(&mut self, now: Time, packets: u32, bytes: Bytes) {
        self.backlog.packets -= packets;
        self.backlog.bytes -= bytes;
        self.area_packets = self.area_packets.wrapping_add(now.as_nanos().wrapping_mul(u64::from(packets)));
        self.area_bytes = self.area_bytes.wrapping_add(octet_nanos(now, bytes));
    }

    pub fn backlog(&self) -> Backlog {
        self.backlog
    }

    /// Packets that arrived: departed, dropped or queued.
    pub fn arrived_packets(&self) -> u64 {
        self.sent_packets + self.dropped_packets + u64::from(self.backlog.packets)
    }

    /// Packets that the discipline refused or dropped.
    pub fn dropped_packets(&self) -> u64 {
        self.dropped_packets
    }

    pub fn dropped_bytes(&self) -> Bytes {
        Bytes::new(self.dropped_bytes)
    }

    /// Packets that left for the line.
    pub fn sent_packets(&self) -> u64 {
        self.sent_packets
    }

    pub fn sent_bytes(&self) -> Bytes {
        Bytes::new(self.sent_bytes)
    }

    /// The largest backlog in packets and in bytes, which may have occurred at different times.
    pub fn max_backlog(&self) -> Backlog {
        Backlog { packets: self.max_packets, bytes: Bytes::new(self.max_bytes) }
    }

    /// The mean backlog in packets over the time from zero to `now`.
    pub fn mean_packets(&self, now: Time) -> f64 {
        let waiting = now.as_nanos().wrapping_mul(u64::from(self.backlog.packets));
        self.area_packets.wrapping_add(waiting) as f64 / now.as_nanos() as f64
    }

    /// Mean backlog in bytes from time zero to `now`.
    pub fn mean_bytes(&self, now: Time) -> f64 {
        let waiting = octet_nanos(now, self.backlog.bytes);
        self.area_bytes.wrapping_add(waiting) as f64 / now.as_nanos() as f64
    }

    /// The mean wait of the packets that left for the line.
    pub fn mean_sojourn(&self) -> Option<Duration> {
        self.sojourn_sum.checked_div(self.sent_packets).map(Duration::from_nanos)
    }

    pub fn max_sojourn(&self) -> Duration {
        Duration::from_nanos(self.longest.max(self.recent_longest))
    }

    /// The waits of the packets that left for the line.
    pub fn sojourns(&self) -> &Histogram {
        &self.sojourns
    }

    /// The queue as it is, and the waits since the sample before.
    pub fn sample(&mut self) -> QueueSample {
        let left = self.sent_packets - self.sampled_packets;
        let mean = (self.sojourn_sum - self.sampled_sojourn).checked_div(left).map(Duration::from_nanos);
        let longest = (left > 0).then_some(Duration::from_nanos(self.recent_longest));
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

#[inline]
fn octet_nanos(now: Time, bytes: Bytes) -> u128 {
    u128::from(now.as_nanos()) * u128::from(bytes.get())
}
