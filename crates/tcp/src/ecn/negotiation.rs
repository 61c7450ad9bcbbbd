//! ECN negotiation in the handshake (RFC 3168 section 6.1.1, RFC 9768 section 3.1), and the ECN field of outgoing
//! segments.
//!
//! Implemented from RFC 9768: the fallback to RFC 3168, forward compatibility (section 3.1.3), retransmitted SYNs and
//! SYN-ACKs (3.1.4), the checks for a mangled IP field (3.2.2.3) and a zeroed counter (3.2.2.4), and the option
//! (3.2.3).
//!
//! Not implemented: ECN-capable SYNs of accurate ECN (ECN++), SYN cookies, and the test for a path that marks all
//! packets.

use super::accurate::{AccEcnReceiver, AceFeedback, OptionFit, first_option};
use super::feedback::{ace_of, flags_of, handshake_ace};
use crate::cc::{Controller, EcnUse, Feedback};
use crate::profile::{EcnRule, Profile};
use lopsided_core::Ecn;
use lopsided_core::packet::{AccEcnOption, Flags, TcpHeader};

/// The ECN modes that an end requests or accepts.
#[derive(Debug)]
struct Offer {
    /// True if this end's SYN requests ECN. If false, ECN is used only if the peer requests it.
    asks: bool,
    /// True if this end accepts accurate ECN, and prefers it to classic ECN in its requests.
    accurate: bool,
    /// True if a failed request or a changed ECN field ends the use of ECN (Linux's tcp_ecn_fallback).
    fallback: bool,
    /// True if this end sends the accurate-ECN option.
    option: bool,
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
            EcnUse::Classic => {
                (matches!(rule, EcnRule::Accurate | EcnRule::AcceptAccurate), Feedback::Classic, Ecn::Ect0)
            }
        };
        let asks = controller.ecn_use() != EcnUse::Classic || matches!(rule, EcnRule::On | EcnRule::Accurate);
        let (fallback, option) = (profile.ecn_fallback, profile.ecn_option);
        Offer { asks, accurate, fallback, option, classic, accurate_codepoint }
    }

    /// True for DCTCP without accurate ECN.
    fn needs_classic(&self) -> bool {
        self.classic == Feedback::DctcpEcho && !self.accurate
    }
}

/// The negotiated ECN state of one end.
#[derive(Debug)]
pub(crate) struct EcnState {
    offer: Offer,
    feedback: Feedback,
    /// ECN field of ECN-capable segments; not-ECT if ECN is not negotiated, or if the path changes the field.
    codepoint: Ecn,
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
            codepoint: Ecn::NotEct,
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

    /// Returns the ECN field of a segment. Retransmissions and ACKs (no `new_data`) are ECN-capable only with accurate
    /// ECN or DCTCP (RFC 3168 sections 6.1.4 and 6.1.5; Linux's tcp_ecn_send).
    #[inline]
    pub fn codepoint(&self, new_data: bool) -> Ecn {
        let always = matches!(self.feedback, Feedback::Accurate | Feedback::DctcpEcho);
        if new_data || always { self.codepoint } else { Ecn::NotEct }
    }

    /// Returns the ECN field of a SYN or SYN-ACK. With DCTCP, these segments are ECN-capable even if they carry no ECN
    /// bits: a queue with a low marking threshold would drop packets that are not ECN-capable (RFC 8257 section 3.5,
    /// Linux's tcp_ecn_send_syn).
    pub fn handshake_codepoint(&self) -> Ecn {
        if self.offer.needs_classic() { Ecn::Ect0 } else { Ecn::NotEct }
    }

    // The handshake.

    /// Returns the ECN bits of a SYN after `retries` timeouts. No retransmitted SYN requests classic ECN (RFC 3168
    /// section 6.1.1.1), and only the first requests accurate ECN (RFC 9768 section 3.1.4.1). Without the fallback, all
    /// SYNs carry the same bits.
    pub fn syn_flags(&self, retries: u32) -> Flags {
        match (self.offer.asks, self.offer.accurate, retries) {
            (true, true, _) if retries <= 1 || !self.offer.fallback => ASKS_ACCURATE,
            (true, false, _) if retries == 0 || !self.offer.fallback => ASKS_CLASSIC,
            _ => Flags::NONE,
        }
    }

