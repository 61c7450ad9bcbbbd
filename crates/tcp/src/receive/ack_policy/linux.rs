//! Linux's acknowledgement policy.
//!
//! - Quick ACKs: one ACK per segment at the start of a connection, after a pause, and after a duplicate.
//! - After the quick ACKs: one ACK for more than one full segment, or after an adaptive timeout (delayed ACK).
//! - After three consecutive duplicate ACKs: one duplicate ACK per compression interval (since 4.18).
//! - If an ACK for two segments would advertise a smaller window, the ACK waits until the application has read the
//!   data.
//! - A short segment is acknowledged when the application reads it. From 6.1.57 on, this also applies to a full segment
//!   with PSH.
//! - Two ACKs are quick after the first mark, and after a segment without ECT from an ECN-capable peer.
//! - Pingpong mode: data that this end sends before the delayed-ACK timer expires carries the acknowledgements. The
//!   mode ends when the timer expires.

use super::contract::{AckDecision, AckPolicy, AckView, Arrival, ArrivedData};
use crate::profile::{AckSettings, TimerGrain};
use lopsided_core::tcp_event::AckReason;
use lopsided_core::{Duration, Ecn, Time};

/// Number of duplicate ACKs that Linux sends at once before it compresses further duplicate ACKs.
const UNCOMPRESSED_DUPLICATES: u32 = 3;
/// Maximum delay of an ACK (RFC 1122 section 4.2.3.2).
const DELAY_MAX: Duration = Duration::from_millis(500);
/// Maximum number of segments that one compressed ACK covers (`tcp_comp_sack_nr`).
const COMPRESSED_MAX: u32 = 44;

#[derive(Debug)]
pub(super) struct Linux {
    /// Minimum delay of a delayed ACK.
    min: Duration,
    /// Maximum delay of a delayed ACK.
    max: Duration,
    /// Maximum value of the adaptive timeout.
    max_timeout: Duration,
    /// Maximum number of quick ACKs that are granted at once.
    quick_acks: u32,
    /// Interval of compressed duplicate ACKs (`tcp_comp_sack_delay_ns`); zero if off.
    compress: Duration,
    /// Slack of the compression timer (`tcp_comp_sack_slack_ns`).
    compress_slack: Duration,
    /// Tick of the clock that drives the delayed-ACK timer.
    grain: TimerGrain,
    /// True if a full segment with PSH counts as the end of a message (since 6.1.57).
    heeds_push: bool,
    /// Number of quick ACKs left.
    quick: u32,
    /// The current delayed-ACK timeout.
    ato: Duration,
    /// Time at which the last in-order data arrived, or at which the handshake ended, in clock ticks (`lrcvtime`).
    last_data: Time,
    /// Time at which the delayed-ACK timer expires. The timer keeps running even if the delayed ACK was sent earlier.
    delay_timer: Option<Time>,
    /// Deadline of the pending delayed ACK, in clock ticks.
    waits_until: Option<Time>,
    /// Number of consecutive duplicate ACKs that were sent at once.
    duplicates: u32,
    /// Number of duplicate ACKs that the pending compressed ACK replaces.
    compressed: u32,
    /// True if an unacknowledged segment ended one of the peer's writes.
    pushed: bool,
    /// True if at least two unacknowledged segments each ended one of the peer's writes.
    pushed_again: bool,
    /// True in pingpong mode: this end's data carries the acknowledgements.
    pingpong: bool,
    /// True if received data within the window is not acknowledged yet. Its ACK will count as one quick ACK.
    scheduled: bool,
    /// True if the peer's data is ECN-capable.
    ect_seen: bool,
    /// True if this end has just begun to echo a CE mark.
    mark_begins: bool,
}

impl Linux {
    pub fn new(settings: &AckSettings) -> Linux {
        Linux {
            compress_slack: settings.compress_slack,
            grain: settings.grain,
            min: settings.min_delay,
            max: settings.max_delay,
            max_timeout: settings.max_timeout,
            quick_acks: settings.quick_acks,
            compress: settings.compress,
            heeds_push: settings.heeds_push,
            quick: 0,
            ato: Duration::ZERO,
            last_data: Time::ZERO,
            delay_timer: None,
            waits_until: None,
            duplicates: 0,
            compressed: 0,
            pushed: false,
            pushed_again: false,
            pingpong: false,
            scheduled: false,
            ect_seen: false,
            mark_begins: false,
        }
    }

