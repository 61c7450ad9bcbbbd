//! Loss recovery.
//!
//! `states` contains the congestion states and their transitions. `loss_detection` marks data as lost, `reduction`
//! reduces the window, and `undo` undoes spurious recoveries. `rto` handles timeouts, and `tlp` tail loss probes.

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
use crate::profile::{DuplicateCount, FastRecovery, LossDetection};
use crate::send::{AckOutcome, Flight, TxRecord};
use limited_transmit::LimitedTransmit;
use lopsided_core::tcp_event::CaState;
use lopsided_core::{Bytes, Duration, Time};
use loss_detection::rack::Rack;
use reduction::progress::Reduction;
use tail_probe::TailProbe;
use undo_state::UndoState;

/// The loss detection and recovery state of one connection.
#[derive(Debug)]
pub(crate) struct Recovery {
    ca_state: CaState,
    /// Highest offset that had been sent when the last fast retransmit or timeout occurred (RFC 6582's recover).
    repaired_to: Option<u64>,
    /// The congestion state ends when this offset is acknowledged (RFC 6675's RecoveryPoint).
    point: u64,
    /// The reduction that is under way; `None` if the controller's window is in force.
    reduction: Option<Box<Reduction>>,
    undo: UndoState,
    rack: Rack,
    /// True while F-RTO checks whether a timeout was spurious.
    frto: bool,
    /// True if F-RTO must send new data before any further retransmission (RFC 5682 section 3.1 step 2b).
    defer_retransmits: bool,
    /// The outstanding tail loss probe; `None` if no probe is outstanding.
    tlp: Option<TailProbe>,
    /// True if a tail loss probe must be sent.
    tlp_due: bool,
    /// Number of consecutive duplicate ACKs, which are the only loss signal without SACK.
    dupacks: u32,
    limited_transmit: LimitedTransmit,
    /// End of the last sent segment (4.4BSD's SND.NXT). A timeout resets it to the first unacknowledged byte.
    sent_to: u64,
    /// Reordering degree in segments if it exceeds the profile's threshold; otherwise 0.
    reordering: u32,
    /// Number of consecutive timeouts without an acknowledgement of new data.
    timeouts_in_a_row: u32,
    /// Number of segments that DSACKs have reported as duplicates.
    duplicates_reported: u64,
    /// True if the next new segment carries CWR (RFC 3168 section 6.1.2).
    cwr_due: bool,
    /// FreeBSD: true if a segment must be sent in answer to a partial acknowledgement.
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
            duplicates_reported: 0,
            cwr_due: false,
            answer_due: false,
        }
    }

    pub fn ca_state(&self) -> CaState {
        self.ca_state
    }

    /// Number of consecutive timeouts without an acknowledgement of new data.
    pub fn timeouts_in_a_row(&self) -> u32 {
        self.timeouts_in_a_row
    }

    pub fn dupacks(&self) -> u32 {
        self.dupacks
    }

    /// Number of ACKs that reported segments as delivered out of order.
    pub fn reordered(&self) -> u32 {
        self.rack.reordered()
    }

    /// True during a reduction. Recovery then sets the window in force instead of the controller.
    pub fn is_reducing(&self) -> bool {
        self.reduction.is_some()
    }

    // The window in force, and the bytes in flight.

    /// Bytes estimated to be in the network (RFC 6675's pipe). Without losses, this is all outstanding data.
    #[inline]
    pub fn in_flight(&self, flight: &Flight) -> u64 {
        if flight.scoreboard.is_unmarked() && self.dupacks == 0 && self.reduction.is_none() {
            return flight.window_taken();
        }
        self.estimate_in_flight(flight)
    }

    /// The slow path of [`Recovery::in_flight`].
    fn estimate_in_flight(&self, flight: &Flight) -> u64 {
        let out = flight.window_taken();
        let board = &flight.scoreboard;
        if flight.sack() {
            if let Some(budget) = self.budget(flight) {
                // FreeBSD's tcp_output (`sack_bytes_rxmt`): while no retransmission is outstanding, all outstanding
                // data counts as in flight.
                return if budget.again == 0 { out } else { budget.in_flight() };
            }
            if !flight.profile.limited_transmit && self.ca_state <= CaState::Disorder {
                return out;
            }
            if flight.counts_duplicates() && self.ca_state != CaState::Recovery {
                // FreeBSD counts all data up to the next transmission as in flight, even if parts of this data are
                // SACKed. After a timeout, data beyond the first pending retransmission therefore does not count.
                return board.first_pending().map_or(out, |start| start - flight.una());
            }
            (out + board.retrans_bytes()).saturating_sub(board.sacked_bytes() + board.lost_bytes())
        } else if flight.counts_duplicates() {
            // FreeBSD without SACK: all data up to the next transmission counts as in flight. Duplicate ACKs enlarge
            // the window instead.
            board.first_pending().map_or(out, |start| start - flight.una())
        } else {
            // Each duplicate ACK reports that one segment has left the network. Without limited transmit, duplicates
            // count only in recovery, or once their number reaches the threshold. ns-2 enlarges the window only in a
            // recovery (`last_cwnd_action_`).
            let left = u64::from(self.dupacks) * flight.mss();
            let only_in_recovery = flight.profile.fast_recovery == FastRecovery::CarefulReno;
            let counts = self.ca_state == CaState::Recovery
                || !only_in_recovery
                    && (flight.profile.limited_transmit || self.dupacks >= flight.profile.dup_threshold);
            let counted = if counts { left } else { 0 };
            (out + board.retrans_bytes()).saturating_sub(counted + board.lost_bytes())
        }
    }

    /// The congestion window in force: the controller's window, or recovery's during a reduction.
    #[inline]
    pub fn cwnd(&self, flight: &Flight) -> u64 {
        let window = self.reduction.as_ref().map_or_else(|| flight.controller.cwnd().get(), |reduction| reduction.cwnd);
        window.min(flight.max_window())
    }

    /// Returns the bytes in flight that are compared with the window before a retransmission.
    pub fn in_flight_for_retransmission(&self, flight: &Flight) -> u64 {
        self.budget(flight).map_or_else(|| self.in_flight(flight), |budget| budget.again)
    }

    /// Returns the number of bytes that may be in flight now: the window, plus the credit of limited transmit.
    #[inline]
    pub fn send_limit(&self, flight: &Flight) -> u64 {
        match self.limited_transmit.credit() {
            0 => self.cwnd(flight),
            // RFC 3042: the first two duplicate ACKs each permit one segment beyond the window.
            segments => {
                let to = if self.ca_state == CaState::Loss { self.sent_to } else { flight.nxt() };
                to.saturating_sub(flight.una()) + u64::from(segments) * flight.mss()
            }
        }
    }

    /// Returns the measurements of the path that are passed to the controller.
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

    /// True if lost data may be retransmitted now. `new_fits` is true if unsent data fits the peer's window.
    #[inline]
    pub fn may_retransmit(&self, flight: &Flight, new_fits: bool) -> bool {
        // RFC 5682 section 3.1 step 2b: F-RTO sends two new segments. Linux sends retransmissions with the rest of the
        // window: two segments fill its share of the interface's queue (tcp_small_queue_check), and when they leave,
        // retransmissions have precedence (tcp_tsq_write). If no third segment fits, Linux does not check its share.
        let deferred = self.defer_retransmits && (flight.nxt() < self.point + 2 * flight.mss() || !new_fits);
        self.ca_state >= CaState::Recovery && !deferred
    }

    /// Returns true if the next new segment must carry CWR, and clears the flag.
    #[inline]
    pub fn take_cwr_due(&mut self) -> bool {
        std::mem::take(&mut self.cwr_due)
    }

    /// Returns true if a partial acknowledgement must be answered, and clears the flag.
    #[inline]
    pub fn take_answer_due(&mut self) -> bool {
        std::mem::take(&mut self.answer_due)
    }

    /// True in the Open state if no reduction is under way and no probe is outstanding.
    #[inline]
    pub fn is_calm(&self) -> bool {
        self.ca_state == CaState::Open && self.reduction.is_none() && self.tlp.is_none()
    }

    /// True if [calm](Recovery::is_calm), and no duplicate ACK was counted and no segment was released by limited
    /// transmit. The controller's window is then in force.
    #[inline]
    pub fn is_undisturbed(&self) -> bool {
        self.is_calm() && self.dupacks == 0 && self.limited_transmit.credit() == 0
    }

    // The changes that an ACK causes before loss detection.

    /// Prepares for an acceptable ACK.
    #[inline]
    pub fn begin_ack(&mut self, flight: &mut Flight) {
        flight.end_burst();
        self.defer_retransmits = false;
        self.limited_transmit.end();
    }

    /// Handles an ACK that acknowledges no new data and is not a duplicate ACK.
    pub fn on_no_duplicate(&mut self, flight: &Flight) {
        let counting = flight.sack() || flight.counts_duplicates() || self.ca_state <= CaState::Disorder;
        if flight.profile.duplicates == DuplicateCount::InARow && counting {
            self.dupacks = 0;
        }
    }

    /// Records a delivered segment. `highest_sacked` is the highest offset that was SACKed before this ACK.
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
            // tcp_check_sack_reordering: if an original transmission is delivered below the highest SACK, the path
            // reorders.
            if highest_sacked.is_some_and(|highest| sent.end() < highest) {
                let from = outcome.reordered_from.unwrap_or(sent.start());
                outcome.reordered_from = Some(from.min(sent.start()));
            }
        }
    }

    /// Records the send time of a delivered segment. A segment whose last transmission was unnecessary counts too.
    #[inline]
    pub fn note_sample(&mut self, sent: &TxRecord) {
        self.rack.note_sample(sent.sent_at);
    }

    /// Widens RACK's window if the ACK shows that a DSACK's round trip is over.
    #[inline]
    pub fn update_reordering_window(&mut self, now: Time) {
        self.rack.update_window(now);
    }

    /// Records segments that were delivered in order; `newest` is the last segment. If no data is SACKed, lost or
    /// retransmitted, the result is the same as that of [`Recovery::on_delivered`] for each segment.
    #[inline]
    pub fn on_delivered_in_order(&mut self, now: Time, newest: &TxRecord) {
        self.note_sample(newest);
        self.rack.on_delivered(now, newest, None);
        self.update_reordering_window(now);
    }

    /// Processes a DSACK for a range (Linux's tcp_check_dsack). Returns the number of segments that were delivered
    /// twice.
    pub fn on_dsack(&mut self, flight: &Flight, start: i64, end: i64) -> u32 {
        let segments = ((end - start).max(1) as u64).div_ceil(flight.mss()) as u32;
        self.duplicates_reported += u64::from(segments);
        // If DSACKs report more duplicates than this end has retransmitted, the network has duplicated segments: ignore
        // the DSACK.
        if flight.profile.loss_detection == LossDetection::Rack
            && self.duplicates_reported > flight.counters.retransmits
        {
            return 0;
        }
        // A DSACK above the acknowledgement does not count towards undo.
        if end <= flight.una() as i64 {
            self.undo.on_dsack(end, segments);
        }
        // A DSACK that answers a tail loss probe does not widen RACK's window.
        let of_probe = self.tlp.is_some_and(|probe| probe.end as i64 == end);
        if !of_probe {
            self.rack.on_dsack();
        }
        segments
    }

    /// Resets the count of duplicate ACKs after new data was acknowledged. Used only with SACK.
    #[inline]
    pub fn on_sack_progress(&mut self) {
        self.dupacks = 0;
    }

    /// Ends the series of consecutive timeouts, because new data was acknowledged.
    #[inline]
    pub fn on_progress(&mut self) {
        self.timeouts_in_a_row = 0;
    }

    /// Records a retransmission that carries the timestamp `stamp`.
    pub fn on_retransmit(&mut self, stamp: u32) {
        self.undo.on_retransmit(stamp);
    }

    /// Notifies the controller of the segments marked lost. Call it before any other notification of the same ACK.
    #[inline]
    pub fn notify_losses(&mut self, now: Time, flight: &mut Flight) {
        if flight.scoreboard.has_losses() {
            self.notify_each_loss(now, flight);
        }
    }

    fn notify_each_loss(&mut self, now: Time, flight: &mut Flight) {
        for lost in flight.scoreboard.take_losses() {
            let path = self.path(flight);
            flight.controller.on_lost(now, &lost, &path);
        }
    }
}
