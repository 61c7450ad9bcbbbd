//! The contract of an acknowledgement policy: its inputs and its decisions.

use lopsided_core::packet::{Flags, OtherOptions};
use lopsided_core::tcp_event::AckReason;
use lopsided_core::{Bytes, Duration, Ecn, Time};
use std::fmt::Debug;

/// How arriving data relates to the stream.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum Arrival {
    /// The next bytes. `closed_gap`: out-of-order data became readable and no gap is left; `gaps_left`: a gap is left.
    InOrder {
        closed_gap: bool,
        gaps_left: bool,
    },
    OutOfOrder,
    /// All of it was received before.
    Duplicate,
}

impl Arrival {
    /// Why the data is acknowledged at once, or `None` (RFC 5681 section 4.2): everything out of order, and everything
    /// that fills a gap.
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
    pub ecn: Ecn,
}

/// The state of the connection for an acknowledgement policy.
#[derive(Debug, Clone, Copy)]
pub struct AckView {
    /// The RTT: the smaller of the receiver's and the sender's estimate.
    pub rtt: Option<Duration>,
    /// The smoothed RTT of this end's own data, if it has sent any.
    pub srtt: Option<Duration>,
    /// This end's retransmission timeout.
    pub rto: Duration,
    /// The last offered window in bytes.
    pub window: u64,
    /// SACK is on: one duplicate ACK may report several segments. Without SACK each counts.
    pub sack: bool,
    /// Measured payload of the peer's full segments, in bytes.
    pub rcv_mss: u32,
    /// In-order bytes and segments that no ACK covers yet.
    pub unacked_bytes: u64,
    pub unacked_segments: u32,
    /// An ACK is due, or its timer runs.
    pub scheduled: bool,
    /// An ACK now would offer a smaller window than the last one, because unread data takes the room.
    pub window_falls: bool,
    /// Less than half of the receive buffer was free when the segment arrived.
    pub half_filled: bool,
}

/// When the next ACK is sent. Any data segment carries it earlier.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum AckDecision {
    /// The earlier decision stands.
    Unchanged,
    Now(AckReason),
    /// At this time, or as decided before if that is earlier.
    By(Time),
}

/// The fields of an arriving segment other than its data.
#[derive(Debug, Clone, Copy)]
pub struct PeerFeedback<'a> {
    /// The ECN field: an ACK may be marked too.
    pub ecn: Ecn,
    /// The flags, among them ECE and CWR.
    pub flags: Flags,
    /// TCP options without a field of their own, among them those of the peer's policy.
    pub options: &'a OtherOptions,
    /// Number of data bytes.
    pub len: u32,
    /// Number of bytes that the segment newly acknowledges.
    pub acked: u64,
}

/// This end's sender, for a policy that reports it to the peer's receiver (as RFC 5690 does).
#[derive(Debug, Clone, Copy)]
pub struct SenderView {
    pub cwnd: Bytes,
    pub mss: Bytes,
    pub srtt: Option<Duration>,
    /// The amount of data that may be outstanding: the least of cwnd, the peer's window, and the unacknowledged data.
    pub window: Bytes,
    /// The outgoing segment has data.
    pub has_data: bool,
    /// Outstanding data.
    pub outstanding: Bytes,
    /// Nothing is lost or out of order: an ACK covers the in-order data since the ACK before.
    pub undisturbed: bool,
}

/// Decides when arriving data is acknowledged. ACKs that the RFCs require at once (for a FIN, an unacceptable segment,
/// a mark) do not go through the policy.
pub trait AckPolicy: Debug + Send {
    /// The policy's name, as in a profile.
    fn name(&self) -> &str;
    /// A data segment arrived. `view` already counts it as unacknowledged and has measured its size.
    fn on_data(&mut self, now: Time, data: &ArrivedData, view: &AckView) -> AckDecision;
    /// Marked data arrived; `first`: the first mark since the peer's last CWR (RFC 3168 feedback). True if it must be
    /// acknowledged at once.
    fn on_mark(&mut self, _first: bool) -> bool {
        true
    }
    /// Data outside the window arrived and was discarded; `again`: it begins before the next expected byte.
    fn on_unacceptable(&mut self, _now: Time, _again: bool, _view: &AckView) -> AckDecision {
        AckDecision::Now(AckReason::Duplicate)
    }
    /// The time of an earlier [`AckDecision::By`] has come.
    fn on_timeout(&mut self, _now: Time, _view: &AckView) -> AckDecision {
        AckDecision::Now(AckReason::Delay)
    }
    /// The application read some of the data, or `all`, while no ACK is due.
    fn on_read(&mut self, _now: Time, _all: bool, _view: &AckView) -> AckDecision {
        AckDecision::Unchanged
    }
    /// The peer's FIN arrived and all data before it; this end may still send.
    fn on_fin(&mut self, _now: Time, _view: &AckView) -> AckDecision {
        AckDecision::Now(AckReason::Fin)
    }
    /// Data is sent and carries the owed acknowledgement.
    fn on_data_sent(&mut self, _now: Time) {}
    /// A segment with the owed acknowledgement was sent; `covered`: it covered data.
    fn on_ack_sent(&mut self, _now: Time, _covered: bool) {}
    /// True if the stack reads its clock when the time of a [`AckDecision::By`] comes. Otherwise the timestamp of the
    /// ACK is that of the last arrival.
    fn timer_reads_clock(&self, _now: Time) -> bool {
        true
    }
    /// True if a duplicate ACK is held back: it must be sent before new SACK blocks would hide it.
    fn holds_duplicate(&self) -> bool {
        false
    }
    /// Bytes of the policy's own TCP options in each segment, padded to whole words; they reduce a full segment's data.
    /// Called once. If 0, `options` and `on_feedback` are not called.
    fn option_room(&self) -> u32 {
        0
    }
    /// The policy's options for an outgoing segment (data or ACK, no SYN). They are omitted if SACK leaves no room.
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
