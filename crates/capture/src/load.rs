//! The packets and bytes that each host sent and received over time, summed over all connections of the host.

use crate::ids::Ids;
use crate::segment::Segment;
use crate::sketch::Sketch;
use std::collections::{BTreeMap, VecDeque};
use std::net::IpAddr;

/// Maximum number of hosts for which bytes are counted. Hosts that appear later are ignored.
const MOST_HOSTS: usize = 256;
/// Initial width of a bin in nanoseconds. The width doubles when the number of bins exceeds `MOST_BINS`.
const FIRST_WIDTH: u64 = 100_000_000;
const MOST_BINS: usize = 1_200;
/// Number of packets whose times are stored for each host and direction.
const MOST_TIMES: usize = 2_048;
/// The lengths of a queue are recorded if between these shares of the packets carry data. In a queue of data alone, the
/// queueing delay shows the length.
const MIXED: (f64, f64) = (0.01, 0.8);
/// Resolution of TCP timestamps in nanoseconds. A packet that waited for less time found an empty queue.
const TICK: u64 = 1_000_000;

/// Direction of traffic, relative to a host.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Towards {
    /// To the host.
    Host,
    /// From the host.
    Network,
}

/// Indices of the hosts that send and receive the packets of a connection; `None` for a host that is ignored.
pub(crate) type Hosts = (Option<usize>, Option<usize>);

/// Bytes of IP packets, by host and time.
#[derive(Clone, Debug)]
pub struct Loads {
    /// Start of the first bin, in nanoseconds since the epoch of the file's clock.
    begin: Option<u64>,
    /// Width of a bin in nanoseconds.
    width: u64,
    /// Index of the bin of the latest packet, and start of this bin in nanoseconds since `begin`.
    latest: (usize, u64),
    hosts: Vec<Host>,
    /// Index of each host in `hosts`.
    places: BTreeMap<IpAddr, usize>,
    /// For each pair of sender and receiver, the rate of the line in bit/s, and the busy time from which it was
    /// computed, in nanoseconds.
    lines: BTreeMap<(IpAddr, IpAddr), (f64, u64)>,
}

/// The traffic of one host, for each direction in the order of [`Towards`].
#[derive(Clone, Debug, Default)]
struct Host {
    /// Bytes per bin.
    bytes: [Vec<u64>; 2],
    /// Numbers of packets with and without data.
    packets: [[u64; 2]; 2],
    /// Time of each recent packet, and the total size of all packets up to this packet, in bytes.
    passed: [VecDeque<(u64, u64)>; 2],
    /// For each packet, the number of packets that were in the queue in front of the point of capture when the packet
    /// entered it.
    lengths: [Sketch; 2],
    /// IPv4 identifications of the packets that the host sent.
    ids: Ids,
}

impl Default for Loads {
    fn default() -> Loads {
        Loads {
            begin: None,
            width: FIRST_WIDTH,
            latest: (0, 0),
            hosts: Vec::new(),
            places: BTreeMap::new(),
            lines: BTreeMap::new(),
        }
    }
}

impl Loads {
    /// Returns the index by which the other methods identify a host. `None` if there are too many hosts.
    pub(crate) fn host(&mut self, address: IpAddr) -> Option<usize> {
        if let Some(place) = self.places.get(&address) {
            return Some(*place);
        }
        let place = self.hosts.len();
        if place >= MOST_HOSTS {
            return None;
        }
        self.hosts.push(Host::default());
        self.places.insert(address, place);
        Some(place)
    }

    fn of(&self, address: IpAddr) -> Option<&Host> {
        self.places.get(&address).map(|place| &self.hosts[*place])
    }

    /// Records `bytes` of IP packets at time `at`, in nanoseconds of the file's clock.
    pub(crate) fn add(&mut self, at: u64, from: Option<usize>, to: Option<usize>, bytes: u64) {
        let begin = *self.begin.get_or_insert(at);
        let since = at.saturating_sub(begin);
        // Most packets are in the bin of the previous packet, and a division takes long.
        if since.wrapping_sub(self.latest.1) >= self.width {
            while since / self.width >= MOST_BINS as u64 {
                self.widen();
            }
            let bin = since / self.width;
            self.latest = (bin as usize, bin * self.width);
        }
        let bin = self.latest.0;
        for (host, way) in [(to, Towards::Host), (from, Towards::Network)] {
            let Some(host) = host else { continue };
            let bins = &mut self.hosts[host].bytes[way as usize];
            if bin >= bins.len() {
                bins.resize(bin + 1, 0);
            }
            bins[bin] += bytes;
        }
    }

    /// Records a packet from one host to another, which was queued for `waited` nanoseconds. Returns the number of packets
    /// that it found in the queue; `None` if the number is unknown or not needed.
    pub(crate) fn passed(
        &mut self,
        segment: &Segment,
        from: Option<usize>,
        to: Option<usize>,
        waited: Option<u64>,
    ) -> Option<u64> {
        let (at, is_data) = (segment.at, segment.len > 0);
        for (host, way) in [(to, Towards::Host), (from, Towards::Network)] {
            let Some(host) = host else { continue };
            self.hosts[host].packets[way as usize][usize::from(!is_data)] += 1;
            let times = &mut self.hosts[host].passed[way as usize];
            if times.len() == MOST_TIMES {
                times.pop_front();
            }
            let total = times.back().map_or(0, |(_, total)| *total) + u64::from(segment.ip_len);
            times.push_back((at, total));
        }
        if let (Some(host), Some(id)) = (from, segment.ip_id) {
            self.hosts[host].ids.add(id, None);
        }
        let ends = [(from?, Towards::Network), (to?, Towards::Host)];
        let waited = waited.filter(|_| ends.into_iter().any(|(host, way)| self.is_mixed(host, way)))?;
        let found = if waited < TICK { 0 } else { self.packets_between((from, to), at.saturating_sub(waited), at)?.0 };
        for (host, way) in ends {
            self.hosts[host].lengths[way as usize].add(found as f64);
        }
        Some(found)
    }