    /// Returns the ECN bits of a SYN-ACK (Linux's tcp_ecn_make_synack). With accurate ECN, the third and later
    /// SYN-ACKs carry no ECN bits (RFC 9768 section 3.1.4.2). `timeouts` excludes the timeout that caused this SYN-ACK.
    pub fn syn_ack_flags(&self, timeouts: u32) -> Flags {
        match (self.feedback, &self.accurate) {
            (Feedback::None, _) => Flags::NONE,
            (Feedback::Accurate, Some(_)) if timeouts > 0 => Flags::NONE,
            (Feedback::Accurate, Some(received)) => flags_of(handshake_ace(received.syn_arrived_as)),
            _ => Flags::ECE,
        }
    }

    /// Records that a SYN-ACK was retransmitted `resent` times. After a SYN-ACK without ECN bits, this end still sends
    /// feedback, but no ECN-capable segments.
    pub fn note_syn_ack_resent(&mut self, resent: u32) {
        if resent > 1 && self.is_accurate() {
            self.codepoint = Ecn::NotEct;
        }
    }

    /// Processes a repeated SYN that arrives before the ACK of the SYN-ACK. The next SYN-ACK reports the ECN field of
    /// the repeated SYN. If the repeated SYN does not request ECN, this end sends no ECN-capable segments (RFC 9768
    /// section 3.1.5).
    pub fn on_repeated_syn(&mut self, syn: &TcpHeader, arrived: Ecn) {
        if let Some(received) = &mut self.accurate {
            received.syn_arrived_as = arrived;
            if ace_of(syn.flags) == 0 {
                self.codepoint = Ecn::NotEct;
            }
        }
    }

