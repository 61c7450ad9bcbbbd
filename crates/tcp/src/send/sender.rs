//! The send side: the stream, what of it is in the network, and how much more may be.
//!
//! What an acknowledgement does to it is in `ack`, recovery from loss in [`crate::recovery`].

use super::buffer::SendBuffer;
use super::buffer_limit::{SendBufferLimit, SendBufferState};
use super::rtt::RttEstimator;
use super::scoreboard::{RateStamp, Scoreboard};
use crate::ecn::AccEcnSender;
use crate::recovery::{CaState, Rack, Reduction, UndoState};
use crate::timers::Deadline;
use crate::{Controller, Counters, PathState, Profile, RttStats};
use lopsided_core::{Bytes, Duration, Payload, Seq, Time};

#[derive(Debug)]
pub(crate) struct Sender {
    pub profile: Profile,
    pub controller: Box<dyn Controller>,
    /// The wire's number of the first data octet.
    pub first_data_seq: Seq,
    pub mss: u32,
    pub sack: bool,
    pub buffer: SendBuffer,
    pub scoreboard: Scoreboard,
    /// Offsets: the oldest octet not acknowledged, and the next never sent. A FIN counts as the octet behind the
    /// stream.
    pub una: u64,
    pub nxt: u64,
    /// The application has closed its end of the stream.
    pub closed: bool,
    pub fin_acked: bool,
    pub snd_wnd: u64,
    pub max_snd_wnd: u64,
    /// The largest window that the peer could ever offer: where a stack does not check whether it uses its window,
    /// growth ends here.
    pub max_peer_window: u64,
    max_window: u64,
    pub(super) window_update: (Seq, Seq),

    pub ca_state: CaState,
    /// Where a recovery began: it ends when this is acknowledged (RFC 6675's RecoveryPoint).
    pub recovery_point: u64,
    pub reduction: Option<Reduction>,
    pub undo: UndoState,
    pub rack: Rack,
    /// F-RTO is deciding whether a timeout was spurious.
    pub frto: bool,
    /// F-RTO wants new data out before anything is sent again.
    pub defer_retransmits: bool,
    /// The end of the data sent when a tail loss probe went out, and whether the probe was a retransmission.
    pub tlp: Option<(u64, bool)>,
    pub tlp_due: bool,
    pub window_probe_due: bool,
    /// The end of the last segment shorter than a full one.
    pub snd_sml: u64,
    /// The next new segment says that the window came down (RFC 3168 section 6.1.2).
    pub cwr_due: bool,
    /// Duplicate ACKs in a row: all that a sender without SACK learns.
    pub duplicates: u32,
    pub consecutive_timeouts: u32,

    pub rtt: RttEstimator,
    pub rtt_stats: RttStats,
    pub deadline: Deadline,
    pub(super) delivery: Delivery,
    pub(super) limited: WindowUse,
    pub last_sent: Option<Time>,
    pub pacing: Pacing,
    pub counters: Counters,
    space: SendBufferLimit,
    /// What the peer reported of marks, with accurate feedback.
    pub accurate: Option<Box<AccEcnSender>>,
}

/// Counts for delivery-rate samples.
#[derive(Debug, Default)]
pub(super) struct Delivery {
    pub total: u64,
    pub at: Time,
    pub first_sent_at: Time,
    pub app_limited_until: u64,
}

/// When the next segment may go, for controllers that set a rate.
#[derive(Debug, Default)]
pub(crate) struct Pacing {
    on: bool,
    pub next: Time,
    /// A segment is waiting for it.
    pub holding: bool,
}

/// Linux: the first segments of a connection are not paced.
const UNPACED_SEGMENTS: u64 = 10;

/// Whether the congestion window was what held the sender back in the last round trip.
#[derive(Debug, Default)]
pub(super) struct WindowUse {
    pub cwnd_limited: bool,
    pub most_out: u64,
    pub round_end: u64,
}

