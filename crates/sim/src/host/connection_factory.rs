//! Creates the configuration of each new connection at one end of a flow.

use crate::stack::Stack;
use lopsided_core::Rng;
use lopsided_tcp::{ConnConfig, Endpoint, PathMtu, Remembered};
use std::net::IpAddr;
use std::sync::Arc;

/// Creates the configurations of connections for one end of a flow.
#[derive(Debug)]
pub(crate) struct ConnectionFactory {
    /// The address of the host.
    pub local: IpAddr,
    /// The TCP settings.
    pub stack: Arc<Stack>,
    /// Random numbers for initial sequence numbers.
    pub isn_rng: Rng,
}

impl ConnectionFactory {
    /// Returns the configuration of the next connection. `remembered` contains the metrics that earlier connections to
    /// this destination stored.
    pub fn config(
        &mut self,
        local_port: u16,
        remote: Endpoint,
        path_mtu: Option<PathMtu>,
        remembered: Option<&Remembered>,
    ) -> ConnConfig {
        let Stack { profile, make_controller, mtu } = &*self.stack;
        // All connections share one profile. A connection gets its own copy only if the metrics of earlier connections
        // change the settings.
        let warmed = remembered.and_then(|remembered| remembered.apply(profile)).map(Arc::new);
        let profile = warmed.unwrap_or_else(|| Arc::clone(profile));
        let local = Endpoint { addr: self.local, port: local_port };
        // RFC 9293, section 3.4.1: a random ISN. It comes from the flow's own random stream, so other flows do not
        // affect it.
        let iss = self.isn_rng.next_u64() as u32;
        let config = ConnConfig::with(local, remote, iss, *mtu, profile, &**make_controller);
        // No table contains delivery rates, so the connection need not report them.
        ConnConfig { path_mtu, reports_rate: false, ..config }
    }
}