    /// Decides when to acknowledge data at the next expected byte (`__tcp_ack_snd_check`).
    fn acknowledge_in_order(
        &mut self,
        now: Time,
        clock: Time,
        closed_gap: bool,
        gaps_left: bool,
        rcv_mss: u32,
        view: &AckView,
    ) -> AckDecision {
        let counts = view.unacked_bytes > u64::from(rcv_mss);
        // __tcp_select_window: quick ACKs end when less than half of the buffer is free.
        if counts && view.half_filled {
            self.quick = 0;
        }
        if closed_gap {
            AckDecision::Now(AckReason::GapFilled)
        // __tcp_ack_snd_check: an ACK for two segments may wait if it would reduce the window.
        } else if counts && !view.window_falls {
            AckDecision::Now(AckReason::Count)
        } else if self.is_quick() {
            AckDecision::Now(AckReason::Quick)
        } else if gaps_left {
            self.acknowledge_duplicate(now, AckReason::GapFilled, view)
        } else {
            self.delay_adaptively(now, clock, view.srtt)
        }
    }

    /// Decides whether a duplicate ACK is sent at once or compressed.
    fn acknowledge_duplicate(&mut self, now: Time, why: AckReason, view: &AckView) -> AckDecision {
        if self.is_quick() || !view.sack || self.compress.is_zero() || self.compressed >= COMPRESSED_MAX {
            return AckDecision::Now(why);
        }
        // TCP_FASTRETRANS_THRESH: the peer may need three duplicate ACKs before it starts a fast retransmit.
        if self.duplicates < UNCOMPRESSED_DUPLICATES {
            self.duplicates += 1;
            return AckDecision::Now(why);
        }
        self.compressed += 1;
        if self.compressed > 1 {
            return AckDecision::Unchanged;
        }
        // `__tcp_ack_snd_check`: the interval is 5 % of the RTT, at most `tcp_comp_sack_delay_ns`. Before the receiver's
        // first sample, Linux computes with an RTT of 0.
        let wait = view.rtt.map_or(Duration::ZERO, |rtt| self.compress.min(rtt / 20));
        let due = now + wait + self.compress_slack;
        // The timer of an earlier delayed ACK may still be running although that ACK was sent. If this timer expires
        // first, it sends the compressed ACK.
        AckDecision::By(self.delay_timer.filter(|fires| *fires > now).map_or(due, |fires| fires.min(due)))
    }

    /// True in quick-ACK mode: quick ACKs remain, and the connection is not in pingpong mode (`tcp_in_quickack_mode`).
    fn is_quick(&self) -> bool {
        self.quick > 0 && !self.pingpong
    }

    /// Delays an ACK by the adaptive timeout, but by at most one RTT (`tcp_send_delayed_ack`).
    fn delay_adaptively(&mut self, now: Time, clock: Time, rtt: Option<Duration>) -> AckDecision {
        let mut ato = self.ato;
        if ato > self.min {
            let bound = rtt.map_or(DELAY_MAX, |rtt| rtt.max(self.min)).min(DELAY_MAX);
            ato = ato.min(bound);
        }
        let ato = ato.min(self.max);
        if self.waits_until.is_some_and(|until| until <= clock + self.whole(ato / 4)) {
            return AckDecision::Now(AckReason::Delay);
        }
        let until = clock + ato;
        let fires = self.grain.deadline(now, ato);
        if fires <= now {
            // The delay is zero only for a FIN on a connection that never received data.
            return AckDecision::Now(AckReason::Delay);
        }
        // If the timer of the first unacknowledged segment expires earlier, that earlier timer stays in force.
        let running = self.delay_timer.filter(|_| self.waits_until.is_some());
        let fires = running.map_or(fires, |before| before.min(fires));
        self.waits_until = Some(self.waits_until.map_or(until, |before| before.min(until)));
        self.delay_timer = Some(fires);
        AckDecision::By(fires)
    }

    /// Rounds a duration down to clock ticks.
    fn whole(&self, span: Duration) -> Duration {
        self.grain.floor(Time::ZERO + span) - Time::ZERO
    }

