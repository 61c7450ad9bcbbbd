//! The send side: the stream, what of it is in the network, and what an ACK does to it.
//!
//! Recovery from loss is in [`crate::recovery`]; this file is the common path: acknowledgement, RTT, delivery rate and the window.

use crate::accurate_ecn::{Counts, Reported};
use crate::recovery::{Phase, Rack, Reduction, UndoState};
use crate::rtt::RttEstimator;
use crate::scoreboard::{RateStamp, Scoreboard, Sent};
use crate::send_buffer::SendBuffer;
use crate::send_space::{Filling, SendSpace};
use crate::timer::{Deadline, LossTimer};
use crate::{Acked, Controller, Counters, Nagle, PathState, Profile, RateSample, RtoRule, RttStats};
use lopsided_core::packet::SackBlock;
use lopsided_core::{Bytes, Payload, Seq, Span, Time};

#[derive(Debug)]
pub(crate) struct Sender {
    pub profile: Profile,
    pub controller: Box<dyn Controller>,
    /// The wire's number of the first data octet.
    pub origin: Seq,
    pub mss: u32,
    pub sack: bool,
    pub buffer: SendBuffer,
    pub board: Scoreboard,
    /// Offsets: the oldest octet not acknowledged, and the next never sent. A FIN counts as the octet behind the stream.
    pub una: u64,
    pub nxt: u64,
    /// The application has closed its end of the stream.
    pub closed: bool,
    pub fin_acked: bool,
    pub wnd: u64,
    pub max_wnd: u64,
    /// The largest window that the peer could ever offer: where a stack does not check whether it uses its window, growth ends here.
    pub wnd_limit: u64,
    max_window: u64,
    window_update: (Seq, Seq),

    pub phase: Phase,
    /// Where a recovery began: it ends when this is acknowledged (RFC 6675's RecoveryPoint).
    pub recovery_point: u64,
    pub reduction: Option<Reduction>,
    pub undo: UndoState,
    pub rack: Rack,
    /// F-RTO is deciding whether a timeout was spurious.
    pub frto: bool,
    /// F-RTO wants new data out before anything is sent again.
    pub hold_resends: bool,
    /// The end of the data sent when a tail loss probe went out, and whether the probe was a retransmission.
    pub probe: Option<(u64, bool)>,
    pub probe_due: bool,
    pub window_probe_due: bool,
    /// The end of the last segment shorter than a full one.
    pub short_end: u64,
    /// The next new segment says that the window came down (RFC 3168 section 6.1.2).
    pub cwr_due: bool,
    /// Duplicate ACKs in a row: all that a sender without SACK learns.
    pub duplicates: u32,
    pub consecutive_timeouts: u32,

    pub rtt: RttEstimator,
    pub rtt_stats: RttStats,
    pub deadline: Deadline,
    delivery: Delivery,
    limited: WindowUse,
    pub last_sent: Option<Time>,
    pub pacing: Pacing,
    pub counters: Counters,
    space: SendSpace,
    /// What the peer reported of marks, with accurate feedback.
    pub accurate: Option<Box<Reported>>,
}

/// Counts for delivery-rate samples.
#[derive(Debug, Default)]
struct Delivery {
    total: u64,
    at: Time,
    first_sent_at: Time,
    app_limited_until: u64,
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
struct WindowUse {
    cwnd_limited: bool,
    most_out: u64,
    round_end: u64,
}

/// What one ACK brought.
#[derive(Debug, Default)]
pub(crate) struct News {
    pub una_advanced: bool,
    pub sacked: bool,
    pub duplicate: bool,
    /// Something sent only once was delivered.
    pub original_delivered: bool,
    pub dsack: bool,
    pub ecn_echo: bool,
    /// Octets newly reported as marked, with accurate feedback.
    pub marked: u64,
    pub delivered: u64,
    pub cumulative: u64,
    pub lost_before: u64,
    /// The timestamp that the peer echoed.
    pub echo: Option<u32>,
    /// The way to the peer by its timestamp and the echo, plus an unknown constant.
    pub forward_ms: Option<u32>,
    first_rtt: Option<Span>,
    newest_rtt: Option<Span>,
    sack_rtt: Option<Span>,
    newest: Option<RateStampAt>,
}

#[derive(Debug, Clone, Copy)]
struct RateStampAt {
    stamp: RateStamp,
    sent_at: Time,
}

/// The parts of an arriving segment that the send side reads.
#[derive(Debug, Clone, Copy)]
pub(crate) struct AckFacts<'a> {
    pub seq: Seq,
    pub ack_number: Seq,
    /// The acknowledgement as a stream offset, between `una` and `nxt`.
    pub ack: u64,
    pub window: u64,
    pub sack: &'a [SackBlock],
    pub echo: Option<u32>,
    pub forward_ms: Option<u32>,
    pub ecn_echo: bool,
    /// What accurate ECN counts.
    pub counts: Option<Counts<'a>>,
    pub has_data: bool,
}

