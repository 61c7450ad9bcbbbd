//! Linux.

use super::{
    AckSettings, BufferRule, ByteCounting, CwndReduction, DuplicateCount, EcnRule, FastRecovery, IdleRestart,
    LossDetection, MetricsSave, Nagle, Profile, PushRule, ReceiveWindow, RtoRule, SendBufferAccounting, TimerGrain,
    Undo, WindowShare, WindowUpdate,
};
use lopsided_core::{Bytes, Duration};

impl Profile {
    /// Linux 6.1 as in Debian 12, with HZ=250: RFC 6928 window, RACK-TLP, PRR, F-RTO and Eifel undo.
    pub fn linux_6_1() -> Profile {
        Profile {
            name: "linux-6.1",
            // TCP_INIT_CWND (RFC 6928).
            initial_window_segments: 10,
            initial_window_cap: None,
            remembered_threshold: None,
            remembered_rtt: None,
            // tcp_no_ssthresh_metrics_save is 1 by default.
            metrics_save: MetricsSave::RoundTrips,
            max_window: None,
            // tcp_slow_start and tcp_cong_avoid_ai count delivered segments.
            byte_counting: ByteCounting::Delivered,
            sack: true,
            dsack: true,
            sack_fin: true,
            timestamps: true,
            window_scaling: true,
            // tcp_ecn is 2 by default.
            ecn: EcnRule::Accept,
            ecn_fallback: true,
            ecn_option: true,
            ecn_expects_thinning: true,
            abe: false,
            ack: AckSettings {
                policy: "linux",
                // TCP_ATO_MIN and, below, TCP_DELACK_MAX.
                min_delay: Duration::from_millis(40),
                // TCP_MAX_QUICKACKS.
                quick_acks: 16,
                // tcp_comp_sack_delay_ns and tcp_comp_sack_slack_ns.
                compress: Duration::from_millis(1),
                compress_slack: Duration::from_micros(100),
                grain: TimerGrain::Wheel(Duration::from_millis(4)),
                heeds_push: true,
                ..AckSettings::delayed(Duration::from_millis(200))
            },
            window_update: WindowUpdate::NearlyClosed,
            reassembly_limit: None,
            placeholders: None,
            placeholder_margin: 4,
            // TCP_RTO_MIN, TCP_RTO_MAX and TCP_TIMEOUT_INIT.
            rto: RtoRule::Linux {
                min: Duration::from_millis(200),
                max: Duration::from_secs(120),
                initial: Duration::from_secs(1),
            },
            handshake_sample: true,
            grain: TimerGrain::Wheel(Duration::from_millis(4)),
            // tcp_recovery is 1 by default.
            loss_detection: LossDetection::Rack,
            dup_threshold: 3,
            fast_recovery: FastRecovery::NewReno,
            max_burst: 0,
            burst_tick: Duration::ZERO,
            marked_retransmit: false,
            duplicates: DuplicateCount::UntilProgress,
            limited_transmit: true,
            cwnd_reduction: CwndReduction::Prr,
            threshold_heeds_peer: false,
            // tcp_early_retrans is 3 by default.
            tlp: true,
            undo: Undo { timestamps: true, dsack: true, frto: true, early_ack: false },
            timeout_forgets_sack: false,
            // tcp_slow_start_after_idle is 1 by default.
            idle_restart: IdleRestart::Halving,
            // tcp_minshall_check.
            nagle: Nagle::BehindShort,
            push: PushRule::Linux,
            fin_beyond_cwnd: true,
            fin_uses_window: true,
            syn_linear_timeouts: 0,
            measures_held: false,
            growth_excludes_unread: false,
            wide_first_window: false,
            cwnd_validation: true,
            fast_path: false,
            answers_unsent_ack: false,
            ack_repeats_fin: false,
            // tcp_wmem[1] and tcp_wmem[2]. The end of the handshake grows the buffer to two initial windows
            // (tcp_init_buffer_space).
            send_buffer: BufferRule::Auto { initial: Bytes::new(16_384), max: Bytes::new(4 << 20) },
            send_buffer_accounting: SendBufferAccounting::Memory { per_segment: 768 },
            // Half of tcp_rmem[1] and of tcp_rmem[2], because half of the memory is usable as window.
            receive_buffer: BufferRule::Auto { initial: Bytes::new(65_536), max: Bytes::new(3 << 20) },
            receive_window: ReceiveWindow::Memory { per_segment: 768, share: WindowShare::Half },
        }
    }