    /// Adapts the delay to the time between in-order segments (`tcp_event_data_recv`).
    fn adapt_timeout(&mut self, clock: Time, view: &AckView) {
        if self.ato.is_zero() {
            // The first data. If out-of-order data was acknowledged before it, that ACK has set `ato` (`on_ack_sent`).
            self.grant_quick(view);
            self.ato = self.min;
            return;
        }
        let gap = clock - self.last_data;
        // Segments that arrive in quick succession shorten the delay towards TCP_ATO_MIN / 2.
        if gap <= self.min / 2 {
            self.ato = self.whole(self.ato / 2) + self.min / 2;
        } else if gap < self.ato {
            // Slower arrivals move the delay towards the time between segments.
            self.ato = (self.whole(self.ato / 2) + gap).min(view.rto).min(self.max_timeout);
        } else if gap > view.rto {
            // The sender has paused and probably restarts with a small window.
            self.grant_quick(view);
        }
    }

    /// Grants a quick ACK if the window has grown, to advertise the larger window. As in Linux, sets the lowest bit of
    /// `quick`.
    fn hurry(&mut self, window_opened: bool) {
        self.quick |= u32::from(window_opened);
    }

    /// Grants quick ACKs: one for every two segments of the advertised window (`tcp_incr_quickack`).
    fn grant_quick(&mut self, view: &AckView) {
        let pairs = view.window / (2 * u64::from(view.rcv_mss));
        let by_window = if pairs == 0 { 2 } else { pairs };
        self.quick = self.quick.max(by_window.min(u64::from(self.quick_acks)) as u32);
    }

    /// Enters quick-ACK mode after the peer retransmitted data that had arrived: an ACK was probably lost or late.
    fn enter_quickack(&mut self, view: &AckView) {
        self.grant_quick(view);
        self.pingpong = false;
        self.ato = self.min;
    }

    /// Detects the end of the peer's write: a short in-order segment, or a segment with PSH (`tcp_measure_rcv_mss`).
    fn note_end(&mut self, data: &ArrivedData, rcv_mss: u32) {
        if data.len < rcv_mss {
            self.pushed_again |= self.pushed;
            self.pushed = true;
        }
        self.pushed |= data.push && self.heeds_push;
    }

    /// Grants two quick ACKs after a segment without ECT (probably a retransmission), and after the first CE mark.
    fn watch_codepoint(&mut self, ecn: Ecn) {
        let mark_begins = std::mem::take(&mut self.mark_begins);
        let again = ecn == Ecn::NotEct && self.ect_seen;
        self.ect_seen |= ecn != Ecn::NotEct;
        if again || mark_begins {
            self.quick = self.quick.max(2);
            self.pingpong = false;
            self.ato = self.min;
        }
    }
}

