//! Congestion control: the contract, and one file for each algorithm.
//!
//! A controller sets targets (window, threshold, pacing rate). It does not detect loss and does not decide which segment to send: that is
//! the connection's part, and during fast recovery the connection paces the way down to the target itself (RFC 6937).

mod reno;

pub use reno::Reno;

use crate::Profile;
use lopsided_core::{BitRate, Bytes, Span, Time};
use std::fmt::Debug;

/// What one acknowledgement told the sender.
#[derive(Clone, Copy, Debug)]
pub struct Acked {
    /// Octets delivered with this ACK: newly acknowledged or newly reported by SACK.
    pub delivered: Bytes,
    /// Octets by which the cumulative acknowledgement advanced.
    pub cumulative: Bytes,
    /// Round-trip time of the oldest segment acknowledged, if it was sent once (Karn's rule).
    pub rtt: Option<Span>,
    /// Round-trip time of the newest segment acknowledged, which excludes the peer's ACK delay.
    pub newest_rtt: Option<Span>,
    /// Octets in flight before this ACK.
    pub prior_in_flight: Bytes,
    /// The window, not the application or the receiver, held the sender back in the last round trip (RFC 7661).
    pub cwnd_limited: bool,
    /// Fast recovery or a reduction is under way: the connection owns the window until it ends.
    pub in_recovery: bool,
    /// The ACK carried an ECN echo.
    pub ecn_echo: bool,
    pub rate: RateSample,
}

/// The delivery rate between two ACKs (draft-cheng-iccrg-delivery-rate-estimation).
#[derive(Clone, Copy, Debug, Default)]
pub struct RateSample {
    /// Octets delivered over `interval`; zero if there is no sample.
    pub delivered: Bytes,
    pub interval: Span,
    /// The connection's delivered count when the newest segment acknowledged was sent: a round ends when it passes the last round's end.
    pub prior_delivered: Bytes,
    /// Octets marked lost by this ACK.
    pub lost: Bytes,
    pub app_limited: bool,
}

/// The connection as a controller may see it.
#[derive(Clone, Copy, Debug)]
pub struct PathState {
    /// The largest payload of a segment.
    pub mss: Bytes,
    pub in_flight: Bytes,
    pub srtt: Option<Span>,
    pub min_rtt: Option<Span>,
    /// All octets ever delivered.
    pub delivered: Bytes,
}

/// Why the window must come down.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Signal {
    /// An ECN echo; at most one a round trip.
    EcnEcho,
    /// Loss found by duplicate or selective ACKs; at most one a recovery.
    Loss,
    /// The retransmission timer; `consecutive` counts from 1. From the second on, the threshold must not fall further (RFC 5681 section 3.1).
    Timeout { consecutive: u32 },
}

/// An algorithm that sets the congestion window.
pub trait Controller: Debug + Send {
    /// The algorithm's name, as in a scenario.
    fn name(&self) -> &'static str;
    fn on_sent(&mut self, _now: Time, _size: Bytes, _path: &PathState) {}
    fn on_ack(&mut self, now: Time, ack: &Acked, path: &PathState);
    /// `path.in_flight` on a timeout is what is still believed to be in the network.
    fn on_congestion(&mut self, now: Time, signal: Signal, path: &PathState);
    /// The last congestion signal was wrong: put back what it took.
    fn on_undo(&mut self, now: Time);
    /// Sending resumes after an idle time of more than one RTO (RFC 5681 section 4.1).
    fn on_idle(&mut self, _now: Time, _restart_window: Bytes) {}
    fn cwnd(&self) -> Bytes;
    /// `None` before the first congestion signal.
    fn ssthresh(&self) -> Option<Bytes>;
    fn pacing_rate(&self) -> Option<BitRate> {
        None
    }
}

/// The names that [`build`] knows.
pub const CONTROLLERS: &[&str] = &["reno"];

/// The controller of that name, set up for a profile; `None` for an unknown name.
pub fn build(name: &str, profile: &Profile, mss: Bytes) -> Option<Box<dyn Controller>> {
    match name {
        "reno" | "newreno" => Some(Box::new(Reno::new(profile.initial_window(mss), profile.byte_counting))),
        _ => None,
    }
}
