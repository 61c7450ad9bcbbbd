//! ns-2.

use super::{
    AckSettings, BufferRule, ByteCounting, FastRecovery, IdleRestart, Profile, RtoRule, TickSamples, TimerGrain,
};
use lopsided_core::{Bytes, Duration};

impl Profile {
    /// ns-2's one-way `Agent/TCP/Reno` and `TCPSink`, as in balakrishnan1999. It acknowledges every segment. It has an
    /// initial window of one segment, no options, and Reno's recovery, at most once per window of data. RTTs are
    /// measured in ticks of 100 ms, and the RTO is at least 200 ms. The receive buffer of 100 kB corresponds to ns-2's
    /// window parameter.
    ///
    /// Deviations: this profile has a handshake, which provides no RTT sample, so the first RTO is 6 s. Sequence
    /// numbers count bytes.
    pub fn ns2_reno() -> Profile {
        Profile {
            name: "ns2-reno",
            byte_counting: ByteCounting::AcksExactly,
            timestamps: false,
            ack: AckSettings { policy: "immediate", ..AckSettings::delayed(Duration::from_millis(100)) },
            // tcpTick_, minrto_ and maxrto_ of ns-default.tcl.
            rto: RtoRule::Ticks {
                tick: Duration::from_millis(100),
                samples: TickSamples::Boundaries,
                min: Duration::from_millis(200),
                max: Duration::from_secs(100_000),
                initial: Duration::from_secs(6),
            },
            handshake_sample: false,
            burst_tick: Duration::ZERO,
            grain: TimerGrain::Exact,
            fast_recovery: FastRecovery::CarefulReno,
            idle_restart: IdleRestart::Never,
            fast_path: false,
            send_buffer: BufferRule::Fixed(Bytes::new(1 << 20)),
            receive_buffer: BufferRule::Fixed(Bytes::new(100_000)),
            ..Profile::bsdi_3()
        }
    }
}
