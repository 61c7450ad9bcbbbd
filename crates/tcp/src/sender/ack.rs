//! Processes an acknowledgement for the sender (RFC 9293 section 3.10.7.4, RFC 2018, RFC 2883).

use super::Sender;
use super::ack_ranges::{Range, Ranges};
use crate::cc::{Acked, RateSample};
use crate::ecn::{AceFeedback, NewlyDelivered};
use crate::profile::{CwndReduction, LossDetection, RtoRule};
use crate::send::{AckInfo, AckOutcome, Flight, Growth};
use lopsided_core::tcp_event::{CaState, TimerKind};
use lopsided_core::{Bytes, Seq, Time};

impl Sender {
    /// Sets the first window that the peer advertises. Call before the first acknowledgement.
    pub fn open(&mut self, window: u64, seq: Seq, ack: Seq) {
        self.window.open(window, seq, ack);
        self.flight.set_peer_window(window);
    }

    /// Processes an acceptable acknowledgement.
    #[inline]
    pub fn handle_ack(&mut self, now: Time, info: &AckInfo<'_>) {
        self.last_received_at = Some(now);
        if self.has_nothing_to_learn(info) {
            self.take_window(now, info);
        } else {
            self.learn(now, info);
        }
    }

    /// Processes an acknowledgement that can change only the peer's window.
    #[inline(always)]
    pub fn take_window(&mut self, now: Time, info: &AckInfo<'_>) {
        self.last_received_at = Some(now);
        self.probes_out = 0;
        self.flight.end_waiting();
        self.window_use.begin_burst(false);
        self.update_window(info);
        self.recovery.begin_ack(&mut self.flight);
        self.recovery.on_no_duplicate(&self.flight);
    }

    /// True if no data is outstanding or buffered, and the segment carries no information about sent data. Used for
    /// header prediction at a pure receiver.
    #[inline(always)]
    pub fn has_nothing_to_learn(&self, info: &AckInfo<'_>) -> bool {
        self.flight.outstanding() == 0
            && self.buffer.len() == 0
            && !self.limit.is_awaited()
            && self.recovery.is_calm()
            && !self.flight.scoreboard.has_losses()
            && info.sack.is_empty()
            && info.counts.is_none()
            && !info.ecn_echo
            && !info.asks_retransmit
    }