impl AckPolicy for Linux {
    fn name(&self) -> &'static str {
        "linux"
    }

    fn on_established(&mut self, now: Time) {
        self.last_data = self.grain.floor(now);
    }

    fn on_data(&mut self, now: Time, data: &ArrivedData, view: &AckView) -> AckDecision {
        self.scheduled = true;
        let decision = match data.arrival {
            Arrival::Duplicate => {
                self.enter_quickack(view);
                AckDecision::Now(AckReason::Duplicate)
            }
            Arrival::OutOfOrder => {
                self.watch_codepoint(data.ecn);
                self.hurry(data.window_opened);
                self.acknowledge_duplicate(now, AckReason::OutOfOrder, view)
            }
            // tcp_event_data_recv is called for data only: a FIN without data changes neither the delay nor the number
            // of quick ACKs. `on_fin` decides when the FIN is acknowledged.
            Arrival::InOrder { .. } if data.len == 0 => AckDecision::Unchanged,
            Arrival::InOrder { closed_gap, gaps_left } => {
                let clock = self.grain.floor(now);
                self.adapt_timeout(clock, view);
                self.watch_codepoint(data.ecn);
                self.last_data = clock;
                self.hurry(data.window_opened);
                let rcv_mss = view.rcv_mss.max(data.len);
                self.note_end(data, rcv_mss);
                self.duplicates = 0;
                self.acknowledge_in_order(now, clock, closed_gap, gaps_left, rcv_mss, view)
            }
        };
        if view.half_filled && matches!(decision, AckDecision::Now(_)) {
            // End the quick ACKs: the application, which reads too slowly, will soon limit the sender.
            self.quick = 0;
        }
        decision
    }

    fn on_mark(&mut self, first: bool) -> bool {
        self.mark_begins |= first;
        false
    }

    /// Sends an ACK at once. The ACK does not count as one of the quick ACKs (`tcp_send_dupack`).
    fn on_unacceptable(&mut self, _now: Time, again: bool, view: &AckView) -> AckDecision {
        if again {
            self.enter_quickack(view);
        }
        AckDecision::Now(AckReason::Duplicate)
    }

    /// Acknowledges deferred data after a read (`tcp_cleanup_rbuf`).
    fn on_read(&mut self, _now: Time, all: bool, view: &AckView) -> AckDecision {
        let ended = self.pushed_again || (self.pushed && !self.pingpong);
        if view.unacked_bytes > u64::from(view.rcv_mss) {
            AckDecision::Now(AckReason::Count)
        } else if all && ended && view.unacked_bytes > 0 {
            AckDecision::Now(AckReason::Pushed)
        } else {
            AckDecision::Unchanged
        }
    }

    fn on_timeout(&mut self, _now: Time, view: &AckView) -> AckDecision {
        if self.compressed == 0 && self.pingpong {
            // The timer expired before any data was sent that could have carried the ACK, so leave pingpong mode.
            self.pingpong = false;
            self.ato = self.min;
        } else if self.compressed == 0 {
            // The second segment did not arrive in time, so the next delay is longer.
            self.ato = (self.ato * 2).min(view.rto).min(self.max_timeout);
        }
        AckDecision::Now(AckReason::Delay)
    }

    /// Enters pingpong mode, as `tcp_fin` does: this end will probably send data or a FIN soon.
    fn on_fin(&mut self, now: Time, view: &AckView) -> AckDecision {
        self.pingpong = true;
        self.scheduled = true;
        if view.unacked_bytes + 1 > u64::from(view.rcv_mss) && !view.window_falls {
            return AckDecision::Now(AckReason::Count);
        }
        self.delay_adaptively(now, self.grain.floor(now), view.srtt)
    }

    /// Enters pingpong mode if the data is sent within the delayed-ACK timeout after the last arrival
    /// (`tcp_event_data_sent`).
    fn on_data_sent(&mut self, now: Time) {
        self.pingpong |= self.grain.floor(now) - self.last_data < self.ato;
    }

    fn on_ack_sent(&mut self, _now: Time, _covered: bool) {
        if self.scheduled && self.quick > 0 {
            self.quick -= 1;
            if self.quick == 0 {
                self.ato = self.min;
            }
        }
        self.scheduled = false;
        self.waits_until = None;
        self.pushed = false;
        self.pushed_again = false;
        self.compressed = 0;
    }

    fn timer_reads_clock(&self, now: Time) -> bool {
        self.compressed == 0 || self.delay_timer == Some(now)
    }

    fn holds_duplicate(&self) -> bool {
        self.compressed > 0
    }

    fn ato(&self) -> Duration {
        self.ato
    }
}

#[cfg(test)]
mod tests {
    use super::super::arrivals::{arrived, waiting};
    use super::*;
    use crate::profile::Profile;

    #[test]
    fn the_fourth_duplicate_ack_waits_for_a_twentieth_of_the_rtt_but_at_most_1_ms() {
        for (rtt, wait_us) in [(None, 100), (Some(10), 600), (Some(100), 1100)] {
            let mut policy = Linux::new(&Profile::linux_6_1().ack);
            let view = AckView { rtt: rtt.map(Duration::from_millis), ..waiting(1) };
            let at = Time::ZERO + Duration::from_secs(1);
            let mut answer = || policy.on_data(at, &arrived(Arrival::OutOfOrder), &view);
            (0..3).for_each(|_| assert!(matches!(answer(), AckDecision::Now(_))));
            assert_eq!(answer(), AckDecision::By(at + Duration::from_micros(wait_us)));
        }
    }

    #[test]
    fn in_order_data_starts_the_quick_acks_unless_out_of_order_data_was_acknowledged_before() {
        let at = |ms| Time::ZERO + Duration::from_millis(ms);
        for (gap_first, quick) in [(false, true), (true, false)] {
            let mut policy = Linux::new(&Profile::linux_6_1().ack);
            policy.on_established(at(1000));
            if gap_first {
                let early = ArrivedData { window_opened: true, ..arrived(Arrival::OutOfOrder) };
                assert!(matches!(policy.on_data(at(1010), &early, &waiting(1)), AckDecision::Now(_)));
                policy.on_ack_sent(at(1010), false);
            }
            let arrival = Arrival::InOrder { closed_gap: false, gaps_left: false };
            let decision = policy.on_data(at(1050), &arrived(arrival), &waiting(1));
            assert_eq!(decision == AckDecision::Now(AckReason::Quick), quick);
        }
    }
}
