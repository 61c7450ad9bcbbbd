//! What an acknowledgement policy is told, and what it answers.

use lopsided_core::packet::{Flags, OtherOptions};
use lopsided_core::tcp_event::AckReason;
use lopsided_core::{Bytes, Duration, Ecn, Time};
use std::fmt::Debug;

/// What the arrival of data was to the stream.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum Arrival {
    /// The next octets; `closed_gap` if out-of-order data became readable and none is left, `gaps_left` if some is.
    InOrder {
        closed_gap: bool,
        gaps_left: bool,
    },
    OutOfOrder,
    /// All of it was there already.
    Duplicate,
}

impl Arrival {
    /// Why it is acknowledged at once, if it is (RFC 5681 section 4.2): all that is not in order, or fills a gap.
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
    /// The offset in the peer's stream that its data reaches to.
    pub end: u64,
    /// Octets of data.
    pub len: u32,
    /// Octets that are in order with it and were not before, those that waited for it too.
    pub advance: u64,
    /// Its PSH flag.
    pub push: bool,
    /// The receive window grew with it.
    pub window_opened: bool,
    pub ecn: Ecn,
}

/// The connection as an acknowledgement policy may see it.
#[derive(Debug, Clone, Copy)]
pub struct AckView {
    /// The round trip: the shorter of what the receiver and the sender know.
    pub rtt: Option<Duration>,
    /// The smoothed round trip of what this end sends, where it has sent something.
    pub srtt: Option<Duration>,
    /// The end's own retransmission timeout.
    pub rto: Duration,
    /// The window that was last offered, in octets.
    pub window: u64,
    /// SACK is on: fewer duplicate ACKs may stand for many, without it each counts.
    pub sack: bool,
    /// The size of the peer's full segments as measured, in octets of data.
    pub rcv_mss: u32,
    /// In-order octets and segments that no ACK covers yet.
    pub unacked_bytes: u64,
    pub unacked_segments: u32,
    /// An ACK is due, or its timer runs.
    pub scheduled: bool,
    /// An ACK of the segment that arrived would offer less than the one before it did: what the application has not
    /// read takes the room.
    pub window_falls: bool,
    /// Less than half of the receive buffer is free, as that segment arrived.
    pub half_filled: bool,
}

/// When the next acknowledgement goes out. Any segment with data carries it sooner.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum AckDecision {
    /// As it was decided before.
    Unchanged,
    Now(AckReason),
    /// At that time, or as it was decided before if that is sooner.
    By(Time),
}

/// What a segment from the peer says beside its data.
#[derive(Debug, Clone, Copy)]
pub struct PeerFeedback<'a> {
    /// The codepoint that it arrived with: an ACK may be marked too.
    pub ecn: Ecn,
    /// ECE, the peer's ECN echo, and CWR among them.
    pub flags: Flags,
    /// The options of kinds that TCP has no field for: the peer's policy's own are among them.
    pub options: &'a OtherOptions,
    /// Octets of data.
    pub len: u32,
    /// Octets that this segment is the first to acknowledge.
    pub acked: u64,
}

/// This end's own sender, for a policy that tells the peer's receiver of it (as RFC 5690's does).
#[derive(Debug, Clone, Copy)]
pub struct SenderView {
    pub cwnd: Bytes,
    pub mss: Bytes,
    pub srtt: Option<Duration>,
    /// What it may have out: the least of the congestion window, the peer's, and what is written and not acknowledged.
    pub window: Bytes,
    /// The segment that goes out has data.
    pub has_data: bool,
    /// What it has out.
    pub outstanding: Bytes,
    /// Nothing is taken for lost or out of order: an ACK covers what came in order since the one before.
    pub undisturbed: bool,
}

/// Decides when arriving data is acknowledged. What the RFCs demand at once (a FIN, a segment that does not fit, a
/// mark) is not asked of it.
pub trait AckPolicy: Debug + Send {
    /// The policy's name, as in a profile.
    fn name(&self) -> &str;
    /// A data segment arrived; `view` counts it among what is not acknowledged, and has measured its size.
    fn on_data(&mut self, now: Time, data: &ArrivedData, view: &AckView) -> AckDecision;
    /// Data arrived marked, `first` since the peer last said that it slowed down (RFC 3168 feedback). True if it is to
    /// be acknowledged at once.
    fn on_mark(&mut self, _first: bool) -> bool {
        true
    }
    /// Data arrived that lies outside the window and is not taken in; `again`: it begins before the next octet expected.
    fn on_unacceptable(&mut self, _now: Time, _again: bool, _view: &AckView) -> AckDecision {
        AckDecision::Now(AckReason::Duplicate)
    }
    /// The time of an earlier [`AckDecision::By`] has come.
    fn on_timeout(&mut self, _now: Time, _view: &AckView) -> AckDecision {
        AckDecision::Now(AckReason::Delay)
    }
    /// The application has read some of what arrived, or `all`, for which no ACK is due yet.
    fn on_read(&mut self, _now: Time, _all: bool, _view: &AckView) -> AckDecision {
        AckDecision::Unchanged
    }
    /// The peer's FIN arrived, and nothing of its data is missing; this end may still send.
    fn on_fin(&mut self, _now: Time, _view: &AckView) -> AckDecision {
        AckDecision::Now(AckReason::Fin)
    }
    /// Data goes out, with the acknowledgement that was owed.
    fn on_data_sent(&mut self, _now: Time) {}
    /// A segment with an acknowledgement went out, which was owed; `covered`: for data.
    fn on_ack_sent(&mut self, _now: Time, _covered: bool) {}
    /// Whether the stack reads its clock as the time of a [`AckDecision::By`] comes: the timestamps of what is sent
    /// then are of that time, or else of the last segment's arrival.
    fn timer_reads_clock(&self, _now: Time) -> bool {
        true
    }
    /// A duplicate ACK is held back: it goes out before SACK blocks come that it would hide.
    fn holds_duplicate(&self) -> bool {
        false
    }
    /// Octets that options of its own take in each segment, padded to whole words; they come off a full segment's data.
    /// Asked once. With none, `options` and `on_feedback` are not called.
    fn option_room(&self) -> u32 {
        0
    }
    /// Its own options for a segment that goes out, data or ACK but no SYN. They are left out of a segment that has no
    /// room for them beside SACK.
    fn options(&mut self, _now: Time, _sender: &SenderView) -> OtherOptions {
        OtherOptions::new()
    }
    /// A segment arrived that is acceptable, with what the peer says in it.
    fn on_feedback(&mut self, _now: Time, _feedback: &PeerFeedback<'_>, _sender: &SenderView) {}
    /// The delayed-ACK timeout of the moment (`tcpi_ato`).
    fn ato(&self) -> Duration {
        Duration::ZERO
    }
}