impl Sender {
    pub fn new(profile: Profile, controller: Box<dyn Controller>, iss: u32, mss: u32) -> Sender {
        let rtt = RttEstimator::new(profile.rto, grain_of(&profile));
        Sender {
            origin: Seq::new(iss) + 1,
            mss,
            sack: false,
            buffer: SendBuffer::default(),
            board: Scoreboard::default(),
            una: 0,
            nxt: 0,
            closed: false,
            fin_acked: false,
            wnd: 0,
            max_wnd: 0,
            wnd_limit: u64::MAX,
            max_window: profile.max_window.map_or(u64::MAX, Bytes::get),
            window_update: (Seq::default(), Seq::default()),
            phase: Phase::Open,
            recovery_point: 0,
            reduction: None,
            undo: UndoState::default(),
            rack: Rack::default(),
            frto: false,
            hold_resends: false,
            probe: None,
            probe_due: false,
            window_probe_due: false,
            short_end: 0,
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
            space: SendSpace::new(profile.send_buffer, profile.send_room),
            accurate: None,
            profile,
            controller,
        }
    }

    /// The first window of the connection is known: acknowledgements may follow.
    pub fn open(&mut self, window: u64, seq: Seq, ack: Seq) {
        self.wnd = window;
        self.max_wnd = window;
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
            if !self.profile.limited_transmit && self.phase <= Phase::Disorder {
                return out;
            }
            (out + self.board.retrans_bytes()).saturating_sub(self.board.sacked_bytes() + self.board.lost_bytes())
        } else {
            // Each duplicate ACK says that one segment has left the network.
            let left = u64::from(self.duplicates) * u64::from(self.mss);
            let counted = if self.profile.limited_transmit || self.phase > Phase::Disorder { left } else { 0 };
            (out + self.board.retrans_bytes()).saturating_sub(counted + self.board.lost_bytes())
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
        if self.controller.watches_losses() {
            self.board.watch_losses();
        }
    }

    /// Data goes into an empty network.
    pub fn start_flight(&mut self, now: Time) {
        let idle = self.last_sent.map_or(Span::ZERO, |last| now.saturating_since(last));
        let path = self.path();
        self.controller.on_transmit_start(now, idle, &path);
    }

    /// Data of `len` octets goes out: when may the next? A timer that came late takes up to half a segment's time off it.
    #[inline]
    pub fn pace(&mut self, now: Time, len: u64) {
        if !self.pacing.on || self.counters.data_segments_out + 1 < UNPACED_SEGMENTS {
            return;
        }
        let Some(rate) = self.controller.pacing_rate().filter(|rate| rate.as_bps() > 0) else { return };
        let (time, _) = rate.time_to_send(Bytes::new(len), 0);
        let late = now.saturating_since(self.pacing.next).as_nanos();
        self.pacing.next = now + time.saturating_sub(Span::from_nanos(late.min(time.as_nanos() / 2)));
    }

