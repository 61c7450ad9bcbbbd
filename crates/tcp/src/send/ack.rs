//! What an acknowledgement does to the send side: the window it offers, what it says was delivered (RFC 9293 section
//! 3.10.7.4, RFC 2018, RFC 2883), the round trip and the delivery rate it tells, and what the controller and recovery
//! hear of it.

use super::Sender;
use super::scoreboard::{RateStamp, TxRecord};
use crate::ecn::AceFeedback;
use crate::recovery::CaState;
use crate::timers::{Deadline, LossTimer};
use crate::{Acked, Nagle, RateSample, RtoRule};
use lopsided_core::packet::SackBlock;
use lopsided_core::{Bytes, Duration, Seq, Time};

/// What one ACK brought.
#[derive(Debug, Default)]
pub(crate) struct AckOutcome {
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
    first_rtt: Option<Duration>,
    newest_rtt: Option<Duration>,
    sack_rtt: Option<Duration>,
    newest: Option<RateStampAt>,
}

#[derive(Debug, Clone, Copy)]
struct RateStampAt {
    stamp: RateStamp,
    sent_at: Time,
}

/// The parts of an arriving segment that the send side reads.
#[derive(Debug, Clone, Copy)]
pub(crate) struct AckInfo<'a> {
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
    pub counts: Option<AceFeedback<'a>>,
    pub has_data: bool,
}

impl Sender {
    /// An acceptable acknowledgement arrived.
    pub fn handle_ack(&mut self, now: Time, info: &AckInfo<'_>) {
        let mut outcome = AckOutcome {
            echo: info.echo,
            forward_ms: info.forward_ms,
            ecn_echo: info.ecn_echo,
            lost_before: self.scoreboard.total_lost(),
            ..AckOutcome::default()
        };
        let prior_in_flight = self.in_flight();
        let window_changed = self.update_window(info);
        self.defer_retransmits = false;

        if self.sack && !info.sack.is_empty() {
            self.process_sack(now, info, &mut outcome);
        }
        if info.ack > self.una {
            self.process_cumulative_ack(now, info.ack, &mut outcome);
        } else {
            outcome.duplicate = !info.has_data && !window_changed && self.outstanding() > 0;
        }
        if !self.sack {
            self.count_delivered_without_sack(&mut outcome);
        }
        if let Some(counts) = info.counts {
            self.process_accecn(counts, &mut outcome);
        }
        self.sample_rtt(now, &outcome);
        self.process_tlp_ack(now, info.ack, &outcome);
        self.delivery.total += outcome.delivered;
        if outcome.delivered > 0 {
            self.delivery.at = now;
        }
        let mut timer_set = false;
        if self.ca_state != CaState::Open || outcome.sacked || outcome.duplicate || outcome.dsack || outcome.ecn_echo {
            timer_set = self.fastretrans_alert(now, &outcome);
        }
        self.drive_controller(now, &outcome, prior_in_flight);
        if outcome.una_advanced {
            self.consecutive_timeouts = 0;
            if !timer_set {
                self.arm_after_ack(now);
            }
        }
        self.grow_send_buffer();
    }

    /// An ACK that brings nothing new may be an old one: its counts are none.
    #[cold]
    fn process_accecn(&mut self, counts: AceFeedback<'_>, outcome: &mut AckOutcome) {
        if let Some(reported) = &mut self.accurate {
            if outcome.delivered > 0 {
                outcome.marked = reported.newly_marked(counts, outcome.delivered, u64::from(self.mss));
                outcome.ecn_echo = outcome.marked > 0;
            }
        }
    }

    /// Without SACK a duplicate says that one segment arrived, and an advance covers what duplicates told before (RFC
    /// 6937 section 3).
    fn count_delivered_without_sack(&mut self, outcome: &mut AckOutcome) {
        let (mss, told) = (u64::from(self.mss), u64::from(self.duplicates) * u64::from(self.mss));
        if outcome.una_advanced {
            outcome.delivered = outcome.delivered.saturating_sub(told).max(outcome.delivered.min(mss));
        } else if outcome.duplicate && self.ca_state != CaState::Loss && told + mss < self.outstanding() {
            outcome.delivered += mss;
        }
    }

