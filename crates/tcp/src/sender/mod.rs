//! The sender of one end: the stream that the application writes, and the state of the data that was sent.
//!
//! `ack` processes acknowledgements, and `transmit` chooses the next segment.

mod ack;
mod ack_ranges;
mod plain_ack;
mod transmit;

pub use transmit::Next;
pub(crate) use transmit::{Piece, PieceKind};

use crate::cc::{Controller, Idle, PathState};
use crate::ecn::AccEcnSender;
use crate::info::RttStats;
use crate::profile::{Profile, PushRule};
use crate::recovery::{NoAnswer, Recovery, TIMEOUTS_MAX};
use crate::send::{
    BusyTime, Flight, HoldingBack, Occupation, OldSegments, Pacing, PeerWindow, PushMarks, SendBuffer, SendBufferLimit,
    SendBufferState, Spent, TimestampClock, WindowUse, WriteState,
};
use lopsided_core::tcp_event::{Limit, TcpEvent, TcpEventMask, TimerKind};
use lopsided_core::{BitRate, Bytes, Duration, Payload, Seq, Time};
use std::sync::Arc;

/// The send side of a connection.
#[derive(Debug)]
pub(crate) struct Sender {
    pub flight: Flight,
    pub recovery: Recovery,
    pub window: PeerWindow,
    pub rtt_stats: RttStats,
    buffer: SendBuffer,
    push_marks: PushMarks,
    old_segments: OldSegments,
    pacing: Pacing,
    window_use: WindowUse,
    /// Number of full segments that may still be sent without further checks, provided that no other call intervenes.
    run: u64,
    limit: SendBufferLimit,
    /// Sequence number of the first data byte.
    first_data_seq: Seq,
    /// True if the application has closed its direction.
    closed: bool,
    /// True if the FIN must follow the data in a separate segment.
    fin_follows: bool,
    /// True if the FIN is acknowledged.
    fin_acked: bool,
    pub hold: HoldingBack,
    /// Upper limit of the pacing rate that the application set (SO_MAX_PACING_RATE).
    max_pacing_rate: Option<BitRate>,
    /// End offset of the last short segment that was sent (Minshall's SND.SML).
    snd_sml: u64,
    /// Time at which new or retransmitted data was last sent.
    last_data_at: Option<Time>,
    /// Time at which an acceptable segment last arrived.
    last_received_at: Option<Time>,
    /// True if a window probe must be sent.
    window_probe_due: bool,
    /// Number of window probes that were sent since the peer last answered.
    probes_out: u32,
    busy: BusyTime,
    /// State of accurate ECN: the peer's counters of CE marks.
    accurate: Option<Box<AccEcnSender>>,
}

impl Sender {
    pub fn new(
        profile: Arc<Profile>,
        controller: Box<dyn Controller>,
        clock: TimestampClock,
        iss: u32,
        mss: u32,
    ) -> Sender {
        Sender {
            first_data_seq: Seq::new(iss) + 1,
            recovery: Recovery::new(),
            buffer: SendBuffer::default(),
            push_marks: PushMarks::default(),
            old_segments: OldSegments::default(),
            window: PeerWindow::new(),
            closed: false,
            fin_follows: false,
            fin_acked: false,
            hold: HoldingBack::default(),
            max_pacing_rate: None,
            snd_sml: 0,
            last_data_at: None,
            last_received_at: None,
            busy: BusyTime::default(),
            probes_out: 0,
            window_probe_due: false,
            rtt_stats: RttStats::default(),
            pacing: Pacing::default(),
            window_use: WindowUse::default(),
            run: 0,
            limit: SendBufferLimit::new(profile.send_buffer, profile.send_buffer_accounting),
            accurate: None,
            flight: Flight::new(profile, controller, clock, mss),
        }
    }

    /// Sequence number of the byte at `offset`.
    pub fn seq(&self, offset: u64) -> Seq {
        self.first_data_seq + offset as u32
    }

