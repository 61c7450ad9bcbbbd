//! Who uses ECN with whom: the negotiation in the handshake (RFC 3168 section 6.1.1, RFC 9768 section 3.1) and what a
//! codepoint is sent with.
//!
//! Of RFC 9768 this end has the negotiation with its fall-backs to RFC 3168 and to none, forward compatibility (section
//! 3.1.3), the SYN that is sent again (3.1.4), and the checks for a mangled IP field (3.2.2.3) and a zeroed counter
//! (3.2.2.4), of which the answer is to send no more capable packets. Left out: capable SYNs, pure ACKs and
//! retransmissions (ECN++), so that of the fields that a handshake reports only not-capable can be right; SYN cookies;
//! the test for a path that marks everything.

use super::accurate::{AccEcnReceiver, AceFeedback};
use super::feedback::{Feedback, ace_of, flags_of, handshake_ace};
use crate::cc::{Controller, EcnUse};
use crate::profile::{EcnRule, Profile};
use lopsided_core::Ecn;
use lopsided_core::packet::{AccEcnOption, Flags, TcpHeader};

/// The form of ECN that an end offers or accepts.
#[derive(Debug)]
struct Offer {
    /// Whether its own SYN asks for ECN; if not, it only agrees when the peer asks.
    asks: bool,
    accurate: bool,
    /// How it answers a peer that knows RFC 3168 only.
    classic: Feedback,
    /// What its data is marked capable with where feedback is accurate.
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

/// What one end has agreed on, and what it echoes.
#[derive(Debug)]
pub(crate) struct EcnState {
    offer: Offer,
    feedback: Feedback,
    /// What new data is marked with.
    data_codepoint: Ecn,
    /// An arriving packet was marked: echo it until the peer says that it slowed down (RFC 3168 section 6.1.3).
    echo: bool,
    /// The counts of accurate feedback; and whether the peer's first was checked.
    accurate: Option<Box<AccEcnReceiver>>,
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

    /// How marks are fed back.
    #[inline]
    pub fn feedback(&self) -> Feedback {
        self.feedback
    }

    #[inline]
    pub fn is_accurate(&self) -> bool {
        self.feedback == Feedback::Accurate
    }

    /// The feedback is RFC 3168's echo, or DCTCP's.
    #[inline]
    pub fn is_echoed(&self) -> bool {
        matches!(self.feedback, Feedback::Classic | Feedback::DctcpEcho)
    }

    /// New data is ECN-capable once negotiated, ACKs and data sent again are not (RFC 3168 sections 6.1.4 and 6.1.5).
    #[inline]
    pub fn data_codepoint(&self) -> Ecn {
        self.data_codepoint
    }

    // The handshake.

    /// The ECN bits of a SYN that was sent `retries` times before. Something on the way may drop SYNs that ask for ECN.
    /// A classic one that is sent again does not ask (RFC 3168 section 6.1.1.1), an accurate one does once more
    /// (RFC 9768 section 3.1.4.1).
    pub fn syn_flags(&self, retries: u32) -> Flags {
        match (self.offer.asks, self.offer.accurate, retries) {
            (true, true, 0..=1) => ASKS_ACCURATE,
            (true, false, 0) => ASKS_CLASSIC,
            _ => Flags::NONE,
        }
    }

    /// The ECN bits of the answer to a SYN.
    pub fn syn_ack_flags(&self) -> Flags {
        match (self.feedback, &self.accurate) {
            (Feedback::None, _) => Flags::NONE,
            (Feedback::Accurate, Some(received)) => flags_of(handshake_ace(received.syn_arrived_as)),
            _ => Flags::ECE,
        }
    }

    /// A SYN arrived: what it asks for and this end is ready for is agreed.
    pub fn agree_with_syn(&mut self, syn: &TcpHeader, arrived: Ecn) {
        match ace_of(syn.flags) {
            0b000 => {}
            // Any unknown combination asks for accurate ECN, or for what comes after it (RFC 9768 section 3.1.3).
            asked if asked != ace_of(ASKS_CLASSIC) && self.offer.accurate => self.agree_on_accurate(arrived),
            asked if asked & ace_of(ASKS_CLASSIC) == ace_of(ASKS_CLASSIC) => self.agree_on_classic(),
            _ => {}
        }
    }

    /// The answer to this end's SYN arrived (RFC 9768 table 2).
    pub fn agree_with_syn_ack(&mut self, syn_ack: &TcpHeader, arrived: Ecn) {
        let answer = ace_of(syn_ack.flags);
        if !self.offer.asks {
            return;
        }
        match answer {
            0b001 => self.agree_on_classic(),
            // The last one is a server that sends back what it got.
            0b000 | 0b111 => {}
            _ if !self.offer.accurate => {}
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
    pub fn check_handshake_ack(&mut self, header: &TcpHeader) {
        if self.is_accurate() && matches!(ace_of(header.flags), 0b000 | 0b011 | 0b100 | 0b110) {
            // The field was zeroed on the path, or reports a codepoint that the SYN/ACK was not sent with.
            self.data_codepoint = Ecn::NotEct;
        }
    }

    /// The ACK of the SYN/ACK was lost: the next one says again how that arrived.
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

    // What arrives.

    /// With accurate feedback: counts a segment with `len` octets of data. True if it should be acknowledged at once.
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

    /// With RFC 3168's feedback: data arrived. Gives whether the peer says that it slowed down, and where a mark came,
    /// whether it is the first since it last did.
    pub fn on_classic_data(&mut self, flags: Flags, arrived: Ecn) -> (bool, Option<bool>) {
        let reduced = flags.has(Flags::CWR);
        let echoed = self.echo && !reduced;
        let marked = arrived == Ecn::Ce;
        self.echo = marked || echoed;
        (reduced, marked.then_some(!echoed))
    }

    /// Whether ACKs that go out now echo a mark.
    #[inline]
    pub fn echo(&self) -> bool {
        self.echo
    }

    pub fn set_echo(&mut self, echo: bool) {
        self.echo = echo;
    }

    // What goes out.

    /// The accurate-ECN option for a segment with so much room, and its bits; none without accurate feedback.
    #[inline]
    pub fn report(&mut self, room: u32) -> Option<(Option<AccEcnOption>, Flags)> {
        let received = self.accurate.as_mut()?;
        Some((received.option(room), received.flags()))
    }

    /// The option for the answer to a SYN.
    pub fn option_for_syn_ack(&mut self, room: u32) -> Option<AccEcnOption> {
        self.accurate.as_mut()?.option(room)
    }
}

const ASKS_CLASSIC: Flags = Flags(Flags::ECE.0 | Flags::CWR.0);
const ASKS_ACCURATE: Flags = Flags(ASKS_CLASSIC.0 | Flags::AE.0);
