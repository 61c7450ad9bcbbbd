//! Chooses the next segment to send: a probe, lost data, or new data that fits both windows.

use super::Sender;
use crate::cc::Idle;
use crate::profile::{IdleRestart, PushRule};
use crate::recovery::Recovery;
use crate::send::Flight;
use lopsided_core::tcp_event::{CaState, Limit, TcpEvent, TcpEventMask, TimerKind};
use lopsided_core::{BitRate, Bytes, Duration, Time};

/// The kind of segment that can be sent immediately after another segment, at the same instant.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
#[doc(hidden)]
pub enum Next {
    /// No segment is ready. Another call would change nothing.
    Nothing,
    /// A full segment of new data is ready. Call [`write_full_segment`](crate::Connection::write_full_segment) before
    /// any other function of the connection.
    Full,
    /// Unknown: call [`write_segment`](crate::Connection::write_segment).
    Open,
}

/// Time until the next attempt after the host's own interface refused a segment: Linux's `TCP_RESOURCE_PROBE_INTERVAL`.
const RESOURCE_PROBE_INTERVAL: Duration = Duration::from_millis(500);

/// Kind of a [`Piece`]: new data, a retransmission or a window probe.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(crate) enum PieceKind {
    /// Data that was never sent before.
    New,
    /// A retransmission.
    Again,
    /// A probe of the peer's window, without data.
    WindowProbe,
}

/// A piece of the stream to send in one segment.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(crate) struct Piece {
    /// Stream offset of the first byte.
    pub start: u64,
    /// Number of data bytes.
    pub len: u32,
    /// True if the segment carries the FIN.
    pub fin: bool,
    pub kind: PieceKind,
    /// Bytes in flight before this piece was sent.
    pub in_flight: u64,
    /// True for the first new data after a window reduction (RFC 3168 section 6.1.2).
    pub reduced: bool,
}

impl Piece {
    fn new(start: u64, len: u64, fin: bool, in_flight: u64) -> Piece {
        Piece { start, len: len as u32, fin, kind: PieceKind::New, in_flight, reduced: false }
    }

    fn end(&self) -> u64 {
        self.start + u64::from(self.len) + u64::from(self.fin)
    }
}

impl Sender {
    /// True if nothing is outstanding, no data is left to send and no probe is due.
    #[inline]
    pub fn is_done(&mut self, now: Time) -> bool {
        let done = self.flight.scoreboard.is_empty() && self.has_sent_all() && !self.window_probe_due;
        if done {
            self.limited(now, Limit::Application);
        }
        done
    }

    /// True if no new data is left to send.
    #[inline(always)]
    pub fn has_sent_all(&self) -> bool {
        self.flight.nxt() == self.stream_end()
    }

    /// Returns the next piece and records it as sent. The sender must not be [done](Sender::is_done). `full` is the
    /// payload of a full segment (RFC 9293 section 3.7.1).
    #[inline(always)]
    pub fn poll(&mut self, now: Time, full: u64) -> Option<Piece> {
        let piece = self.next_piece(now, full);
        if piece.is_none() && self.fin_follows { self.poll_fin(now, full) } else { piece }
    }

    /// Sends the FIN if it follows the data in a separate segment.
    #[cold]
    fn poll_fin(&mut self, now: Time, full: u64) -> Option<Piece> {
        self.fin_follows = false;
        self.next_piece(now, full)
    }

    /// Chooses the next piece. The order of precedence is: tail loss probe, retransmission, window probe, new data.
    #[inline(always)]
    fn next_piece(&mut self, now: Time, full: u64) -> Option<Piece> {
        if self.recovery.take_probe_due() {
            return self.send_tail_probe(now, full);
        }
        // Pacing delays all segments except tail loss probes. A burst limit does not delay the fast retransmit, which is
        // a single segment.
        if let Some(until) = self.pacing.holds_until(now).filter(|_| !self.is_single_retransmit()) {
            self.flight.timers.set(TimerKind::Pacing, until);
            self.limited(now, Limit::Pacing);
            let blocked = self.in_flight() >= self.cwnd();
            let left = self.flight.nxt() < self.stream_end();
            self.window_use.note(blocked, left, self.flight.una(), self.flight.nxt());
            return None;
        }
        self.flight.timers.stop(TimerKind::Pacing);
        if let Some(number) = self.next_to_retransmit() {
            // After a timeout, retransmissions are sent in bursts, as new data is.
            if self.flight.profile.max_burst > 0 && !self.is_single_retransmit() && self.ends_burst(now) {
                return None;
            }
            return Some(self.retransmit(now, number, false));
        }
        // A window probe is sent only if no retransmission can probe the window instead.
        if std::mem::take(&mut self.window_probe_due) {
            return Some(self.send_window_probe(now, full));
        }
        self.restart_after_idle(now);
        let piece = self.next_new(now, full)?;
        if self.flight.profile.max_burst > 0 && self.ends_burst(now) {
            return None;
        }
        Some(self.send_new(now, piece, full))
    }

