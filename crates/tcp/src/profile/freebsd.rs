//! FreeBSD.

use super::{
    AckSettings, BufferRule, ByteCounting, CwndReduction, DuplicateCount, EcnRule, FastRecovery, IdleRestart,
    LossDetection, MetricsSave, Nagle, Profile, PushRule, ReceiveWindow, RtoRule, SendBufferAccounting, TimerGrain,
    Undo, WindowUpdate,
};
use lopsided_core::{Bytes, Duration};

impl Profile {
    /// FreeBSD 7.2, the operating system of the hosts in merritt2010.
    ///
    /// The initial window follows RFC 3390, and the window grows by one step per ACK. Duplicate ACKs start SACK
    /// recovery. Because of window updates, the receiver sends two ACKs per three segments. The RTO is at least 30 ms
    /// plus 200 ms of slop. Buffers grow to 256 KiB.
    ///
    /// docs/fidelity/freebsd.md compares this profile with FreeBSD's own TCP on a line of 2400/196 kbit/s. The
    /// "inflight" limiter is not implemented, because the thesis disabled it.
    pub fn freebsd_7() -> Profile {
        Profile {
            name: "freebsd-7",
            initial_window_segments: 4,
            // net.inet.tcp.rfc3390.
            initial_window_cap: Some(Bytes::new(4380)),
            remembered_threshold: None,
            remembered_rtt: None,
            metrics_save: MetricsSave::Off,
            max_window: None,
            // FreeBSD supports byte counting (RFC 3465) only since version 8.
            byte_counting: ByteCounting::AcksThroughThreshold,
            sack: true,
            dsack: false,
            sack_fin: false,
            timestamps: true,
            window_scaling: true,
            ecn: EcnRule::Off,
            ecn_fallback: true,
            ecn_option: true,
            ecn_expects_thinning: true,
            abe: false,
            // net.inet.tcp.delacktime.
            ack: AckSettings { before_read: true, ..AckSettings::delayed(Duration::from_millis(100)) },
            window_update: WindowUpdate::TwoSegments,
            // net.inet.tcp.reass.maxqlen.
            reassembly_limit: Some(48),
            placeholders: None,
            placeholder_margin: 4,
            // TCPTV_MIN, TCPTV_REXMTMAX, TCPTV_RTOBASE and TCPTV_CPU_VAR.
            rto: RtoRule::FreeBsd {
                min: Duration::from_millis(30),
                max: Duration::from_secs(64),
                initial: Duration::from_secs(3),
                slop: Duration::from_millis(200),
            },
            handshake_sample: true,
            // kern.hz is 1000.
            grain: TimerGrain::Tick(Duration::from_millis(1)),
            loss_detection: LossDetection::FreeBsd,
            dup_threshold: 3,
            fast_recovery: FastRecovery::NewReno,
            max_burst: 0,
            burst_tick: Duration::ZERO,
            marked_retransmit: false,
            duplicates: DuplicateCount::InARow,
            // net.inet.tcp.rfc3042.
            limited_transmit: true,
            cwnd_reduction: CwndReduction::PerDuplicate,
            threshold_heeds_peer: true,
            tlp: false,
            // t_badrxtwin.
            undo: Undo { timestamps: false, dsack: false, frto: false, early_ack: true },
            timeout_forgets_sack: true,
            idle_restart: IdleRestart::Initial,
            nagle: Nagle::BehindAny,
            push: PushRule::EmptiesBuffer,
            fin_beyond_cwnd: false,
            fin_uses_window: false,
            syn_linear_timeouts: 0,
            measures_held: false,
            growth_excludes_unread: false,
            wide_first_window: false,
            cwnd_validation: false,
            fast_path: true,
            answers_unsent_ack: true,
            ack_repeats_fin: true,
            // net.inet.tcp.sendspace, sendbuf_inc and sendbuf_max.
            send_buffer: BufferRule::Stepped {
                initial: Bytes::new(32_768),
                step: Bytes::new(8_192),
                max: Bytes::new(262_144),
            },
            // so_snd.sb_lowat is MCLBYTES.
            send_buffer_accounting: SendBufferAccounting::Segments { low_water: Bytes::new(2048) },
            // net.inet.tcp.recvspace, recvbuf_inc and recvbuf_max.
            receive_buffer: BufferRule::Stepped {
                initial: Bytes::new(65_536),
                step: Bytes::new(16_384),
                max: Bytes::new(262_144),
            },
            receive_window: ReceiveWindow::Segments,
        }
    }
}
