//! The load of each host's access line: octets sent and received over time, over all of its connections.

use crate::ids::Ids;
use std::collections::BTreeMap;
use std::net::IpAddr;

/// Hosts that are counted; those that appear later are left out.
const MOST_HOSTS: usize = 256;
/// Nanoseconds of a bin at first, and bins of a host.
const FIRST_WIDTH: u64 = 100_000_000;
const MOST_BINS: usize = 1_200;

/// The direction of a host's traffic.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Towards {
    /// To the host.
    Host,
    /// From the host.
    Network,
}

/// Octets of IP packets by host and time.
#[derive(Clone, Debug)]
pub struct Loads {
    begin: Option<u64>,
    width: u64,
    hosts: BTreeMap<IpAddr, [Vec<u64>; 2]>,
    ids: BTreeMap<IpAddr, Ids>,
}

impl Default for Loads {
    fn default() -> Loads {
        Loads { begin: None, width: FIRST_WIDTH, hosts: BTreeMap::new(), ids: BTreeMap::new() }
    }
}

impl Loads {
    /// Octets cross the way from one host to another.
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

    /// Records the identification of a packet of a host.
    pub(crate) fn identified(&mut self, host: IpAddr, id: u16) {
        if self.ids.len() < MOST_HOSTS || self.ids.contains_key(&host) {
            self.ids.entry(host).or_default().add(id, None);
        }
    }

    /// Share of a host's packets that did not reach the point of capture, if the host has one counter of
    /// identifications for all of its connections.
    pub(crate) fn missing_share(&self, host: IpAddr) -> Option<f64> {
        self.ids.get(&host)?.missing_share()
    }

    /// Octets that a host received or sent in all.
    pub fn total(&self, host: IpAddr, way: Towards) -> u64 {
        self.hosts.get(&host).map_or(0, |bins| bins[way as usize].iter().sum())
    }

    /// Octets that a host received or sent between two times; a bin that lies in part between them counts in part.
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

    fn widen(&mut self) {
        self.width *= 2;
        for bins in self.hosts.values_mut().flatten() {
            *bins = bins.chunks(2).map(|pair| pair.iter().sum()).collect();
        }
    }
}
