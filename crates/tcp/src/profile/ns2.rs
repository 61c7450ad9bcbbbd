//! ns-2.

use super::{
    AckSettings, BufferRule, ByteCounting, FastRecovery, IdleRestart, Profile, RtoRule, TickSamples, TimerGrain,
};
use lopsided_core::{Bytes, Duration};

impl Profile {
    /// ns-2's one-way `Agent/TCP/Reno` and `TCPSink`, the simulations of balakrishnan1999: an ACK for every segment, an
    /// initial window of one, no options, Reno's recovery once for each window of losses, round trips in ticks of 100
    /// ms, RTO of at least 200 ms; 100 ms for those that delay ACKs. Its window is the receive buffer here, with
    /// balakrishnan1999's 100 kB. There is no handshake in ns-2: here there is one, which gives no round trip, so that the first timeout is the
    /// initial one of 6 s. Deviation: sequence numbers count octets.
    pub fn ns2_reno() -> Profile {
        Profile {
            name: "ns2-reno",
            byte_counting: ByteCounting::AcksExactly,
            timestamps: false,
            ack: AckSettings { policy: "immediate", ..AckSettings::delayed(Duration::from_millis(100)) },
            rto: RtoRule::Ticks {
                tick: Duration::from_millis(100),
                samples: TickSamples::Nearest,
                min: Duration::from_millis(200),
                max: Duration::from_secs(100_000),
                initial: Duration::from_secs(6),
            },
            handshake_sample: false,
            burst_tick: Duration::ZERO,
            grain: TimerGrain::Exact,
            fast_recovery: FastRecovery::CarefulReno,
            idle_restart: IdleRestart::Never,
            send_buffer: BufferRule::Fixed(Bytes::new(1 << 20)),
            receive_buffer: BufferRule::Fixed(Bytes::new(100_000)),
            ..Profile::bsdi_3()
        }
    }
}
