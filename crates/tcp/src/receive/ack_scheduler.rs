//! Schedules acknowledgements: counts the data that no ACK covers yet, stores the reason why an ACK is due, and arms
//! the delayed-ACK timer.

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
    /// The state that the policy reads: the unacknowledged data and the scheduled ACK.
    view: AckView,
    /// Estimated size of the peer's full segments.
    size: SegmentSize,
    /// Reason for an ACK that must be sent now; `None` if no ACK is due.
    due: Option<AckReason>,
    /// Reason to send the next scheduled ACK at once (Linux's ICSK_ACK_NOW); `None` if the ACK may be delayed.
    hurry: Option<AckReason>,
    /// Header space in bytes that the policy's own options use in each segment.
    option_room: u32,
}

/// The part of the policy's [`AckView`] that the connection supplies.
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
        AckScheduler { option_room: policy.option_room(), policy, view, size, due: None, hurry: None }
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

    /// Call at the end of the handshake, see [`AckPolicy::on_established`].
    pub fn on_established(&mut self, now: Time) {
        self.policy.on_established(now);
    }

    /// Updates the estimated size of the peer's full segments from an in-order data segment, see
    /// [`SegmentSize::measure`].
    #[inline]
    pub fn measure(&mut self, len: u32, sack: u32, ends: bool) {
        self.size.measure(len, sack, ends);
        self.view.rcv_mss = self.size.full();
    }

    pub fn ato(&self) -> Duration {
        self.policy.ato()
    }

    /// Estimated payload of the peer's full segments, in bytes.
    pub fn rcv_mss(&self) -> u32 {
        self.view.rcv_mss
    }

    /// True if received data is not acknowledged yet.
    pub fn is_pending(&self) -> bool {
        self.view.unacked_bytes > 0
    }

    /// Reason for an ACK that must be sent now; `None` if no ACK is due.
    #[inline]
    pub fn due(&self) -> Option<AckReason> {
        self.due
    }

    /// Makes an ACK due now, without consulting the policy.
    #[inline]
    pub fn ack_now(&mut self, why: AckReason) {
        self.due = Some(why);
        self.view.scheduled = true;
    }

    /// Makes the scheduled ACK due now. If no ACK is scheduled, the next ACK will be due as soon as it is scheduled.
    pub fn hasten(&mut self, why: AckReason) {
        if self.view.scheduled {
            self.due.get_or_insert(why);
        } else {
            self.hurry = Some(why);
        }
    }

    pub fn timer_reads_clock(&self, now: Time) -> bool {
        self.policy.timer_reads_clock(now)
    }

    pub fn holds_duplicate(&self) -> bool {
        self.policy.holds_duplicate()
    }

    pub fn asks_retransmit(&self) -> bool {
        self.policy.asks_retransmit()
    }

    /// Header space in bytes that the policy's own options use in each segment; 0 if the policy has no options.
    #[inline]
    pub fn option_room(&self) -> u32 {
        self.option_room
    }

    /// Returns the policy's own options for an outgoing segment.
    pub fn options(&mut self, now: Time, sender: &SenderView) -> OtherOptions {
        let options = self.policy.options(now, sender);
        // Omit the options if they exceed the space that the policy reserved. The payload was sized to leave only that
        // space.
        if options.padded_len() <= self.option_room { options } else { OtherOptions::new() }
    }

    /// Passes an arriving segment's options to the policy. Called only if the policy has reserved space for options.
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

    /// Stores how an ACK that is sent now would change the window. The policy reads this information.
    #[inline(always)]
    pub fn note_room(&mut self, answer: AnswerWindow) {
        self.view.window_falls = answer.falls;
        self.view.half_filled = answer.half_filled;
    }

    /// Counts an arriving data segment and schedules an ACK as the policy decides.
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

    /// Passes marked data to [`AckPolicy::on_mark`]. Returns true if the data must be acknowledged at once.
    pub fn on_mark(&mut self, first: bool) -> bool {
        self.policy.on_mark(first)
    }

    /// Passes discarded data to [`AckPolicy::on_unacceptable`] and schedules an ACK as the policy decides.
    pub fn on_unacceptable(&mut self, now: Time, again: bool, context: AckContext, timers: &mut TimerTable) {
        self.update_view(context);
        let decision = self.policy.on_unacceptable(now, again, &self.view);
        self.decide(decision, timers);
    }

    /// True if a delayed ACK is scheduled. `on_read` must then be called after each read.
    #[inline]
    pub fn awaits_read(&self) -> bool {
        self.due.is_none() && self.view.unacked_bytes > 0
    }

    /// Call after the application has read data. `all` is true if no unread data remains.
    pub fn on_read(&mut self, now: Time, all: bool, context: AckContext, timers: &mut TimerTable) {
        self.update_view(context);
        let decision = self.policy.on_read(now, all, &self.view);
        self.decide(decision, timers);
    }

    /// Cancels a due quick ACK after a FIN. This end will probably send a segment soon, and that segment carries the
    /// acknowledgement.
    pub fn withdraw_quick(&mut self) {
        if self.due == Some(AckReason::Quick) {
            self.due = None;
        }
    }

    /// Handles the arrival of the peer's FIN.
    pub fn on_fin(&mut self, now: Time, context: AckContext, timers: &mut TimerTable) {
        self.update_view(context);
        let decision = self.policy.on_fin(now, &self.view);
        self.decide(decision, timers);
    }

    /// Call when data is sent, see [`AckPolicy::on_data_sent`].
    #[inline]
    pub fn on_data_sent(&mut self, now: Time) {
        self.policy.on_data_sent(now);
    }

    /// Handles the expiry of the delayed-ACK timer.
    pub fn on_timeout(&mut self, now: Time, context: AckContext, timers: &mut TimerTable) {
        if self.due.is_none() && self.view.scheduled {
            self.update_view(context);
            let decision = self.policy.on_timeout(now, &self.view);
            self.view.scheduled = false;
            self.decide(decision, timers);
        }
    }

    /// Call after a segment with an acknowledgement was sent.
    #[inline]
    pub fn on_ack_sent(&mut self, now: Time, timers: &mut TimerTable) {
        self.hurry = None;
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
                if let Some(why) = self.hurry.take() {
                    self.ack_now(why);
                } else if self.due.is_none() {
                    // An earlier deadline stays in force.
                    let sooner = timers.get(TimerKind::DelayedAck).filter(|_| self.view.scheduled);
                    self.view.scheduled = true;
                    timers.set(TimerKind::DelayedAck, sooner.map_or(time, |set| set.min(time)));
                }
            }
        }
    }
}