    /// Predicts the result of the next [`Sender::poll`] without sending:
    /// - [`Next::Nothing`] if the window is full or no data is left. Records the limit, as `poll` does.
    /// - [`Next::Full`] if [`Sender::send_full`] can send a full segment. Returned only while data is outstanding.
    /// - [`Next::Open`] if the result cannot be predicted, or if a trace records each segment.
    #[inline(always)]
    pub fn predict_next(&mut self, now: Time, full: u64) -> Next {
        let (end, nxt) = (self.buffer.end(), self.flight.nxt());
        let nothing_else = self.flight.scoreboard.lost_segments() == 0
            && !self.recovery.is_probe_due()
            && !self.window_probe_due
            && !self.is_closed()
            && self.pacing.holds_until(now).is_none()
            && self.old_segments.left(nxt).is_none()
            && self.flight.trace.is_off();
        if !nothing_else {
            return Next::Open;
        }
        let in_flight = self.in_flight();
        let nothing_left = nxt == end;
        // When no data is left, the window counts as full unless it has space for another full segment.
        let full_window = if nothing_left {
            in_flight + full > self.cwnd()
        } else {
            in_flight + full > self.recovery.send_limit(&self.flight)
        };
        let fits_peer = nxt + full <= end && nxt + full <= self.flight.una() + self.window.size();
        self.flight.timers.stop(TimerKind::Pacing);
        if nothing_left || (fits_peer && full_window && in_flight > 0) {
            self.limited(now, if full_window { Limit::Congestion } else { Limit::Application });
            self.note_window_use(now, full_window);
            return Next::Nothing;
        }
        // If `full` is smaller than the MSS, options of this segment (such as SACK) take space, and the size of the
        // next segment may differ.
        let goes_on = fits_peer && full == self.flight.mss() && self.flight.profile.max_burst == 0 && in_flight > 0;
        if !goes_on {
            return Next::Open;
        }
        self.run = self.full_segments(in_flight, full);
        Next::Full
    }

    /// Number of full segments that may be sent now without further checks, at least 1.
    #[inline]
    fn full_segments(&self, in_flight: u64, full: u64) -> u64 {
        let alike = self.recovery.is_undisturbed() && self.flight.scoreboard.is_unmarked() && !self.pacing.is_on();
        if !alike {
            return 1;
        }
        let (nxt, window_end) = (self.flight.nxt(), self.flight.una() + self.window.size());
        let octets = (self.cwnd() - in_flight).min(self.buffer.end().min(window_end) - nxt);
        octets / full
    }

    /// Sends the full segment that [`Sender::predict_next`] or [`Sender::follows_full`] predicted. Call it directly
    /// after the prediction.
    #[inline(always)]
    pub fn send_full(&mut self, now: Time) -> Piece {
        let full = self.flight.mss();
        let piece = Piece::new(self.flight.nxt(), full, false, self.in_flight());
        debug_assert_eq!(self.next_new(now, full), Some(piece), "the predicted segment is next");
        self.run -= 1;
        self.send_new(now, piece, full)
    }

    /// Predicts what [`Sender::poll`] would return after [`Sender::send_full`].
    #[inline(always)]
    pub fn follows_full(&mut self, now: Time) -> Next {
        if self.run > 0 { Next::Full } else { self.predict_next(now, self.flight.mss()) }
    }

    /// Handles data that cannot be sent because the interface's queue is full. As in Linux, the data does not count as
    /// sent, and the congestion window is reduced once. An ACK or the persist timer causes the next attempt.
    pub fn refuse(&mut self, now: Time, full: u64) {
        let probe = std::mem::take(&mut self.window_probe_due);
        if !probe && self.next_to_retransmit().is_none() && self.next_refused(now, full).is_none() {
            return;
        }
        self.recovery.on_local_congestion(now, &mut self.flight);
        if probe {
            // tcp_send_probe0: a probe that the host itself refuses gives no information about the path, so the timer
            // is armed without backoff.
            self.flight.arm(now, TimerKind::Persist, RESOURCE_PROBE_INTERVAL);
        } else if self.flight.outstanding() == 0 {
            self.flight.arm_persist(now);
        }
    }

