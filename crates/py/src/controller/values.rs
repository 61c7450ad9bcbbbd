//! The values that a controller in Python receives. The name of each field ends with its unit. A new field also needs
//! an entry in `_native.pyi`.

use lopsided_core::{Bytes, Duration};
use lopsided_tcp::{ByteCounting, CaState, EcnUse, Feedback, cc};
use pyo3::exceptions::PyValueError;
use pyo3::prelude::*;

/// Declares a Python class whose attributes are computed from a Rust value. Each attribute has a name, a type and an
/// expression.
macro_rules! values {
    ($(#[$doc:meta])* $class:ident($source:ident: $from:ty) { $($(#[$field_doc:meta])* $name:ident: $type:ty = $value:expr,)+ }) => {
        $(#[$doc])*
        #[pyclass(frozen, module = "lopsided._native")]
        #[derive(Clone, Copy, Debug)]
        pub(crate) struct $class(pub(crate) $from);

        #[pymethods]
        impl $class {
            $(
                $(#[$field_doc])*
                #[getter]
                fn $name(&self) -> $type {
                    let $source = &self.0;
                    $value
                }
            )+

            fn __repr__(this: &Bound<'_, Self>) -> PyResult<String> {
                let shown = [$(stringify!($name)),+].map(|name| {
                    Ok::<String, PyErr>(format!("{name}={}", this.getattr(name)?.repr()?))
                });
                Ok(format!("{}({})", stringify!($class), shown.into_iter().collect::<PyResult<Vec<_>>>()?.join(", ")))
            }
        }
    };
}

values! {
    /// The settings with which a controller is created.
    Setup(setup: cc::Setup) {
        initial_window_bytes: u64 = setup.initial_window.get(),
        /// The amount for which an ACK counts: `acks`, `acks_exactly`, `acks_through_threshold`, `delivered`, `limited`
        /// or `half`.
        byte_counting: &'static str = match setup.counting {
            ByteCounting::Acks => "acks",
            ByteCounting::AcksExactly => "acks_exactly",
            ByteCounting::AcksThroughThreshold => "acks_through_threshold",
            ByteCounting::Delivered => "delivered",
            ByteCounting::Limited { .. } => "limited",
            ByteCounting::Half => "half",
            _ => "unknown",
        },
        /// Largest number of segments for which an ACK counts in slow start, if the counting is `limited`.
        counted_segments: Option<u32> = match setup.counting {
            ByteCounting::Limited { segments } => Some(segments),
            _ => None,
        },
        /// True if the window is a real number, as in ns-2: half of a window of five segments is then 2.5 segments.
        fractional: bool = setup.fractional,
        /// True if a mark reduces the window less than a loss (RFC 8511), in congestion controls that support it.
        abe: bool = setup.abe,
        /// Granularity of the stack's clock; 0 for an exact clock.
        tick_s: f64 = setup.tick.as_secs_f64(),
        /// Seed for algorithms with random choices: `random.Random(setup.seed)`.
        seed: u64 = setup.seed,
    }
}

values! {
    /// The information in one ACK.
    Acked(ack: cc::Acked) {
        /// Bytes newly acknowledged, cumulatively or by SACK.
        delivered_bytes: u64 = ack.delivered.get(),
        /// Bytes by which the cumulative acknowledgement advanced.
        cumulative_bytes: u64 = ack.cumulative.get(),
        /// RTT of the oldest segment acknowledged, if it was sent once (Karn's rule).
        rtt_s: Option<f64> = ack.rtt.map(Duration::as_secs_f64),
        /// RTT of the newest segment acknowledged, which excludes the peer's ACK delay.
        newest_rtt_s: Option<f64> = ack.newest_rtt.map(Duration::as_secs_f64),
        /// One-way delay to the peer, from timestamps, plus an unknown constant: only differences are meaningful.
        forward_ms: Option<u32> = ack.forward_ms,
        /// Bytes in flight before this ACK.
        prior_in_flight_bytes: u64 = ack.prior_in_flight.get(),
        /// True if the window limited the sender in the last round trip, instead of the application or the receiver
        /// (RFC 7661).
        cwnd_limited: bool = ack.cwnd_limited,
        /// True if the window was full at some time in the last round trip.
        cwnd_full: bool = ack.cwnd_full,
        /// True if a reduction is in progress. Until it ends, the connection controls the window.
        in_recovery: bool = ack.in_recovery,
        /// The sender's congestion state (Linux's ca_state) after this ACK.
        ca_state: &'static str = match ack.ca_state {
            CaState::Open => "open",
            CaState::Disorder => "disorder",
            CaState::Cwr => "cwr",
            CaState::Recovery => "recovery",
            CaState::Loss => "loss",
        },
        /// True if the ACK carried an ECN echo or a higher count of marks.
        ecn_echo: bool = ack.ecn_echo,
        /// Bytes newly reported as marked. With an ECN echo, all bytes that the ACK delivered count.
        marked_bytes: u64 = ack.marked.get(),
        rate: RateSample = RateSample(ack.rate),
    }
}

values! {
    /// The delivery rate between two ACKs.
    RateSample(rate: cc::RateSample) {
        /// Bytes delivered over `interval_s`; 0 if there is no sample.
        delivered_bytes: u64 = rate.delivered.get(),
        interval_s: f64 = rate.interval.as_secs_f64(),
        /// Value of `path.delivered_bytes` when the newest segment acknowledged was sent.
        prior_delivered_bytes: u64 = rate.prior_delivered.get(),
        /// Bytes marked lost by this ACK.
        lost_bytes: u64 = rate.lost.get(),
        /// Bytes in flight when the newest segment acknowledged was sent, including that segment.
        tx_in_flight_bytes: u64 = rate.tx_in_flight.get(),
        /// Bytes marked lost since the newest segment acknowledged was sent.
        lost_since_sent_bytes: u64 = rate.lost_since_sent.get(),
        app_limited: bool = rate.app_limited,
    }
}

values! {
    /// The state of the connection, as visible to a controller.
    PathState(path: cc::PathState) {
        /// Largest payload of a segment.
        mss_bytes: u64 = path.mss.get(),
        in_flight_bytes: u64 = path.in_flight.get(),
        srtt_s: Option<f64> = path.srtt.map(Duration::as_secs_f64),
        min_rtt_s: Option<f64> = path.min_rtt.map(Duration::as_secs_f64),
        /// Bytes delivered since the start.
        delivered_bytes: u64 = path.delivered.get(),
        /// Bytes marked lost since the start.
        lost_bytes: u64 = path.lost.get(),
        /// Stream offset of the oldest unacknowledged byte.
        una: u64 = path.una,
        /// Stream offset of the next byte to send. A round trip ends when `una` passes the `nxt` of its start.
        nxt: u64 = path.nxt,
        /// True if some of the data in flight was sent when the application had no more data to send.
        app_limited: bool = path.app_limited,
        /// True if the peer sends SACK, so that more than one loss per round trip can be detected.
        sack: bool = path.sack,
    }
}

values! {
    /// A segment that was marked lost.
    Lost(lost: cc::Lost) {
        /// Stream offset of the segment's first byte.
        start: u64 = lost.start,
        /// Stream offset of the byte after the segment's last.
        end: u64 = lost.end,
        /// Bytes in flight when the segment was last sent, including the segment.
        tx_in_flight_bytes: u64 = lost.tx_in_flight.get(),
        /// Bytes marked lost since the segment was last sent, including the segment.
        lost_since_sent_bytes: u64 = lost.lost_since_sent.get(),
        app_limited: bool = lost.app_limited,
    }
}

values! {
    /// An idle time, or a time in which the sender did not use its window.
    Idle(idle: cc::Idle) {
        /// `transmit start`: data is sent while no data is in flight. `restart`: no data was sent for more than one RTO
        /// (RFC 5681). `unused`: the window was not full for one RTO, or no data was sent and the stack halves an idle
        /// window. The slow-start threshold then becomes at least 3/4 of the old window (RFC 2861).
        kind: &'static str = match idle {
            cc::Idle::TransmitStart { .. } => "transmit start",
            cc::Idle::Restart { .. } => "restart",
            cc::Idle::Unused { .. } => "unused",
        },
        /// Time since data was last sent, for `transmit start`.
        since_s: Option<f64> = match idle {
            cc::Idle::TransmitStart { since } => Some(since.as_secs_f64()),
            cc::Idle::Restart { .. } | cc::Idle::Unused { .. } => None,
        },
        /// Largest window that the event permits, for `restart` and `unused`.
        window_bytes: Option<u64> = idle.window().map(Bytes::get),
    }
}

