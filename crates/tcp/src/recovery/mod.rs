//! Loss recovery.
//!
//! What an ACK that is not plain progress does in each congestion state (`states`), the rules by which data counts as
//! lost (`loss_detection`), the way down to the new window (`reduction`), the undo of what was not needed (`undo`),
//! timeouts (`rto`) and tail loss probes (`tlp`). [`Recovery`] owns the state of all of these; it works on the
//! [`Flight`] that it is lent.

mod duplicates;
mod limited_transmit;
mod loss_detection;
mod path_mtu;
mod reduction;
mod rto;
mod states;
mod tail_probe;
mod tlp;
mod undo;
mod undo_state;

pub(crate) use rto::{NoAnswer, TIMEOUTS_MAX};

use crate::cc::PathState;
use crate::profile::{DuplicateCount, LossDetection};
use crate::send::{AckOutcome, Flight, TxRecord};
use limited_transmit::LimitedTransmit;
use lopsided_core::tcp_event::CaState;
use lopsided_core::{Bytes, Duration, Time};
use loss_detection::rack::Rack;
use reduction::progress::Reduction;
use tail_probe::TailProbe;
use undo_state::UndoState;

#[derive(Debug)]
pub(crate) struct Recovery {
    ca_state: CaState,
    /// What had been sent when the last fast retransmit or timeout came (RFC 6582's recover).
    repaired_to: Option<u64>,
    /// Where a recovery began: it ends when this is acknowledged (RFC 6675's RecoveryPoint).
    point: u64,
    reduction: Option<Reduction>,
    undo: UndoState,
    rack: Rack,
    /// F-RTO is deciding whether a timeout was spurious.
    frto: bool,
    /// F-RTO wants new data out before anything is sent again.
    defer_retransmits: bool,
    tlp: Option<TailProbe>,
    tlp_due: bool,
    /// Duplicate ACKs in a row: all that a sender without SACK learns.
    dupacks: u32,
    limited_transmit: LimitedTransmit,
    /// The end of what went last, new or again: after a timeout it begins anew at the acknowledgement (4.4BSD's
    /// SND.NXT).
    sent_to: u64,
    /// Segments by which others were seen to fall back, where that is more than usual; zero for no more.
    reordering: u32,
    timeouts_in_a_row: u32,
    /// Segments that DSACKs told of, ever.
    duplicates_told: u64,
    /// The next new segment says that the window came down (RFC 3168 section 6.1.2).
    cwr_due: bool,
    /// FreeBSD: a partial acknowledgement came, which is answered with a segment in any case.
    answer_due: bool,
}

impl Recovery {
    pub fn new() -> Recovery {
        Recovery {
            ca_state: CaState::Open,
            repaired_to: None,
            point: 0,
            reduction: None,
            undo: UndoState::default(),
            rack: Rack::default(),
            frto: false,
            defer_retransmits: false,
            tlp: None,
            tlp_due: false,
            dupacks: 0,
            limited_transmit: LimitedTransmit::default(),
            sent_to: 0,
            reordering: 0,
            timeouts_in_a_row: 0,
            duplicates_told: 0,
            cwr_due: false,
            answer_due: false,
        }
    }

    pub fn ca_state(&self) -> CaState {
        self.ca_state
    }

    /// Timeouts in a row without progress.
    pub fn timeouts_in_a_row(&self) -> u32 {
        self.timeouts_in_a_row
    }

    pub fn dupacks(&self) -> u32 {
        self.dupacks
    }

    /// ACKs that told of segments delivered out of order.
    pub fn reordered(&self) -> u32 {
        self.rack.reordered()
    }

    /// A reduction is under way: the window is recovery's until it ends.
    pub fn is_reducing(&self) -> bool {
        self.reduction.is_some()
    }

    // The window, and what is out in it.

    /// Octets believed to be in the network (RFC 6675's pipe): mostly all that is out.
    #[inline]
    pub fn in_flight(&self, flight: &Flight) -> u64 {
        if flight.scoreboard.is_unmarked() && self.dupacks == 0 && self.reduction.is_none() {
            return flight.window_taken();
        }
        self.estimate_in_flight(flight)
    }