    /// Processes all parts of an acknowledgement (Linux's tcp_ack).
    fn learn(&mut self, now: Time, info: &AckInfo<'_>) {
        let mut outcome = AckOutcome {
            echo: info.echo,
            forward_ms: info.forward_ms,
            ecn_echo: info.ecn_echo,
            asks_retransmit: info.asks_retransmit && self.flight.profile.marked_retransmit,
            lost_before: self.flight.scoreboard.total_lost(),
            ..AckOutcome::default()
        };
        self.probes_out = 0;
        if info.ack > self.flight.una() || self.flight.outstanding() == 0 {
            self.flight.end_waiting();
        }
        self.window_use.begin_burst(false);
        // Read the bytes in flight first, because controllers need the value from before this ACK.
        let prior_in_flight = self.in_flight();
        let was_out = self.flight.outstanding() > 0;
        let prior_fack = self.flight.scoreboard.highest_sacked();
        let window_changed = self.update_window(info);
        outcome.window_changed = window_changed;
        outcome.predicted = !window_changed && info.sack.is_empty() && !info.ecn_echo;
        self.recovery.begin_ack(&mut self.flight);

        // Process SACK blocks first, because the blocks of earlier ACKs determine whether a segment is out of order.
        if self.flight.sack() && !info.sack.is_empty() {
            self.process_sack(now, info, prior_fack, &mut outcome);
            if self.recovery.measures_reordering() {
                self.recovery.note_reordering(&self.flight, &mut outcome);
            }
            outcome.reordered_from = None;
        }
        if info.ack > self.flight.una() {
            self.process_cumulative_ack(now, info, prior_fack, &mut outcome);
        } else {
            outcome.duplicate = !info.has_data && !window_changed && self.flight.outstanding() > 0;
            if !outcome.duplicate {
                self.recovery.on_no_duplicate(&self.flight);
            }
        }
        self.recovery.update_reordering_window(now);
        if !self.flight.sack() {
            self.count_delivered_without_sack(&mut outcome);
            if outcome.una_advanced {
                let segments = outcome.cumulative.div_ceil(self.flight.mss()) as u32;
                self.recovery.on_covered(&self.flight, segments);
            }
        }
        if let Some(counts) = info.counts {
            self.process_accecn(counts, was_out, &mut outcome);
        }
        self.sample_rtt(now, &mut outcome);
        self.recovery.process_tlp_ack(now, &mut self.flight, info.ack, &outcome);
        // Count the delivered bytes before `drive_controller` takes the rate sample (tcp_rate_gen).
        self.flight.delivery.add(now, outcome.delivered);
        let mut timer_set = false;
        let dubious =
            outcome.sacked || outcome.duplicate || outcome.dsack || outcome.ecn_echo || outcome.asks_retransmit;
        let was_reducing = self.recovery.is_reducing();
        outcome.reduced_to = was_reducing.then(|| Bytes::new(self.cwnd()));
        let judged = self.recovery.ca_state() != CaState::Open || dubious;
        // Controllers such as H-TCP and Westwood+ process an ACK before recovery changes the congestion state or the
        // window (`on_arrival`).
        if (judged || outcome.delivered == 0) && was_out {
            self.notify_arrival(now, &mut outcome, prior_in_flight);
        }
        if judged {
            let (nxt, window_end) = (self.flight.nxt(), self.flight.una() + self.window.size());
            // RFC 5682 section 3.1: F-RTO may send new data only if unsent data exists and fits the peer's window.
            outcome.new_data_fits = self.stream_end() > nxt && window_end > nxt;
            timer_set = self.recovery.fastretrans_alert(now, &mut self.flight, &outcome);
        }
        // FreeBSD ends the recovery after the code that grows the window, so the ACK that ends a recovery does not grow
        // the window.
        outcome.ended_reduction = was_reducing && self.flight.profile.cwnd_reduction == CwndReduction::PerDuplicate;
        self.drive_controller(now, &outcome, prior_in_flight);
        if outcome.una_advanced {
            self.recovery.on_progress();
            if !timer_set {
                self.recovery.arm_after_ack(now, &mut self.flight);
            }
        } else if outcome.sacked && !timer_set && self.repair_is_younger(now, &outcome) {
            self.recovery.arm_after_ack(now, &mut self.flight);
        }
        self.grow_send_buffer();
    }

    /// True if the SACKed data was sent before the latest transmission of the oldest segment. The retransmission timer
    /// then restarts (Linux's FLAG_SET_XMIT_TIMER).
    fn repair_is_younger(&self, now: Time, outcome: &AckOutcome) -> bool {
        // tcp_clean_rtx_queue compares the RTT of the SACKed data with the age of the oldest segment.
        let rule = self.flight.profile.loss_detection == LossDetection::Rack;
        let oldest = self.flight.scoreboard.first().map(|sent| now - sent.sent_at);
        rule && outcome.sack_rtt > oldest && oldest.is_some()
    }

    /// Sets the peer's window from the newest segment. Returns true if the window changed.
    #[inline(always)]
    pub(super) fn update_window(&mut self, info: &AckInfo<'_>) -> bool {
        let advances = self.flight.una() < info.ack;
        let changed = self.window.update(info.window, info.seq, info.ack_number, advances);
        self.flight.set_peer_window(self.window.size());
        if self.flight.timers.is_set(TimerKind::Persist) {
            let end = self.buffer.end();
            let wanted = (end - self.flight.nxt().min(end)).min(self.flight.mss());
            let size = self.window.size();
            // No probe is needed: the window has space for a full segment or for all waiting data, or it is at least
            // half of the largest window.
            if size > 0 && size >= wanted.min(self.window.largest() / 2) {
                // Reset the backoff, because window probes caused it. The wait for an open window is
                // unrelated to the RTT of data that is sent now.
                self.flight.timers.stop(TimerKind::Persist);
                self.flight.rtt.forget_backoff();
            }
        }
        changed
    }