    /// Whether what is out keeps a short last segment back (RFC 9293 section 3.7.4).
    pub fn holds_short_back(&self) -> bool {
        match self.profile.nagle {
            Nagle::BehindAny => self.outstanding() > 0,
            Nagle::BehindShort => self.snd_sml > self.una,
        }
    }

    /// RFC 9293 section 3.10.7.4: the newest segment's window holds. True if it changed.
    fn update_window(&mut self, info: &AckInfo<'_>) -> bool {
        let (seq, ack) = self.window_update;
        let newer =
            seq.before(info.seq) || (seq == info.seq && ack.at_or_before(info.ack_number)) || self.una < info.ack;
        let changed = newer && self.snd_wnd != info.window;
        if newer {
            self.snd_wnd = info.window;
            self.max_snd_wnd = self.max_snd_wnd.max(info.window);
            self.window_update = (info.seq, info.ack_number);
        }
        if self.deadline.is(LossTimer::Persist) {
            let wanted = (self.buffer.end() - self.nxt.min(self.buffer.end())).min(u64::from(self.mss));
            if self.snd_wnd > 0 && self.snd_wnd >= wanted.min(self.max_snd_wnd / 2) {
                // What the probes waited is no measure for the data that now goes.
                self.deadline = Deadline::UNSET;
                self.rtt.forget_backoff();
            }
        }
        changed
    }

    fn process_sack(&mut self, now: Time, info: &AckInfo<'_>, outcome: &mut AckOutcome) {
        let offset = |seq: Seq| {
            self.una as i64 + i64::from(seq.get().wrapping_sub((self.first_data_seq + self.una as u32).get()) as i32)
        };
        let ranges: Ranges = info.sack.iter().map(|block| (offset(block.start), offset(block.end))).collect();
        let mut blocks = ranges.as_slice();
        if let Some(&(start, end)) = blocks.first() {
            if start < end
                && (end <= info.ack as i64 || blocks.get(1).is_some_and(|outer| outer.0 <= start && end <= outer.1))
            {
                self.take_dsack(end, outcome);
                blocks = &blocks[1..];
            }
        }
        let before = self.scoreboard.sacked_segments();
        for &(start, end) in blocks {
            if start < end && start >= info.ack as i64 && end <= self.nxt as i64 {
                let highest_sacked = self.scoreboard.highest_sacked();
                let Sender { scoreboard, rack, rtt, recovery_point, .. } = self;
                let min_rtt = rtt.min_rtt();
                scoreboard.sack(start as u64, end as u64, |sent| {
                    outcome.delivered += sent.len();
                    rack.on_delivered(now, sent, min_rtt);
                    if !sent.was_ever_retransmitted() {
                        outcome.original_delivered |= sent.end <= *recovery_point;
                        rack.reordering_seen |= highest_sacked.is_some_and(|highest| sent.end < highest);
                        let sample = now - sent.sent_at;
                        outcome.sack_rtt.get_or_insert(sample);
                        outcome.newest_rtt = Some(sample);
                    }
                    outcome.update_rate_sample(sent);
                });
            }
        }
        outcome.sacked = self.scoreboard.sacked_segments() > before;
    }

    fn take_dsack(&mut self, end: i64, outcome: &mut AckOutcome) {
        outcome.dsack = true;
        self.counters.dsacks_received += 1;
        if self.undo.marker.is_some_and(|marker| end as u64 > marker) && end >= 0 {
            self.undo.unconfirmed = self.undo.unconfirmed.saturating_sub(1);
        }
        if self.tlp.is_none() {
            self.rack.widen_for_reordering(self.nxt, self.una);
        }
    }

