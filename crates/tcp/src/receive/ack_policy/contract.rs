//! The interface of an acknowledgement policy: the trait, its inputs and its decisions.

use lopsided_core::packet::{Flags, OtherOptions};
use lopsided_core::tcp_event::AckReason;
use lopsided_core::{Bytes, Duration, Ecn, Time};
use std::fmt::Debug;

/// Position of arriving data relative to the data that was received before.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum Arrival {
    /// The segment begins at the next expected byte.
    InOrder {
        /// True if buffered out-of-order data became in-order data and no gap remains.
        closed_gap: bool,
        /// True if a gap remains.
        gaps_left: bool,
    },
    /// The segment begins after a gap. Its data is buffered until the gap is filled.
    OutOfOrder,
    /// All data of the segment had been received before.
    Duplicate,
}

impl Arrival {
    /// Returns why the data must be acknowledged at once (RFC 5681 section 4.2); `None` if the ACK may be delayed.
    pub fn at_once(self) -> Option<AckReason> {
        match self {
            Arrival::Duplicate => Some(AckReason::Duplicate),
            Arrival::OutOfOrder => Some(AckReason::OutOfOrder),
            Arrival::InOrder { closed_gap, gaps_left } => (closed_gap || gaps_left).then_some(AckReason::GapFilled),
        }
    }
}

/// An arriving data segment.
#[derive(Debug, Clone, Copy)]
pub struct ArrivedData {
    /// Position relative to the data that was received before.
    pub arrival: Arrival,
    /// End of the data, as a stream offset.
    pub end: u64,
    /// Number of data bytes.
    pub len: u32,
    /// Number of bytes that are newly in order, including buffered out-of-order data that is now in order.
    pub advance: u64,
    /// True if the segment has the PSH flag.
    pub push: bool,
    /// True if the segment enlarged the receive window.
    pub window_opened: bool,
    /// The ECN field of the segment's IP header.
    pub ecn: Ecn,
}

/// The state of the connection that an acknowledgement policy can read.
#[derive(Debug, Clone, Copy)]
pub struct AckView {
    /// The RTT that the receiver has estimated, or the smoothed RTT if it is smaller. `None` before the receiver's first
    /// sample.
    pub rtt: Option<Duration>,
    /// The smoothed RTT of this end's own data; `None` if this end has sent no data.
    pub srtt: Option<Duration>,
    /// This end's retransmission timeout.
    pub rto: Duration,
    /// The last advertised window, in bytes.
    pub window: u64,
    /// True if SACK is in use. One duplicate ACK can then report several segments.
    pub sack: bool,
    /// Estimated payload of the peer's full segments, in bytes.
    pub rcv_mss: u32,
    /// Number of in-order bytes that no ACK covers yet.
    pub unacked_bytes: u64,
    /// Number of in-order segments that no ACK covers yet.
    pub unacked_segments: u32,
    /// True if an ACK is due or the delayed-ACK timer runs.
    pub scheduled: bool,
    /// True if an ACK sent now would advertise a smaller window than the last segment.
    pub window_falls: bool,
    /// True if less than half of the receive buffer was free when the segment arrived.
    pub half_filled: bool,
}

/// The time at which the next ACK is sent. A data segment that is sent earlier carries the acknowledgement.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum AckDecision {
    /// The earlier decision stays in force.
    Unchanged,
    /// The ACK is sent at once, for this reason.
    Now(AckReason),
    /// The ACK is sent at this time at the latest. An earlier deadline stays in force.
    By(Time),
}

/// The parts of an arriving segment that a policy may read in addition to the data.
#[derive(Debug, Clone, Copy)]
pub struct PeerFeedback<'a> {
    /// The ECN field of the IP header. An ACK may be CE-marked too.
    pub ecn: Ecn,
    /// The TCP flags, including ECE and CWR.
    pub flags: Flags,
    /// TCP options that the stack itself ignores, including those of the peer's policy.
    pub options: &'a OtherOptions,
    /// Number of data bytes.
    pub len: u32,
    /// Number of bytes that the segment newly acknowledges.
    pub acked: u64,
}

/// The state of this end's sender, for policies that report it to the peer's receiver (RFC 5690).
#[derive(Debug, Clone, Copy)]
pub struct SenderView {
    /// The congestion window.
    pub cwnd: Bytes,
    /// Payload of a full segment, in bytes.
    pub mss: Bytes,
    /// The smoothed RTT; `None` before the first sample.
    pub srtt: Option<Duration>,
    /// Bytes that may be outstanding: the minimum of cwnd, the peer's window and the send buffer's data.
    pub window: Bytes,
    /// True if the outgoing segment has data.
    pub has_data: bool,
    /// Data that was sent and is not acknowledged, in bytes.
    pub outstanding: Bytes,
    /// True if no outstanding data is lost or SACKed.
    pub undisturbed: bool,
}