    /// Number of written bytes that are not acknowledged.
    pub fn buffered(&self) -> u64 {
        self.buffer.len()
    }

    pub fn is_closed(&self) -> bool {
        self.closed
    }

    pub fn is_fin_acked(&self) -> bool {
        self.fin_acked
    }

    /// Closes the stream: a FIN follows the written data. If `may_send` is true, data that can be sent now is sent
    /// without the FIN, as if write(2) had sent the data before close(2). The last data segment carries the FIN only if
    /// the segment must wait.
    pub fn close(&mut self, may_send: bool) {
        self.closed = true;
        self.fin_follows = may_send;
    }

    /// Enables accurate ECN. `marked` is the number of marked packets in the handshake.
    pub fn expect_accurate_feedback(&mut self, marked: u64) {
        self.accurate = Some(Box::new(AccEcnSender::new(marked, self.flight.profile.ecn_expects_thinning)));
    }

    /// The peer's reports of marks; `None` without accurate ECN.
    pub fn accurate(&self) -> Option<&AccEcnSender> {
        self.accurate.as_deref()
    }

    /// Offset of the FIN; `None` until the application closes the stream.
    pub fn fin_offset(&self) -> Option<u64> {
        self.closed.then(|| self.buffer.end())
    }

    /// Offset after the last byte to send, including the FIN.
    pub fn stream_end(&self) -> u64 {
        self.buffer.end() + u64::from(self.closed)
    }

    /// True if a segment with this range must carry PSH.
    #[inline]
    pub fn is_pushed(&mut self, start: u64, len: u32) -> bool {
        len > 0 && self.push_marks.is_marked(self.flight.profile.push, start + u64::from(len), self.buffer.end())
    }

    pub fn has_unsent_data(&self) -> bool {
        self.buffer.len() > 0
    }

    pub fn payload(&self, from: u64, len: u32) -> Payload {
        self.buffer.slice(from, len)
    }

    #[inline]
    pub fn in_flight(&self) -> u64 {
        self.recovery.in_flight(&self.flight)
    }

    #[inline]
    pub fn cwnd(&self) -> u64 {
        self.recovery.cwnd(&self.flight)
    }

    pub fn path(&self) -> PathState {
        self.recovery.path(&self.flight)
    }

    /// Sets the segment size after the handshake. `sack` is true if the peer sends SACK.
    pub fn agree(&mut self, mss: u32, sack: bool) {
        self.flight.agree(mss, sack);
        self.limit.agree(u64::from(mss));
    }

    /// Changes the segment size after the path MTU changed.
    pub fn resize_segments(&mut self, now: Time, mss: u32) {
        let (nxt, end) = (self.flight.nxt(), self.buffer.end());
        self.old_segments = OldSegments::new(nxt.min(end), end, self.flight.mss(), u64::from(mss));
        self.recovery.on_segment_size(now, &mut self.flight, mss);
    }

    /// Sets the segment size at the end of the handshake, when nothing has been sent.
    pub fn set_segment_size(&mut self, now: Time, mss: u32) {
        self.recovery.on_segment_size(now, &mut self.flight, mss);
    }

    /// Handles outstanding segments with more than `full` bytes, which the path has dropped: splits these segments and
    /// marks the pieces as lost.
    pub fn repair_too_long(&mut self, now: Time, full: u64) {
        self.recovery.repair_too_long(now, &mut self.flight, full);
    }

    /// Starts the controller after the handshake. The controller sets its initial window and its rate.
    pub fn start_controller(&mut self, now: Time) {
        let path = self.path();
        self.flight.controller.on_established(now, &path);
        self.provide_buffer(self.cwnd());
        self.switch_pacing();
        if self.flight.controller.needs_rate() {
            self.flight.scoreboard.keep_rates();
        }
        if self.flight.controller.needs_losses() {
            self.flight.scoreboard.watch_losses();
        }
        self.trace_phase();
    }

