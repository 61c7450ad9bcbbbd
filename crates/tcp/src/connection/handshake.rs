//! The exchange of SYNs: what was sent of it, and how often.

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
    /// A SYN, or the answer to one, is to be sent.
    pub fn request_syn(&mut self) {
        self.syn_due = true;
    }

    /// It is over, well or not.
    pub fn give_up(&mut self) {
        self.syn_due = false;
    }

    #[inline]
    pub fn is_syn_due(&self) -> bool {
        self.syn_due
    }

    /// A SYN goes out. True if it went out before.
    pub fn on_sent(&mut self, now: Time) -> bool {
        self.syn_due = false;
        let again = self.sent_at.is_some();
        self.resent += u32::from(again);
        self.sent_at.get_or_insert(now);
        again
    }

    /// No answer came in time. False if that was the last attempt of so many.
    pub fn retry(&mut self, retries: u32) -> bool {
        self.retries += 1;
        self.syn_due = self.retries <= retries;
        self.syn_due
    }

    /// The SYN was sent more than once, so that an answer may be to any of them (Karn's rule).
    pub fn is_resent(&self) -> bool {
        self.resent > 0
    }

    /// It timed out, and went out again more than once: by a timeout, or since the peer's SYN came again.
    pub fn was_lost_twice(&self) -> bool {
        self.retries > 0 && self.resent > 1
    }

    pub fn retries(&self) -> u32 {
        self.retries
    }

    /// When the SYN was sent, if it was sent once.
    pub fn sent_once_at(&self) -> Option<Time> {
        self.sent_at.filter(|_| !self.is_resent())
    }

    /// When the SYN was first sent.
    pub fn first_sent_at(&self) -> Option<Time> {
        self.sent_at
    }
}