    /// Returns the lengths of the queue that packets of a host found, in packets; `None` without packets.
    pub(crate) fn lengths(&self, host: IpAddr, way: Towards) -> Option<&Sketch> {
        Some(&self.of(host)?.lengths[way as usize])
    }

    /// Returns the number of packets between `since` and `until` that the first host sent, or that the second host
    /// received if this number is larger. Also returns the total size of these packets in bytes. `None` if the times of
    /// these packets are no longer stored.
    pub(crate) fn packets_between(&self, (from, to): Hosts, since: u64, until: u64) -> Option<(u64, u64)> {
        let count = |host: Option<usize>, way: Towards| {
            let times = &self.hosts[host?].passed[way as usize];
            let is_whole = times.len() < MOST_TIMES || times.front().is_some_and(|(first, _)| *first <= since);
            let before =
                |bound: u64, included: bool| times.partition_point(|(at, _)| *at < bound || included && *at == bound);
            let total = |count: usize| count.checked_sub(1).map_or(0, |last| times[last].1);
            is_whole.then(|| {
                let (begin, end) = (before(since, true), before(until, false));
                (end.saturating_sub(begin) as u64, total(end).saturating_sub(total(begin)))
            })
        };
        Some(count(from, Towards::Network)?.max(count(to, Towards::Host)?))
    }

    /// Returns the fraction of a host's packets that were lost before the point of capture. `None` unless the host uses
    /// a single counter for the IPv4 identification field.
    pub(crate) fn missing_share(&self, host: IpAddr) -> Option<f64> {
        self.of(host)?.ids.missing_share()
    }

    /// Returns the share of data packets among all packets that a host received or sent (according to `way`); NaN
    /// without packets.
    pub fn data_share(&self, host: IpAddr, way: Towards) -> f64 {
        let [data, others] = self.of(host).map_or([0; 2], |host| host.packets[way as usize]);
        data as f64 / (data + others) as f64
    }

    /// Records the rate of a line. The rate with the longest busy time is kept.
    pub(crate) fn add_line(&mut self, from: IpAddr, to: IpAddr, rate_bps: f64, busy: u64) {
        let line = self.lines.entry((from, to)).or_insert((rate_bps, busy));
        if busy > line.1 {
            *line = (rate_bps, busy);
        }
    }

    /// Returns the rate of a line in bit/s, and its busy time in nanoseconds. `None` if no data kept the line busy.
    pub(crate) fn line(&self, from: IpAddr, to: IpAddr) -> Option<(f64, u64)> {
        self.lines.get(&(from, to)).copied()
    }

    /// Returns the highest rate of a host in bytes per second over at least `nanos` nanoseconds; 0 in a shorter
    /// capture.
    pub(crate) fn fastest(&self, host: IpAddr, way: Towards, nanos: u64) -> f64 {
        let bins = self.of(host).map_or(&[][..], |host| &host.bytes[way as usize]);
        let count = nanos.div_ceil(self.width).max(1) as usize;
        let most = bins.windows(count).map(|bins| bins.iter().sum::<u64>()).max().unwrap_or(0);
        most as f64 * 1e9 / (count as u64 * self.width) as f64
    }

    /// Returns the total number of bytes that a host received or sent.
    pub fn total(&self, host: IpAddr, way: Towards) -> u64 {
        self.of(host).map_or(0, |host| host.bytes[way as usize].iter().sum())
    }

    /// Returns true if data and other packets share the queue of a host in one direction. See `MIXED`.
    pub(crate) fn is_mixed(&self, host: usize, way: Towards) -> bool {
        let [data, others] = self.hosts[host].packets[way as usize];
        (MIXED.0..MIXED.1).contains(&(data as f64 / (data + others) as f64))
    }

    /// Returns the number of bytes that a host received or sent between two times, in nanoseconds of the file's clock.
    /// A bin at the edge counts in proportion to its overlap.
    pub fn between(&self, host: IpAddr, way: Towards, from: u64, to: u64) -> f64 {
        let (Some(begin), Some(host)) = (self.begin, self.of(host)) else { return 0.0 };
        let bins = &host.bytes[way as usize];
        let width = self.width as f64;
        let (from, to) = (from.saturating_sub(begin) as f64 / width, to.saturating_sub(begin) as f64 / width);
        let last = (to.ceil() as usize).min(bins.len());
        let first = (from as usize).min(last);
        let inside = |place: usize| ((place + 1) as f64).min(to) - (place as f64).max(from);
        bins[first..last].iter().enumerate().map(|(place, octets)| inside(first + place) * *octets as f64).sum()
    }

    /// Doubles the width of the bins. This halves their number and bounds the memory of long captures.
    fn widen(&mut self) {
        self.width *= 2;
        for bins in self.hosts.iter_mut().flat_map(|host| &mut host.bytes) {
            *bins = bins.chunks(2).map(|pair| pair.iter().sum()).collect();
        }
    }
}