    /// True if a fast retransmit is due, and pauses between bursts are the only form of pacing.
    #[cold]
    fn is_single_retransmit(&self) -> bool {
        self.flight.profile.max_burst > 0 && !self.pacing.is_on() && self.recovery.fast_retransmit_is_due()
    }

    /// True if the burst limit is reached. Then arms the pacing timer: the next burst starts after SRTT * burst limit /
    /// window.
    fn ends_burst(&mut self, now: Time) -> bool {
        let most = self.flight.profile.max_burst;
        let segments = (self.cwnd() / self.flight.mss()).max(1);
        let srtt = self.flight.rtt.srtt_by_ack().unwrap_or(Duration::ZERO);
        if self.pacing.lets_burst_go_on(now, most, self.flight.profile.burst_tick, || srtt * u64::from(most) / segments)
        {
            return false;
        }
        let until = self.pacing.holds_until(now).unwrap_or(now);
        self.flight.timers.set(TimerKind::Pacing, until);
        self.limited(now, Limit::Pacing);
        true
    }

    /// Returns the number of the first lost segment if the windows permit its retransmission.
    #[inline(always)]
    fn next_to_retransmit(&mut self) -> Option<u64> {
        if self.flight.scoreboard.lost_segments() == 0 { None } else { self.next_lost() }
    }

    /// The slow path of [`Sender::next_to_retransmit`].
    fn next_lost(&mut self) -> Option<u64> {
        // tcp_xmit_retransmit_queue: a segment that was retransmitted before an undo is no longer lost, but still counts
        // as a retransmission.
        if self.flight.scoreboard.retrans_out() >= self.flight.scoreboard.lost_segments() {
            return None;
        }
        let (nxt, end) = (self.flight.nxt(), self.buffer.end());
        let new_fits = nxt < end && end.min(nxt + self.flight.mss()) <= self.flight.una() + self.window.size();
        if !self.recovery.may_retransmit(&self.flight, new_fits) {
            return None;
        }
        let in_flight = self.recovery.in_flight_for_retransmission(&self.flight);
        let board = &mut self.flight.scoreboard;
        let number = board.next_to_retransmit()?;
        let (start, len) = (board.get(number).start(), board.get(number).weight());
        if start >= self.flight.una() + self.window.size() && number != self.flight.scoreboard.first_number() {
            // The peer has shrunk its window, and the segment is now outside of it.
            return None;
        }
        // RFC 6675 section 5 step 4.3: the first retransmission of a recovery is sent even if the window is full.
        let limit = self.recovery.send_limit(&self.flight);
        let fits = in_flight + len <= limit || in_flight == 0 || self.recovery.fast_retransmit_is_due();
        fits.then_some(number)
    }

    /// Like [`Sender::next_new`], but not inlined, to keep the hot path small.
    #[cold]
    fn next_refused(&mut self, now: Time, full: u64) -> Option<Piece> {
        self.next_new(now, full)
    }

    /// Returns the next piece of new data; `None` if a window or the rules for short segments forbid sending it.
    #[inline(always)]
    fn next_new(&mut self, now: Time, full: u64) -> Option<Piece> {
        let (end, nxt) = (self.buffer.end(), self.flight.nxt());
        let left = end.saturating_sub(nxt);
        let fin_left = self.is_closed() && nxt <= end;
        if left == 0 && !fin_left {
            // The window also counts as full if it has no space for another full segment.
            let full_window = self.in_flight() + full > self.cwnd();
            self.limited(now, if full_window { Limit::Congestion } else { Limit::Application });
            self.note_window_use(now, full_window);
            return None;
        }
        let window_left = (self.flight.una() + self.window.size()).saturating_sub(nxt);
        let old = self.old_segments.left(nxt);
        let wanted = old.unwrap_or(left).min(left).min(full);
        let len = wanted.min(window_left);
        let fin = fin_left && len == left && !(self.fin_follows && len > 0);
        if fin && !self.has_room_for_fin(len, window_left) {
            if self.flight.outstanding() == 0 {
                self.flight.arm_persist(now);
            }
            self.limited(now, Limit::Receiver);
            self.note_window_use(now, false);
            return None;
        }
        // Silly-window avoidance (RFC 9293 section 3.8.6.2.1): a piece that is shorter than a segment, and shorter than
        // half of the peer's buffer, waits for a larger window or the persist timer. Nagle (section 3.7.4): a short
        // last piece of the written data waits for the ACK of outstanding data.
        let short = len < full && !fin && (len < self.window.largest() / 2 || len == 0);
        if short && (len < wanted || (len == left && self.holds_short_back())) {
            if self.flight.outstanding() == 0 {
                self.flight.arm_persist(now);
            }
            self.limited(now, if len < wanted { Limit::Receiver } else { Limit::Nagle });
            let full_window = self.in_flight() + full > self.cwnd();
            self.note_window_use(now, full_window);
            return None;
        }
        let in_flight = self.in_flight();
        let beyond = fin && self.flight.profile.fin_beyond_cwnd;
        // Linux counts segments, so a piece of an old, larger segment takes the space of a full segment.
        let room = if old.is_some() { full } else { len };
        if !beyond && in_flight + room > self.recovery.send_limit(&self.flight) && in_flight > 0 {
            self.limited(now, Limit::Congestion);
            self.note_window_use(now, true);
            return None;
        }
        Some(Piece::new(nxt, len, fin, in_flight))
    }