    /// Marks newly SACKed segments. A segment below `prior_fack`, the highest offset SACKed before this ACK, was
    /// delivered out of order.
    fn process_sack(&mut self, now: Time, info: &AckInfo<'_>, prior_fack: Option<u64>, outcome: &mut AckOutcome) {
        let una = self.flight.una();
        let expected = self.seq(una);
        let offset = |seq: Seq| una as i64 + i64::from(seq.get().wrapping_sub(expected.get()) as i32);
        let mut ranges = Ranges::default();
        for block in info.sack {
            ranges.push(Range { start: offset(block.start), end: offset(block.end) });
        }
        let mut blocks = ranges.as_slice();
        if let Some(&first) = blocks.first() {
            // RFC 2883 section 4: the first block is a DSACK if it is below the ACK or within the second block.
            let covered = blocks.get(1).is_some_and(|outer| outer.start <= first.start && first.end <= outer.end);
            if first.start < first.end && (first.end <= info.ack as i64 || covered) {
                self.process_dsack(first, outcome);
                // Skip the DSACK block even if DSACK is not used: it reports no new data.
                blocks = &blocks[1..];
            }
        }
        let mut sorted = [Range::default(); 4];
        let sorted = &mut sorted[..blocks.len()];
        sorted.copy_from_slice(blocks);
        // Sort the blocks into stream order, so that the first and last RTT samples belong to the first and last
        // segment.
        sorted.sort_unstable_by_key(|range| range.start);
        let Sender { flight, recovery, .. } = self;
        let before = flight.scoreboard.sacked_segments();
        for &Range { start, end } in sorted.iter() {
            // Ignore blocks that are empty, already acknowledged or beyond the sent data (tcp_is_sackblock_valid).
            if start < end && start >= info.ack as i64 && end <= flight.nxt() as i64 {
                let min_rtt = flight.rtt.min_rtt();
                flight.scoreboard.sack(start as u64, end as u64, |sent, stamp| {
                    outcome.delivered += sent.weight();
                    recovery.note_sample(sent);
                    recovery.on_delivered(now, sent, min_rtt, prior_fack, outcome);
                    if !sent.was_ever_retransmitted() {
                        let sample = now - sent.sent_at;
                        outcome.sack_rtt.get_or_insert(sample);
                        outcome.newest_sack_rtt = Some(sample);
                    }
                    outcome.update_rate_sample(sent.sent_at, stamp);
                });
            }
        }
        outcome.sacked = flight.scoreboard.sacked_segments() > before;
    }

    /// Counts a DSACK block and passes it to recovery.
    fn process_dsack(&mut self, block: Range, outcome: &mut AckOutcome) {
        self.flight.counters.dsacks_received += 1;
        let segments = self.recovery.on_dsack(&self.flight, block.start, block.end);
        outcome.dsack = segments > 0;
        // As in Linux, a segment that was retransmitted unnecessarily is added to the delivered count
        // (`tp->delivered`).
        if self.flight.profile.loss_detection == LossDetection::Rack && self.flight.outstanding() > 0 {
            outcome.delivered += u64::from(segments) * self.flight.mss();
        }
    }

