//! What is in the network, and what was measured of it: the part of the send side that recovery works on.

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

/// When a timer fires that was set at `now` for `after`. Segments that leave together set the same.
#[derive(Debug)]
struct Armed {
    now: Time,
    after: Duration,
    due: Time,
    /// For a burst of two segments or more: another that leaves with them would set the same.
    for_burst: bool,
}

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
    /// How long the application waits for an answer to what is sent again.
    pub user_timeout: Option<Duration>,
    give_up_at: Option<Time>,
    armed: Armed,
    mss: u32,
    sack: bool,
    una: u64,
    nxt: u64,
    max_window: u64,
    /// What the peer offers.
    peer_window: u64,
    /// The one segment at a time whose round trip is measured: its end, and when it was sent.
    timed: Option<(u64, Time)>,
}

impl Flight {
    pub fn new(profile: Arc<Profile>, controller: Box<dyn Controller>, clock: TimestampClock, mss: u32) -> Flight {
        Flight {
            rtt: RttEstimator::new(profile.rto, profile.grain.tick()),
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

    /// What the handshake agreed on: the octets of a full segment, and whether the peer sends SACK.
    pub fn agree(&mut self, mss: u32, sack: bool) {
        self.mss = mss;
        self.sack = sack;
    }

    /// The path takes segments of so many octets from now on.
    pub fn set_mss(&mut self, mss: u32) {
        self.mss = mss;
    }

    pub fn mss(&self) -> u64 {
        u64::from(self.mss)
    }

    pub fn sack(&self) -> bool {
        self.sack
    }

    /// The oldest octet not acknowledged, as a stream offset. A FIN counts as the octet behind the stream.
    pub fn una(&self) -> u64 {
        self.una
    }

    /// The next octet never sent.
    pub fn nxt(&self) -> u64 {
        self.nxt
    }

    pub fn outstanding(&self) -> u64 {
        self.nxt - self.una
    }

    /// What is out, as octets of the congestion window.
    #[inline]
    pub fn window_taken(&self) -> u64 {
        self.nxt - self.una + self.scoreboard.padding()
    }

    /// The peer's window as the newest segment has it.
    pub fn peer_window(&self) -> u64 {
        self.peer_window
    }

    pub fn set_peer_window(&mut self, size: u64) {
        self.peer_window = size;
    }

    /// FreeBSD: losses are found, and new data let go, by the count of duplicates, whatever SACK says.
    pub fn counts_duplicates(&self) -> bool {
        self.profile.loss_detection == LossDetection::FreeBsd
    }

    pub fn max_window(&self) -> u64 {
        self.max_window
    }

    /// Everything before `ack` is acknowledged.
    pub fn acknowledge(&mut self, ack: u64) {
        self.una = ack;
    }

    /// A segment of new data goes out, up to `end`; `pad` is what it takes of the window beyond its octets.
    pub fn push(&mut self, end: u64, pad: u16, now: Time, stamp: RateStamp) {
        self.scoreboard.push(self.nxt, end, pad, now, stamp);
        self.nxt = end;
        self.timed.get_or_insert((end, now));
    }

    /// The round trip of the segment that is timed, if it is acknowledged: what a stack without timestamps measures,
    /// one segment in each window (4.4BSD's t_rtt, ns-2's rtt_active_).
    pub fn take_timed(&mut self, now: Time) -> Option<Duration> {
        let (_, sent) = self.timed.filter(|(end, _)| *end <= self.una)?;
        self.timed = None;
        Some(now - sent)
    }

    /// Something was sent again: what is timed may be acknowledged by that (Karn's rule).
    pub fn forget_timed(&mut self) {
        self.timed = None;
    }

    // The timer that guards what was sent.

    #[inline(always)]
    pub fn arm(&mut self, now: Time, kind: TimerKind, after: Duration) {
        if self.armed.now != now || self.armed.after != after {
            self.armed = Armed { now, after, due: self.profile.grain.deadline(now, after), for_burst: false };
        }
        self.armed.for_burst = false;
        let due = self.armed.due;
        self.timers.set_loss(kind, self.give_up_at.map_or(due, |at| at.min(due)));
    }

    /// The probe timer guards a burst of two segments or more that leaves now.
    #[inline]
    pub fn arm_for_burst(&mut self, now: Time, after: Duration) {
        self.arm(now, TimerKind::TailProbe, after);
        self.armed.for_burst = self.scoreboard.segments() > 1;
    }

    /// The burst that leaves now has set the probe timer, as any further segment of it would.
    #[inline]
    pub fn guards_burst(&self, now: Time) -> bool {
        self.armed.for_burst && self.armed.now == now && self.timers.is_set(TimerKind::TailProbe)
    }

    /// What the timer that guards what was sent was last set for.
    pub fn armed_after(&self) -> Duration {
        self.armed.after
    }

    /// What the probe timer follows from may change.
    #[inline]
    pub fn end_burst(&mut self) {
        self.armed.for_burst = false;
    }

    /// The retransmission timer from now on.
    pub fn arm_rto(&mut self, now: Time) {
        self.arm(now, TimerKind::Retransmission, self.rtt.rto());
    }

    /// The retransmission timer counted from when the oldest segment was sent.
    pub fn arm_rto_since_first(&mut self, now: Time) {
        if self.scoreboard.is_empty() {
            self.timers.stop_loss();
            return;
        }
        let left = self.rto_left(now).max(Duration::from_nanos(1));
        self.arm(now, TimerKind::Retransmission, left);
    }

    pub fn rto_left(&self, now: Time) -> Duration {
        let Some(first) = self.scoreboard.first() else { return self.rtt.rto() };
        (first.sent_at + self.rtt.rto()).saturating_since(now)
    }

    /// The first timer of a row fired without an answer: from now on the application's patience counts.
    pub fn begin_waiting(&mut self, now: Time) {
        if self.give_up_at.is_none() {
            self.give_up_at = self.user_timeout.map(|timeout| now + timeout);
        }
    }

    /// The peer answered.
    #[inline]
    pub fn end_waiting(&mut self) {
        self.give_up_at = None;
    }

    /// The application waits no longer.
    pub fn ran_out(&self, now: Time) -> bool {
        self.give_up_at.is_some_and(|at| at <= now)
    }

    /// The peer closed its window and nothing is out to reopen it: probe (RFC 9293 section 3.8.6.1).
    pub fn arm_persist(&mut self, now: Time) {
        if !self.timers.guards_loss() {
            self.arm(now, TimerKind::Persist, self.rtt.rto());
        }
    }
}
