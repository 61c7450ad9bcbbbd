//! ECN negotiation in the handshake (RFC 3168 section 6.1.1, RFC 9768 section 3.1), and the ECN field of outgoing
//! segments.
//!
//! Parts of RFC 9768 that are implemented: the negotiation, which falls back to RFC 3168 or to no ECN; forward
//! compatibility (section 3.1.3); the retransmitted SYN (3.1.4); and the checks for a mangled IP field (3.2.2.3) and a
//! zeroed counter (3.2.2.4). After a failed check this end sends no ECN-capable packets.
//!
//! Not implemented: ECN-capable SYNs, pure ACKs and retransmissions (ECN++), so the handshake always reports not-ECT;
//! SYN cookies; the test for a path that marks all packets.

use super::accurate::{AccEcnReceiver, AceFeedback};
use super::feedback::{Feedback, ace_of, flags_of, handshake_ace};
use crate::cc::{Controller, EcnUse};
use crate::profile::{EcnRule, Profile};
use lopsided_core::Ecn;
use lopsided_core::packet::{AccEcnOption, Flags, TcpHeader};

/// The ECN modes that an end requests or accepts.
#[derive(Debug)]
struct Offer {
    /// True if this end's SYN requests ECN. If false, this end only accepts ECN if the peer requests it.
    asks: bool,
    /// True if this end requests or accepts accurate ECN.
    accurate: bool,
    /// Kind of feedback to use if the peer supports only RFC 3168.
    classic: Feedback,
    /// ECN field of this end's data if accurate feedback is negotiated.
    accurate_codepoint: Ecn,
}

impl Offer {
    fn new(profile: &Profile, controller: &dyn Controller) -> Offer {
        let rule = profile.ecn;
        let (accurate, classic, accurate_codepoint) = match controller.ecn_use() {
            EcnUse::Accurate => (true, Feedback::Classic, Ecn::Ect1),
            EcnUse::DctcpEcho => (rule == EcnRule::Accurate, Feedback::DctcpEcho, Ecn::Ect0),
            EcnUse::Classic if rule == EcnRule::Off => (false, Feedback::None, Ecn::NotEct),
            EcnUse::Classic => (rule == EcnRule::Accurate, Feedback::Classic, Ecn::Ect0),
        };
        let asks = controller.ecn_use() != EcnUse::Classic || matches!(rule, EcnRule::On | EcnRule::Accurate);
        Offer { asks, accurate, classic, accurate_codepoint }
    }
}

/// The negotiated ECN state of one end.
#[derive(Debug)]
pub(crate) struct EcnState {
    offer: Offer,
    feedback: Feedback,
    /// ECN field of new data if ECN is negotiated.
    data_codepoint: Ecn,
    /// True if outgoing ACKs carry ECE.
    echo: bool,
    /// The counters of accurate feedback; `None` if not negotiated.
    accurate: Option<Box<AccEcnReceiver>>,
    /// True if the peer's first packet count was checked.
    peer_count_seen: bool,
}

impl EcnState {
    pub fn new(profile: &Profile, controller: &dyn Controller) -> EcnState {
        EcnState {
            offer: Offer::new(profile, controller),
            feedback: Feedback::None,
            data_codepoint: Ecn::NotEct,
            echo: false,
            accurate: None,
            peer_count_seen: false,
        }
    }

    /// The negotiated feedback.
    #[inline]
    pub fn feedback(&self) -> Feedback {
        self.feedback
    }

    #[inline]
    pub fn is_accurate(&self) -> bool {
        self.feedback == Feedback::Accurate
    }

    /// True if marks are reported by ECE, as in RFC 3168 and DCTCP.
    #[inline]
    pub fn is_echoed(&self) -> bool {
        matches!(self.feedback, Feedback::Classic | Feedback::DctcpEcho)
    }

    /// ECN field of new data. ACKs and retransmissions are never ECN-capable (RFC 3168 sections 6.1.4 and 6.1.5).
    #[inline]
    pub fn data_codepoint(&self) -> Ecn {
        self.data_codepoint
    }

    // The handshake.

    /// Returns the ECN bits of a SYN that has been sent `retries` times before. Because the path may drop SYNs that
    /// request ECN, a retransmitted SYN no longer requests classic ECN (RFC 3168 section 6.1.1.1), and requests
    /// accurate ECN only once more (RFC 9768 section 3.1.4.1).
    pub fn syn_flags(&self, retries: u32) -> Flags {
        match (self.offer.asks, self.offer.accurate, retries) {
            (true, true, 0..=1) => ASKS_ACCURATE,
            (true, false, 0) => ASKS_CLASSIC,
            _ => Flags::NONE,
        }
    }

    /// The ECN bits of a SYN-ACK.
    pub fn syn_ack_flags(&self) -> Flags {
        match (self.feedback, &self.accurate) {
            (Feedback::None, _) => Flags::NONE,
            (Feedback::Accurate, Some(received)) => flags_of(handshake_ace(received.syn_arrived_as)),
            _ => Flags::ECE,
        }
    }