values! {
    /// The reason why the window must be reduced.
    Signal(signal: cc::Signal) {
        kind: &'static str = match signal {
            cc::Signal::EcnEcho => "ecn",
            cc::Signal::Loss => "loss",
            cc::Signal::Timeout { .. } => "timeout",
        },
        /// Number of consecutive timeouts; 0 for other signals.
        consecutive: u32 = match signal {
            cc::Signal::Timeout { consecutive } => *consecutive,
            cc::Signal::EcnEcho | cc::Signal::Loss => 0,
        },
    }
}

/// Returns Python's name for the negotiated feedback of ECN marks.
pub(super) fn feedback_word(feedback: Feedback) -> &'static str {
    match feedback {
        Feedback::None => "none",
        Feedback::Classic => "classic",
        Feedback::DctcpEcho => "dctcp echo",
        Feedback::Accurate => "accurate",
    }
}

/// Reads the attribute `ecn` of a user's controller: the feedback of ECN marks that the controller requests.
pub(super) fn ecn_use(made: &Bound<'_, PyAny>) -> PyResult<EcnUse> {
    match made.getattr("ecn")?.extract::<String>()?.as_str() {
        "classic" => Ok(EcnUse::Classic),
        "dctcp echo" => Ok(EcnUse::DctcpEcho),
        "accurate" => Ok(EcnUse::Accurate),
        other => {
            let text = format!("ecn is \"classic\", \"dctcp echo\" or \"accurate\", not {other:?}");
            Err(PyValueError::new_err(text))
        }
    }
}