    /// Removes the segments that the cumulative acknowledgement covers, and takes their RTT and rate samples.
    fn process_cumulative_ack(
        &mut self,
        now: Time,
        info: &AckInfo<'_>,
        prior_fack: Option<u64>,
        outcome: &mut AckOutcome,
    ) {
        let ack = info.ack;
        let Sender { flight, recovery, .. } = self;
        outcome.una_advanced = true;
        outcome.cumulative = ack - flight.una();
        let mut retransmission_acked = false;
        let mut newest_once = None;
        let mut covered = 0;
        let none_sacked = flight.scoreboard.sacked_segments() == 0 && recovery.dupacks() == 0;
        let samples_each_ack = matches!(flight.profile.rto, RtoRule::Ticks { .. });
        while let Some((sent, stamp)) = flight.scoreboard.pop_acked(ack) {
            covered += 1;
            if !sent.is_sacked() {
                outcome.delivered += sent.weight();
                // tcp_skb_spurious_retrans: the echo belongs to an earlier transmission. The last transmission was
                // unnecessary, and its delivery time is unknown.
                let sent_stamp = || flight.clock.value(sent.sent_at);
                let spurious = sent.was_ever_retransmitted()
                    && info.echo.is_some_and(|echo| (echo.wrapping_sub(sent_stamp()) as i32) < 0);
                recovery.note_sample(&sent);
                if !spurious {
                    recovery.on_delivered(now, &sent, flight.rtt.min_rtt(), prior_fack, outcome);
                }
                outcome.update_rate_sample(sent.sent_at, stamp);
            }
            let sample = now - sent.sent_at;
            if samples_each_ack {
                outcome.shortest_rtt = Some(outcome.shortest_rtt.map_or(sample, |shortest| shortest.min(sample)));
                outcome.last_once_rtt = (!sent.was_ever_retransmitted()).then_some(sample);
            }
            if sent.was_ever_retransmitted() {
                retransmission_acked = true;
                continue;
            }
            newest_once = Some(sample);
            if !sent.is_sacked() {
                outcome.first_rtt.get_or_insert(sample);
                outcome.newest_rtt = Some(sample);
            }
        }
        if retransmission_acked {
            // Karn's rule: an ACK that covers a retransmission provides no RTT sample.
            outcome.first_rtt = None;
            outcome.newest_rtt = None;
        } else if let Some(sample) = newest_once {
            self.rtt_stats.add(sample);
        }
        let mut whole = true;
        if let Some(first) = flight.scoreboard.first() {
            // The ACK ends within a segment, because of a middlebox or a smaller segment size. The rest of the segment
            // stays outstanding.
            if first.start() < ack {
                outcome.delivered += ack - first.start();
                flight.scoreboard.trim_first(ack);
                whole = false;
            }
        }
        outcome.segments = covered;
        if covered == 1 && whole && none_sacked && !retransmission_acked && !outcome.dsack && !outcome.ecn_echo {
            self.note_delay(outcome);
        }
        self.acknowledge(ack);
        if self.flight.sack() {
            self.recovery.on_sack_progress();
            self.recovery.note_reordering(&self.flight, outcome);
        } else if retransmission_acked {
            // tcp_clean_rtx_queue: without SACK, a retransmission may have filled the hole below segments that arrived
            // long ago, so this ACK does not show that an original arrived after the timeout.
            outcome.original_delivered = false;
        }
    }

    /// Sets `maybe_delayed` for an ACK that covers one short segment (Linux's `FLAG_ACK_MAYBE_DELAYED`).
    #[inline(always)]
    pub(super) fn note_delay(&self, outcome: &mut AckOutcome) {
        let alone = outcome.newest.is_some_and(|newest| newest.stamp.delivered == self.flight.delivery.total() as u32);
        let linux = matches!(self.flight.profile.rto, RtoRule::Linux { .. });
        outcome.maybe_delayed = linux && alone && outcome.cumulative < self.flight.mss();
    }

    /// Removes all data before `ack` from the send buffer and the counters.
    #[inline(always)]
    pub(super) fn acknowledge(&mut self, ack: u64) {
        let flight = &mut self.flight;
        flight.scoreboard.give_back_room();
        flight.acknowledge(ack);
        let data = ack.min(self.buffer.end());
        flight.counters.bytes_acked = Bytes::new(data);
        self.fin_acked = self.is_closed() && ack > self.buffer.end();
        self.buffer.release(data);
        self.push_marks.release(data);
    }

    /// Estimates the delivered bytes without SACK: one segment per duplicate ACK (RFC 6937 section 3).
    fn count_delivered_without_sack(&mut self, outcome: &mut AckOutcome) {
        let mss = self.flight.mss();
        let told = u64::from(self.recovery.dupacks()) * mss;
        if outcome.una_advanced {
            outcome.delivered = outcome.delivered.saturating_sub(told).max(outcome.delivered.min(mss));
        } else if outcome.duplicate
            && self.recovery.duplicates_deliver(&self.flight)
            && told + mss < self.flight.outstanding()
        {
            outcome.delivered += mss;
        }
    }

    /// Processes the accurate-ECN counters of an ACK, unless the ACK may be old.
    #[cold]
    fn process_accecn(&mut self, counts: AceFeedback<'_>, was_out: bool, outcome: &mut AckOutcome) {
        if let Some(reported) = &mut self.accurate {
            if outcome.delivered > 0 || counts.newer {
                let (octets, mss) = (outcome.delivered, self.flight.mss());
                let calm = matches!(self.recovery.ca_state(), CaState::Open | CaState::Cwr);
                let exact = self.flight.sack() || calm;
                let marked = reported.newly_marked(counts, NewlyDelivered { octets, mss, exact });
                // The count also includes pure ACKs of this end, so it can exceed the number of delivered segments.
                outcome.marked = (marked * mss).min(octets);
                outcome.ecn_echo = marked > 0 && was_out;
            }
        }
    }

