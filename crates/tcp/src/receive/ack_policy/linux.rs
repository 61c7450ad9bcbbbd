//! Linux's acknowledgements: the first segments of a connection, and those after a pause or a duplicate, one by one;
//! then one ACK for more than one full segment or after an adaptive timeout; after three duplicate ACKs in a row, one
//! for each compression interval (since 4.18). An ACK for the count of segments that would offer less than the last one
//! waits for the application's read, and nothing is quick once the buffer is filled by half. A short segment that was
//! read is acknowledged at once, and since 6.1.57 a full one with PSH too. Where the peer's data can be marked, one
//! segment that cannot is taken for a repair, and the next two ACKs go at once; so do two from the first mark on that is
//! echoed. An end that answers within the delay is
//! in "pingpong mode": its data carries the acknowledgements, so that nothing is acknowledged quickly or for being
//! read, until a timer had to.

use super::contract::{AckDecision, AckPolicy, AckView, Arrival, ArrivedData};
use crate::profile::{AckSettings, TimerGrain};
use lopsided_core::tcp_event::AckReason;
use lopsided_core::{Duration, Ecn, Time};

/// Duplicate ACKs that go out at once before Linux starts to compress them.
const UNCOMPRESSED_DUPLICATES: u32 = 3;
/// No ACK may wait longer (RFC 1122 section 4.2.3.2).
const DELAY_MAX: Duration = Duration::from_millis(500);
/// One compressed ACK at the latest for so many segments.
const COMPRESSED_MAX: u32 = 44;

#[derive(Debug)]
pub(super) struct Linux {
    min: Duration,
    max: Duration,
    quick_acks: u32,
    compress: Duration,
    compress_slack: Duration,
    grain: TimerGrain,
    heeds_push: bool,
    /// ACKs still to be sent without delay.
    quick: u32,
    ato: Duration,
    /// When data came last, on the clock.
    last_data: Option<Time>,
    /// When the timer of the last delayed ACK fires, sent or not.
    delay_timer: Option<Time>,
    /// Until when the delayed ACK waits that is owed, on the clock.
    waits_until: Option<Time>,
    /// Duplicate ACKs for the same place, and how many of the compressed kind are owed.
    duplicates: u32,
    compressed: u32,
    /// A segment that waits for its ACK ended what an application wrote; and more than one did.
    pushed: bool,
    pushed_again: bool,
    /// This end answers: its data carries the acknowledgements.
    pingpong: bool,
    /// Data within the window wait for their ACK, new or not: it uses up a quick one.
    scheduled: bool,
    /// The peer sends data that may be marked.
    ect_seen: bool,
    /// A mark has just begun to be echoed.
    mark_begins: bool,
}

