//! Stores the path MTUs that routers reported to a host (RFC 1191, section 6.3), and the metrics of ended connections
//! (Linux: `tcp_metrics`). As in Linux, path MTUs expire after 10 minutes.

use lopsided_core::Time;
use lopsided_tcp::{PathMtu, Remembered};
use std::collections::BTreeMap;
use std::net::IpAddr;

/// Path MTUs and metrics by destination; `None` until the host stores an entry.
#[derive(Debug, Default)]
pub(super) struct KnownPaths(Option<Box<Known>>);

#[derive(Debug, Default)]
struct Known {
    mtus: BTreeMap<IpAddr, PathMtu>,
    /// Stored only if the stack enables this.
    metrics: BTreeMap<IpAddr, Remembered>,
}

impl KnownPaths {
    /// Returns the path MTU to a destination; `None` if no MTU was reported, or if the reported MTU has expired.
    pub fn mtu(&self, destination: IpAddr, now: Time) -> Option<PathMtu> {
        self.0.as_ref()?.mtus.get(&destination).copied().filter(|known| known.until > now)
    }

    /// Stores the path MTU that a router reported.
    pub fn learn_mtu(&mut self, destination: IpAddr, known: PathMtu) {
        self.0.get_or_insert_default().mtus.insert(destination, known);
    }

    /// Returns the metrics that earlier connections to a destination stored.
    pub fn metrics(&self, destination: IpAddr) -> Option<&Remembered> {
        self.0.as_ref()?.metrics.get(&destination)
    }

    /// Returns the metrics of a destination, to be changed.
    pub fn metrics_mut(&mut self, destination: IpAddr) -> &mut Remembered {
        self.0.get_or_insert_default().metrics.entry(destination).or_default()
    }
}
