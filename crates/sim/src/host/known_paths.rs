//! What routers told a host of the ways to its destinations (RFC 1191 section 6.3): as Linux keeps it, by destination
//! and for ten minutes.

use lopsided_core::Time;
use lopsided_tcp::PathMtu;
use std::collections::BTreeMap;
use std::net::IpAddr;

#[derive(Debug, Default)]
pub(super) struct KnownPaths(BTreeMap<IpAddr, PathMtu>);

impl KnownPaths {
    /// What is known of the way to a destination.
    #[inline]
    pub fn to(&self, destination: IpAddr, now: Time) -> Option<PathMtu> {
        if self.0.is_empty() { None } else { self.0.get(&destination).copied().filter(|known| known.until > now) }
    }

    /// A router told of the way to a destination.
    pub fn learn(&mut self, destination: IpAddr, known: PathMtu) {
        self.0.insert(destination, known);
    }
}