/// Decides when arriving data is acknowledged. Unless a policy overrides the default methods, a FIN, an unacceptable
/// segment and a CE mark are acknowledged at once.
///
/// # Examples
///
/// A policy that sends one ACK for every 8 segments, registered under a name that a profile may use:
///
/// ```
/// use lopsided_core::tcp_event::AckReason;
/// use lopsided_core::{Duration, Time};
/// use lopsided_tcp::ack_policy::{AckDecision, AckView, ArrivedData};
/// use lopsided_tcp::{AckPolicy, Profile, ack_policies, register_ack_policy};
///
/// #[derive(Debug)]
/// struct Every8 {
///     timeout: Duration,
/// }
///
/// impl AckPolicy for Every8 {
///     fn name(&self) -> &str {
///         "every8"
///     }
///
///     fn on_data(&mut self, now: Time, data: &ArrivedData, view: &AckView) -> AckDecision {
///         match data.arrival.at_once() {
///             Some(why) => AckDecision::Now(why),
///             None if view.unacked_segments >= 8 => AckDecision::Now(AckReason::Count),
///             None => AckDecision::By(now + self.timeout),
///         }
///     }
/// }
///
/// register_ack_policy("every8", |settings| Box::new(Every8 { timeout: settings.max_delay })).unwrap();
/// assert!(ack_policies().contains(&"every8"));
/// let mut profile = Profile::linux_6_1();
/// profile.ack.policy = "every8";
/// ```
pub trait AckPolicy: Debug + Send {
    /// The name of the policy, as in a profile.
    fn name(&self) -> &str;
    /// Called at the end of the handshake, before any data arrives.
    fn on_established(&mut self, _now: Time) {}
    /// Called for each arriving data segment. The counts in `view` already include the segment.
    fn on_data(&mut self, now: Time, data: &ArrivedData, view: &AckView) -> AckDecision;
    /// Called for data with a CE mark. `first` is true for the first mark since the peer's last CWR (RFC 3168). Returns
    /// true if the data must be acknowledged at once.
    fn on_mark(&mut self, _first: bool) -> bool {
        true
    }
    /// Called for discarded data outside the window. `again` is true if the data probably arrived before.
    fn on_unacceptable(&mut self, _now: Time, _again: bool, _view: &AckView) -> AckDecision {
        AckDecision::Now(AckReason::Duplicate)
    }
    /// Called when the deadline of an earlier [`AckDecision::By`] expires.
    fn on_timeout(&mut self, _now: Time, _view: &AckView) -> AckDecision {
        AckDecision::Now(AckReason::Delay)
    }
    /// Called after the application has read data, if no ACK is due. `all` is true if no unread data remains.
    fn on_read(&mut self, _now: Time, _all: bool, _view: &AckView) -> AckDecision {
        AckDecision::Unchanged
    }
    /// Called once the peer's FIN and all data before it have arrived. This end may still send data.
    fn on_fin(&mut self, _now: Time, _view: &AckView) -> AckDecision {
        AckDecision::Now(AckReason::Fin)
    }
    /// Called when a data segment is sent, which carries the pending acknowledgement.
    fn on_data_sent(&mut self, _now: Time) {}
    /// Called after a segment with the pending acknowledgement was sent. `covered` is true if the acknowledgement
    /// covered new data.
    fn on_ack_sent(&mut self, _now: Time, _covered: bool) {}
    /// Returns true if an ACK that is sent at an [`AckDecision::By`] deadline carries the deadline as its timestamp. If
    /// the result is false, the ACK carries the time of the last arrival.
    fn timer_reads_clock(&self, _now: Time) -> bool {
        true
    }
    /// Returns true if the policy delays a duplicate ACK. The connection sends the delayed ACK before a new SACK block
    /// displaces an unreported block.
    fn holds_duplicate(&self) -> bool {
        false
    }
    /// Returns true if an ACK of out-of-order data must now request a retransmission ([`Flags::FAST_RETRANSMIT`]).
    fn asks_retransmit(&self) -> bool {
        false
    }
    /// Returns the header space for the policy's own TCP options in each segment, in bytes: a multiple of 4. Called
    /// once. If the result is 0, `options` and `on_feedback` are never called.
    fn option_room(&self) -> u32 {
        0
    }
    /// Returns the policy's options for a data segment or ACK. The stack omits them if SACK blocks need the space.
    fn options(&mut self, _now: Time, _sender: &SenderView) -> OtherOptions {
        OtherOptions::new()
    }
    /// Called for each acceptable segment.
    fn on_feedback(&mut self, _now: Time, _feedback: &PeerFeedback<'_>, _sender: &SenderView) {}
    /// Returns the current delayed-ACK timeout (`tcpi_ato`).
    fn ato(&self) -> Duration {
        Duration::ZERO
    }
}
