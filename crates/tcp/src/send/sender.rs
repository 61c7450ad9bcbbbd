//! One end's sender: the stream that the application writes, and the state of what was sent.
//!
//! `ack` processes acknowledgements, `transmit` chooses the next segment.

use super::buffer::SendBuffer;
use super::buffer_limit::{SendBufferLimit, SendBufferState};
use super::busy_time::{BusyTime, Occupation, Spent};
use super::flight::Flight;
use super::holding_back::HoldingBack;
use super::old_segments::OldSegments;
use super::pacing::Pacing;
use super::peer_window::PeerWindow;
use super::push_marks::{PushMarks, WriteState};
use super::timestamp_clock::TimestampClock;
use super::window_use::WindowUse;
use crate::cc::{Controller, PathState};
use crate::ecn::AccEcnSender;
use crate::info::RttStats;
use crate::profile::{Profile, PushRule};
use crate::recovery::{NoAnswer, Recovery, TIMEOUTS_MAX};
use lopsided_core::tcp_event::{Limit, TcpEvent, TcpEventMask, TimerKind};
use lopsided_core::{BitRate, Bytes, Duration, Payload, Seq, Time};
use std::sync::Arc;

#[derive(Debug)]
pub(crate) struct Sender {
    pub flight: Flight,
    pub recovery: Recovery,
    pub window: PeerWindow,
    pub rtt_stats: RttStats,
    pub(super) buffer: SendBuffer,
    pub(super) push_marks: PushMarks,
    pub(super) old_segments: OldSegments,
    pub(super) pacing: Pacing,
    pub(super) window_use: WindowUse,
    /// Number of full segments that follow each other, if nothing else happens.
    pub(super) run: u64,
    pub(super) limit: SendBufferLimit,
    /// Sequence number of the first data byte.
    first_data_seq: Seq,
    /// The application has closed its direction.
    closed: bool,
    /// The FIN follows in its own segment: a write before the close is still being sent.
    pub(super) fin_follows: bool,
    pub(super) fin_acked: bool,
    pub hold: HoldingBack,
    max_pacing_rate: Option<BitRate>,
    /// End of the last short segment (Minshall's SND.SML).
    pub(super) snd_sml: u64,
    /// When data was last sent, new or retransmitted.
    pub(super) last_data_at: Option<Time>,
    /// When an acceptable segment last arrived.
    pub(super) last_heard_at: Option<Time>,
    pub(super) window_probe_due: bool,
    /// Number of window probes since the peer last answered.
    pub(super) probes_out: u32,
    busy: BusyTime,
    /// The peer's counters of CE marks, with accurate ECN.
    pub(super) accurate: Option<Box<AccEcnSender>>,
    /// The last phase of the congestion control that was reported.
    phase: &'static str,
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
            last_heard_at: None,
            busy: BusyTime::default(),
            probes_out: 0,
            window_probe_due: false,
            rtt_stats: RttStats::default(),
            pacing: Pacing::default(),
            window_use: WindowUse::default(),
            run: 0,
            limit: SendBufferLimit::new(profile.send_buffer, profile.send_buffer_accounting),
            accurate: None,
            phase: "",
            flight: Flight::new(profile, controller, clock, mss),
        }
    }

    /// Sequence number of the byte at `offset`.
    pub fn seq(&self, offset: u64) -> Seq {
        self.first_data_seq + offset as u32
    }

    /// Written bytes that are not acknowledged.
    pub fn buffered(&self) -> u64 {
        self.buffer.len()
    }

    pub fn is_closed(&self) -> bool {
        self.closed
    }

    pub fn is_fin_acked(&self) -> bool {
        self.fin_acked
    }

    /// Closes the stream. `may_send`: written data is sent as far as possible first, as a write(2) does before the
    /// following close. The FIN joins the last segment only if that must wait.
    pub fn close(&mut self, may_send: bool) {
        self.closed = true;
        self.fin_follows = may_send;
    }

    /// Expects accurate ECN counters from the peer.
    pub fn expect_accurate_feedback(&mut self) {
        self.accurate = Some(Box::new(AccEcnSender::default()));
    }

    /// Offset of the FIN, once the application closed.
    pub fn fin_offset(&self) -> Option<u64> {
        self.closed.then(|| self.buffer.end())
    }

    /// End of everything to send, including the FIN.
    pub fn stream_end(&self) -> u64 {
        self.buffer.end() + u64::from(self.closed)
    }

    /// True if a segment with this range carries PSH.
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

    /// Sets the segment size, and whether the peer sends SACK, as the handshake agreed.
    pub fn agree(&mut self, mss: u32, sack: bool) {
        self.flight.agree(mss, sack);
        self.limit.agree(u64::from(mss));
    }

    /// Changes the segment size.
    pub fn resize_segments(&mut self, now: Time, mss: u32) {
        let (nxt, end) = (self.flight.nxt(), self.buffer.end());
        self.old_segments = OldSegments::new(nxt.min(end), end, self.flight.mss(), u64::from(mss));
        self.recovery.on_segment_size(now, &mut self.flight, mss);
    }

    /// Repairs outstanding segments longer than `full` bytes, which the path dropped.
    pub fn repair_too_long(&mut self, now: Time, full: u64) {
        self.recovery.repair_too_long(now, &mut self.flight, full);
    }

    /// Starts the controller after the handshake: it sets its window and rate.
    pub fn start_controller(&mut self, now: Time) {
        let path = self.path();
        self.flight.controller.on_established(now, &path);
        self.provide_buffer();
        self.switch_pacing();
        if self.flight.controller.needs_losses() {
            self.flight.scoreboard.watch_losses();
        }
        self.trace_phase();
    }

    fn switch_pacing(&mut self) {
        self.pacing.switch(self.max_pacing_rate.is_some() || self.flight.controller.pacing_rate().is_some());
    }

    /// Limits the pacing rate.
    pub fn set_max_pacing_rate(&mut self, rate: Option<BitRate>) {
        self.max_pacing_rate = rate;
        self.switch_pacing();
    }

    pub fn max_pacing_rate(&self) -> Option<BitRate> {
        self.max_pacing_rate
    }

    /// Reports a change of the congestion control's phase to the trace.
    #[inline]
    pub(super) fn trace_phase(&mut self) {
        if self.flight.trace.wants(TcpEventMask::CONGESTION) {
            let to = self.flight.controller.state().phase;
            let from = std::mem::replace(&mut self.phase, to);
            if from != to {
                self.flight.trace.emit(TcpEventMask::CONGESTION, || TcpEvent::CcPhase { from, to });
            }
        }
    }

    /// Notifies the controller that data goes into an empty network.
    pub(super) fn on_restart(&mut self, now: Time) {
        let idle = self.last_data_at.map_or(Duration::ZERO, |last| now.saturating_since(last));
        let path = self.path();
        self.flight.controller.on_transmit_start(now, idle, &path);
    }

    // State for `tcp_info` and the trace.

    /// Records what limits the sender.
    #[inline]
    pub(super) fn limited(&mut self, now: Time, by: Limit) {
        self.flight.trace.limited(by);
        let occupation = match by {
            Limit::Receiver => Occupation::ReceiverLimited,
            Limit::Application if self.flight.scoreboard.is_empty() => Occupation::Idle,
            Limit::Application if self.limit.is_awaited() => Occupation::BufferLimited,
            _ => Occupation::Busy,
        };
        self.busy.switch(now, occupation);
    }

    /// Time with data to send, by limit.
    pub fn spent(&self, now: Time) -> Spent {
        self.busy.so_far(now)
    }

    /// Counts a window probe.
    pub fn count_probe(&mut self) {
        self.probes_out += 1;
    }

    /// Number of window probes since the peer last answered.
    pub fn probes_out(&self) -> u32 {
        self.probes_out
    }

    /// When data was last sent.
    pub fn last_data_at(&self) -> Option<Time> {
        self.last_data_at
    }

    /// Written bytes that were never sent.
    pub fn unsent(&self) -> u64 {
        self.buffer.end().saturating_sub(self.flight.nxt())
    }

    // Calls of the application.

    /// Number of bytes that the application may write.
    pub fn room(&self) -> u64 {
        self.limit.room(self.buffer_state())
    }

    /// As [`Sender::room`], for an application that wants to write `wanted` bytes.
    pub fn room_for(&self, wanted: u64) -> u64 {
        self.limit.room_for(self.buffer_state(), wanted)
    }

    /// Fixes the size of the send buffer.
    pub fn set_buffer(&mut self, size: Bytes) {
        self.limit.set_size(size);
        self.limit.note_written(self.buffer_state());
    }

    /// Queues the first `len` bytes of the payload.
    pub fn write(&mut self, payload: &Payload, len: u32) {
        let from = self.buffer.end();
        self.hold.on_write();
        self.buffer.push(payload, len);
        if self.flight.profile.push == PushRule::Linux {
            self.push_marks.on_write(WriteState {
                from,
                to: self.buffer.end(),
                nxt: self.flight.nxt(),
                mss: self.flight.mss(),
                largest_window: self.window.largest(),
            });
        }
        self.limit.note_written(self.buffer_state());
    }

    /// Grows an automatic buffer to a number of current windows.
    pub(super) fn provide_buffer(&mut self) {
        let cwnd = self.flight.controller.cwnd().get();
        self.limit.provide(self.flight.mss(), cwnd, self.windows_to_buffer());
    }

    /// 3 windows if the window may grow during recovery (Linux's sndbuf_expand).
    fn windows_to_buffer(&self) -> u64 {
        if self.flight.controller.owns_recovery() { 3 } else { 2 }
    }

    pub(super) fn buffer_state(&self) -> SendBufferState {
        SendBufferState {
            len: self.buffer.len(),
            joined: u64::from(self.flight.scoreboard.sacked_segments() - self.flight.scoreboard.sacked_runs()),
            unfilled: self.push_marks.unfilled(self.flight.nxt(), self.buffer.end(), self.flight.mss()),
            mss: self.flight.mss(),
            cwnd: self.flight.controller.cwnd().get(),
            windows: self.windows_to_buffer(),
        }
    }

    // Time.

    /// Runs the loss timer if it is due.
    pub fn handle_timeout(&mut self, now: Time) -> Result<(), NoAnswer> {
        let Some(kind) = self.flight.timers.take_due_loss(now) else { return Ok(()) };
        self.flight.trace.emit(TcpEventMask::TIMER, || TcpEvent::Timer { kind });
        match kind {
            TimerKind::TailProbe => self.recovery.on_probe_timeout(now, &mut self.flight),
            TimerKind::Reordering => self.recovery.on_reorder_timeout(now, &mut self.flight),
            TimerKind::Persist => {
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