    fn estimate_in_flight(&self, flight: &Flight) -> u64 {
        let out = flight.window_taken();
        let board = &flight.scoreboard;
        if flight.sack() {
            if let Some(budget) = self.budget(flight) {
                // While nothing that went again is out, all that is out fills the window (`sack_bytes_rxmt` of
                // tcp_output).
                return if budget.again == 0 { out } else { budget.in_flight() };
            }
            if !flight.profile.limited_transmit && self.ca_state <= CaState::Disorder {
                return out;
            }
            if flight.counts_duplicates() && self.ca_state != CaState::Recovery {
                // All up to what goes next, whatever SACK says of it: after a timeout that is behind what it skips.
                return board.first_pending().map_or(out, |start| start - flight.una());
            }
            (out + board.retrans_bytes()).saturating_sub(board.sacked_bytes() + board.lost_bytes())
        } else if flight.counts_duplicates() {
            // All up to what goes next. Duplicates raise the window instead.
            board.first_pending().map_or(out, |start| start - flight.una())
        } else {
            // Each duplicate ACK says that one segment has left the network. Without limited transmit the first two say
            // nothing, after a timeout neither: what goes again is let go by the window alone.
            let left = u64::from(self.dupacks) * flight.mss();
            let counts = flight.profile.limited_transmit
                || self.ca_state == CaState::Recovery
                || self.dupacks >= flight.profile.dup_threshold;
            let counted = if counts { left } else { 0 };
            (out + board.retrans_bytes()).saturating_sub(counted + board.lost_bytes())
        }
    }

    /// The window that holds now: the controller's target, or recovery's way down to it.
    #[inline]
    pub fn cwnd(&self, flight: &Flight) -> u64 {
        let window = self.reduction.as_ref().map_or_else(|| flight.controller.cwnd().get(), |reduction| reduction.cwnd);
        window.min(flight.max_window())
    }

    /// Octets of it that a retransmission must leave room for.
    pub fn in_flight_for_retransmission(&self, flight: &Flight) -> u64 {
        self.budget(flight).map_or_else(|| self.in_flight(flight), |budget| budget.again)
    }

    /// Up to where what is in flight may go now: the window, or what duplicates let go beyond it.
    #[inline]
    pub fn send_limit(&self, flight: &Flight) -> u64 {
        match self.limited_transmit.credit() {
            0 => self.cwnd(flight),
            segments => {
                let to = if self.ca_state == CaState::Loss { self.sent_to } else { flight.nxt() };
                to.saturating_sub(flight.una()) + u64::from(segments) * flight.mss()
            }
        }
    }

    /// The connection as a controller may see it.
    pub fn path(&self, flight: &Flight) -> PathState {
        PathState {
            mss: Bytes::new(flight.mss()),
            in_flight: Bytes::new(self.in_flight(flight)),
            srtt: flight.rtt.srtt(),
            min_rtt: flight.rtt.min_rtt(),
            delivered: Bytes::new(flight.delivery.total()),
            lost: Bytes::new(flight.scoreboard.total_lost()),
            una: flight.una(),
            nxt: flight.nxt(),
            app_limited: flight.delivery.is_app_limited(),
            sack: flight.sack(),
            ca_state: self.ca_state,
        }
    }

    /// Whether lost data may be sent again now.
    #[inline]
    pub fn may_retransmit(&self) -> bool {
        self.ca_state >= CaState::Recovery && !self.defer_retransmits
    }

    /// Whether the next new segment says that the window came down; asked once.
    #[inline]
    pub fn take_cwr_due(&mut self) -> bool {
        std::mem::take(&mut self.cwr_due)
    }

    /// Whether a partial acknowledgement came that must be answered; asked once.
    #[inline]
    pub fn take_answer_due(&mut self) -> bool {
        std::mem::take(&mut self.answer_due)
    }

    /// Nothing is being found out, repaired or reduced.
    #[inline]
    pub fn is_calm(&self) -> bool {
        self.ca_state == CaState::Open && self.reduction.is_none() && self.tlp.is_none()
    }