    fn process_cumulative_ack(&mut self, now: Time, ack: u64, outcome: &mut AckOutcome) {
        outcome.una_advanced = true;
        outcome.cumulative = ack - self.una;
        let highest_sacked = self.scoreboard.highest_sacked();
        let mut retransmission_acked = false;
        let mut newest_once = None;
        while let Some(sent) = self.scoreboard.pop_acked(ack) {
            if !sent.is_sacked() {
                outcome.delivered += sent.len();
                self.rack.on_delivered(now, &sent, self.rtt.min_rtt());
                outcome.update_rate_sample(&sent);
            }
            if sent.was_ever_retransmitted() {
                retransmission_acked = true;
                continue;
            }
            let sample = now - sent.sent_at;
            newest_once = Some(sample);
            if !sent.is_sacked() {
                outcome.original_delivered |= sent.end <= self.recovery_point;
                self.rack.reordering_seen |= highest_sacked.is_some_and(|highest| sent.end < highest);
                outcome.first_rtt.get_or_insert(sample);
                outcome.newest_rtt = Some(sample);
            }
        }
        if retransmission_acked {
            // Karn's rule: an ACK that covers a retransmission gives no sample of its own.
            outcome.first_rtt = None;
            outcome.newest_rtt = None;
        } else if let Some(sample) = newest_once {
            self.rtt_stats.add(sample);
        }
        if let Some(first) = self.scoreboard.first() {
            if first.start < ack {
                outcome.delivered += ack - first.start;
                self.scoreboard.trim_first(ack);
            }
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

    /// Linux: segments sent once give their own time, SACKed ones too; after a retransmission the echoed timestamp
    /// does. Others take the echoed timestamp of any ACK that advances (RFC 7323 section 4.1), and without timestamps
    /// the segments sent once (Karn's rule).
    fn sample_rtt(&mut self, now: Time, outcome: &AckOutcome) {
        if let Some(rtt) = outcome.newest_rtt {
            self.rtt.update_min(now, rtt);
        }
        let echoed = || self.undo.rtt_of_echo(now, outcome.echo.filter(|_| outcome.una_advanced)?);
        let sample = match self.profile.rto {
            RtoRule::Linux { .. } => outcome.first_rtt.or(outcome.sack_rtt).or_else(echoed),
            RtoRule::Rfc6298 { .. } => echoed().or(outcome.first_rtt),
        };
        if let Some(rtt) = sample {
            self.rtt.sample(rtt, self.una, self.nxt);
        }
    }

    fn drive_controller(&mut self, now: Time, outcome: &AckOutcome, prior_in_flight: u64) {
        self.tell_losses(now);
        let lost = self.scoreboard.total_lost() - outcome.lost_before;
        if self.reduction.is_some() {
            self.update_cwnd_in_reduction(outcome.delivered, outcome.una_advanced && lost == 0);
        }
        if outcome.delivered == 0 {
            return;
        }
        let rate = self.rate_sample(now, outcome, lost);
        let acked = Acked {
            delivered: Bytes::new(outcome.delivered),
            cumulative: Bytes::new(outcome.cumulative),
            rtt: outcome.first_rtt.or(outcome.sack_rtt),
            newest_rtt: outcome.newest_rtt,
            forward_ms: outcome.forward_ms,
            prior_in_flight: Bytes::new(prior_in_flight),
            cwnd_limited: self.is_cwnd_limited(),
            cwnd_full: self.limited.cwnd_limited,
            in_recovery: self.reduction.is_some(),
            ca_state: self.ca_state,
            ecn_echo: outcome.ecn_echo,
            marked: Bytes::new(if self.accurate.is_some() || !outcome.ecn_echo {
                outcome.marked
            } else {
                outcome.delivered
            }),
            rate,
        };
        let path = self.path();
        self.controller.on_ack(now, &acked, &path);
    }

    /// Before the controller hears of anything else.
    pub(crate) fn tell_losses(&mut self, now: Time) {
        for lost in self.scoreboard.take_losses() {
            let path = self.path();
            self.controller.on_lost(now, &lost, &path);
        }
    }

    fn rate_sample(&mut self, now: Time, outcome: &AckOutcome, lost: u64) -> RateSample {
        let Some(newest) = outcome.newest else { return RateSample::default() };
        let send_span = newest.sent_at.saturating_since(newest.stamp.first_sent_at);
        let ack_span = now.saturating_since(newest.stamp.delivered_at);
        self.delivery.first_sent_at = newest.sent_at;
        RateSample {
            delivered: Bytes::new(self.delivery.total - newest.stamp.delivered),
            interval: send_span.max(ack_span),
            prior_delivered: Bytes::new(newest.stamp.delivered),
            lost: Bytes::new(lost),
            tx_in_flight: Bytes::new(u64::from(newest.stamp.in_flight)),
            lost_since_sent: Bytes::new(u64::from(
                (self.scoreboard.total_lost() as u32).wrapping_sub(newest.stamp.lost),
            )),
            app_limited: newest.stamp.app_limited,
        }
    }
}

impl AckOutcome {
    fn update_rate_sample(&mut self, sent: &TxRecord) {
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