    /// Linux 6.12 as in Debian 13, with HZ=250. In bulk and short transfers it behaves like 6.1 except for the fields
    /// below; loss detection, recovery and congestion controls are unchanged.
    ///
    /// Not implemented:
    /// - Receivers that run out of memory.
    /// - Segments that SACK blocks have split, which Linux 6.12 merges with later data.
    /// - ACKs that are merged while a process holds the socket (`tcp_backlog_ack_defer`).
    pub fn linux_6_12() -> Profile {
        let linux = Profile::linux_6_1();
        Profile {
            name: "linux-6.12",
            ack: AckSettings {
                // `tcp_event_data_recv` bounds the adaptive timeout by TCP_DELACK_MAX.
                max_timeout: Duration::from_millis(200),
                below_min_rto: true,
                ..linux.ack
            },
            // `tcp_cwnd_test` has no exception for a FIN.
            fin_beyond_cwnd: false,
            // `tcp_syn_linear_timeouts`, since 6.5.
            syn_linear_timeouts: 4,
            // `tcp_data_queue_ofo` calls `tcp_measure_rcv_mss`.
            measures_held: true,
            // `tcp_rcv_space_adjust` subtracts the data that the application has not read yet.
            growth_excludes_unread: true,
            // Since this version `tcp_select_initial_window` does not limit the window to 65,535 bytes.
            wide_first_window: true,
            // Since Linux 6.3 the head of a segment comes from a cache with objects of 576 bytes
            // (`skb_small_head_cache`) instead of a slab of 512 bytes.
            send_buffer_accounting: SendBufferAccounting::Memory { per_segment: 832 },
            receive_window: ReceiveWindow::Memory { per_segment: 832, share: WindowShare::Measured },
            ..linux
        }
    }

    /// Linux 2.6.22 with HZ=1000, the operating system of the hosts in orosz2010. The hosts in yahya2011 run a similar
    /// version. The profile has an initial window of three segments, one window step per ACK, FACK, rate halving, no
    /// F-RTO, and an initial RTO of 3 s (Sarolahti and Kuznetsov, Congestion Control in Linux TCP, USENIX 2002).
    ///
    /// Not modelled:
    /// - Reordering disables FACK.
    /// - Rate halving can reduce the window below ssthresh.
    /// - A segment is marked lost one RTO after its transmission.
    ///
    /// The window limits after an idle period, after an undo and in the Disorder state are the limits of `linux-6.1`.
    pub fn linux_2_6() -> Profile {
        Profile {
            name: "linux-2.6",
            metrics_save: MetricsSave::All,
            // RFC 3390 for segments of 1,460 bytes.
            initial_window_segments: 3,
            // tcp_abc is 0 by default.
            byte_counting: ByteCounting::Acks,
            // Linux compresses duplicate ACKs only since 4.18.
            ack: AckSettings {
                policy: "linux",
                min_delay: Duration::from_millis(40),
                quick_acks: 16,
                grain: TimerGrain::Tick(Duration::from_millis(1)),
                ..AckSettings::delayed(Duration::from_millis(200))
            },
            // TCP_TIMEOUT_INIT is 3 s in kernels before 3.1.
            rto: RtoRule::Linux {
                min: Duration::from_millis(200),
                max: Duration::from_secs(120),
                initial: Duration::from_secs(3),
            },
            grain: TimerGrain::Tick(Duration::from_millis(1)),
            // tcp_fack is 1 by default.
            loss_detection: LossDetection::Fack,
            cwnd_reduction: CwndReduction::RateHalving,
            tlp: false,
            undo: Undo { timestamps: true, dsack: true, frto: false, early_ack: false },
            send_buffer_accounting: SendBufferAccounting::Stream,
            receive_buffer: BufferRule::Auto { initial: Bytes::new(65_535), max: Bytes::new(3 << 20) },
            ..Profile::linux_6_1()
        }
    }
}
