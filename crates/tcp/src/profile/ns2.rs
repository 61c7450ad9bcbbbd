//! ns-2.

use super::{AckSettings, BufferRule, IdleRestart, Profile, RtoRule, TimerGrain};
use lopsided_core::{Bytes, Duration};

impl Profile {
    /// ns-2's one-way `Agent/TCP/Reno` and `TCPSink`, the simulations of balakrishnan1999: an ACK for every segment, an
    /// initial window of one, no options, RTO of at least 200 ms. Its window is the receive buffer here, with
    /// balakrishnan1999's 100 kB. Deviations: recovery is NewReno's, sequence numbers count octets, connections have
    /// handshakes, RTT samples are not in ticks of 100 ms.
    pub fn ns2_reno() -> Profile {
        Profile {
            name: "ns2-reno",
            timestamps: false,
            ack: AckSettings { policy: "immediate", ..AckSettings::delayed(Duration::from_millis(200)) },
            rto: RtoRule::Rfc6298 {
                min: Duration::from_millis(200),
                max: Duration::from_secs(100_000),
                initial: Duration::from_secs(3),
                slop: Duration::ZERO,
            },
            grain: TimerGrain::Exact,
            idle_restart: IdleRestart::Never,
            send_buffer: BufferRule::Fixed(Bytes::new(1 << 20)),
            receive_buffer: BufferRule::Fixed(Bytes::new(100_000)),
            ..Profile::bsdi_3()
        }
    }
}