    /// Takes the RTT samples of an ACK.
    ///
    /// Linux uses the delivered segments that were sent only once. If there is no such segment, Linux uses the echoed
    /// timestamp.
    ///
    /// Other stacks use the timestamp that an ACK of new data echoes (RFC 7323 section 4.1). Without timestamps, they
    /// use a segment that was sent only once (Karn's rule).
    #[inline(always)]
    pub(super) fn sample_rtt(&mut self, now: Time, outcome: &mut AckOutcome) {
        let flight = &mut self.flight;
        let clock = flight.clock;
        let echo = outcome.echo.filter(|_| outcome.una_advanced);
        let echoed = || clock.rtt_of_echo(now, echo?);
        let has_timestamps = outcome.echo.is_some();
        // tcp_ack_update_rtt: a SACKed segment was sent later than any cumulatively acknowledged segment.
        outcome.newest_rtt = outcome.newest_sack_rtt.or(outcome.newest_rtt);
        let sample = match flight.profile.rto {
            RtoRule::Linux { .. } => match outcome.first_rtt.or(outcome.sack_rtt) {
                None => {
                    outcome.newest_rtt = echoed();
                    outcome.newest_rtt
                }
                timed => timed,
            },
            RtoRule::Ticks { .. } => {
                // balakrishnan1999 section 8.3: each ACK of new data provides a sample of the exact RTT, also if the ACK
                // covers retransmissions. With timestamps, the echo determines the sample. Without timestamps, duplicate
                // ACKs determine it: after them, the peer acknowledges the segment that was sent last, which filled a
                // gap. Without them, it acknowledges the last segment of the data.
                let gap = flight.rtt.note_gap(outcome.duplicate, outcome.una_advanced);
                let resent = if gap { outcome.shortest_rtt } else { outcome.last_once_rtt };
                let exact = outcome.newest_rtt.or_else(|| if has_timestamps { echoed() } else { resent });
                exact.into_iter().for_each(|rtt| flight.rtt.sample_by_ack(rtt));
                if has_timestamps { echoed() } else { flight.take_timed(now) }
            }
            RtoRule::FreeBsd { .. } if has_timestamps => echoed(),
            RtoRule::FreeBsd { .. } => flight.take_timed(now),
            RtoRule::Rfc6298 { .. } => echoed().or(outcome.first_rtt),
        };
        // If the peer may have delayed the ACK, its sample must not replace an expired minimum with a larger value.
        if let Some(rtt) = outcome.newest_rtt {
            if !outcome.maybe_delayed || flight.rtt.min_rtt().is_none_or(|min| rtt <= min) {
                flight.rtt.update_min(now, rtt);
            }
        }
        if let Some(rtt) = sample {
            flight.rtt.sample(now, rtt, flight.una(), flight.nxt());
        }
    }

    /// Notifies the controller of delivered data. If the window is being reduced, performs the next step of the
    /// reduction.
    #[inline(always)]
    pub(super) fn drive_controller(&mut self, now: Time, outcome: &AckOutcome, prior_in_flight: u64) {
        self.recovery.notify_losses(now, &mut self.flight);
        let total_lost = self.flight.scoreboard.total_lost();
        let lost = total_lost - outcome.lost_before;
        // An ACK that delivers no data provides no rate sample, and must not change the window.
        if outcome.delivered == 0 {
            return;
        }
        let newest = outcome.newest.filter(|_| self.flight.scoreboard.keeps_rates());
        let rate = self.flight.delivery.sample(now, newest, lost, total_lost);
        let acked = self.acked(now, outcome, prior_in_flight, rate);
        let Sender { flight, recovery, .. } = self;
        flight.counters.bytes_marked += acked.marked.min(acked.delivered);
        let path = recovery.path(flight);
        flight.controller.on_ack(now, &acked, &path);
        // RFC 6937: during a reduction, recovery sets the window, independently of the congestion control.
        if recovery.is_reducing() {
            recovery.follow_target(flight);
            let safe = outcome.una_advanced && lost == 0;
            recovery.update_cwnd_in_reduction(flight, outcome.delivered, safe);
        }
        self.trace_phase();
    }

