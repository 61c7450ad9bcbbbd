//! The outstanding data, with RTT, delivery rate and timers: the part of the sender's state that recovery reads and
//! changes.

use super::rate_sample::{Delivery, RateStamp};
use super::rtt::RttEstimator;
use super::scoreboard::Scoreboard;
use super::timestamp_clock::TimestampClock;
use crate::cc::Controller;
use crate::info::Counters;
use crate::profile::{LossDetection, Profile};
use crate::timers::TimerTable;
use crate::trace::Trace;
use lopsided_core::tcp_event::TimerKind;
use lopsided_core::{Bytes, Duration, Time};
use std::sync::Arc;

/// Caches a deadline, because segments sent at the same instant have the same deadline.
#[derive(Debug)]
struct Armed {
    now: Time,
    after: Duration,
    /// The deadline.
    due: Time,
    /// True if the burst already contains two segments. Further segments of the burst would set the same deadline.
    for_burst: bool,
}

/// The sender's outstanding data, windows, RTT estimate, timers and counters.
#[derive(Debug)]
pub(crate) struct Flight {
    pub profile: Arc<Profile>,
    pub controller: Box<dyn Controller>,
    pub scoreboard: Scoreboard,
    pub rtt: RttEstimator,
    pub delivery: Delivery,
    pub timers: TimerTable,
    pub clock: TimestampClock,
    pub counters: Counters,
    pub trace: Trace,
    /// Longest time without an answer from the peer, set by the application (TCP_USER_TIMEOUT).
    pub user_timeout: Option<Duration>,
    /// Time at which the user timeout ends the connection; `None` if the user timeout is not running.
    give_up_at: Option<Time>,
    armed: Armed,
    mss: u32,
    sack: bool,
    una: u64,
    nxt: u64,
    max_window: u64,
    /// The window that the peer advertises, in bytes.
    peer_window: u64,
    /// The segment whose RTT is being measured: its end offset and its send time.
    timed: Option<(u64, Time)>,
}

impl Flight {
    pub fn new(profile: Arc<Profile>, controller: Box<dyn Controller>, clock: TimestampClock, mss: u32) -> Flight {
        Flight {
            rtt: RttEstimator::new(Arc::clone(&profile), profile.grain.tick()),
            max_window: profile.max_window.map_or(u64::MAX, Bytes::get),
            scoreboard: Scoreboard::default(),
            delivery: Delivery::default(),
            timers: TimerTable::new(),
            counters: Counters::default(),
            trace: Trace::default(),
            user_timeout: None,
            give_up_at: None,
            armed: Armed { now: Time::MAX, after: Duration::ZERO, due: Time::MAX, for_burst: false },
            sack: false,
            peer_window: 0,
            timed: None,
            una: 0,
            nxt: 0,
            mss,
            clock,
            profile,
            controller,
        }
    }

    /// Sets the segment size after the handshake. `sack` is true if the peer sends SACK.
    pub fn agree(&mut self, mss: u32, sack: bool) {
        self.mss = mss;
        self.sack = sack;
    }

    /// Sets the payload of a full segment after the path MTU changed.
    pub fn set_mss(&mut self, mss: u32) {
        self.mss = mss;
    }

    pub fn mss(&self) -> u64 {
        u64::from(self.mss)
    }

    pub fn sack(&self) -> bool {
        self.sack
    }

    /// Stream offset of the oldest unacknowledged byte. A FIN counts as one byte after the stream.
    pub fn una(&self) -> u64 {
        self.una
    }

    /// Stream offset of the first byte that was never sent.
    pub fn nxt(&self) -> u64 {
        self.nxt
    }

    pub fn outstanding(&self) -> u64 {
        self.nxt - self.una
    }

    /// Number of bytes of the congestion window that the outstanding data uses, including padding.
    #[inline]
    pub fn window_taken(&self) -> u64 {
        self.nxt - self.una + self.scoreboard.padding()
    }

    /// The peer's window as the newest segment advertises it, in bytes.
    pub fn peer_window(&self) -> u64 {
        self.peer_window
    }

    pub fn set_peer_window(&mut self, size: u64) {
        self.peer_window = size;
    }

    /// True if losses are detected by counting duplicate ACKs, even with SACK (FreeBSD).
    pub fn counts_duplicates(&self) -> bool {
        self.profile.loss_detection == LossDetection::FreeBsd
    }

    /// The profile's upper limit of the congestion window, in bytes.
    pub fn max_window(&self) -> u64 {
        self.max_window
    }