impl Linux {
    pub fn new(settings: &AckSettings) -> Linux {
        Linux {
            compress_slack: settings.compress_slack,
            grain: settings.grain,
            min: settings.min_delay,
            max: settings.max_delay,
            quick_acks: settings.quick_acks,
            compress: settings.compress,
            heeds_push: settings.heeds_push,
            quick: 0,
            ato: Duration::ZERO,
            last_data: None,
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
        if counts && view.half_filled {
            self.quick = 0;
        }
        if closed_gap {
            AckDecision::Now(AckReason::GapFilled)
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

    fn acknowledge_duplicate(&mut self, now: Time, why: AckReason, view: &AckView) -> AckDecision {
        if self.is_quick() || !view.sack || self.compress.is_zero() || self.compressed >= COMPRESSED_MAX {
            return AckDecision::Now(why);
        }
        if self.duplicates < UNCOMPRESSED_DUPLICATES {
            self.duplicates += 1;
            return AckDecision::Now(why);
        }
        self.compressed += 1;
        if self.compressed > 1 {
            return AckDecision::Unchanged;
        }
        let wait = view.rtt.map_or(self.compress, |rtt| self.compress.min(rtt / 20));
        let due = now + wait + self.compress_slack;
        // The timer of a delayed ACK keeps running when that has gone, and takes this one along.
        AckDecision::By(self.delay_timer.filter(|fires| *fires > now).map_or(due, |fires| fires.min(due)))
    }

    fn is_quick(&self) -> bool {
        self.quick > 0 && !self.pingpong
    }

    /// The timeout follows the gaps between segments, no longer than an RTT if that is known. Where an ACK waits
    /// already and a quarter of the new time would see it off, it goes now.
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
            // Only a FIN on a connection that never received data finds a delay of zero.
            return AckDecision::Now(AckReason::Delay);
        }
        // The timer of the first segment that waits stays, where it is the sooner one.
        let running = self.delay_timer.filter(|_| self.waits_until.is_some());
        let fires = running.map_or(fires, |before| before.min(fires));
        self.waits_until = Some(self.waits_until.map_or(until, |before| before.min(until)));
        self.delay_timer = Some(fires);
        AckDecision::By(fires)
    }

    /// Whole ticks of the clock, as it counts.
    fn whole(&self, span: Duration) -> Duration {
        self.grain.floor(Time::ZERO + span) - Time::ZERO
    }

    /// Linux watches the pace of what comes in order only: it takes a loss that took long to repair for a pause.
    fn adapt_timeout(&mut self, clock: Time, view: &AckView) {
        let Some(last) = self.last_data else {
            self.grant_quick(view);
            self.ato = self.min;
            return;
        };
        let gap = clock - last;
        if gap <= self.min / 2 {
            self.ato = self.whole(self.ato / 2) + self.min / 2;
        } else if gap < self.ato {
            self.ato = (self.whole(self.ato / 2) + gap).min(view.rto);
        } else if gap > view.rto {
            // The sender paused and starts again with a small window.
            self.grant_quick(view);
        }
    }

    /// The window opens: the peer hears of it at once. Linux sets the lowest bit of the count, so that an even number
    /// of quick ACKs is not used up while the window opens.
    fn hurry(&mut self, window_opened: bool) {
        self.quick |= u32::from(window_opened);
    }

    /// Half of the window in ACKs is quick.
    fn grant_quick(&mut self, view: &AckView) {
        let pairs = view.window / (2 * u64::from(view.rcv_mss));
        let by_window = if pairs == 0 { 2 } else { pairs };
        self.quick = self.quick.max(by_window.min(u64::from(self.quick_acks)) as u32);
    }

    /// The peer sends again what was here: an acknowledgement was lost or late.
    fn enter_quickack(&mut self, view: &AckView) {
        self.grant_quick(view);
        self.pingpong = false;
        self.ato = self.min;
    }

    /// A short segment in order, or one that the sender pushed, likely ends what an application wrote
    /// (`tcp_measure_rcv_mss`).
    fn note_end(&mut self, data: &ArrivedData, rcv_mss: u32) {
        if data.len < rcv_mss {
            self.pushed_again |= self.pushed;
            self.pushed = true;
        }
        self.pushed |= data.push && self.heeds_push;
    }

    /// New data that cannot be marked, from a peer whose data could be, goes again most likely; behind the first mark the
    /// peer's window may be small: two ACKs are quick.
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
            // Linux calls `tcp_event_data_recv` for data only: a FIN alone changes neither the delay nor the count of
            // quick ACKs. `on_fin` decides when it is acknowledged.
            Arrival::InOrder { .. } if data.len == 0 => AckDecision::Unchanged,
            Arrival::InOrder { closed_gap, gaps_left } => {
                let clock = self.grain.floor(now);
                self.adapt_timeout(clock, view);
                self.watch_codepoint(data.ecn);
                self.last_data = Some(clock);
                self.hurry(data.window_opened);
                let rcv_mss = view.rcv_mss.max(data.len);
                self.note_end(data, rcv_mss);
                self.duplicates = 0;
                self.acknowledge_in_order(now, clock, closed_gap, gaps_left, rcv_mss, view)
            }
        };
        if view.half_filled && matches!(decision, AckDecision::Now(_)) {
            // The sender will soon have to wait for the application: nothing is gained by hurry.
            self.quick = 0;
        }
        decision
    }

    fn on_mark(&mut self, first: bool) -> bool {
        self.mark_begins |= first;
        false
    }

    /// Its acknowledgement is none of the quick ones (`tcp_send_dupack`).
    fn on_unacceptable(&mut self, _now: Time, again: bool, view: &AckView) -> AckDecision {
        if again {
            self.enter_quickack(view);
        }
        AckDecision::Now(AckReason::Duplicate)
    }

    /// What waited for more window is acknowledged, and the sender of a finished message does not wait.
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
            // No answer came that could carry it.
            self.pingpong = false;
            self.ato = self.min;
        } else if self.compressed == 0 {
            // The peer did not send a second segment in time: wait longer.
            self.ato = (self.ato * 2).min(view.rto);
        }
        AckDecision::Now(AckReason::Delay)
    }

    /// An answer is likely, or this end's own FIN: either carries the acknowledgement (`tcp_fin` enters pingpong mode).
    /// `__tcp_ack_snd_check` counts the FIN as an octet, so a full segment with a FIN is acknowledged at once.
    fn on_fin(&mut self, now: Time, view: &AckView) -> AckDecision {
        self.pingpong = true;
        self.scheduled = true;
        if view.unacked_bytes + 1 > u64::from(view.rcv_mss) && !view.window_falls {
            return AckDecision::Now(AckReason::Count);
        }
        self.delay_adaptively(now, self.grain.floor(now), view.srtt)
    }

    fn on_data_sent(&mut self, now: Time) {
        let answers = |last| self.grain.floor(now) - last < self.ato;
        self.pingpong |= self.last_data.is_some_and(answers);
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
