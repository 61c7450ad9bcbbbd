//! BSD/OS.

use super::{AckSettings, BufferRule, LossDetection, Profile, RtoRule, TimerGrain, Undo};
use lopsided_core::{Bytes, Duration};

impl Profile {
    /// BSD/OS 3.0, the hosts of balakrishnan1999, a 4.4BSD-Lite2: an initial window of one segment, no SACK, ACK of
    /// every second segment or after 200 ms, retransmission timers in ticks of 500 ms and of at least 1 s. Deviations:
    /// its recovery is Reno's, here NewReno's (RFC 6582); its RTT samples are in ticks too.
    pub fn bsdi_3() -> Profile {
        Profile {
            name: "bsdi-3",
            initial_window_segments: 1,
            initial_window_cap: None,
            sack: false,
            ack: AckSettings::delayed(Duration::from_millis(200)),
            rto: RtoRule::Rfc6298 {
                min: Duration::from_secs(1),
                max: Duration::from_secs(64),
                initial: Duration::from_secs(6),
                slop: Duration::ZERO,
            },
            grain: TimerGrain::Tick(Duration::from_millis(500)),
            loss_detection: LossDetection::Rfc6675,
            limited_transmit: false,
            undo: Undo { timestamps: false, dsack: false, frto: false, early_ack: false },
            send_buffer: BufferRule::Fixed(Bytes::new(16_384)),
            receive_buffer: BufferRule::Fixed(Bytes::new(16_384)),
            ..Profile::freebsd_7()
        }
    }
}