    /// Marks everything before `ack` as acknowledged.
    pub fn acknowledge(&mut self, ack: u64) {
        self.una = ack;
    }

    /// Records a new segment that ends at `end`. In the congestion window, the segment uses `pad` bytes more than its
    /// length.
    pub fn push(&mut self, end: u64, pad: u16, now: Time, stamp: RateStamp) {
        self.scoreboard.push(self.nxt, end, pad, now, stamp);
        self.nxt = end;
        // Measure the RTT of one segment at a time.
        self.timed.get_or_insert((end, now));
    }

    /// Returns the RTT of the measured segment if the segment has been acknowledged (4.4BSD's t_rtt, ns-2's
    /// rtt_active_).
    pub fn take_timed(&mut self, now: Time) -> Option<Duration> {
        let (_, sent) = self.timed.filter(|(end, _)| *end <= self.una)?;
        self.timed = None;
        Some(now - sent)
    }

    /// Stops measuring the segment after a retransmission, because its ACK may belong to the retransmission (Karn's
    /// rule).
    pub fn forget_timed(&mut self) {
        self.timed = None;
    }

    // The loss timer.

    /// Arms the loss timer `kind` at `now` for the duration `after`. The user timeout may shorten the duration.
    #[inline(always)]
    pub fn arm(&mut self, now: Time, kind: TimerKind, after: Duration) {
        // Cache the result: a timer-wheel deadline costs divisions, and all segments of a burst have the same deadline.
        if self.armed.now != now || self.armed.after != after {
            self.armed = Armed { now, after, due: self.profile.grain.deadline(now, after), for_burst: false };
        }
        self.armed.for_burst = false;
        let due = self.armed.due;
        self.timers.set_loss(kind, self.give_up_at.map_or(due, |at| at.min(due)));
    }

    /// Arms the tail loss probe timer for a segment that is sent now.
    #[inline]
    pub fn arm_for_burst(&mut self, now: Time, after: Duration) {
        self.arm(now, TimerKind::TailProbe, after);
        self.armed.for_burst = self.scoreboard.segments() > 1;
    }

    /// True if the current burst has already armed the probe timer. Any further segment would set the same deadline.
    #[inline]
    pub fn guards_burst(&self, now: Time) -> bool {
        self.armed.for_burst && self.armed.now == now && self.timers.is_set(TimerKind::TailProbe)
    }

    /// The duration with which the loss timer was last armed.
    pub fn armed_after(&self) -> Duration {
        self.armed.after
    }

    /// Invalidates the cached probe timeout. Call it after a change of the RTT estimate or of the outstanding data.
    #[inline]
    pub fn end_burst(&mut self) {
        self.armed.for_burst = false;
    }

    /// Arms the retransmission timer for one RTO from now.
    pub fn arm_rto(&mut self, now: Time) {
        self.arm(now, TimerKind::Retransmission, self.rtt.rto());
    }

    /// Arms the retransmission timer so that it expires one RTO after the oldest segment was sent.
    pub fn arm_rto_since_first(&mut self, now: Time) {
        if self.scoreboard.is_empty() {
            self.timers.stop_loss();
            return;
        }
        let left = self.rto_left(now).max(Duration::from_nanos(1));
        self.arm(now, TimerKind::Retransmission, left);
    }

    /// Time left until one RTO has passed since the oldest segment was sent.
    pub fn rto_left(&self, now: Time) -> Duration {
        let Some(first) = self.scoreboard.first() else { return self.rtt.rto() };
        (first.sent_at + self.rtt.rto()).saturating_since(now)
    }

    /// Starts the user timeout at the first of several consecutive timeouts.
    pub fn begin_waiting(&mut self, now: Time) {
        if self.give_up_at.is_none() {
            self.give_up_at = self.user_timeout.map(|timeout| now + timeout);
        }
    }

    /// Cancels the user timeout, because the peer has answered.
    #[inline]
    pub fn end_waiting(&mut self) {
        self.give_up_at = None;
    }

    /// True if the user timeout has expired.
    pub fn ran_out(&self, now: Time) -> bool {
        self.give_up_at.is_some_and(|at| at <= now)
    }

    /// Arms the persist timer if the window is closed and no outstanding data can reopen it (RFC 9293 section 3.8.6.1).
    pub fn arm_persist(&mut self, now: Time) {
        if !self.timers.guards_loss() {
            self.arm(now, TimerKind::Persist, self.rtt.rto());
        }
    }
}
