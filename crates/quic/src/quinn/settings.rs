//! quinn's configuration of a connection.

use super::clock::to_std;
use super::congestion::WatchingFactory;
use super::stack::{AckFrequencyConfig, IdleTimeout, MtuDiscoveryConfig, TransportConfig, VarInt};
use crate::config::QuicConfig;
use lopsided_app::TransportEnd;
use std::net::IpAddr;
use std::sync::Arc;

/// Maximum number of streams that a peer may have open at the same time.
const MAX_STREAMS: u32 = 1000;
/// Size of the IPv4 and UDP headers in bytes.
const HEADERS: u64 = 28;

fn varint(value: u64) -> VarInt {
    VarInt::from_u64(value).unwrap_or(VarInt::MAX)
}

/// Returns quinn's configuration of a connection with the settings of a flow.
pub(super) fn transport_config(
    config: &QuicConfig,
    end: &TransportEnd,
    controllers: Arc<WatchingFactory>,
) -> TransportConfig {
    let mut transport = TransportConfig::default();
    let largest = end.stack.mtu().get().saturating_sub(headers(end.local.ip())).min(config.max_datagram.get());
    let largest = u16::try_from(largest).unwrap_or(u16::MAX);
    let discovery = (config.mtu_discovery && largest > 1200).then(|| {
        let mut discovery = MtuDiscoveryConfig::default();
        discovery.upper_bound(largest);
        discovery
    });
    transport
        .congestion_controller_factory(controllers)
        .max_concurrent_bidi_streams(MAX_STREAMS.into())
        .max_idle_timeout(config.idle_timeout.and_then(|span| IdleTimeout::try_from(to_std(span)).ok()))
        .stream_receive_window(varint(config.stream_window.get()))
        .receive_window(config.connection_window.map_or(VarInt::MAX, |window| varint(window.get())))
        .send_window(config.send_window.get())
        .mtu_discovery_config(discovery)
        // No stage of lopsided reads the spin bit.
        .allow_spin(false);
    if config.ack_frequency {
        let mut asks = AckFrequencyConfig::default();
        asks.ack_eliciting_threshold(varint(u64::from(config.ack_packets) - 1))
            .max_ack_delay(Some(to_std(config.max_ack_delay)))
            .reordering_threshold(varint(u64::from(config.reordering_threshold)));
        transport.ack_frequency_config(Some(asks));
    }
    transport
}

/// Returns the size of the IP and UDP headers in bytes.
fn headers(address: IpAddr) -> u64 {
    if address.is_ipv4() { HEADERS } else { HEADERS + 20 }
}
