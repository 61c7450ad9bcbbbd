//! Who uses ECN with whom: the negotiation in the handshake (RFC 3168 section 6.1.1, RFC 9768 section 3.1) and what a
//! codepoint is sent with.
//!
//! Of RFC 9768 this end has the negotiation with its fall-backs to RFC 3168 and to none, forward compatibility (section
//! 3.1.3), the SYN that is sent again (3.1.4), and the checks for a mangled IP field (3.2.2.3) and a zeroed counter
//! (3.2.2.4), of which the answer is to send no more capable packets. Left out: capable SYNs, pure ACKs and
//! retransmissions (ECN++), so that of the fields that a handshake reports only not-capable can be right; SYN cookies;
//! the test for a path that marks everything.

use super::accurate::{AccEcnReceiver, AccEcnSender};
use super::feedback::{Feedback, ace_of, flags_of, handshake_ace};
use crate::{Connection, Controller, EcnRule, EcnUse, Profile, State};
use lopsided_core::Ecn;
use lopsided_core::packet::{Flags, TcpHeader};

/// What an end is ready for.
#[derive(Debug)]
pub(crate) struct Offer {
    /// It says so in its own SYN; otherwise it only answers.
    asks: bool,
    accurate: bool,
    /// What it does with a peer that knows RFC 3168 only.
    classic: Feedback,
    /// What its data is marked capable with where feedback is accurate.
    accurate_codepoint: Ecn,
}

impl Offer {
    pub fn new(profile: &Profile, controller: &dyn Controller) -> Offer {
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

const ASKS_CLASSIC: Flags = Flags(Flags::ECE.0 | Flags::CWR.0);
const ASKS_ACCURATE: Flags = Flags(ASKS_CLASSIC.0 | Flags::AE.0);

impl Connection {
    /// The ECN bits of a SYN or of its answer.
    pub(crate) fn syn_ecn_flags(&self) -> Flags {
        if self.state == State::SynSent {
            return self.asking_flags();
        }
        match (self.ecn, &self.accurate) {
            (Feedback::None, _) => Flags::NONE,
            (Feedback::Accurate, Some(received)) => flags_of(handshake_ace(received.syn_arrived_as)),
            _ => Flags::ECE,
        }
    }

    /// Something on the way may drop SYNs that ask for ECN. A classic one that is sent again does not ask (RFC 3168
    /// section 6.1.1.1), an accurate one does once more (RFC 9768 section 3.1.4.1).
    fn asking_flags(&self) -> Flags {
        match (self.ecn_offer.asks, self.ecn_offer.accurate, self.handshake.retries) {
            (true, true, 0..=1) => ASKS_ACCURATE,
            (true, false, 0) => ASKS_CLASSIC,
            _ => Flags::NONE,
        }
    }

    /// A SYN arrived: what it asks for and this end is ready for is agreed.
    pub(crate) fn agree_with_syn(&mut self, syn: &TcpHeader, arrived: Ecn) {
        match ace_of(syn.flags) {
            0b000 => {}
            // Any unknown combination asks for accurate ECN, or for what comes after it (RFC 9768 section 3.1.3).
            asked if asked != ace_of(ASKS_CLASSIC) && self.ecn_offer.accurate => self.agree_on_accurate(arrived),
            asked if asked & ace_of(ASKS_CLASSIC) == ace_of(ASKS_CLASSIC) => self.agree_on_classic(),
            _ => {}
        }
    }

    /// The answer to this end's SYN arrived (RFC 9768 table 2).
    pub(crate) fn agree_with_syn_ack(&mut self, syn_ack: &TcpHeader, arrived: Ecn) {
        let answer = ace_of(syn_ack.flags);
        if !self.ecn_offer.asks {
            return;
        }
        match answer {
            0b001 => self.agree_on_classic(),
            // The last one is a server that sends back what it got.
            0b000 | 0b111 => {}
            _ if !self.ecn_offer.accurate => {}
            _ => {
                self.agree_on_accurate(arrived);
                if let Some(received) = &mut self.accurate {
                    received.answer_handshake(arrived);
                }
                // The SYN was not capable; 0b101 is for later use and says that it came as it was sent.
                if !matches!(answer, 0b010 | 0b101) {
                    self.data_codepoint = Ecn::NotEct;
                }
            }
        }
    }

    /// The segment arrived that ends a passive open: its counter tells how the SYN/ACK arrived (RFC 9768 table 4).
    pub(crate) fn check_handshake_ack(&mut self, header: &TcpHeader) {
        if self.ecn == Feedback::Accurate && matches!(ace_of(header.flags), 0b000 | 0b011 | 0b100 | 0b110) {
            // Zeroed on the way, or a codepoint that the SYN/ACK did not have.
            self.data_codepoint = Ecn::NotEct;
        }
    }

    fn agree_on_classic(&mut self) {
        self.ecn = self.ecn_offer.classic;
        if self.ecn != Feedback::None {
            self.data_codepoint = Ecn::Ect0;
        }
    }

    fn agree_on_accurate(&mut self, arrived: Ecn) {
        self.ecn = Feedback::Accurate;
        self.data_codepoint = self.ecn_offer.accurate_codepoint;
        self.accurate = Some(Box::new(AccEcnReceiver::new(arrived)));
        self.send.accurate = Some(Box::new(AccEcnSender::default()));
    }
}
