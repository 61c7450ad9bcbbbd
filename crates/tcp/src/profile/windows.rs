//! Windows.

use super::{
    AckSettings, BufferRule, ByteCounting, CwndReduction, DuplicateCount, EcnRule, FastRecovery, IdleRestart,
    LossDetection, MetricsSave, Nagle, Profile, PushRule, ReceiveWindow, RtoRule, SendBufferAccounting, TimerGrain,
    Undo, WindowUpdate,
};
use lopsided_core::{Bytes, Duration};

impl Profile {
    /// Windows 7, whose own congestion control is `compound`. It has an initial window of two segments, SACK without
    /// timestamps, F-RTO, an RTO of at least 300 ms, and a clock of 64 Hz. It sends an ACK for every second segment or
    /// after 200 ms. The receive window grows to 16 MiB. The values come from Microsoft's documentation, not from
    /// measurements.
    pub fn windows() -> Profile {
        Profile {
            name: "windows",
            initial_window_segments: 2,
            initial_window_cap: None,
            remembered_threshold: None,
            remembered_rtt: None,
            metrics_save: MetricsSave::Off,
            max_window: None,
            // RFC 3465 with L = 2.
            byte_counting: ByteCounting::Limited { segments: 2 },
            sack: true,
            dsack: true,
            sack_fin: false,
            timestamps: false,
            window_scaling: true,
            ecn: EcnRule::Off,
            ecn_fallback: true,
            ecn_option: true,
            ecn_expects_thinning: true,
            abe: false,
            ack: AckSettings::delayed(Duration::from_millis(200)),
            window_update: WindowUpdate::NearlyClosed,
            reassembly_limit: None,
            placeholders: None,
            placeholder_margin: 4,
            rto: RtoRule::Rfc6298 {
                min: Duration::from_millis(300),
                max: Duration::from_secs(120),
                initial: Duration::from_secs(3),
            },
            handshake_sample: true,
            grain: TimerGrain::Tick(Duration::from_micros(15_625)),
            loss_detection: LossDetection::Rfc6675,
            dup_threshold: 3,
            fast_recovery: FastRecovery::NewReno,
            max_burst: 0,
            burst_tick: Duration::ZERO,
            marked_retransmit: false,
            duplicates: DuplicateCount::UntilProgress,
            limited_transmit: true,
            cwnd_reduction: CwndReduction::Immediate,
            threshold_heeds_peer: false,
            tlp: false,
            undo: Undo { timestamps: false, dsack: false, frto: true, early_ack: false },
            timeout_forgets_sack: false,
            idle_restart: IdleRestart::Initial,
            nagle: Nagle::BehindAny,
            push: PushRule::EmptiesBuffer,
            fin_beyond_cwnd: false,
            fin_uses_window: false,
            syn_linear_timeouts: 0,
            measures_held: false,
            growth_excludes_unread: false,
            wide_first_window: false,
            cwnd_validation: true,
            fast_path: false,
            answers_unsent_ack: true,
            ack_repeats_fin: false,
            send_buffer: BufferRule::Auto { initial: Bytes::new(65_536), max: Bytes::new(16 << 20) },
            send_buffer_accounting: SendBufferAccounting::Stream,
            receive_buffer: BufferRule::Auto { initial: Bytes::new(65_536), max: Bytes::new(16 << 20) },
            receive_window: ReceiveWindow::Room,
        }
    }
}
