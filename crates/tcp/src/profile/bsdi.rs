//! BSD/OS.

use super::{
    AckSettings, BufferRule, ByteCounting, CwndReduction, DuplicateCount, FastRecovery, LossDetection, Profile,
    ReceiveWindow, RtoRule, SendBufferAccounting, TickSamples, TimerGrain, Undo, WindowUpdate,
};
use lopsided_core::{Bytes, Duration};

/// Of `tcp_slowtimo`, which counts round trips and retransmission timers.
const SLOW_TICK: Duration = Duration::from_millis(500);

/// Of `timeout()`, which the authors of balakrishnan1999 schedule bursts with (section 9.1.1).
const CALLOUT_TICK: Duration = Duration::from_millis(10);

impl Profile {
    /// BSD/OS 3.0, the hosts of balakrishnan1999, a 4.4BSD-Lite2: an initial window of one segment, no SACK, Reno's
    /// recovery, ACK of every second segment or after 200 ms, round trips and retransmission timers in ticks of 500 ms,
    /// an RTO of at least 1 s. Deviations: duplicates of what a timeout sends again begin no fast retransmit; it
    /// acknowledges two segments when the application has read them, here as they arrive; it rounds its buffers up to
    /// whole segments.
    pub fn bsdi_3() -> Profile {
        Profile {
            name: "bsdi-3",
            initial_window_segments: 1,
            initial_window_cap: None,
            byte_counting: ByteCounting::Acks,
            sack: false,
            ack: AckSettings::delayed(Duration::from_millis(200)),
            window_update: WindowUpdate::NearlyClosed,
            reassembly_limit: None,
            placeholders: None,
            placeholder_margin: 4,
            rto: RtoRule::Ticks {
                tick: SLOW_TICK,
                samples: TickSamples::Counted,
                min: Duration::from_secs(1),
                max: Duration::from_secs(64),
                initial: Duration::from_secs(6),
            },
            grain: TimerGrain::Tick(SLOW_TICK),
            loss_detection: LossDetection::Rfc6675,
            fast_recovery: FastRecovery::Reno,
            max_burst: 0,
            burst_tick: CALLOUT_TICK,
            marked_retransmit: false,
            duplicates: DuplicateCount::UntilProgress,
            limited_transmit: false,
            cwnd_reduction: CwndReduction::Immediate,
            threshold_heeds_peer: false,
            undo: Undo { timestamps: false, dsack: false, frto: false, early_ack: false },
            fast_path: false,
            answers_unsent_ack: true,
            ack_repeats_fin: true,
            send_buffer: BufferRule::Fixed(Bytes::new(16_384)),
            send_buffer_accounting: SendBufferAccounting::Stream,
            receive_buffer: BufferRule::Fixed(Bytes::new(16_384)),
            receive_window: ReceiveWindow::Room,
            ..Profile::freebsd_7()
        }
    }
}
