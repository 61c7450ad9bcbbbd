//! The pending acknowledgement: the data that it covers, whether it is due, and its timer.

use super::ack_policy::{AckDecision, AckPolicy, AckView, Arrival, ArrivedData, PeerFeedback, SenderView};
use super::answer_window::AnswerWindow;
use super::segment_size::SegmentSize;
use crate::timers::TimerTable;
use lopsided_core::packet::OtherOptions;
use lopsided_core::tcp_event::{AckReason, TimerKind};
use lopsided_core::{Duration, Time};

#[derive(Debug)]
pub(crate) struct AckScheduler {
    policy: Box<dyn AckPolicy>,
    /// The policy's view: unacknowledged data, and whether an ACK is scheduled.
    view: AckView,
    /// Measured size of the peer's full segments.
    size: SegmentSize,
    /// Reason of an ACK that must be sent now.
    due: Option<AckReason>,
    /// Bytes of the policy's own options in each segment.
    option_room: u32,
}

/// The part of the policy's view that the connection supplies.
#[derive(Clone, Copy, Debug)]
pub(crate) struct AckContext {
    pub rtt: Option<Duration>,
    pub srtt: Option<Duration>,
    pub rto: Duration,
    pub window: u64,
}

impl AckScheduler {
    pub fn new(policy: Box<dyn AckPolicy>) -> AckScheduler {
        let size = SegmentSize::new();
        let view = AckView {
            rtt: None,
            srtt: None,
            rto: Duration::ZERO,
            window: 0,
            sack: true,
            rcv_mss: size.full(),
            unacked_bytes: 0,
            unacked_segments: 0,
            scheduled: false,
            window_falls: false,
            half_filled: false,
        };
        AckScheduler { option_room: policy.option_room(), policy, view, size, due: None }
    }

    /// Replaces the policy. A pending ACK stays pending.
    pub fn set_policy(&mut self, policy: Box<dyn AckPolicy>) {
        self.option_room = policy.option_room();
        self.policy = policy;
    }

    /// Stores the results of the handshake: SACK, the segment size and the first window.
    pub fn agree(&mut self, sack: bool, mss: u32, window: u64) {
        self.view.sack = sack;
        self.size.agree(mss, window);
        self.view.rcv_mss = self.size.full();
    }

    /// Measures an in-order data segment as [`SegmentSize::measure`].
    #[inline]
    pub fn measure(&mut self, len: u32, sack: u32, ends: bool) {
        self.size.measure(len, sack, ends);
        self.view.rcv_mss = self.size.full();
    }

    pub fn ato(&self) -> Duration {
        self.policy.ato()
    }

    /// Payload of the peer's full segments, in bytes.
    pub fn rcv_mss(&self) -> u32 {
        self.view.rcv_mss
    }

    /// True if received segments wait for an ACK.
    pub fn is_pending(&self) -> bool {
        self.view.unacked_bytes > 0
    }

    /// The reason of an ACK that must be sent now, or `None`.
    #[inline]
    pub fn due(&self) -> Option<AckReason> {
        self.due
    }

    /// Schedules an ACK now, whatever the policy decides.
    #[inline]
    pub fn ack_now(&mut self, why: AckReason) {
        self.due = Some(why);
        self.view.scheduled = true;
    }

    pub fn timer_reads_clock(&self, now: Time) -> bool {
        self.policy.timer_reads_clock(now)
    }

    pub fn holds_duplicate(&self) -> bool {
        self.policy.holds_duplicate()
    }

    /// Bytes of the policy's own options in each segment; 0 without.
    #[inline]
    pub fn option_room(&self) -> u32 {
        self.option_room
    }

    /// The policy's own options for a segment.
    pub fn options(&mut self, now: Time, sender: &SenderView) -> OtherOptions {
        let options = self.policy.options(now, sender);
        // A policy that exceeds its room sends no options.
        if options.padded_len() <= self.option_room { options } else { OtherOptions::new() }
    }

    /// Passes a segment's options to the policy. Called only if the policy has options.
    pub fn on_feedback(&mut self, now: Time, feedback: &PeerFeedback<'_>, sender: &SenderView) {
        self.policy.on_feedback(now, feedback, sender);
    }