    /// True if the FIN fits into a segment of `len` bytes. Only Linux counts the FIN against the peer's window.
    fn has_room_for_fin(&self, len: u64, window_left: u64) -> bool {
        !self.flight.profile.fin_uses_window || len < window_left
    }

    /// True if all unsent data is sent at once, and the data ends with a short segment.
    #[cold]
    pub(super) fn sends_short_segment(&self) -> bool {
        self.sends_all_at_once() && !self.holds_short_back()
    }

    /// True if both windows permit all unsent data. Its last segment counts as full.
    pub(super) fn sends_all_at_once(&self) -> bool {
        let (nxt, end, mss) = (self.flight.nxt(), self.buffer.end(), self.flight.mss());
        // Retransmissions are sent first.
        let board = &self.flight.scoreboard;
        let repairs = u64::from(board.lost_segments().saturating_sub(board.retrans_out()));
        let needed = (end - nxt).next_multiple_of(mss) + repairs * mss;
        // After an idle period, the window is reduced only when data is sent.
        let may_restart = self.flight.scoreboard.is_empty() && self.last_data_at.is_some();
        self.flight.profile.push == PushRule::Linux
            && !may_restart
            && !self.pacing.is_on()
            && self.old_segments.left(nxt).is_none()
            && end <= self.flight.una() + self.window.size()
            && self.in_flight() + needed <= self.recovery.send_limit(&self.flight)
    }

    /// True if outstanding data holds back a short last segment (RFC 9293 section 3.7.4).
    fn holds_short_back(&self) -> bool {
        let flight = &self.flight;
        self.hold.holds(flight.profile.nagle, flight.outstanding() > 0, self.snd_sml > flight.una())
    }

    /// Records the end of a burst. `blocked_by_cwnd` is true if the congestion window ended the burst.
    fn note_window_use(&mut self, now: Time, blocked_by_cwnd: bool) {
        let flight = &self.flight;
        // tcp_rate_check_app_limited: the sender is app-limited if the window has space but neither new nor lost data
        // is left to send.
        if !blocked_by_cwnd
            && flight.nxt() == self.stream_end()
            && self.in_flight() + flight.mss() <= self.cwnd()
            && flight.scoreboard.lost_segments() <= flight.scoreboard.retrans_out()
        {
            let in_flight = self.in_flight();
            self.flight.delivery.set_app_limited(in_flight);
        }
        let (una, nxt) = (self.flight.una(), self.flight.nxt());
        if self.window_use.note(blocked_by_cwnd, nxt < self.stream_end(), una, nxt) {
            self.decay_unused(now);
        }
    }