impl Sender {
    pub fn new(profile: Profile, controller: Box<dyn Controller>, iss: u32, mss: u32) -> Sender {
        let rtt = RttEstimator::new(profile.rto, grain_of(&profile));
        Sender {
            first_data_seq: Seq::new(iss) + 1,
            mss,
            sack: false,
            buffer: SendBuffer::default(),
            scoreboard: Scoreboard::default(),
            una: 0,
            nxt: 0,
            closed: false,
            fin_acked: false,
            snd_wnd: 0,
            max_snd_wnd: 0,
            max_peer_window: u64::MAX,
            max_window: profile.max_window.map_or(u64::MAX, Bytes::get),
            window_update: (Seq::default(), Seq::default()),
            ca_state: CaState::Open,
            recovery_point: 0,
            reduction: None,
            undo: UndoState::default(),
            rack: Rack::default(),
            frto: false,
            defer_retransmits: false,
            tlp: None,
            tlp_due: false,
            window_probe_due: false,
            snd_sml: 0,
            cwr_due: false,
            duplicates: 0,
            consecutive_timeouts: 0,
            rtt,
            rtt_stats: RttStats::default(),
            deadline: Deadline::UNSET,
            delivery: Delivery::default(),
            limited: WindowUse::default(),
            last_sent: None,
            pacing: Pacing::default(),
            counters: Counters::default(),
            space: SendBufferLimit::new(profile.send_buffer, profile.send_buffer_accounting),
            accurate: None,
            profile,
            controller,
        }
    }

    /// The first window of the connection is known: acknowledgements may follow.
    pub fn open(&mut self, window: u64, seq: Seq, ack: Seq) {
        self.snd_wnd = window;
        self.max_snd_wnd = window;
        self.window_update = (seq, ack);
    }

    /// Offset of the FIN, once the application closed.
    pub fn fin_offset(&self) -> Option<u64> {
        self.closed.then(|| self.buffer.end())
    }

    /// The end of everything there is to send, FIN included.
    pub fn stream_end(&self) -> u64 {
        self.buffer.end() + u64::from(self.closed)
    }

    pub fn outstanding(&self) -> u64 {
        self.nxt - self.una
    }

    /// Octets believed to be in the network (RFC 6675's pipe).
    pub fn in_flight(&self) -> u64 {
        let out = self.outstanding();
        if self.sack {
            if !self.profile.limited_transmit && self.ca_state <= CaState::Disorder {
                return out;
            }
            (out + self.scoreboard.retrans_bytes())
                .saturating_sub(self.scoreboard.sacked_bytes() + self.scoreboard.lost_bytes())
        } else {
            // Each duplicate ACK says that one segment has left the network.
            let left = u64::from(self.duplicates) * u64::from(self.mss);
            let counted = if self.profile.limited_transmit || self.ca_state > CaState::Disorder { left } else { 0 };
            (out + self.scoreboard.retrans_bytes()).saturating_sub(counted + self.scoreboard.lost_bytes())
        }
    }

    /// The window that holds now: the controller's target, or recovery's way down to it.
    pub fn cwnd(&self) -> u64 {
        let window = self.reduction.as_ref().map_or_else(|| self.controller.cwnd().get(), |reduction| reduction.cwnd);
        window.min(self.max_window)
    }

    /// The handshake is over: the controller may set up its window and rate.
    pub fn start_controller(&mut self, now: Time) {
        let path = self.path();
        self.controller.on_established(now, &path);
        self.pacing.on = self.controller.pacing_rate().is_some();
        if self.controller.needs_losses() {
            self.scoreboard.watch_losses();
        }
    }

    /// Data goes into an empty network.
    pub fn on_restart(&mut self, now: Time) {
        let idle = self.last_sent.map_or(Duration::ZERO, |last| now.saturating_since(last));
        let path = self.path();
        self.controller.on_transmit_start(now, idle, &path);
    }

    /// Data of `len` octets goes out: when may the next? A timer that came late takes up to half a segment's time off
    /// it.
    #[inline]
    pub fn pace(&mut self, now: Time, len: u64) {
        if !self.pacing.on || self.counters.data_segments_out + 1 < UNPACED_SEGMENTS {
            return;
        }
        let Some(rate) = self.controller.pacing_rate().filter(|rate| rate.as_bps() > 0) else { return };
        let (time, _) = rate.time_to_send(Bytes::new(len), 0);
        let late = now.saturating_since(self.pacing.next).as_nanos();
        self.pacing.next = now + time.saturating_sub(Duration::from_nanos(late.min(time.as_nanos() / 2)));
    }