    /// Processes a SYN and selects the best mode that both ends support.
    pub fn agree_with_syn(&mut self, syn: &TcpHeader, arrived: Ecn) {
        match ace_of(syn.flags) {
            0b000 => {}
            // RFC 9768 section 3.1.3: an unknown combination of bits requests accurate ECN or a successor of it.
            asked if asked != ace_of(ASKS_CLASSIC) && self.offer.accurate => self.agree_on_accurate(arrived),
            asked if asked & ace_of(ASKS_CLASSIC) == ace_of(ASKS_CLASSIC) => self.agree_on_classic(),
            _ => {}
        }
    }

    /// Processes the SYN-ACK (RFC 9768 table 2).
    pub fn agree_with_syn_ack(&mut self, syn_ack: &TcpHeader, arrived: Ecn) {
        let answer = ace_of(syn_ack.flags);
        if !self.offer.asks {
            return;
        }
        match answer {
            0b001 => self.agree_on_classic(),
            // 0b111: the server does not support ECN and merely copied the bits of the SYN.
            0b000 | 0b111 => {}
            _ if !self.offer.accurate => {}
            _ => {
                self.agree_on_accurate(arrived);
                if let Some(received) = &mut self.accurate {
                    received.answer_handshake(arrived);
                }
                // The SYN was sent as not-ECT, so any other report means that the path changed its IP field. 0b101 is
                // reserved and counts as unchanged.
                if !matches!(answer, 0b010 | 0b101) {
                    self.data_codepoint = Ecn::NotEct;
                }
            }
        }
    }

    /// Processes the ACK that completes a passive open. Its counter reports the ECN field of the SYN-ACK (RFC 9768
    /// table 4).
    pub fn check_handshake_ack(&mut self, header: &TcpHeader) {
        if self.is_accurate() && matches!(ace_of(header.flags), 0b000 | 0b011 | 0b100 | 0b110) {
            // A middlebox has zeroed the field, or the path has changed the SYN-ACK's IP field: send no ECN-capable
            // packets.
            self.data_codepoint = Ecn::NotEct;
        }
    }

    /// Repeats the report about the SYN-ACK, in case the ACK that carried the first report was lost.
    pub fn answer_handshake_again(&mut self) {
        if let Some(received) = &mut self.accurate {
            received.answer_handshake(received.syn_arrived_as);
        }
    }

    fn agree_on_classic(&mut self) {
        self.feedback = self.offer.classic;
        if self.feedback != Feedback::None {
            self.data_codepoint = Ecn::Ect0;
        }
    }

    fn agree_on_accurate(&mut self, arrived: Ecn) {
        self.feedback = Feedback::Accurate;
        self.data_codepoint = self.offer.accurate_codepoint;
        self.accurate = Some(Box::new(AccEcnReceiver::new(arrived)));
    }

    // Arriving segments.

    /// Counts a segment with `len` bytes of data for accurate feedback. Returns true if it must be acknowledged at
    /// once.
    pub fn count(&mut self, header: &TcpHeader, len: u32, arrived: Ecn) -> bool {
        let Some(received) = &mut self.accurate else { return false };
        let at_once = received.take(arrived, len);
        if !self.peer_count_seen {
            self.peer_count_seen = true;
            if AceFeedback::of(header).is_zeroed() {
                self.data_codepoint = Ecn::NotEct;
            }
        }
        at_once
    }

    /// Processes arriving data for RFC 3168 feedback. The first result is true if the segment carries CWR. The second
    /// is `None` for unmarked data. For marked data it is true if no mark has arrived since the last CWR.
    pub fn on_classic_data(&mut self, flags: Flags, arrived: Ecn) -> (bool, Option<bool>) {
        let reduced = flags.has(Flags::CWR);
        let echoed = self.echo && !reduced;
        let marked = arrived == Ecn::Ce;
        self.echo = marked || echoed;
        (reduced, marked.then_some(!echoed))
    }

    /// True if outgoing ACKs carry ECE.
    #[inline]
    pub fn echo(&self) -> bool {
        self.echo
    }

    pub fn set_echo(&mut self, echo: bool) {
        self.echo = echo;
    }

    // Outgoing segments.

    /// The accurate-ECN option for a segment with `room` bytes of option space, and the ACE bits; `None` without
    /// accurate feedback.
    #[inline]
    pub fn report(&mut self, room: u32) -> Option<(Option<AccEcnOption>, Flags)> {
        let received = self.accurate.as_mut()?;
        Some((received.option(room), received.flags()))
    }

    /// The accurate-ECN option of a SYN-ACK.
    pub fn option_for_syn_ack(&mut self, room: u32) -> Option<AccEcnOption> {
        self.accurate.as_mut()?.option(room)
    }
}

/// ECN bits of a SYN that requests classic ECN (RFC 3168 section 6.1.1).
const ASKS_CLASSIC: Flags = Flags(Flags::ECE.0 | Flags::CWR.0);
/// ECN bits of a SYN that requests accurate ECN (RFC 9768 section 3.1.1).
const ASKS_ACCURATE: Flags = Flags(ASKS_CLASSIC.0 | Flags::AE.0);
