//! The contract of an acknowledgement policy: its inputs and its decisions.

use lopsided_core::packet::{Flags, OtherOptions};
use lopsided_core::tcp_event::AckReason;
use lopsided_core::{Bytes, Duration, Ecn, Time};
use std::fmt::Debug;

/// How arriving data relates to the data received before.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum Arrival {
    /// The segment begins at the next expected byte.
    InOrder {
        /// Held data became readable and no gap is left.
        closed_gap: bool,
        /// A gap is left.
        gaps_left: bool,
    },
    /// The segment begins after a gap. Its data is held.
    OutOfOrder,
    /// All data of the segment was received before.
    Duplicate,
}

impl Arrival {
    /// Why the data must be acknowledged at once (RFC 5681 section 4.2): it is out of order, a duplicate, or fills a
    /// gap. `None` if the ACK may be delayed.
    pub fn at_once(self) -> Option<AckReason> {
        match self {
            Arrival::Duplicate => Some(AckReason::Duplicate),
            Arrival::OutOfOrder => Some(AckReason::OutOfOrder),
            Arrival::InOrder { closed_gap, gaps_left } => (closed_gap || gaps_left).then_some(AckReason::GapFilled),
        }
    }
}

/// A data segment that arrived.
#[derive(Debug, Clone, Copy)]
pub struct ArrivedData {
    /// How the data relates to the data received before.
    pub arrival: Arrival,
    /// Stream offset of the end of the data.
    pub end: u64,
    /// Number of data bytes.
    pub len: u32,
    /// Number of bytes that are newly in order, including held data.
    pub advance: u64,
    /// The PSH flag of the segment.
    pub push: bool,
    /// The segment enlarged the receive window.
    pub window_opened: bool,
    /// The ECN field of the segment's IP header.
    pub ecn: Ecn,
}

/// The state of the connection, as an acknowledgement policy sees it.
#[derive(Debug, Clone, Copy)]
pub struct AckView {
    /// The RTT: the smaller of the receiver's and the sender's estimate. `None` before the first sample.
    pub rtt: Option<Duration>,
    /// The smoothed RTT of this end's own data; `None` if this end has sent none.
    pub srtt: Option<Duration>,
    /// This end's retransmission timeout.
    pub rto: Duration,
    /// The last offered window in bytes.
    pub window: u64,
    /// True if SACK is in use: one duplicate ACK may then report several segments. Without SACK the sender counts
    /// duplicate ACKs.
    pub sack: bool,
    /// Measured payload of the peer's full segments, in bytes.
    pub rcv_mss: u32,
    /// Number of in-order bytes that no ACK covers yet.
    pub unacked_bytes: u64,
    /// Number of in-order segments that no ACK covers yet.
    pub unacked_segments: u32,
    /// True if an ACK is due or its timer runs.
    pub scheduled: bool,
    /// True if an ACK now would offer a smaller window than the last one, because unread data occupies the buffer.
    pub window_falls: bool,
    /// True if less than half of the receive buffer was free when the segment arrived.
    pub half_filled: bool,
}

/// When the next ACK is sent. A data segment that is sent earlier carries it.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum AckDecision {
    /// The earlier decision stays in force.
    Unchanged,
    /// At once, for this reason.
    Now(AckReason),
    /// At this time at the latest. An earlier deadline stays in force.
    By(Time),
}

/// The fields of an arriving segment other than its data.
#[derive(Debug, Clone, Copy)]
pub struct PeerFeedback<'a> {
    /// The ECN field: an ACK may be marked too.
    pub ecn: Ecn,
    /// The TCP flags, among them ECE and CWR.
    pub flags: Flags,
    /// TCP options that the stack does not evaluate itself, among them those of the peer's policy.
    pub options: &'a OtherOptions,
    /// Number of data bytes.
    pub len: u32,
    /// Number of bytes that the segment newly acknowledges.
    pub acked: u64,
}

/// This end's sender, as a policy sees it that reports it to the peer's receiver (RFC 5690).
#[derive(Debug, Clone, Copy)]
pub struct SenderView {
    /// The congestion window.
    pub cwnd: Bytes,
    /// Payload of a full segment.
    pub mss: Bytes,
    /// The smoothed RTT; `None` before the first sample.
    pub srtt: Option<Duration>,
    /// The amount of data that may be outstanding: the least of cwnd, the peer's window, and the unacknowledged data.
    pub window: Bytes,
    /// True if the outgoing segment has data.
    pub has_data: bool,
    /// Data sent and not yet acknowledged.
    pub outstanding: Bytes,
    /// True if no data is lost or out of order. An ACK then covers all in-order data since the last ACK.
    pub undisturbed: bool,
}

/// Decides when arriving data is acknowledged. The policy does not decide about ACKs that the RFCs require at once (for
/// a FIN, an unacceptable segment, a mark).
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
    /// A data segment arrived. `view` already includes its bytes and its size.
    fn on_data(&mut self, now: Time, data: &ArrivedData, view: &AckView) -> AckDecision;
    /// Data with a congestion mark arrived. `first`: it is the first mark since the peer's last CWR (RFC 3168
    /// feedback). Returns true if the data must be acknowledged at once.
    fn on_mark(&mut self, _first: bool) -> bool {
        true
    }
    /// Data outside the window arrived and was discarded. `again`: it begins before the next expected byte.
    fn on_unacceptable(&mut self, _now: Time, _again: bool, _view: &AckView) -> AckDecision {
        AckDecision::Now(AckReason::Duplicate)
    }
    /// The deadline of an earlier [`AckDecision::By`] expired.
    fn on_timeout(&mut self, _now: Time, _view: &AckView) -> AckDecision {
        AckDecision::Now(AckReason::Delay)
    }
    /// The application read data while no ACK was due. `all`: no unread data is left.
    fn on_read(&mut self, _now: Time, _all: bool, _view: &AckView) -> AckDecision {
        AckDecision::Unchanged
    }
    /// The peer's FIN and all data before it arrived. This end may still send.
    fn on_fin(&mut self, _now: Time, _view: &AckView) -> AckDecision {
        AckDecision::Now(AckReason::Fin)
    }
    /// Data is sent, and carries the pending acknowledgement.
    fn on_data_sent(&mut self, _now: Time) {}
    /// A segment with the pending acknowledgement was sent. `covered`: it covered data.
    fn on_ack_sent(&mut self, _now: Time, _covered: bool) {}
    /// True if the stack reads its clock when the deadline of an [`AckDecision::By`] expires. Otherwise the ACK's
    /// timestamp is that of the last arrival.
    fn timer_reads_clock(&self, _now: Time) -> bool {
        true
    }
    /// True if a duplicate ACK is held back. It must be sent before new SACK blocks would hide its block.
    fn holds_duplicate(&self) -> bool {
        false
    }
    /// Bytes of the policy's own TCP options in each segment, padded to whole words of 4 bytes. They reduce the data of
    /// a full segment. Called once. If it returns 0, `options` and `on_feedback` are never called.
    fn option_room(&self) -> u32 {
        0
    }
    /// The policy's options for an outgoing segment (data or ACK, no SYN). They are omitted if SACK leaves too little
    /// room.
    fn options(&mut self, _now: Time, _sender: &SenderView) -> OtherOptions {
        OtherOptions::new()
    }
    /// An acceptable segment arrived.
    fn on_feedback(&mut self, _now: Time, _feedback: &PeerFeedback<'_>, _sender: &SenderView) {}
    /// The current delayed-ACK timeout (`tcpi_ato`).
    fn ato(&self) -> Duration {
        Duration::ZERO
    }
}