    /// Nor has a duplicate been counted, or let anything go: the window is the controller's.
    #[inline]
    pub fn is_undisturbed(&self) -> bool {
        self.is_calm() && self.dupacks == 0 && self.limited_transmit.credit() == 0
    }

    // What an ACK brings, before it is judged.

    /// An acceptable acknowledgement arrived.
    #[inline]
    pub fn begin_ack(&mut self, flight: &mut Flight) {
        flight.end_burst();
        self.defer_retransmits = false;
        self.limited_transmit.end();
    }

    /// An acknowledgement that is neither progress nor a duplicate.
    pub fn on_no_duplicate(&mut self, flight: &Flight) {
        let counting = flight.sack() || flight.counts_duplicates() || self.ca_state <= CaState::Disorder;
        if flight.profile.duplicates == DuplicateCount::InARow && counting {
            self.dupacks = 0;
        }
    }

    /// A segment was delivered, `highest_sacked` being the highest offset SACKed before.
    #[inline]
    pub fn on_delivered(
        &mut self,
        now: Time,
        sent: &TxRecord,
        min_rtt: Option<Duration>,
        highest_sacked: Option<u64>,
        outcome: &mut AckOutcome,
    ) {
        self.rack.on_delivered(now, sent, min_rtt);
        if !sent.was_ever_retransmitted() {
            outcome.original_delivered |= sent.end() <= self.point;
            if highest_sacked.is_some_and(|highest| sent.end() < highest) {
                let from = outcome.reordered_from.unwrap_or(sent.start());
                outcome.reordered_from = Some(from.min(sent.start()));
            }
        }
    }

    /// As [`Recovery::on_delivered`], where nothing was SACKed or is under repair: segments were delivered in order,
    /// `newest` the last, and none was sent again.
    #[inline]
    pub fn on_delivered_in_order(&mut self, now: Time, newest: &TxRecord) {
        self.rack.on_delivered(now, newest, None);
    }

    /// A DSACK reports what lies from `start` to `end`; gives the segments that it says were delivered once more. Linux
    /// takes it for a sign of reordering only where some was seen, and not the answer to a probe; and what was not
    /// acknowledged before for none of a repair that was not needed. It believes in no more duplicates than segments
    /// went again, none of one DSACK else: whatever sent the others, it was not this sender.
    pub fn on_dsack(&mut self, flight: &Flight, start: i64, end: i64) -> u32 {
        let segments = ((end - start).max(1) as u64).div_ceil(flight.mss()) as u32;
        self.duplicates_told += u64::from(segments);
        if flight.profile.loss_detection == LossDetection::Rack && self.duplicates_told > flight.counters.retransmits {
            return 0;
        }
        if end <= flight.una() as i64 {
            self.undo.on_dsack(end, segments);
        }
        let of_probe = self.tlp.is_some_and(|probe| probe.end as i64 == end);
        if self.rack.reordering_seen() && !of_probe {
            self.rack.widen_for_reordering(flight.nxt(), flight.una());
        }
        segments
    }

    /// The cumulative acknowledgement advanced, with SACK: duplicates before it say nothing any more.
    #[inline]
    pub fn on_sack_progress(&mut self) {
        self.dupacks = 0;
    }

    /// An ACK advanced: the timeouts are over.
    #[inline]
    pub fn on_progress(&mut self) {
        self.timeouts_in_a_row = 0;
    }

    /// A segment goes out again.
    pub fn on_retransmit(&mut self, stamp: u32) {
        self.undo.on_retransmit(stamp);
    }

    /// Tells the controller what was marked lost, before it hears of anything else.
    #[inline]
    pub fn tell_losses(&mut self, now: Time, flight: &mut Flight) {
        if flight.scoreboard.has_losses() {
            self.tell_each_loss(now, flight);
        }
    }

    fn tell_each_loss(&mut self, now: Time, flight: &mut Flight) {
        for lost in flight.scoreboard.take_losses() {
            let path = self.path(flight);
            flight.controller.on_lost(now, &lost, &path);
        }
    }
}