    /// Enables pacing if the controller or the application has set a rate.
    fn switch_pacing(&mut self) {
        self.pacing.switch(self.max_pacing_rate.is_some() || self.flight.controller.pacing_rate().is_some());
    }

    /// Sets the upper limit of the pacing rate; `None` removes it.
    pub fn set_max_pacing_rate(&mut self, rate: Option<BitRate>) {
        self.max_pacing_rate = rate;
        self.switch_pacing();
    }

    pub fn max_pacing_rate(&self) -> Option<BitRate> {
        self.max_pacing_rate
    }

    /// Records a trace event if the phase of the congestion control has changed.
    #[inline]
    fn trace_phase(&mut self) {
        if self.flight.trace.wants(TcpEventMask::CONGESTION) {
            self.flight.trace.entered_phase(self.flight.controller.state().phase);
        }
    }

    /// Notifies the controller that data is sent while nothing is outstanding.
    fn on_restart(&mut self, now: Time) {
        // tcp_cwnd_event, CA_EVENT_TX_START: CUBIC shifts its epoch by the idle time.
        let since = self.last_data_at.map_or(Duration::ZERO, |last| now.saturating_since(last));
        let path = self.path();
        self.flight.controller.on_idle(now, Idle::TransmitStart { since }, &path);
    }

    // State for `tcp_info` and the trace.

    /// Records the limit that keeps the sender from sending now.
    #[inline]
    fn limited(&mut self, now: Time, by: Limit) {
        let occupation = match by {
            Limit::Receiver => Occupation::ReceiverLimited,
            Limit::Application if self.flight.scoreboard.is_empty() => Occupation::Idle,
            Limit::Application if self.limit.is_awaited() => Occupation::BufferLimited,
            _ => Occupation::Busy,
        };
        self.busy.switch(now, occupation);
        self.flight.trace.limited(by);
    }

    /// Returns the total time with data to send, and the parts of this time during which each limit applied.
    pub fn spent(&self, now: Time) -> Spent {
        self.busy.so_far(now)
    }

    /// Counts a window probe.
    pub fn count_probe(&mut self) {
        self.probes_out += 1;
    }

    /// Number of window probes that were sent since the peer last answered.
    pub fn probes_out(&self) -> u32 {
        self.probes_out
    }

    /// Time at which data was last sent.
    pub fn last_data_at(&self) -> Option<Time> {
        self.last_data_at
    }

    /// Number of written bytes that were never sent.
    pub fn unsent(&self) -> u64 {
        self.buffer.end().saturating_sub(self.flight.nxt())
    }

    // Functions that the application calls.

    /// Number of bytes that the application may write.
    #[inline]
    pub fn room(&self) -> u64 {
        if self.limit.keeps_waiting(self.buffer.len(), || self.segments()) {
            return 0;
        }
        self.limit.room(self.buffer_state())
    }

    /// Number of segments that need memory: the outstanding segments, and the unsent data in segments of the current
    /// size or, if it was written before a change of the size, of the old size. Adjacent SACKed segments of equal length
    /// are merged.
    #[inline]
    fn segments(&self) -> u64 {
        let board = &self.flight.scoreboard;
        let out = board.segments() - (board.sacked_segments() - board.merged_segments());
        let (old, newer) = self.old_segments.from(self.flight.nxt());
        u64::from(out) + old + self.buffer.end().saturating_sub(newer).div_ceil(self.flight.mss())
    }

    /// Number of bytes that may be written now by an application that has `wanted` bytes to write.
    pub fn room_for(&self, wanted: u64) -> u64 {
        self.limit.room_for(self.buffer_state(), wanted)
    }

    /// Sets a fixed size of the send buffer.
    pub fn set_buffer(&mut self, size: Bytes) {
        self.limit.set_size(size);
        self.limit.note_written(self.buffer_state());
    }

