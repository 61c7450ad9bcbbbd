//! BSD/OS.

use super::{
    AckSettings, BufferRule, ByteCounting, CwndReduction, DuplicateCount, FastRecovery, LossDetection, Profile,
    ReceiveWindow, RtoRule, SendBufferAccounting, TickSamples, TimerGrain, Undo, WindowUpdate,
};
use lopsided_core::{Bytes, Duration};

/// Tick of `tcp_slowtimo`, which measures RTTs and drives the retransmission timers.
const SLOW_TICK: Duration = Duration::from_millis(500);

/// Tick of `timeout()`, with which the authors of balakrishnan1999 schedule bursts (section 9.1.1).
const CALLOUT_TICK: Duration = Duration::from_millis(10);

impl Profile {
    /// BSD/OS 3.0, a descendant of 4.4BSD-Lite2: the operating system of the hosts in balakrishnan1999. The profile has
    /// an initial window of one segment, no SACK, and Reno's recovery. It sends an ACK for every second segment or
    /// after 200 ms. RTTs and retransmission timers are measured in ticks of 500 ms, and the RTO is at least 1 s.
    ///
    /// Deviations: duplicate ACKs for data that a timeout retransmitted start no fast retransmit. ACKs are sent before
    /// the application reads. Buffers are rounded up to whole segments.
    pub fn bsdi_3() -> Profile {
        Profile {
            name: "bsdi-3",
            // RFC 2001 section 1.
            initial_window_segments: 1,
            initial_window_cap: None,
            byte_counting: ByteCounting::Acks,
            sack: false,
            // tcp_fasttimo.
            ack: AckSettings::delayed(Duration::from_millis(200)),
            window_update: WindowUpdate::NearlyClosed,
            reassembly_limit: None,
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
            burst_tick: CALLOUT_TICK,
            duplicates: DuplicateCount::UntilProgress,
            limited_transmit: false,
            cwnd_reduction: CwndReduction::Immediate,
            undo: Undo { timestamps: false, dsack: false, frto: false, early_ack: false },
            // tcp_sendspace and tcp_recvspace.
            send_buffer: BufferRule::Fixed(Bytes::new(16_384)),
            send_buffer_accounting: SendBufferAccounting::Stream,
            receive_buffer: BufferRule::Fixed(Bytes::new(16_384)),
            receive_window: ReceiveWindow::Room,
            ..Profile::freebsd_7()
        }
    }
}
