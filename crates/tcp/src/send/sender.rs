//! One end's sender: the stream that the application writes, and the state of what was sent of it.
//!
//! What an acknowledgement does to it is in `ack`, what it sends next in `transmit`.

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
    /// Full segments that go one behind another, unless something happens.
    pub(super) run: u64,
    pub(super) limit: SendBufferLimit,
    /// The wire's number of the first data octet.
    first_data_seq: Seq,
    /// The application has closed its end of the stream.
    closed: bool,
    /// It closed behind a write that is still on its way out, and no segment of it takes the FIN along.
    pub(super) fin_follows: bool,
    pub(super) fin_acked: bool,
    pub hold: HoldingBack,
    max_pacing_rate: Option<BitRate>,
    /// The end of the last segment shorter than a full one (Minshall's SND.SML).
    pub(super) snd_sml: u64,
    /// When data was last sent, new or again.
    pub(super) last_data_at: Option<Time>,
    /// When an acceptable segment last arrived.
    pub(super) last_heard_at: Option<Time>,
    pub(super) window_probe_due: bool,
    /// Window probes since the peer was last heard.
    pub(super) probes_out: u32,
    busy: BusyTime,
    /// What the peer reported of marks, with accurate feedback.
    pub(super) accurate: Option<Box<AccEcnSender>>,
    /// The phase of the congestion control that was told last.
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

    /// The wire's number of the octet at `offset`.
    pub fn seq(&self, offset: u64) -> Seq {
        self.first_data_seq + offset as u32
    }

    /// Octets written that are not acknowledged.
    pub fn buffered(&self) -> u64 {
        self.buffer.len()
    }

    pub fn is_closed(&self) -> bool {
        self.closed
    }

    pub fn is_fin_acked(&self) -> bool {
        self.fin_acked
    }

    /// No more will be written. `may_send`: what was written goes out by itself as far as it may, as a write(2) does
    /// before the close that follows it. The FIN joins the last segment only where that has to wait.
    pub fn close(&mut self, may_send: bool) {
        self.closed = true;
        self.fin_follows = may_send;
    }

    /// The peer reports marks by counters.
    pub fn expect_accurate_feedback(&mut self) {
        self.accurate = Some(Box::new(AccEcnSender::default()));
    }

    /// Offset of the FIN, once the application closed.
    pub fn fin_offset(&self) -> Option<u64> {
        self.closed.then(|| self.buffer.end())
    }

    /// The end of everything there is to send, FIN included.
    pub fn stream_end(&self) -> u64 {
        self.buffer.end() + u64::from(self.closed)
    }

    /// Whether a segment of these octets carries PSH.
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

    /// What the handshake agreed on: the octets of a full segment, and whether the peer sends SACK.
    pub fn agree(&mut self, mss: u32, sack: bool) {
        self.flight.agree(mss, sack);
        self.limit.agree(u64::from(mss));
    }

    /// Segments have another size from now on.
    pub fn resize_segments(&mut self, now: Time, mss: u32) {
        let (nxt, end) = (self.flight.nxt(), self.buffer.end());
        self.old_segments = OldSegments::new(nxt.min(end), end, self.flight.mss(), u64::from(mss));
        self.recovery.on_segment_size(now, &mut self.flight, mss);
    }

    /// What is out and longer than `full` octets did not pass.
    pub fn repair_too_long(&mut self, now: Time, full: u64) {
        self.recovery.repair_too_long(now, &mut self.flight, full);
    }

    /// The handshake is over: the controller may set up its window and rate.
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

    /// Data leaves no faster than this.
    pub fn set_max_pacing_rate(&mut self, rate: Option<BitRate>) {
        self.max_pacing_rate = rate;
        self.switch_pacing();
    }

    pub fn max_pacing_rate(&self) -> Option<BitRate> {
        self.max_pacing_rate
    }

    /// Tells a listener when the congestion control has gone to another of its phases.
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

    /// Data goes into an empty network.
    pub(super) fn on_restart(&mut self, now: Time) {
        let idle = self.last_data_at.map_or(Duration::ZERO, |last| now.saturating_since(last));
        let path = self.path();
        self.flight.controller.on_transmit_start(now, idle, &path);
    }

    // What it says of itself.

    /// Something holds the sender back.
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

    /// How long it had data to send.
    pub fn spent(&self, now: Time) -> Spent {
        self.busy.so_far(now)
    }

    /// The peer is asked whether it is still there.
    pub fn count_probe(&mut self) {
        self.probes_out += 1;
    }

    /// Probes since the peer was last heard.
    pub fn probes_out(&self) -> u32 {
        self.probes_out
    }

    /// When data was last sent.
    pub fn last_data_at(&self) -> Option<Time> {
        self.last_data_at
    }

    /// Octets written that were never sent.
    pub fn unsent(&self) -> u64 {
        self.buffer.end().saturating_sub(self.flight.nxt())
    }

    // The application's side.

    /// How many more octets the application may write.
    pub fn room(&self) -> u64 {
        self.limit.room(self.buffer_state())
    }

    /// How many more octets it may write that has `wanted` to write.
    pub fn room_for(&self, wanted: u64) -> u64 {
        self.limit.room_for(self.buffer_state(), wanted)
    }

    /// The buffer is of this size from now on.
    pub fn set_buffer(&mut self, size: Bytes) {
        self.limit.set_size(size);
        self.limit.note_written(self.buffer_state());
    }

    /// Queues the first `len` octets of the payload.
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

    /// The buffer has room for windows like the one of now.
    pub(super) fn provide_buffer(&mut self) {
        let cwnd = self.flight.controller.cwnd().get();
        self.limit.provide(self.flight.mss(), cwnd, self.windows_to_buffer());
    }

    /// Three where the window may grow in recovery (Linux's sndbuf_expand).
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

    /// The timer that guards what was sent fires, if it is due.
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
                self.flight.rtt.back_off();
            }
            _ => return self.recovery.on_rto(now, &mut self.flight),
        }
        Ok(())
    }
}
