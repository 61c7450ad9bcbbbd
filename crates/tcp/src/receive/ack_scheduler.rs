//! The acknowledgement that is owed: what it covers, whether it is due, and the timer that it may wait for.

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
    /// What the policy may see: what waits for an ACK, and whether one is due or its timer runs.
    view: AckView,
    size: SegmentSize,
    /// An ACK must go out now.
    due: Option<AckReason>,
    /// Octets for the policy's own options in each segment.
    option_room: u32,
}

/// What the rest of the connection adds to the policy's view.
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

    /// Another policy from now on. What is owed by the old one stays so.
    pub fn set_policy(&mut self, policy: Box<dyn AckPolicy>) {
        self.option_room = policy.option_room();
        self.policy = policy;
    }

    /// What the handshake agreed on.
    pub fn agree(&mut self, sack: bool, mss: u32, window: u64) {
        self.view.sack = sack;
        self.size.agree(mss, window);
        self.view.rcv_mss = self.size.full();
    }

    /// A data segment arrived in order: see [`SegmentSize::measure`].
    #[inline]
    pub fn measure(&mut self, len: u32, sack: u32, ends: bool) {
        self.size.measure(len, sack, ends);
        self.view.rcv_mss = self.size.full();
    }

    pub fn ato(&self) -> Duration {
        self.policy.ato()
    }

    /// The size of the peer's full segments.
    pub fn rcv_mss(&self) -> u32 {
        self.view.rcv_mss
    }

    /// Segments arrived that no ACK covers yet.
    pub fn is_pending(&self) -> bool {
        self.view.unacked_bytes > 0
    }

    /// Why an ACK must go out now, if one must.
    #[inline]
    pub fn due(&self) -> Option<AckReason> {
        self.due
    }

    /// An ACK must go out now, whatever the policy says.
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

    /// Octets that the policy's own options take in each segment; none for a policy without.
    #[inline]
    pub fn option_room(&self) -> u32 {
        self.option_room
    }

    /// The policy's own options for a segment.
    pub fn options(&mut self, now: Time, sender: &SenderView) -> OtherOptions {
        let options = self.policy.options(now, sender);
        if options.padded_len() <= self.option_room { options } else { OtherOptions::new() }
    }

    /// What the peer says, for a policy with options of its own.
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

    /// The window that the receive buffer leaves to an ACK of what arrives, as a policy sees it.
    #[inline(always)]
    pub fn note_room(&mut self, answer: AnswerWindow) {
        self.view.window_falls = answer.falls;
        self.view.half_filled = answer.half_filled;
    }

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

    /// Data arrived marked: see [`AckPolicy::on_mark`].
    pub fn on_mark(&mut self, first: bool) -> bool {
        self.policy.on_mark(first)
    }

    /// Data arrived that is not taken in: see [`AckPolicy::on_unacceptable`].
    pub fn on_unacceptable(&mut self, now: Time, again: bool, context: AckContext, timers: &mut TimerTable) {
        self.update_view(context);
        let decision = self.policy.on_unacceptable(now, again, &self.view);
        self.decide(decision, timers);
    }

    /// Something waits for an ACK that is not due: the policy hears when the application has read it.
    #[inline]
    pub fn awaits_read(&self) -> bool {
        self.due.is_none() && self.view.unacked_bytes > 0
    }

    /// The application read some of what there was, or `all`.
    pub fn on_read(&mut self, now: Time, all: bool, context: AckContext, timers: &mut TimerTable) {
        self.update_view(context);
        let decision = self.policy.on_read(now, all, &self.view);
        self.decide(decision, timers);
    }

    /// A FIN came with data. Answers are awaited from then on, which carry what a quick ACK would.
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

    /// Data goes out.
    #[inline]
    pub fn on_data_sent(&mut self, now: Time) {
        self.policy.on_data_sent(now);
    }

    /// The time of a delayed ACK has come.
    pub fn on_timeout(&mut self, now: Time, context: AckContext, timers: &mut TimerTable) {
        if self.due.is_none() && self.view.scheduled {
            self.update_view(context);
            let decision = self.policy.on_timeout(now, &self.view);
            self.view.scheduled = false;
            self.decide(decision, timers);
        }
    }

    /// Any segment that carries an acknowledgement went out.
    #[inline]
    pub fn on_ack_sent(&mut self, now: Time, timers: &mut TimerTable) {
        if self.view.unacked_bytes > 0 || self.view.scheduled {
            self.policy.on_ack_sent(now, self.view.unacked_bytes > 0);
            self.forget();
            timers.stop(TimerKind::DelayedAck);
        }
    }

    /// No ACK is owed any more.
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
                    let sooner = timers.get(TimerKind::DelayedAck).filter(|_| self.view.scheduled);
                    self.view.scheduled = true;
                    timers.set(TimerKind::DelayedAck, sooner.map_or(time, |set| set.min(time)));
                }
            }
        }
    }
}