    pub fn path(&self) -> PathState {
        PathState {
            mss: Bytes::new(u64::from(self.mss)),
            in_flight: Bytes::new(self.in_flight()),
            srtt: self.rtt.srtt(),
            min_rtt: self.rtt.min_rtt(),
            delivered: Bytes::new(self.delivery.total),
            lost: Bytes::new(self.scoreboard.total_lost()),
            una: self.una,
            nxt: self.nxt,
            app_limited: self.delivery.app_limited_until > self.delivery.total,
            sack: self.sack,
        }
    }

    /// How many more octets the application may write.
    pub fn room(&self) -> u64 {
        self.space.room(self.filling())
    }

    /// Queues the first `len` octets of the payload.
    pub fn write(&mut self, payload: &Payload, len: u32) {
        self.buffer.push(payload, len);
        self.space.note_written(self.filling());
    }

    fn filling(&self) -> SendBufferState {
        SendBufferState {
            len: self.buffer.len(),
            joined: u64::from(self.scoreboard.sacked_segments()),
            mss: u64::from(self.mss),
            cwnd: self.controller.cwnd().get(),
            // Three where the window may grow in recovery (Linux's sndbuf_expand).
            windows: if self.controller.owns_recovery() { 3 } else { 2 },
        }
    }

    pub(super) fn grow_send_buffer(&mut self) {
        let peer_would_take_it = self.snd_wnd.min(self.cwnd()) >= self.buffer.len().saturating_sub(self.outstanding());
        self.space.grow(self.filling(), peer_would_take_it);
    }

    /// For a segment of `len` octets that is about to go.
    pub fn stamp(&mut self, now: Time, len: u64) -> RateStamp {
        if self.scoreboard.is_empty() {
            // A new flight: an idle time is no time of the delivery's.
            self.delivery.at = now;
            self.delivery.first_sent_at = now;
        }
        RateStamp {
            delivered: self.delivery.total,
            delivered_at: self.delivery.at,
            first_sent_at: self.delivery.first_sent_at,
            in_flight: (self.in_flight() + len) as u32,
            lost: self.scoreboard.total_lost() as u32,
            app_limited: self.delivery.app_limited_until > self.delivery.total,
        }
    }

    /// A burst has ended: note whether the window was what ended it.
    pub fn note_window_use(&mut self, blocked_by_cwnd: bool) {
        // Nothing is left to send, new or again, though the window would let it.
        if !blocked_by_cwnd
            && self.nxt == self.stream_end()
            && self.in_flight() + u64::from(self.mss) <= self.cwnd()
            && self.scoreboard.lost_segments() <= self.scoreboard.retrans_out()
        {
            self.delivery.app_limited_until = self.delivery.total + self.in_flight();
        }
        self.note_cwnd_use(blocked_by_cwnd);
    }

    pub fn note_cwnd_use(&mut self, blocked_by_cwnd: bool) {
        let out = self.outstanding();
        let limited = &mut self.limited;
        if self.una >= limited.round_end || blocked_by_cwnd || (!limited.cwnd_limited && out > limited.most_out) {
            limited.cwnd_limited = blocked_by_cwnd;
            limited.most_out = out;
            limited.round_end = self.nxt;
        }
    }

    /// RFC 7661 as Linux has it: in slow start a window of which more than half was used may grow.
    pub(super) fn is_cwnd_limited(&self) -> bool {
        if self.controller.cwnd().get() >= self.max_window {
            return false;
        }
        if !self.profile.cwnd_validation {
            return self.controller.cwnd().get() < self.max_peer_window;
        }
        if self.limited.cwnd_limited {
            return true;
        }
        let cwnd = self.controller.cwnd();
        self.controller.ssthresh().is_none_or(|ssthresh| cwnd < ssthresh) && cwnd.get() < 2 * self.limited.most_out
    }
}

fn grain_of(profile: &Profile) -> Duration {
    match profile.grain {
        crate::TimerGrain::Exact => Duration::ZERO,
        crate::TimerGrain::Tick(tick) | crate::TimerGrain::Wheel(tick) => tick,
    }
}
