//! Creates the configurations of connections, for one end of a flow.

use crate::stack::Stack;
use lopsided_core::Rng;
use lopsided_tcp::{ConnConfig, Endpoint, PathMtu, Remembered};
use std::net::IpAddr;
use std::sync::Arc;

/// The far end of a connection or datagram flow.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(crate) struct Remote {
    pub addr: IpAddr,
    pub port: u16,
}

/// Creates connection configurations for one end of a flow.
#[derive(Debug)]
pub(crate) struct ConnectionFactory {
    /// The address of the host.
    pub local: IpAddr,
    /// The TCP settings.
    pub stack: Stack,
    /// Draws initial sequence numbers.
    pub isn_rng: Rng,
}

impl ConnectionFactory {
    /// The configuration of the next connection. `remembered` holds the metrics that earlier connections to the
    /// destination left.
    pub fn config(
        &mut self,
        local_port: u16,
        remote: Remote,
        path_mtu: Option<PathMtu>,
        remembered: Option<&Remembered>,
    ) -> ConnConfig {
        let Stack { profile, make_controller, mtu } = &self.stack;
        // A connection gets its own profile only if remembered metrics change the profile. Otherwise all connections
        // share one profile.
        let warmed = remembered.and_then(|remembered| remembered.apply(profile)).map(Arc::new);
        let profile = warmed.unwrap_or_else(|| Arc::clone(profile));
        let local = Endpoint { addr: self.local, port: local_port };
        let remote = Endpoint { addr: remote.addr, port: remote.port };
        // Random per connection (RFC 9293, section 3.4.1), but from the flow's own stream.
        let iss = self.isn_rng.next_u64() as u32;
        let config = ConnConfig::with(local, remote, iss, *mtu, profile, &**make_controller);
        ConnConfig { path_mtu, ..config }
    }
}
