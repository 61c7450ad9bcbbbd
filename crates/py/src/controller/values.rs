//! What a controller in Python is told, as classes of plain values with the unit in each name. A new field is a line
//! here and one in `_native.pyi`.

use lopsided_core::Duration;
use lopsided_tcp::{ByteCounting, CaState, EcnUse, Feedback, cc};
use pyo3::exceptions::PyValueError;
use pyo3::prelude::*;

/// Declares a class of values read from one of Rust's: each its name, its type in Python and where it comes from.
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
    /// What a controller is made from.
    Setup(setup: cc::Setup) {
        initial_window_bytes: u64 = setup.initial_window.get(),
        /// What an ACK counts for: `acks`, `acks_exactly`, `acks_through_threshold`, `delivered`, `limited` or `half`.
        byte_counting: &'static str = match setup.counting {
            ByteCounting::Acks => "acks",
            ByteCounting::AcksExactly => "acks_exactly",
            ByteCounting::AcksThroughThreshold => "acks_through_threshold",
            ByteCounting::Delivered => "delivered",
            ByteCounting::Limited { .. } => "limited",
            ByteCounting::Half => "half",
        },
        /// The most segments that an ACK counts for in slow start, where that is `limited`.
        counted_segments: Option<u32> = match setup.counting {
            ByteCounting::Limited { segments } => Some(segments),
            _ => None,
        },
        /// Less is given up for a mark than for a loss (RFC 8511), by those that can.
        abe: bool = setup.abe,
        /// The grain of the stack's clock; 0 for an exact one.
        tick_s: f64 = setup.tick.as_secs_f64(),
        /// For algorithms that draw at random: `random.Random(setup.seed)`.
        seed: u64 = setup.seed,
    }
}

values! {
    /// What one acknowledgement told the sender.
    Acked(ack: cc::Acked) {
        /// Newly acknowledged or newly reported by SACK.
        delivered_bytes: u64 = ack.delivered.get(),
        /// By how much the cumulative acknowledgement advanced.
        cumulative_bytes: u64 = ack.cumulative.get(),
        /// Of the oldest segment acknowledged, if it was sent once (Karn's rule).
        rtt_s: Option<f64> = ack.rtt.map(Duration::as_secs_f64),
        /// Of the newest segment acknowledged, which excludes the peer's ACK delay.
        newest_rtt_s: Option<f64> = ack.newest_rtt.map(Duration::as_secs_f64),
        /// The way to the peer by timestamps, an unknown constant added: only differences mean something.
        forward_ms: Option<u32> = ack.forward_ms,
        /// In flight before this ACK.
        prior_in_flight_bytes: u64 = ack.prior_in_flight.get(),
        /// The window, not the application or the receiver, held the sender back in the last round trip
        /// (RFC 7661).
        cwnd_limited: bool = ack.cwnd_limited,
        /// The window was used up at some time in the last round trip.
        cwnd_full: bool = ack.cwnd_full,
        /// The connection owns the window until the reduction under way ends.
        in_recovery: bool = ack.in_recovery,
        /// The sender's congestion state (Linux's ca_state) after this ACK.
        ca_state: &'static str = match ack.ca_state {
            CaState::Open => "open",
            CaState::Disorder => "disorder",
            CaState::Cwr => "cwr",
            CaState::Recovery => "recovery",
            CaState::Loss => "loss",
        },
        /// The ACK carried an ECN echo, or a higher count of marks.
        ecn_echo: bool = ack.ecn_echo,
        /// What it newly reports as marked: with an echo all that it delivered, else what was counted.
        marked_bytes: u64 = ack.marked.get(),
        rate: RateSample = RateSample(ack.rate),
    }
}

values! {
    /// The delivery rate between two ACKs.
    RateSample(rate: cc::RateSample) {
        /// Over `interval_s`; 0 if there is no sample.
        delivered_bytes: u64 = rate.delivered.get(),
        interval_s: f64 = rate.interval.as_secs_f64(),
        /// `path.delivered_bytes` when the newest segment acknowledged was sent.
        prior_delivered_bytes: u64 = rate.prior_delivered.get(),
        /// Marked lost by this ACK.
        lost_bytes: u64 = rate.lost.get(),
        /// In flight as the newest segment acknowledged was sent, its own octets included.
        tx_in_flight_bytes: u64 = rate.tx_in_flight.get(),
        /// Marked lost since then.
        lost_since_sent_bytes: u64 = rate.lost_since_sent.get(),
        app_limited: bool = rate.app_limited,
    }
}

values! {
    /// The connection as a controller may see it.
    PathState(path: cc::PathState) {
        /// The largest payload of a segment.
        mss_bytes: u64 = path.mss.get(),
        in_flight_bytes: u64 = path.in_flight.get(),
        srtt_s: Option<f64> = path.srtt.map(Duration::as_secs_f64),
        min_rtt_s: Option<f64> = path.min_rtt.map(Duration::as_secs_f64),
        /// All ever delivered.
        delivered_bytes: u64 = path.delivered.get(),
        /// All ever marked lost.
        lost_bytes: u64 = path.lost.get(),
        /// Stream offset of the oldest octet not acknowledged.
        una: u64 = path.una,
        /// Stream offset of the next octet never sent: a round trip is over when `una` passes the `nxt` of
        /// its start.
        nxt: u64 = path.nxt,
        /// Some of what is in flight was sent when the application had no more to send.
        app_limited: bool = path.app_limited,
        /// The peer sends selective acknowledgements, so that more than one loss a round trip can be seen.
        sack: bool = path.sack,
    }
}

values! {
    /// A segment that was marked lost.
    Lost(lost: cc::Lost) {
        /// Stream offset of its first octet.
        start: u64 = lost.start,
        /// Stream offset of the octet behind its last.
        end: u64 = lost.end,
        /// In flight as it was last sent, its own octets included.
        tx_in_flight_bytes: u64 = lost.tx_in_flight.get(),
        /// Marked lost since then, its own octets included.
        lost_since_sent_bytes: u64 = lost.lost_since_sent.get(),
        app_limited: bool = lost.app_limited,
    }
}

values! {
    /// Why the window must come down.
    Signal(signal: cc::Signal) {
        kind: &'static str = match signal {
            cc::Signal::EcnEcho => "ecn",
            cc::Signal::Loss => "loss",
            cc::Signal::Timeout { .. } => "timeout",
        },
        /// How many timeouts in a row this is; 0 where it is none.
        consecutive: u32 = match signal {
            cc::Signal::Timeout { consecutive } => *consecutive,
            cc::Signal::EcnEcho | cc::Signal::Loss => 0,
        },
    }
}

/// How marks are fed back, as it was agreed.
pub(super) fn feedback_word(feedback: Feedback) -> &'static str {
    match feedback {
        Feedback::None => "none",
        Feedback::Classic => "classic",
        Feedback::DctcpEcho => "dctcp echo",
        Feedback::Accurate => "accurate",
    }
}

/// What an object's class says, in `ecn`, that it needs.
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