    /// RFC 2861 section 3.1 (Linux's tcp_cwnd_application_limited): an unused window shrinks by half of its unused part
    /// after one RTO.
    fn decay_unused(&mut self, now: Time) {
        if self.uses_window() {
            self.window_use.forget_used(now);
            return;
        }
        let flight = &mut self.flight;
        if flight.profile.idle_restart != IdleRestart::Halving || flight.controller.owns_recovery() {
            return;
        }
        let Some(used) = self.window_use.unused_for(now, flight.outstanding(), flight.rtt.rto()) else { return };
        let cwnd = flight.controller.cwnd().get();
        // Outside of the Open state, or while the send buffer limits the sender, the window is not reduced; only the
        // period of one RTO restarts.
        if self.recovery.ca_state() == CaState::Open && !self.limit.is_awaited() {
            let used = used.max(flight.profile.initial_window(Bytes::new(flight.mss())).get());
            if used < cwnd {
                let segments = (cwnd / flight.mss() + used / flight.mss()) / 2;
                let window = Bytes::new(segments * flight.mss());
                let path = self.path();
                self.flight.controller.on_idle(now, Idle::Unused { window }, &path);
            }
            self.window_use.forget_used(now);
        } else {
            self.window_use.wait(now);
        }
    }

    /// Like [`Sender::send_new`], but not inlined: probes are rare, and the hot path stays small.
    #[cold]
    fn send_as_probe(&mut self, now: Time, piece: Piece, full: u64) -> Piece {
        self.send_new(now, piece, full)
    }

    /// Records a new piece as sent: window use, timers, and the stamp for the delivery rate.
    #[inline(always)]
    fn send_new(&mut self, now: Time, mut piece: Piece, full: u64) -> Piece {
        let (end, len) = (piece.end(), u64::from(piece.len));
        let was_idle = self.flight.scoreboard.is_empty();
        if was_idle {
            self.on_restart(now);
        }
        if len < full {
            self.snd_sml = end;
        }
        let mss = self.flight.mss();
        // Linux counts segments: the short end of an old segment takes the space of a full segment.
        let pad = self.old_segments.left(piece.start).map_or(0, |_| mss.saturating_sub(end - piece.start));
        let in_flight = piece.in_flight + (end - piece.start) + pad;
        let flight = &mut self.flight;
        let stamp = flight.delivery.stamp(now, was_idle, in_flight, flight.scoreboard.total_lost());
        flight.push(end, pad as u16, now, stamp);
        self.window_use.on_sent();
        self.recovery.on_sent(len, end);
        self.recovery.arm_after_send(now, flight, was_idle);
        self.note_sent(now, len, len);
        piece.reduced = self.recovery.take_cwr_due();
        piece
    }

    /// Retransmits the segment with this record number. `probe` is true for a tail loss probe.
    fn retransmit(&mut self, now: Time, number: u64, probe: bool) -> Piece {
        // tcp_event_data_sent: data that is sent while nothing is in flight starts a transmission (CA_EVENT_TX_START).
        let before = self.in_flight();
        if before == 0 {
            self.on_restart(now);
        }
        let in_flight = before + self.flight.scoreboard.get(number).weight();
        let flight = &mut self.flight;
        let stamp = flight.delivery.stamp(now, false, in_flight, flight.scoreboard.total_lost());
        flight.scoreboard.retransmit(number, now, stamp);
        flight.forget_timed();
        let sent = *flight.scoreboard.get(number);
        self.recovery.on_retransmit(flight.clock.value(now));
        self.recovery.on_sent(sent.len(), sent.end());
        flight.counters.retransmits += 1;
        flight.counters.bytes_retransmitted += Bytes::new(sent.len());
        // RFC 6298 rule 5.1: a retransmission of the oldest segment restarts the timer.
        if number == flight.scoreboard.first_number() && !flight.timers.is_set(TimerKind::Reordering) {
            flight.arm_rto(now);
        }
        let fin = self.fin_offset().is_some_and(|fin| sent.end() > fin);
        let len = sent.len() - u64::from(fin);
        self.note_sent(now, sent.len(), len);
        let event = || TcpEvent::Retransmitted { start: sent.start(), len: len as u32, probe };
        self.flight.trace.emit(TcpEventMask::RETRANSMIT, event);
        Piece { kind: PieceKind::Again, ..Piece::new(sent.start(), len, fin, before) }
    }

    /// Counts a data segment of `len` bytes. For pacing, the segment counts as `paced` bytes.
    #[inline]
    fn note_sent(&mut self, now: Time, paced: u64, len: u64) {
        self.pacing.count_in_burst(now);
        let (most, flight, recovery) = (self.max_pacing_rate(), &self.flight, &self.recovery);
        let rate = || pacing_rate(flight, recovery, most);
        self.pacing.on_sent(now, paced, flight.counters.data_segments_out, rate);
        self.flight.counters.bytes_sent += Bytes::new(len);
        self.last_data_at = Some(now);
    }

