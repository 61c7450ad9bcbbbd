//! The bytes that each host sent and received over time, summed over all of its connections.

use crate::ids::Ids;
use std::collections::BTreeMap;
use std::net::IpAddr;

/// Largest number of hosts for which bytes are counted. Hosts that appear later are ignored.
const MOST_HOSTS: usize = 256;
/// Initial width of a bin in nanoseconds, then the largest number of bins.
const FIRST_WIDTH: u64 = 100_000_000;
const MOST_BINS: usize = 1_200;

/// Direction of traffic, relative to a host.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Towards {
    /// To the host.
    Host,
    /// From the host.
    Network,
}

/// IP bytes by host and time.
#[derive(Clone, Debug)]
pub struct Loads {
    /// Start of the first bin, in nanoseconds since the epoch of the file's clock.
    begin: Option<u64>,
    /// Width of a bin in nanoseconds.
    width: u64,
    /// For each host: bytes per bin that it received, and bytes per bin that it sent.
    hosts: BTreeMap<IpAddr, [Vec<u64>; 2]>,
    ids: BTreeMap<IpAddr, Ids>,
}

impl Default for Loads {
    fn default() -> Loads {
        Loads { begin: None, width: FIRST_WIDTH, hosts: BTreeMap::new(), ids: BTreeMap::new() }
    }
}

impl Loads {
    /// Records `bytes` of IP packets from one host to another at time `at`, in nanoseconds of the file's clock.
    pub(crate) fn add(&mut self, at: u64, from: IpAddr, to: IpAddr, bytes: u64) {
        let begin = *self.begin.get_or_insert(at);
        while at.saturating_sub(begin) / self.width >= MOST_BINS as u64 {
            self.widen();
        }
        let place = (at.saturating_sub(begin) / self.width) as usize;
        for (host, way) in [(to, Towards::Host), (from, Towards::Network)] {
            if self.hosts.len() >= MOST_HOSTS && !self.hosts.contains_key(&host) {
                continue;
            }
            let bins = &mut self.hosts.entry(host).or_default()[way as usize];
            if place >= bins.len() {
                bins.resize(place + 1, 0);
            }
            bins[place] += bytes;
        }
    }

    /// Records the IPv4 identification of a packet that a host sent.
    pub(crate) fn identified(&mut self, host: IpAddr, id: u16) {
        if self.ids.len() < MOST_HOSTS || self.ids.contains_key(&host) {
            self.ids.entry(host).or_default().add(id, None);
        }
    }

    /// Fraction of a host's packets that were lost before the point of capture. `None` unless the host uses a single
    /// counter of IPv4 identifications for all of its connections.
    pub(crate) fn missing_share(&self, host: IpAddr) -> Option<f64> {
        self.ids.get(&host)?.missing_share()
    }

    /// Total bytes that a host received or sent.
    pub fn total(&self, host: IpAddr, way: Towards) -> u64 {
        self.hosts.get(&host).map_or(0, |bins| bins[way as usize].iter().sum())
    }

    /// Bytes that a host received or sent between two times, in nanoseconds of the file's clock. A bin that overlaps
    /// the period partly is counted in proportion.
    pub fn between(&self, host: IpAddr, way: Towards, from: u64, to: u64) -> f64 {
        let (Some(begin), Some(bins)) = (self.begin, self.hosts.get(&host)) else { return 0.0 };
        let bins = &bins[way as usize];
        let width = self.width as f64;
        let (from, to) = (from.saturating_sub(begin) as f64 / width, to.saturating_sub(begin) as f64 / width);
        let last = (to.ceil() as usize).min(bins.len());
        let first = (from as usize).min(last);
        let inside = |place: usize| ((place + 1) as f64).min(to) - (place as f64).max(from);
        bins[first..last].iter().enumerate().map(|(place, octets)| inside(first + place) * *octets as f64).sum()
    }

    /// Doubles the width of the bins, which halves their number and bounds the memory of long captures.
    fn widen(&mut self) {
        self.width *= 2;
        for bins in self.hosts.values_mut().flatten() {
            *bins = bins.chunks(2).map(|pair| pair.iter().sum()).collect();
        }
    }
}