    /// Completes a short last segment that Linux sends before the application writes again, because both windows and
    /// the rules for short segments permit it. Without this call, the next write would fill the segment, because the
    /// host sends segments only after all writes.
    #[inline]
    pub fn complete_short_segment(&mut self) {
        let (nxt, end) = (self.flight.nxt(), self.buffer.end());
        if self.push_marks.unfilled(nxt, end, self.flight.mss()) > 0 && self.sends_short_segment() {
            self.old_segments = OldSegments::complete(nxt, end, self.flight.mss());
            self.push_marks.complete(end);
        }
    }

    /// Number of bytes that the next write may add to the last segment.
    fn unfilled(&self) -> u64 {
        let unfilled = self.push_marks.unfilled(self.flight.nxt(), self.buffer.end(), self.flight.mss());
        if unfilled > 0 && self.sends_short_segment() { 0 } else { unfilled }
    }

    /// Queues the first `len` bytes of the payload.
    pub fn write(&mut self, payload: &Payload, len: u32) {
        let cut = len < payload.len();
        let from = self.buffer.end();
        self.hold.on_write();
        self.window_use.begin_burst(false);
        self.buffer.push(payload, len);
        if self.flight.profile.push == PushRule::Linux {
            self.push_marks.on_write(WriteState {
                from,
                to: self.buffer.end(),
                nxt: self.flight.nxt(),
                mss: self.flight.mss(),
                largest_window: self.window.largest(),
                // tcp_sendmsg_locked: if the buffer is full, Linux marks the last segment that is not sent yet.
                ends_marked: !(cut && self.sends_all_at_once()),
            });
        }
        self.limit.note_written(self.buffer_state());
    }

    /// Grows an automatically sized send buffer to the size that the congestion window `cwnd` or the measured
    /// reordering degree requires.
    fn provide_buffer(&mut self, cwnd: u64) {
        let mss = self.flight.mss();
        let reordered = u64::from(self.recovery.duplicate_threshold(&self.flight)) + 1;
        let segments = (cwnd / mss).max(reordered);
        self.limit.provide(mss, segments, self.windows_to_buffer());
    }

    /// Number of congestion windows that an automatically sized buffer holds: 3 if the window may grow during recovery
    /// (Linux's sndbuf_expand), otherwise 2.
    fn windows_to_buffer(&self) -> u64 {
        if self.flight.controller.owns_recovery() { 3 } else { 2 }
    }

    fn buffer_state(&self) -> SendBufferState {
        SendBufferState {
            len: self.buffer.len(),
            segments: self.segments(),
            unfilled: self.unfilled(),
            mss: self.flight.mss(),
            cwnd: self.flight.controller.cwnd().get(),
            windows: self.windows_to_buffer(),
        }
    }

    // Timeouts.

    /// Handles the loss timer if it is due. Returns an error if the connection must be ended.
    pub fn handle_timeout(&mut self, now: Time) -> Result<(), NoAnswer> {
        let Some(kind) = self.flight.timers.take_due_loss(now) else { return Ok(()) };
        self.flight.trace.emit(TcpEventMask::TIMER, || TcpEvent::Timer { kind });
        self.window_use.begin_burst(true);
        match kind {
            TimerKind::TailProbe => self.recovery.on_probe_timeout(now, &mut self.flight),
            TimerKind::Reordering => self.recovery.on_reorder_timeout(now, &mut self.flight),
            TimerKind::Persist => {
                // tcp_probe_timer: give up, because the peer has not answered any of the probes.
                if self.probes_out >= TIMEOUTS_MAX || self.flight.ran_out(now) {
                    return Err(NoAnswer);
                }
                self.flight.begin_waiting(now);
                self.window_probe_due = true;
                self.count_probe();
            }
            _ => return self.recovery.on_rto(now, &mut self.flight),
        }
        Ok(())
    }
}
