//! One direction of a connection over time, in bins that widen as the connection lasts.

use crate::limit::Limit;

/// Nanoseconds of a bin at first.
const FIRST_WIDTH: u64 = 100_000_000;
/// Bins of one direction; when they are full, each two become one.
const MOST_BINS: usize = 600;

/// One stretch of time.
#[derive(Clone, Copy, Debug)]
pub struct Bin {
    /// Nanoseconds for which each limit held the sender back.
    pub limits: [u64; Limit::ALL.len()],
    /// Number of the first and last packet of the direction or its ACKs; 0 if none passed.
    pub packets: (u64, u64),
    /// Octets of payload that passed.
    pub sent_bytes: u64,
    /// Octets that were acknowledged.
    pub acked_bytes: u64,
    /// Octets of IP packets that passed with data.
    pub wire_bytes: u64,
    /// Segments that passed again.
    pub retransmitted: u32,
    /// Acknowledgements without data that passed.
    pub acks: u32,
    /// Smallest, largest and sum of the round trips in ms, and their number.
    pub rtt_ms: Spread,
    /// The waiting time of data between the sender and the receiver, in ms.
    pub data_wait_ms: Spread,
    /// The waiting time of ACKs between the receiver and the sender, in ms.
    pub ack_wait_ms: Spread,
    /// Most octets that were out.
    pub most_out: u32,
    /// Smallest receive window while data was out.
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
    /// The limit that held longest, and its share of the bin's attributed time. `None` without any.
    pub fn verdict(&self) -> Option<(Limit, f64)> {
        let total: u64 = self.limits.iter().sum();
        let (place, longest) = self.limits.iter().enumerate().max_by_key(|(_, time)| **time)?;
        (total > 0).then(|| (Limit::ALL[place], *longest as f64 / total as f64))
    }

    /// The bin with all time of pacing and of the congestion window given to the one of both that held longer.
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

    /// Attributes the time of a full congestion window to pacing.
    pub(crate) fn pace(&mut self) {
        let by_window = std::mem::take(&mut self.limits[Limit::Avoidance as usize]);
        self.limits[Limit::Pacing as usize] += by_window;
    }

    fn add(&mut self, other: &Bin) {
        for (mine, others) in self.limits.iter_mut().zip(other.limits) {
            *mine += others;
        }
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

/// The smallest and the largest of some values, their sum and number.
#[derive(Clone, Copy, Debug, Default)]
pub struct Spread {
    /// The smallest.
    pub least: f32,
    /// The largest.
    pub most: f32,
    /// Their sum.
    pub sum: f32,
    /// Their number.
    pub count: u32,
}

impl Spread {
    /// Adds a value.
    pub fn add(&mut self, value: f64) {
        self.add_all(&Spread { least: value as f32, most: value as f32, sum: value as f32, count: 1 });
    }

    /// Their mean; NaN without values.
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
#[derive(Clone, Debug)]
pub struct Timeline {
    begin: u64,
    width: u64,
    bins: Vec<Bin>,
}

impl Timeline {
    /// Begins with the first bin at this time.
    pub fn new(begin: u64) -> Timeline {
        Timeline { begin, width: FIRST_WIDTH, bins: Vec::new() }
    }

    /// When the first bin begins, in nanoseconds of the file.
    pub fn begin(&self) -> u64 {
        self.begin
    }

    /// Nanoseconds of a bin.
    pub fn width(&self) -> u64 {
        self.width
    }

    /// The bins in order.
    pub fn bins(&self) -> &[Bin] {
        &self.bins
    }

    /// The bin of a time; earlier times belong to the first.
    pub fn at(&mut self, at: u64) -> &mut Bin {
        let since = at.saturating_sub(self.begin);
        while since / self.width >= MOST_BINS as u64 {
            self.widen();
        }
        let place = (since / self.width) as usize;
        if place >= self.bins.len() {
            self.bins.resize(place + 1, Bin::default());
        }
        &mut self.bins[place]
    }

    /// Records a packet.
    pub fn packet(&mut self, at: u64, number: u64) -> &mut Bin {
        let bin = self.at(at);
        bin.packets.0 = if bin.packets.0 == 0 { number } else { bin.packets.0 };
        bin.packets.1 = number;
        bin
    }

    /// Records that a limit held from one time to another.
    pub fn held(&mut self, limit: Limit, from: u64, to: u64) {
        if to <= from {
            return;
        }
        // Makes room for the last one, so that the width stays the same below.
        self.at(to - 1);
        let mut from = from.max(self.begin);
        while from < to {
            let place = (from - self.begin) / self.width;
            let until = (self.begin + (place + 1) * self.width).min(to);
            self.bins[place as usize].limits[limit as usize] += until - from;
            from = until;
        }
    }

    /// Frees the room for further bins.
    pub fn close(&mut self) {
        self.bins.shrink_to_fit();
    }

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