    #[inline]
    fn update_view(&mut self, context: AckContext) {
        self.view.rtt = context.rtt;
        self.view.srtt = context.srtt;
        self.view.rto = context.rto;
        self.view.window = context.window;
    }

    /// Records how an ACK now would change the window, for the policy.
    #[inline(always)]
    pub fn note_room(&mut self, answer: AnswerWindow) {
        self.view.window_falls = answer.falls;
        self.view.half_filled = answer.half_filled;
    }

    /// A data segment arrived: counts it and schedules an ACK as the policy decides.
    #[inline(always)]
    pub fn on_data(&mut self, now: Time, data: &ArrivedData, context: AckContext, timers: &mut TimerTable) {
        self.update_view(context);
        let in_order = matches!(data.arrival, Arrival::InOrder { .. });
        if in_order {
            self.view.unacked_bytes += data.advance;
            self.view.unacked_segments += 1;
        }
        let decision = self.policy.on_data(now, data, &self.view);
        self.decide(decision, timers);
    }

    /// Marked data arrived: see [`AckPolicy::on_mark`]. True if it must be acknowledged at once.
    pub fn on_mark(&mut self, first: bool) -> bool {
        self.policy.on_mark(first)
    }

    /// Data was discarded: see [`AckPolicy::on_unacceptable`].
    pub fn on_unacceptable(&mut self, now: Time, again: bool, context: AckContext, timers: &mut TimerTable) {
        self.update_view(context);
        let decision = self.policy.on_unacceptable(now, again, &self.view);
        self.decide(decision, timers);
    }

    /// True if data waits for an ACK that is not due. The policy must then be called when the application reads.
    #[inline]
    pub fn awaits_read(&self) -> bool {
        self.due.is_none() && self.view.unacked_bytes > 0
    }

    /// The application read data. `all`: no unread data is left.
    pub fn on_read(&mut self, now: Time, all: bool, context: AckContext, timers: &mut TimerTable) {
        self.update_view(context);
        let decision = self.policy.on_read(now, all, &self.view);
        self.decide(decision, timers);
    }

    /// Cancels a due quick ACK after a FIN: this end probably answers soon, and the answer carries the acknowledgement.
    pub fn withdraw_quick(&mut self) {
        if self.due == Some(AckReason::Quick) {
            self.due = None;
        }
    }

    /// The peer's FIN arrived.
    pub fn on_fin(&mut self, now: Time, context: AckContext, timers: &mut TimerTable) {
        self.update_view(context);
        let decision = self.policy.on_fin(now, &self.view);
        self.decide(decision, timers);
    }

    /// Data is sent: see [`AckPolicy::on_data_sent`].
    #[inline]
    pub fn on_data_sent(&mut self, now: Time) {
        self.policy.on_data_sent(now);
    }

    /// The delayed-ACK timer expired.
    pub fn on_timeout(&mut self, now: Time, context: AckContext, timers: &mut TimerTable) {
        if self.due.is_none() && self.view.scheduled {
            self.update_view(context);
            let decision = self.policy.on_timeout(now, &self.view);
            self.view.scheduled = false;
            self.decide(decision, timers);
        }
    }

    /// A segment with an acknowledgement was sent.
    #[inline]
    pub fn on_ack_sent(&mut self, now: Time, timers: &mut TimerTable) {
        if self.view.unacked_bytes > 0 || self.view.scheduled {
            self.policy.on_ack_sent(now, self.view.unacked_bytes > 0);
            self.forget();
            timers.stop(TimerKind::DelayedAck);
        }
    }

    /// Clears the pending acknowledgement.
    #[inline]
    pub fn forget(&mut self) {
        self.view.unacked_bytes = 0;
        self.view.unacked_segments = 0;
        self.view.scheduled = false;
        self.due = None;
    }

    #[inline]
    fn decide(&mut self, decision: AckDecision, timers: &mut TimerTable) {
        match decision {
            AckDecision::Unchanged => {}
            AckDecision::Now(why) => self.ack_now(why),
            AckDecision::By(time) => {
                if self.due.is_none() {
                    // An earlier deadline stays.
                    let sooner = timers.get(TimerKind::DelayedAck).filter(|_| self.view.scheduled);
                    self.view.scheduled = true;
                    timers.set(TimerKind::DelayedAck, sooner.map_or(time, |set| set.min(time)));
                }
            }
        }
    }
}
