//! The acknowledgement that is owed: what it covers, whether it is due, and the timer that it may wait for.

use super::ack_policy::{AckDecision, AckPolicy, AckView, Arrival, ArrivedData, PeerFeedback, SenderView};
use crate::timers::TimerTable;
use lopsided_core::packet::OtherOptions;
use lopsided_core::tcp_event::{AckReason, TimerKind};
use lopsided_core::{Duration, Time};

#[derive(Debug)]
pub(crate) struct AckScheduler {
    policy: Box<dyn AckPolicy>,
    /// The largest segment seen: what counts as full.
    rcv_mss: u32,
    /// In-order octets and segments that no ACK covers yet.
    unacked: u64,
    unacked_segments: u32,
    /// An ACK must go out now.
    due: Option<AckReason>,
    /// The timer of an ACK runs.
    delayed: bool,
    sack: bool,
    /// Octets for the policy's own options in each segment.
    option_room: u32,
}

/// What the rest of the connection adds to the policy's view.
#[derive(Clone, Copy, Debug)]
pub(crate) struct AckContext {
    pub rtt: Option<Duration>,
    pub rto: Duration,
    pub window: u64,
}

impl AckScheduler {
    pub fn new(policy: Box<dyn AckPolicy>) -> AckScheduler {
        AckScheduler {
            option_room: policy.option_room(),
            policy,
            rcv_mss: 536,
            unacked: 0,
            unacked_segments: 0,
            due: None,
            delayed: false,
            sack: true,
        }
    }

    /// What the handshake agreed on.
    pub fn set_sack(&mut self, sack: bool) {
        self.sack = sack;
    }

    pub fn ato(&self) -> Duration {
        self.policy.ato()
    }

    pub fn rcv_mss(&self) -> u32 {
        self.rcv_mss
    }

    /// Segments arrived that no ACK covers yet.
    pub fn is_pending(&self) -> bool {
        self.unacked > 0
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

    fn view(&self, context: AckContext) -> AckView {
        AckView {
            rtt: context.rtt,
            rto: context.rto,
            window: context.window,
            sack: self.sack,
            rcv_mss: self.rcv_mss,
            unacked_bytes: self.unacked,
            unacked_segments: self.unacked_segments,
            scheduled: self.due.is_some() || self.delayed,
        }
    }

    pub fn on_data(&mut self, now: Time, data: &ArrivedData, context: AckContext, timers: &mut TimerTable) {
        let in_order = matches!(data.arrival, Arrival::InOrder { .. });
        if in_order {
            self.unacked += u64::from(data.len);
            self.unacked_segments += 1;
        }
        let view = self.view(context);
        if in_order {
            self.rcv_mss = self.rcv_mss.max(data.len);
        }
        let decision = self.policy.on_data(now, data, &view);
        self.decide(decision, timers);
    }

    /// The application read all there was.
    pub fn on_all_read(&mut self, now: Time, context: AckContext, timers: &mut TimerTable) {
        let decision = self.policy.on_all_read(now, &self.view(context));
        self.decide(decision, timers);
    }

    /// The time of a delayed ACK has come.
    pub fn on_timeout(&mut self, now: Time, context: AckContext, timers: &mut TimerTable) {
        if self.due.is_none() && self.delayed {
            let view = self.view(context);
            self.delayed = false;
            let decision = self.policy.on_timeout(now, &view);
            self.decide(decision, timers);
        }
    }

    /// Any segment that carries an acknowledgement went out.
    #[inline]
    pub fn on_ack_sent(&mut self, now: Time, timers: &mut TimerTable) {
        if self.unacked > 0 || self.due.is_some() || self.delayed {
            self.policy.on_ack_sent(now, self.unacked > 0);
            self.unacked = 0;
            self.unacked_segments = 0;
            self.due = None;
            self.delayed = false;
            timers.stop(TimerKind::DelayedAck);
        }
    }

    /// The connection is over: no ACK is owed any more.
    pub fn forget(&mut self) {
        self.unacked = 0;
        self.unacked_segments = 0;
        self.due = None;
        self.delayed = false;
    }

    fn decide(&mut self, decision: AckDecision, timers: &mut TimerTable) {
        match decision {
            AckDecision::Unchanged => {}
            AckDecision::Now(why) => self.due = Some(why),
            AckDecision::By(time) => {
                if self.due.is_none() {
                    let sooner = timers.get(TimerKind::DelayedAck).filter(|_| self.delayed);
                    self.delayed = true;
                    timers.set(TimerKind::DelayedAck, sooner.map_or(time, |set| set.min(time)));
                }
            }
        }
    }
}
