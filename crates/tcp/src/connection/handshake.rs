//! The state of the SYN exchange: what was sent, and how often.

use lopsided_core::Time;

/// Retransmissions of a SYN, and of the answer to one, before the attempt is given up (Linux's tcp_syn_retries and
/// tcp_synack_retries).
pub(super) const SYN_RETRIES: u32 = 6;
pub(super) const SYN_ACK_RETRIES: u32 = 5;

#[derive(Debug, Default)]
pub(super) struct Handshake {
    syn_due: bool,
    sent_at: Option<Time>,
    resent: u32,
    retries: u32,
}

impl Handshake {
    /// Schedules a SYN, or a SYN-ACK, to be sent.
    pub fn request_syn(&mut self) {
        self.syn_due = true;
    }

    /// The handshake is over, completed or failed.
    pub fn give_up(&mut self) {
        self.syn_due = false;
    }

    #[inline]
    pub fn is_syn_due(&self) -> bool {
        self.syn_due
    }

    /// Records that a SYN was sent. True if it was a retransmission.
    pub fn on_sent(&mut self, now: Time) -> bool {
        self.syn_due = false;
        let again = self.sent_at.is_some();
        self.resent += u32::from(again);
        self.sent_at.get_or_insert(now);
        again
    }

    /// Records a timeout. False if all `retries` are used up.
    pub fn retry(&mut self, retries: u32) -> bool {
        self.retries += 1;
        self.syn_due = self.retries <= retries;
        self.syn_due
    }

    /// True if the SYN was sent more than once: an answer may belong to any of them (Karn's rule).
    pub fn is_resent(&self) -> bool {
        self.resent > 0
    }

    /// True if the SYN timed out and was retransmitted more than once, by a timeout or because the peer's SYN arrived
    /// again.
    pub fn was_lost_twice(&self) -> bool {
        self.retries > 0 && self.resent > 1
    }

    pub fn retries(&self) -> u32 {
        self.retries
    }

    /// The time of the SYN, if it was sent exactly once.
    pub fn sent_once_at(&self) -> Option<Time> {
        self.sent_at.filter(|_| !self.is_resent())
    }

    /// The time of the first SYN.
    pub fn first_sent_at(&self) -> Option<Time> {
        self.sent_at
    }
}