    pub fn path(&self) -> PathState {
        PathState {
            mss: Bytes::new(u64::from(self.mss)),
            in_flight: Bytes::new(self.in_flight()),
            srtt: self.rtt.srtt(),
            min_rtt: self.rtt.min_rtt(),
            delivered: Bytes::new(self.delivery.total),
            lost: Bytes::new(self.board.ever_lost()),
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

    fn filling(&self) -> Filling {
        Filling {
            len: self.buffer.len(),
            joined: u64::from(self.board.sacked_segments()),
            mss: u64::from(self.mss),
            cwnd: self.controller.cwnd().get(),
            // Three where the window may grow in recovery (Linux's sndbuf_expand).
            windows: if self.controller.owns_recovery() { 3 } else { 2 },
        }
    }

    fn grow_send_buffer(&mut self) {
        let peer_would_take_it = self.wnd.min(self.cwnd()) >= self.buffer.len().saturating_sub(self.outstanding());
        self.space.grow(self.filling(), peer_would_take_it);
    }

    /// For a segment of `len` octets that is about to go.
    pub fn stamp(&mut self, now: Time, len: u64) -> RateStamp {
        if self.board.is_empty() {
            // A new flight: an idle time is no time of the delivery's.
            self.delivery.at = now;
            self.delivery.first_sent_at = now;
        }
        RateStamp {
            delivered: self.delivery.total,
            delivered_at: self.delivery.at,
            first_sent_at: self.delivery.first_sent_at,
            in_flight: (self.in_flight() + len) as u32,
            lost: self.board.ever_lost() as u32,
            app_limited: self.delivery.app_limited_until > self.delivery.total,
        }
    }

    /// An acceptable acknowledgement arrived.
    pub fn handle_ack(&mut self, now: Time, facts: &AckFacts<'_>) {
        let mut news = News {
            echo: facts.echo,
            forward_ms: facts.forward_ms,
            ecn_echo: facts.ecn_echo,
            lost_before: self.board.ever_lost(),
            ..News::default()
        };
        let prior_in_flight = self.in_flight();
        let window_changed = self.update_window(facts);
        self.hold_resends = false;

        if self.sack && !facts.sack.is_empty() {
            self.take_sack(now, facts, &mut news);
        }
        if facts.ack > self.una {
            self.take_cumulative(now, facts.ack, &mut news);
        } else {
            news.duplicate = !facts.has_data && !window_changed && self.outstanding() > 0;
        }
        if !self.sack {
            self.estimate_delivered(&mut news);
        }
        if let Some(counts) = facts.counts {
            self.take_counts(counts, &mut news);
        }
        self.sample_rtt(now, &news);
        self.settle_probe(now, facts.ack, &news);
        self.delivery.total += news.delivered;
        if news.delivered > 0 {
            self.delivery.at = now;
        }
        let mut timer_set = false;
        if self.phase != Phase::Open || news.sacked || news.duplicate || news.dsack || news.ecn_echo {
            timer_set = self.on_dubious_ack(now, &news);
        }
        self.drive_controller(now, &news, prior_in_flight);
        if news.una_advanced {
            self.consecutive_timeouts = 0;
            if !timer_set {
                self.arm_after_ack(now);
            }
        }
        self.grow_send_buffer();
    }

    /// An ACK that brings nothing new may be an old one: its counts are none.
    #[cold]
    fn take_counts(&mut self, counts: Counts<'_>, news: &mut News) {
        if let Some(reported) = &mut self.accurate
            && news.delivered > 0
        {
            news.marked = reported.newly_marked(counts, news.delivered, u64::from(self.mss));
            news.ecn_echo = news.marked > 0;
        }
    }

    /// Without SACK a duplicate says that one segment arrived, and an advance covers what duplicates told before (RFC 6937 section 3).
    fn estimate_delivered(&mut self, news: &mut News) {
        let (mss, told) = (u64::from(self.mss), u64::from(self.duplicates) * u64::from(self.mss));
        if news.una_advanced {
            news.delivered = news.delivered.saturating_sub(told).max(news.delivered.min(mss));
        } else if news.duplicate && self.phase != Phase::Loss && told + mss < self.outstanding() {
            news.delivered += mss;
        }
    }

    /// Whether what is out keeps a short last segment back (RFC 9293 section 3.7.4).
    pub fn holds_short_back(&self) -> bool {
        match self.profile.nagle {
            Nagle::BehindAny => self.outstanding() > 0,
            Nagle::BehindShort => self.short_end > self.una,
        }
    }

    /// RFC 9293 section 3.10.7.4: the newest segment's window holds. True if it changed.
    fn update_window(&mut self, facts: &AckFacts<'_>) -> bool {
        let (seq, ack) = self.window_update;
        let newer =
            seq.before(facts.seq) || (seq == facts.seq && ack.at_or_before(facts.ack_number)) || self.una < facts.ack;
        let changed = newer && self.wnd != facts.window;
        if newer {
            self.wnd = facts.window;
            self.max_wnd = self.max_wnd.max(facts.window);
            self.window_update = (facts.seq, facts.ack_number);
        }
        if self.deadline.is(LossTimer::Persist) {
            let wanted = (self.buffer.end() - self.nxt.min(self.buffer.end())).min(u64::from(self.mss));
            if self.wnd > 0 && self.wnd >= wanted.min(self.max_wnd / 2) {
                // What the probes waited is no measure for the data that now goes.
                self.deadline = Deadline::UNSET;
                self.rtt.forget_backoff();
            }
        }
        changed
    }

    fn take_sack(&mut self, now: Time, facts: &AckFacts<'_>, news: &mut News) {
        let offset = |seq: Seq| {
            self.una as i64 + i64::from(seq.get().wrapping_sub((self.origin + self.una as u32).get()) as i32)
        };
        let ranges: Ranges = facts.sack.iter().map(|block| (offset(block.start), offset(block.end))).collect();
        let mut blocks = ranges.as_slice();
        if let Some(&(start, end)) = blocks.first()
            && start < end
            && (end <= facts.ack as i64 || blocks.get(1).is_some_and(|outer| outer.0 <= start && end <= outer.1))
        {
            self.take_dsack(end, news);
            blocks = &blocks[1..];
        }
        let before = self.board.sacked_segments();
        for &(start, end) in blocks {
            if start < end && start >= facts.ack as i64 && end <= self.nxt as i64 {
                let highest_sacked = self.board.highest_sacked();
                let Sender { board, rack, rtt, recovery_point, .. } = self;
                let min_rtt = rtt.min_rtt();
                board.sack(start as u64, end as u64, |sent| {
                    news.delivered += sent.len();
                    rack.on_delivered(now, sent, min_rtt);
                    if !sent.was_ever_retransmitted() {
                        news.original_delivered |= sent.end <= *recovery_point;
                        rack.reordering_seen |= highest_sacked.is_some_and(|highest| sent.end < highest);
                        let sample = now - sent.sent_at;
                        news.sack_rtt.get_or_insert(sample);
                        news.newest_rtt = Some(sample);
                    }
                    news.see(sent);
                });
            }
        }
        news.sacked = self.board.sacked_segments() > before;
    }

    fn take_dsack(&mut self, end: i64, news: &mut News) {
        news.dsack = true;
        self.counters.dsacks_received += 1;
        if self.undo.marker.is_some_and(|marker| end as u64 > marker) && end >= 0 {
            self.undo.unconfirmed = self.undo.unconfirmed.saturating_sub(1);
        }
        if self.probe.is_none() {
            self.rack.widen_for_reordering(self.nxt, self.una);
        }
    }

    fn take_cumulative(&mut self, now: Time, ack: u64, news: &mut News) {
        news.una_advanced = true;
        news.cumulative = ack - self.una;
        let highest_sacked = self.board.highest_sacked();
        let mut retransmission_acked = false;
        let mut newest_once = None;
        while let Some(sent) = self.board.pop_acked(ack) {
            if !sent.is_sacked() {
                news.delivered += sent.len();
                self.rack.on_delivered(now, &sent, self.rtt.min_rtt());
                news.see(&sent);
            }
            if sent.was_ever_retransmitted() {
                retransmission_acked = true;
                continue;
            }
            let sample = now - sent.sent_at;
            newest_once = Some(sample);
            if !sent.is_sacked() {
                news.original_delivered |= sent.end <= self.recovery_point;
                self.rack.reordering_seen |= highest_sacked.is_some_and(|highest| sent.end < highest);
                news.first_rtt.get_or_insert(sample);
                news.newest_rtt = Some(sample);
            }
        }
        if retransmission_acked {
            // Karn's rule: an ACK that covers a retransmission gives no sample of its own.
            news.first_rtt = None;
            news.newest_rtt = None;
        } else if let Some(sample) = newest_once {
            self.rtt_stats.add(sample);
        }
        if let Some(first) = self.board.first()
            && first.start < ack
        {
            news.delivered += ack - first.start;
            self.board.trim_first(ack);
        }
        self.una = ack;
        let data = ack.min(self.buffer.end());
        self.fin_acked = self.closed && ack > self.buffer.end();
        self.counters.bytes_acked = Bytes::new(data);
        self.buffer.release(data);
        if self.sack {
            self.duplicates = 0;
        }
    }

    /// Linux: segments sent once give their own time, SACKed ones too; after a retransmission the echoed timestamp does. Others take the
    /// echoed timestamp of any ACK that advances (RFC 7323 section 4.1), and without timestamps the segments sent once (Karn's rule).
    fn sample_rtt(&mut self, now: Time, news: &News) {
        if let Some(rtt) = news.newest_rtt {
            self.rtt.update_min(now, rtt);
        }
        let echoed = || self.undo.rtt_of_echo(now, news.echo.filter(|_| news.una_advanced)?);
        let sample = match self.profile.rto {
            RtoRule::Linux { .. } => news.first_rtt.or(news.sack_rtt).or_else(echoed),
            RtoRule::Rfc6298 { .. } => echoed().or(news.first_rtt),
        };
        if let Some(rtt) = sample {
            self.rtt.sample(rtt, self.una, self.nxt);
        }
    }

    fn drive_controller(&mut self, now: Time, news: &News, prior_in_flight: u64) {
        self.tell_losses(now);
        let lost = self.board.ever_lost() - news.lost_before;
        if self.reduction.is_some() {
            self.pace_reduction(news.delivered, news.una_advanced && lost == 0);
        }
        if news.delivered == 0 {
            return;
        }
        let rate = self.rate_sample(now, news, lost);
        let acked = Acked {
            delivered: Bytes::new(news.delivered),
            cumulative: Bytes::new(news.cumulative),
            rtt: news.first_rtt.or(news.sack_rtt),
            newest_rtt: news.newest_rtt,
            forward_ms: news.forward_ms,
            prior_in_flight: Bytes::new(prior_in_flight),
            cwnd_limited: self.is_cwnd_limited(),
            cwnd_full: self.limited.cwnd_limited,
            in_recovery: self.reduction.is_some(),
            phase: self.phase,
            ecn_echo: news.ecn_echo,
            marked: Bytes::new(if self.accurate.is_some() || !news.ecn_echo { news.marked } else { news.delivered }),
            rate,
        };
        let path = self.path();
        self.controller.on_ack(now, &acked, &path);
    }

    /// Before the controller hears of anything else.
    pub(crate) fn tell_losses(&mut self, now: Time) {
        for lost in self.board.take_losses() {
            let path = self.path();
            self.controller.on_lost(now, &lost, &path);
        }
    }

    fn rate_sample(&mut self, now: Time, news: &News, lost: u64) -> RateSample {
        let Some(newest) = news.newest else { return RateSample::default() };
        let send_span = newest.sent_at.saturating_since(newest.stamp.first_sent_at);
        let ack_span = now.saturating_since(newest.stamp.delivered_at);
        self.delivery.first_sent_at = newest.sent_at;
        RateSample {
            delivered: Bytes::new(self.delivery.total - newest.stamp.delivered),
            interval: send_span.max(ack_span),
            prior_delivered: Bytes::new(newest.stamp.delivered),
            lost: Bytes::new(lost),
            tx_in_flight: Bytes::new(u64::from(newest.stamp.in_flight)),
            lost_since_sent: Bytes::new(u64::from((self.board.ever_lost() as u32).wrapping_sub(newest.stamp.lost))),
            app_limited: newest.stamp.app_limited,
        }
    }

    /// A burst has ended: note whether the window was what ended it.
    pub fn note_window_use(&mut self, blocked_by_cwnd: bool) {
        // Nothing is left to send, new or again, though the window would let it.
        if !blocked_by_cwnd
            && self.nxt == self.stream_end()
            && self.in_flight() + u64::from(self.mss) <= self.cwnd()
            && self.board.lost_segments() <= self.board.retrans_segments()
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
    fn is_cwnd_limited(&self) -> bool {
        if self.controller.cwnd().get() >= self.max_window {
            return false;
        }
        if !self.profile.cwnd_validation {
            return self.controller.cwnd().get() < self.wnd_limit;
        }
        if self.limited.cwnd_limited {
            return true;
        }
        let cwnd = self.controller.cwnd();
        self.controller.ssthresh().is_none_or(|ssthresh| cwnd < ssthresh) && cwnd.get() < 2 * self.limited.most_out
    }
}

impl News {
    fn see(&mut self, sent: &Sent) {
        if self.newest.is_none_or(|newest| newest.stamp.delivered <= sent.delivered) {
            let stamp = RateStamp {
                delivered: sent.delivered,
                delivered_at: sent.delivered_at,
                first_sent_at: sent.first_sent_at,
                in_flight: sent.in_flight,
                lost: sent.lost,
                app_limited: sent.app_limited,
            };
            self.newest = Some(RateStampAt { stamp, sent_at: sent.sent_at });
        }
    }
}

fn grain_of(profile: &Profile) -> Span {
    match profile.grain {
        crate::TimerGrain::Exact => Span::ZERO,
        crate::TimerGrain::Tick(tick) | crate::TimerGrain::Wheel(tick) => tick,
    }
}

/// At most four ranges, without an allocation.
#[derive(Debug, Default)]
struct Ranges {
    items: [(i64, i64); 4],
    count: usize,
}

impl Ranges {
    fn as_slice(&self) -> &[(i64, i64)] {
        &self.items[..self.count]
    }
}

impl FromIterator<(i64, i64)> for Ranges {
    fn from_iter<I: IntoIterator<Item = (i64, i64)>>(iter: I) -> Ranges {
        let mut ranges = Ranges::default();
        for item in iter.into_iter().take(4) {
            ranges.items[ranges.count] = item;
            ranges.count += 1;
        }
        ranges
    }
}