    /// Sends a tail loss probe: new data if the peer's window permits it, otherwise the last segment again (RFC 8985
    /// section 7.3).
    fn send_tail_probe(&mut self, now: Time, full: u64) -> Option<Piece> {
        let nxt = self.flight.nxt();
        let left = self.buffer.end().saturating_sub(nxt);
        let window_left = (self.flight.una() + self.window.size()).saturating_sub(nxt);
        let len = left.min(full);
        let fin = self.is_closed() && len == left;
        if len > 0 && len <= window_left && (!fin || self.has_room_for_fin(len, window_left)) {
            let piece = self.send_as_probe(now, Piece::new(nxt, len, fin, self.in_flight()), full);
            self.recovery.on_probe_sent(now, &mut self.flight, false);
            return Some(piece);
        }
        let last = self.flight.scoreboard.last_number()?;
        // The last segment has arrived, so retransmitting it would not reveal a loss.
        if self.flight.scoreboard.get(last).is_sacked() {
            return None;
        }
        let piece = self.retransmit(now, last, true);
        self.recovery.on_probe_sent(now, &mut self.flight, true);
        Some(piece)
    }

    /// Sends a window probe with as much data as the peer's window permits, or without data if it permits none.
    fn send_window_probe(&mut self, now: Time, full: u64) -> Piece {
        let nxt = self.flight.nxt();
        let left = self.buffer.end().saturating_sub(nxt);
        let len = left.min(full).min(self.window.size());
        if len > 0 && self.flight.outstanding() == 0 {
            self.flight.rtt.forget_backoff();
            let fin = self.is_closed() && len == left && self.has_room_for_fin(len, self.window.size());
            return self.send_as_probe(now, Piece::new(nxt, len, fin, self.in_flight()), full);
        }
        self.flight.rtt.back_off();
        self.flight.arm_persist(now);
        Piece { kind: PieceKind::WindowProbe, ..Piece::new(nxt, 0, false, self.in_flight()) }
    }

    /// Reduces the congestion window after an idle period (RFC 5681 section 4.1). In 4.4BSD, the idle period starts
    /// when a segment last arrived (`t_rcvtime`); in Linux, when data was last sent.
    fn restart_after_idle(&mut self, now: Time) {
        let flight = &mut self.flight;
        let since = match flight.profile.idle_restart {
            IdleRestart::Never => return,
            IdleRestart::Halving => self.last_data_at,
            IdleRestart::Initial => self.last_received_at,
        };
        // RFC 5681, section 4.1: the connection is idle only if no data is outstanding.
        if !flight.scoreboard.is_empty() {
            return;
        }
        let rto = flight.rtt.rto();
        let idle = since.map_or(Duration::ZERO, |since| now.saturating_since(since));
        if idle > rto {
            let initial = flight.profile.initial_window(Bytes::new(flight.mss()));
            let event = match flight.profile.idle_restart {
                IdleRestart::Halving => {
                    // tcp_cwnd_restart: halve the window once per RTO of idle time.
                    let timeouts = (idle.as_nanos() - 1) / rto.as_nanos().max(1);
                    let halved = Bytes::new(flight.controller.cwnd().get() >> timeouts.min(63));
                    Idle::Unused { window: initial.max(halved) }
                }
                IdleRestart::Never | IdleRestart::Initial => Idle::Restart { window: initial },
            };
            let path = self.path();
            self.flight.controller.on_idle(now, event, &path);
            self.window_use.forget_used(now);
        }
    }
}

/// Returns the pacing rate: the controller's rate, limited to `most`. If `most` is set and the controller sets no rate,
/// Linux's default rate is used.
fn pacing_rate(flight: &Flight, recovery: &Recovery, most: Option<BitRate>) -> Option<BitRate> {
    let own = flight.controller.pacing_rate();
    let Some(most) = most else { return own };
    let usual = || {
        let (cwnd, srtt) = (recovery.cwnd(flight), flight.rtt.srtt()?);
        // tcp_update_pacing_rate: 200 % of cwnd / SRTT in slow start, 120 % later.
        let early = flight.controller.ssthresh().is_none_or(|ssthresh| cwnd < ssthresh.get() / 2);
        let window = u128::from(cwnd.max(flight.outstanding())) * if early { 200 } else { 120 } / 100;
        let bps = window * 8 * 1_000_000_000 / u128::from(srtt.as_nanos().max(1));
        Some(BitRate::from_bps(u64::try_from(bps).unwrap_or(u64::MAX)))
    };
    Some(own.or_else(usual).map_or(most, |rate| rate.min(most)))
}