    /// Processes a SYN and selects the best mode that both ends support.
    pub fn agree_with_syn(&mut self, syn: &TcpHeader, arrived: Ecn) {
        match ace_of(syn.flags) {
            0b000 => {}
            // RFC 9768 section 3.1.3: an unknown combination of bits requests accurate ECN or its successor.
            asked if asked != ace_of(ASKS_CLASSIC) && self.offer.accurate => self.agree_on_accurate(arrived),
            // An ECN-capable SYN is from a peer with DCTCP, which would misread the echo of RFC 3168
            // (tcp_ecn_create_request).
            asked
                if asked & ace_of(ASKS_CLASSIC) == ace_of(ASKS_CLASSIC)
                    && (arrived == Ecn::NotEct || self.offer.needs_classic()) =>
            {
                self.agree_on_classic();
            }
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
                self.note_peer_option(syn_ack);
                // The SYN was sent as not-ECT. If the peer reports a different codepoint, the path has changed the ECN
                // field of the SYN. 0b101 is reserved and counts as unchanged.
                if self.offer.fallback && !matches!(answer, 0b010 | 0b101) {
                    self.codepoint = Ecn::NotEct;
                }
            }
        }
    }

    /// Processes the segment that completes a passive open. If the segment carries no data, its counter reports the ECN
    /// field of the SYN-ACK (RFC 9768 table 4). Returns the number of marked packets.
    pub fn check_handshake_ack(&mut self, header: &TcpHeader, len: u32) -> u64 {
        if !self.is_accurate() {
            return 0;
        }
        let reported = ace_of(header.flags);
        // A middlebox has zeroed the field, or the path has changed the IP field of the SYN-ACK: send no ECN-capable
        // packets.
        let changed = len == 0 && matches!(reported, 0b011 | 0b100 | 0b110);
        if reported == 0 || (changed && self.offer.fallback) {
            self.codepoint = Ecn::NotEct;
        }
        u64::from(len == 0 && reported == 0b110)
    }

    /// Reports the ECN field of a SYN-ACK that arrived again.
    pub fn answer_handshake_again(&mut self, arrived: Ecn) {
        if let Some(received) = &mut self.accurate {
            received.answer_handshake(arrived);
        }
    }

    fn agree_on_classic(&mut self) {
        self.feedback = self.offer.classic;
        if self.feedback != Feedback::None {
            self.codepoint = Ecn::Ect0;
        }
    }

    fn agree_on_accurate(&mut self, arrived: Ecn) {
        self.feedback = Feedback::Accurate;
        self.codepoint = self.offer.accurate_codepoint;
        self.accurate = Some(Box::new(AccEcnReceiver::new(arrived)));
    }

    // Arriving segments.

    /// Counts a segment with `len` bytes for accurate feedback. Returns true if the data must be acknowledged at once.
    pub fn count(&mut self, header: &TcpHeader, len: u32, arrived: Ecn) -> bool {
        self.note_peer_option(header);
        let Some(received) = &mut self.accurate else { return false };
        let at_once = received.take(arrived, len);
        if !self.peer_count_seen {
            self.peer_count_seen = true;
            if AceFeedback::of(header, false).is_zeroed() {
                self.codepoint = Ecn::NotEct;
            }
        }
        at_once
    }

    /// Processes arriving data for RFC 3168 feedback. The first result is true if the segment carries CWR. The second
    /// is `None` for unmarked data; for marked data it is true if the mark is the first mark since the last CWR.
    pub fn on_classic_data(&mut self, flags: Flags, arrived: Ecn) -> (bool, Option<bool>) {
        let reduced = flags.has(Flags::CWR);
        let echoed = self.echo && !reduced;
        let marked = arrived == Ecn::Ce;
        self.echo = marked || echoed;
        (reduced, marked.then_some(!echoed))
    }

    /// Turns the accurate-ECN option on or off.
    pub fn set_option(&mut self, on: bool) {
        self.offer.option = on;
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

    /// Fits the accurate-ECN option into the next segment (see [`AccEcnReceiver::fit_option`]); `None` if the segment
    /// has no option.
    pub fn fit_option(&self, room: u32, sack_blocks: usize) -> Option<OptionFit> {
        self.accurate.as_ref().filter(|_| self.offer.option)?.fit_option(room, sack_blocks)
    }

    /// Returns the accurate-ECN option and the ACE bits; `None` without accurate feedback. `dsack` is the start of the
    /// DSACK block.
    pub fn report(&mut self, counters: Option<u32>, dsack: Option<u64>) -> Option<(Option<AccEcnOption>, Flags)> {
        let received = self.accurate.as_mut()?;
        received.note_sent(counters.is_some(), dsack);
        Some((counters.map(|counters| received.option(counters)), received.flags()))
    }

    /// Returns the accurate-ECN option of the first SYN-ACK; `None` if the option is off or accurate ECN is not
    /// negotiated.
    pub fn option_for_syn_ack(&self) -> Option<AccEcnOption> {
        self.accurate.as_ref().filter(|_| self.offer.option).map(|_| first_option())
    }

    /// Processes data beginning at `start` that arrived again, see [`AccEcnReceiver::note_duplicate`].
    pub fn note_duplicate(&mut self, start: i64) {
        if let Some(received) = &mut self.accurate {
            received.note_duplicate(start);
        }
    }

    /// Number of marked packets that this end has received; `None` without accurate feedback.
    pub fn received_marks(&self) -> Option<u64> {
        Some(self.accurate.as_ref()?.packets())
    }

    fn note_peer_option(&mut self, header: &TcpHeader) {
        if let Some(received) = &mut self.accurate {
            received.peer_sends_option |= header.options.accurate_ecn().is_some();
        }
    }
}

/// ECN bits of a SYN that requests classic ECN (RFC 3168 section 6.1.1).
const ASKS_CLASSIC: Flags = Flags(Flags::ECE.0 | Flags::CWR.0);
/// ECN bits of a SYN that requests accurate ECN (RFC 9768 section 3.1.1).
const ASKS_ACCURATE: Flags = Flags(ASKS_CLASSIC.0 | Flags::AE.0);