    /// Notifies the controller that an ACK arrived, before recovery processes the ACK.
    fn notify_arrival(&mut self, now: Time, outcome: &mut AckOutcome, prior_in_flight: u64) {
        let acked = self.acked(now, outcome, prior_in_flight, RateSample::default());
        let Sender { flight, recovery, .. } = self;
        let path = recovery.path(flight);
        flight.controller.on_arrival(now, &acked, &path);
        outcome.told = true;
    }

    /// Returns the description of the ACK that is passed to the controller.
    #[inline(always)]
    fn acked(&self, now: Time, outcome: &AckOutcome, prior_in_flight: u64, rate: RateSample) -> Acked {
        let Sender { flight, recovery, .. } = self;
        // RFC 8257 section 3.3: without accurate feedback, an ACK with ECE marks all bytes that it delivers.
        let accurate = self.accurate.is_some() || !outcome.ecn_echo;
        Acked {
            delivered: Bytes::new(outcome.delivered),
            cumulative: Bytes::new(outcome.cumulative),
            segments: outcome.segments,
            predicted: outcome.predicted,
            told: outcome.told,
            may_raise: outcome.una_advanced || (outcome.sacked && recovery.expects_reordering(flight)),
            rtt: outcome.first_rtt.or(outcome.sack_rtt),
            newest_rtt: outcome.newest_rtt,
            maybe_delayed: outcome.maybe_delayed,
            forward_ms: outcome.forward_ms,
            prior_in_flight: Bytes::new(prior_in_flight),
            cwnd_limited: self.is_cwnd_limited() && !self.takes_fast_path(outcome),
            cwnd_full: self.window_use.was_cwnd_limited(),
            in_recovery: recovery.is_reducing() || outcome.ended_reduction,
            reduced_to: outcome.reduced_to,
            ca_state: recovery.ca_state(),
            next_departure: self.pacing.holds_until(now).unwrap_or(now),
            ecn_echo: outcome.ecn_echo,
            marked: Bytes::new(if accurate { outcome.marked } else { outcome.delivered }),
            rate,
        }
    }

    /// True if the window may grow, because the sender has used it (RFC 7661, Linux's tcp_is_cwnd_limited).
    fn is_cwnd_limited(&self) -> bool {
        let Flight { controller, profile, .. } = &self.flight;
        let cwnd = controller.cwnd();
        if cwnd.get() >= self.flight.max_window() {
            return false;
        }
        if !profile.cwnd_validation {
            return cwnd.get() < self.window.limit();
        }
        self.uses_window()
    }

    /// True if the congestion window was full in the last round trip, or more than half full in slow start.
    pub(super) fn uses_window(&self) -> bool {
        if self.window_use.was_cwnd_limited() {
            return true;
        }
        let controller = &self.flight.controller;
        let cwnd = controller.cwnd();
        controller.ssthresh().is_none_or(|ssthresh| cwnd < ssthresh) && cwnd.get() < 2 * self.window_use.most_out()
    }

    /// True if 4.4BSD's header prediction skips the window growth.
    fn takes_fast_path(&self, outcome: &AckOutcome) -> bool {
        self.flight.profile.fast_path
            && self.recovery.ca_state() == CaState::Open
            && !outcome.window_changed
            && self.flight.scoreboard.sacked_segments() == 0
            && self.flight.controller.cwnd().get() >= self.window.size()
    }

    /// Grows the send buffer after an ACK, according to the rule of the profile.
    #[inline(always)]
    pub(super) fn grow_send_buffer(&mut self) {
        match self.limit.growth() {
            Growth::None => {}
            Growth::Windows => {
                // tcp_should_expand_sndbuf: the buffer grows while the window has space. Linux checks this after each segment
                // of new data (tcp_event_new_data_sent), and if no data is left to send.
                let segments = if self.has_sent_all() { 1 } else { 2 };
                let cwnd = self.cwnd();
                if self.in_flight() + segments * self.flight.mss() <= cwnd {
                    self.provide_buffer(cwnd);
                }
            }
            Growth::Step => {
                let unsent = self.buffer.len().saturating_sub(self.flight.outstanding());
                let windows_take_it = self.window.size().min(self.cwnd()) >= unsent;
                self.limit.step(self.buffer.len(), self.window.size(), windows_take_it);
            }
        }
    }
}
