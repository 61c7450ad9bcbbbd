//! Path MTUs that routers reported to a host (RFC 1191, section 6.3). As in Linux, they expire after 10 minutes.

use lopsided_core::Time;
use lopsided_tcp::PathMtu;
use std::collections::BTreeMap;
use std::net::IpAddr;

/// Path MTUs by destination.
#[derive(Debug, Default)]
pub(super) struct KnownPaths(BTreeMap<IpAddr, PathMtu>);

impl KnownPaths {
    /// Returns the path MTU to a destination; `None` if no MTU was reported, or if the reported MTU has expired.
    #[inline]
    pub fn to(&self, destination: IpAddr, now: Time) -> Option<PathMtu> {
        if self.0.is_empty() { None } else { self.0.get(&destination).copied().filter(|known| known.until > now) }
    }

    /// Stores the path MTU that a router reported.
    pub fn learn(&mut self, destination: IpAddr, known: PathMtu) {
        self.0.insert(destination, known);
    }
}
