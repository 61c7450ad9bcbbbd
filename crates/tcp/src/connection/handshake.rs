//! The state of the SYN exchange: the SYNs that were sent, and their retransmissions.

use lopsided_core::Time;

/// Number of retransmissions of a SYN before the attempt fails (Linux's tcp_syn_retries).
pub(super) const SYN_RETRIES: u32 = 6;
/// Number of retransmissions of a SYN-ACK before the attempt fails (Linux's tcp_synack_retries).
pub(super) const SYN_ACK_RETRIES: u32 = 5;

/// The state of the SYN exchange.
#[derive(Debug, Default)]
pub(super) struct Handshake {
    /// True if a SYN or SYN-ACK must be sent.
    syn_due: bool,
    /// Time of the first SYN.
    sent_at: Option<Time>,
    /// Number of SYNs or SYN-ACKs sent after the first.
    resent: u32,
    /// Number of timeouts.
    retries: u32,
    /// Number of timeouts, excluding the timeout that caused the current SYN or SYN-ACK.
    retries_before: u32,
}

impl Handshake {
    /// Schedules a SYN or a SYN-ACK.
    pub fn request_syn(&mut self) {
        self.retries_before = self.retries;
        self.syn_due = true;
    }

    /// Cancels a scheduled SYN. Called if the handshake is complete or has failed.
    pub fn give_up(&mut self) {
        self.syn_due = false;
    }

    #[inline]
    pub fn is_syn_due(&self) -> bool {
        self.syn_due
    }

    /// Records that a SYN was sent. Returns true if it was a retransmission.
    pub fn on_sent(&mut self, now: Time) -> bool {
        self.syn_due = false;
        let again = self.sent_at.is_some();
        self.resent += u32::from(again);
        self.sent_at.get_or_insert(now);
        again
    }

    /// Counts a timeout and schedules a retransmission. Returns false after `retries` retransmissions.
    pub fn retry(&mut self, retries: u32) -> bool {
        self.retries_before = self.retries;
        self.retries += 1;
        self.syn_due = self.retries <= retries;
        self.syn_due
    }

    /// True if the SYN was retransmitted. The answer to the SYN then provides no RTT sample (Karn's rule).
    pub fn is_resent(&self) -> bool {
        self.resent > 0
    }

    /// True if the SYN timed out and was sent at least 3 times. Without the timeout, the retransmissions may be answers
    /// to repeated SYNs of the peer.
    pub fn was_lost_twice(&self) -> bool {
        self.retries > 0 && self.resent > 1
    }

    /// Number of timeouts of the SYN.
    pub fn retries(&self) -> u32 {
        self.retries
    }

    /// Number of timeouts, excluding the timeout that caused the current SYN or SYN-ACK.
    pub fn retries_before(&self) -> u32 {
        self.retries_before
    }

    /// Number of SYNs or SYN-ACKs sent after the first.
    pub fn resent(&self) -> u32 {
        self.resent
    }

    /// Time at which the SYN was sent; `None` if it was never sent or was retransmitted.
    pub fn sent_once_at(&self) -> Option<Time> {
        self.sent_at.filter(|_| !self.is_resent())
    }

    /// Time of the first SYN.
    pub fn first_sent_at(&self) -> Option<Time> {
        self.sent_at
    }
}
