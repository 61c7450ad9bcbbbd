//! One end of a TCP connection (RFC 9293): its states and the calls of its host.
//!
//! The host calls `handle_segment` and `handle_timeout` as things happen, and `write`, `read`, `shutdown` and `close`
//! for its application (in `application`). It then takes segments from `poll_segment` until that returns `None`, takes
//! events from `poll_event`, and reads `poll_timeout` again. `input` processes arriving segments, `output` decides what
//! is sent.

mod application;
mod conn_event;
mod handshake;
pub(crate) mod header_prediction;
mod input;
mod keepalive;
mod opening;
mod output;
mod path_mtu;
mod segment;
mod segment_limits;
mod socket_options;
mod urgent;

pub use conn_event::{ConnError, ConnEvent, ReadError, WriteError};
pub use segment::{Next, Outgoing, Segment};

use crate::config::{ConnConfig, Endpoint, KeepAlive};
use crate::ecn::{EcnState, Feedback};
use crate::info::{Counters, OptionsInUse, RttStats, TcpInfo};
use crate::profile::{MetricsSave, Profile};
use crate::receive::ack_policy::SenderView;
use crate::receive::{AckContext, AckScheduler, Receiver, SegmentSizes, window_scale};
use crate::remembered::Remembered;
use crate::send::{Sender, TimestampClock};
use conn_event::Readiness;
use handshake::Handshake;
use lopsided_core::tcp_event::{AckReason, CaState, State, TcpEvent, TcpEventMask, TimedTcpEvent, TimerKind};
use lopsided_core::{Bytes, Seq, Time};
use segment_limits::SegmentLimits;
use std::collections::VecDeque;
use urgent::Urgent;

/// One end of a connection.
#[derive(Debug)]
pub struct Connection {
    local: Endpoint,
    remote: Endpoint,
    state: State,
    pub(crate) send: Sender,
    pub(crate) recv: Receiver,
    acks: AckScheduler,
    pub(crate) options: AgreedOptions,
    limits: SegmentLimits,
    ecn: EcnState,
    handshake: Handshake,
    /// Segments to send before any data; `None` if there are none.
    urgent: Option<Box<Urgent>>,
    /// An ACK that was decided before the application read, for stacks that acknowledge before reading.
    answer: Option<Answer>,
    /// The peer's timestamp to echo, and the last acknowledgement sent, which decides when `ts_recent` may change (RFC
    /// 7323 section 4.3).
    ts_recent: u32,
    last_ack_sent: Seq,
    /// The time that outgoing timestamps show: that of the last clock reading.
    clock: Time,
    /// Time of the last answer to an unacceptable segment without data (RFC 5961 section 7 throttles them).
    last_challenge: Option<Time>,
    last_data_recv: Option<Time>,
    last_ack_recv: Option<Time>,
    events: VecDeque<ConnEvent>,
    peer_closed: bool,
    /// `read_shut`: the application reads no more. `orphaned`: it has closed the connection.
    read_shut: bool,
    orphaned: bool,
    readiness: Readiness,
    keepalive: Option<Box<KeepAlive>>,
    error: Option<ConnError>,
    #[cfg(test)]
    pub(crate) prediction: header_prediction::Watched,
}

/// The options in force: what this end offers, and after the handshake what both ends agreed on.
#[derive(Clone, Copy, Debug)]
pub(crate) struct AgreedOptions {
    /// The MSS option of this end.
    pub mss_option: u16,
    pub timestamps: bool,
    pub scaling: bool,
    /// Shift of the windows that arrive, and of the windows that are sent.
    pub snd_wscale: u8,
    pub rcv_wscale: u8,
}

/// An ACK that was due before the application read, with the window of that time.
#[derive(Clone, Copy, Debug)]
struct Answer {
    window: u16,
    why: AckReason,
}

/// What a call of [`Connection::handle_timeout`] found due.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Expired {
    /// Nothing.
    Nothing,
    /// At most the pacing timer: there may be a segment to send, but nothing new for the application.
    Pacing,
    /// Some other timer: the state, the window or the events may have changed.
    Timer,
}

impl Connection {
    /// Opens actively: the SYN is the first segment of `poll_segment`.
    pub fn connect(config: ConnConfig) -> Connection {
        let mut connection = Connection::new(config, State::SynSent);
        connection.handshake.request_syn();
        connection.recv.open(Seq::default(), false);
        connection
    }

    /// Opens passively for the peer in `config`: answers that peer's SYN.
    pub fn listen(config: ConnConfig) -> Connection {
        Connection::new(config, State::Listen)
    }

    fn new(config: ConnConfig, state: State) -> Connection {
        let mss_option = config.mss_option();
        let profile = config.profile;
        let mss = u32::from(mss_option) - if profile.timestamps { 12 } else { 0 };
        let options = AgreedOptions {
            mss_option,
            timestamps: profile.timestamps,
            scaling: profile.window_scaling,
            snd_wscale: 0,
            rcv_wscale: if profile.window_scaling { window_scale(profile.receive_buffer) } else { 0 },
        };
        Connection {
            local: config.local,
            remote: config.remote,
            state,
            recv: Receiver::new(&profile, u32::from(mss_option)),
            acks: AckScheduler::new(config.ack_policy),
            options,
            limits: SegmentLimits::new(config.mtu, config.path_mtu),
            ecn: EcnState::new(&profile, &*config.controller),
            handshake: Handshake::default(),
            urgent: None,
            answer: None,
            ts_recent: 0,
            last_ack_sent: Seq::default(),
            clock: Time::ZERO,
            last_challenge: None,
            last_data_recv: None,
            last_ack_recv: None,
            events: VecDeque::new(),
            peer_closed: false,
            read_shut: false,
            orphaned: false,
            readiness: Readiness::default(),
            keepalive: None,
            error: None,
            #[cfg(test)]
            prediction: header_prediction::Watched::default(),
            send: Sender::new(
                profile,
                config.controller,
                TimestampClock::new(config.timestamp_offset),
                config.iss,
                mss,
            ),
        }
    }

    // State.

    pub fn state(&self) -> State {
        self.state
    }

    pub fn local(&self) -> Endpoint {
        self.local
    }

    pub fn remote(&self) -> Endpoint {
        self.remote
    }

    /// True if its stack keeps what a connection learned of a path.
    pub fn saves_metrics(&self) -> bool {
        self.send.flight.profile.metrics_save != MetricsSave::Off
    }

    /// Leaves what it knows of the path to the connections that come after it.
    pub fn leave_metrics(&self, now: Time, remembered: &mut Remembered) {
        remembered.learn(&self.info(now), &self.send.flight.profile);
    }

    /// True if the connection is closed and has nothing left to send or report.
    pub fn is_finished(&self) -> bool {
        self.state == State::Closed && self.urgent.as_ref().is_none_or(|urgent| !urgent.outlives())
    }

    pub fn counters(&self) -> Counters {
        let flight = &self.send.flight;
        Counters { lost_retransmits: flight.scoreboard.lost_retransmits(), ..flight.counters }
    }

    /// Statistics of all RTT samples so far.
    pub fn rtt_stats(&self) -> &RttStats {
        &self.send.rtt_stats
    }

    /// As [`Connection::rtt_stats`], and resets them: for statistics per interval.
    pub fn take_rtt_stats(&mut self) -> RttStats {
        std::mem::take(&mut self.send.rtt_stats)
    }

    pub fn profile(&self) -> &Profile {
        &self.send.flight.profile
    }

    /// The congestion window in force: the controller's, or recovery's during a reduction.
    pub fn cwnd(&self) -> Bytes {
        Bytes::new(self.send.cwnd())
    }

    /// The state of the connection at `now`.
    pub fn info(&self, now: Time) -> TcpInfo {
        let send = &self.send;
        let flight = &send.flight;
        let ago = |at: Option<Time>| at.map(|at| now.saturating_since(at));
        let (rate, spent) = (flight.delivery.rate(), send.spent(now));
        TcpInfo {
            state: self.state,
            ca_state: send.recovery.ca_state(),
            retransmits: send.recovery.timeouts_in_a_row(),
            probes: send.probes_out(),
            backoff: flight.rtt.backoff(),
            options: OptionsInUse {
                timestamps: self.options.timestamps,
                sack: flight.sack(),
                window_scaling: self.options.scaling,
                ecn: self.ecn.feedback() != Feedback::None,
            },
            snd_wscale: self.options.snd_wscale,
            rcv_wscale: self.options.rcv_wscale,
            rto: flight.rtt.rto(),
            ato: self.acks.ato(),
            snd_mss: Bytes::new(flight.mss()),
            rcv_mss: Bytes::new(u64::from(self.acks.rcv_mss())),
            advmss: Bytes::new(u64::from(self.own_mss())),
            pmtu: self.limits.mtu(),
            unacked: flight.scoreboard.segments(),
            sacked: flight.scoreboard.sacked_segments(),
            lost: flight.scoreboard.lost_segments(),
            retrans: flight.scoreboard.retrans_out(),
            in_flight: Bytes::new(send.in_flight()),
            notsent: Bytes::new(send.unsent()),
            last_data_sent: ago(send.last_data_at()),
            last_data_recv: ago(self.last_data_recv),
            last_ack_recv: ago(self.last_ack_recv),
            srtt: flight.rtt.srtt(),
            rttvar: flight.rtt.rttvar(),
            min_rtt: flight.rtt.min_rtt(),
            snd_cwnd: Bytes::new(send.cwnd()),
            snd_ssthresh: flight.controller.ssthresh(),
            snd_wnd: Bytes::new(send.window.size()),
            rcv_wnd: Bytes::new(self.recv.open_window()),
            rcv_ssthresh: Bytes::new(self.recv.window_threshold()),
            rcv_space: Bytes::new(self.recv.space()),
            rcv_rtt: self.recv.rtt(),
            reordering: send.recovery.duplicate_threshold(flight),
            reord_seen: send.recovery.reordered(),
            pacing_rate: flight.controller.pacing_rate(),
            max_pacing_rate: send.max_pacing_rate(),
            delivery_rate: rate.map(|(rate, _)| rate),
            delivery_rate_app_limited: rate.is_some_and(|(_, app_limited)| app_limited),
            delivered: Bytes::new(flight.delivery.total()),
            busy_time: spent.busy,
            rwnd_limited: spent.receiver_limited,
            sndbuf_limited: spent.buffer_limited,
            counters: self.counters(),
        }
    }

    // Trace of internal events.

    /// Keeps events of these kinds for [`Connection::poll_trace`] from now on. Other kinds cost nothing.
    pub fn listen_to(&mut self, mask: TcpEventMask) {
        self.send.flight.trace.listen_to(mask);
    }

    /// Removes and returns the oldest trace event.
    #[inline]
    pub fn poll_trace(&mut self) -> Option<TimedTcpEvent> {
        self.send.flight.trace.pop()
    }

    // Time.

    /// When `handle_timeout` must be called; `None` if no timer runs.
    #[inline]
    pub fn poll_timeout(&self) -> Option<Time> {
        self.send.flight.timers.next()
    }

    /// Runs the timers that are due by `now` and returns which kind expired.
    pub fn handle_timeout(&mut self, now: Time) -> Expired {
        self.send.flight.trace.set_now(now);
        let paced = self.take_due(TimerKind::Pacing, now);
        if self.poll_timeout().is_none_or(|due| now < due) {
            return if paced { Expired::Pacing } else { Expired::Nothing };
        }
        let of_ack = self.poll_timeout() == self.send.flight.timers.get(TimerKind::DelayedAck);
        if !of_ack || self.acks.timer_reads_clock(now) {
            self.clock = now;
        }
        if self.take_due(TimerKind::DelayedAck, now) {
            self.acks.on_timeout(now, self.ack_context(), &mut self.send.flight.timers);
        }
        if self.send.handle_timeout(now).is_err() {
            self.fail(ConnError::TimedOut);
        }
        if self.take_due(TimerKind::Handshake, now) {
            self.on_handshake_timeout();
        }
        if self.take_due(TimerKind::KeepAlive, now) {
            self.on_keepalive_timeout(now);
        }
        if self.take_due(TimerKind::TimeWait, now) {
            // The peer did not close in time: the connection ends.
            let given_up = self.state == State::FinWait2;
            self.finish(given_up.then_some(ConnEvent::Closed));
        }
        Expired::Timer
    }

    /// Stops a timer if it is due. True if it was due.
    #[inline]
    fn take_due(&mut self, kind: TimerKind, now: Time) -> bool {
        let due = self.send.flight.timers.take_due(kind, now);
        if due {
            self.send.flight.trace.emit(TcpEventMask::TIMER, || TcpEvent::Timer { kind });
        }
        due
    }

    // Shared by input and output.

    fn mss(&self) -> u32 {
        self.send.flight.mss() as u32
    }

    /// Segment sizes that the receive window is computed from.
    #[inline]
    fn segment_sizes(&self) -> SegmentSizes {
        SegmentSizes { agreed: self.mss(), full: self.acks.rcv_mss(), own: self.own_mss() }
    }

    /// The window field of a segment that is sent now.
    #[inline(always)]
    fn offered_window(&mut self) -> u16 {
        let scale = self.options.rcv_wscale;
        if let Some(window) = self.recv.settled_window(scale) {
            debug_assert_eq!(
                self.recv.offered(),
                self.recv.header_window(self.segment_sizes(), scale) << scale,
                "nothing has changed it"
            );
            return window;
        }
        let sizes = self.segment_sizes();
        self.recv.offer_window(sizes, scale)
    }

    /// The largest payload that this end's MSS option allows the peer.
    #[inline]
    fn own_mss(&self) -> u32 {
        u32::from(self.options.mss_option) - if self.options.timestamps { 12 } else { 0 }
    }

    #[cold]
    fn urgent_mut(&mut self) -> &mut Urgent {
        self.urgent.get_or_insert_default()
    }

    fn counters_mut(&mut self) -> &mut Counters {
        &mut self.send.flight.counters
    }

    #[inline]
    fn ack_context(&self) -> AckContext {
        let rtt = &self.send.flight.rtt;
        let known = match (self.recv.rtt(), rtt.srtt()) {
            (Some(received), Some(sent)) => Some(received.min(sent)),
            (received, sent) => received.or(sent),
        };
        AckContext { rtt: known, srtt: rtt.srtt(), rto: rtt.rto(), window: self.recv.offered() }
    }

    /// This end's sender, as an ACK policy sees it.
    fn sender_view(&self, has_data: bool) -> SenderView {
        let window = self.cwnd().min(Bytes::new(self.send.window.size())).min(Bytes::new(self.send.buffered()));
        let (mss, srtt) = (Bytes::new(self.send.flight.mss()), self.send.flight.rtt.srtt());
        let outstanding = Bytes::new(self.send.flight.outstanding());
        let undisturbed = self.send.recovery.ca_state() == CaState::Open;
        SenderView { cwnd: self.cwnd(), mss, srtt, window, has_data, outstanding, undisturbed }
    }

    fn set_state(&mut self, to: State) {
        let from = std::mem::replace(&mut self.state, to);
        if from != to {
            self.send.flight.trace.emit(TcpEventMask::STATE, || TcpEvent::StateChanged { from, to });
        }
    }

    fn finish(&mut self, event: Option<ConnEvent>) {
        self.set_state(State::Closed);
        self.stop_timers();
        self.events.extend(event);
    }

    fn fail(&mut self, error: ConnError) {
        self.error = Some(error);
        self.finish(Some(ConnEvent::Failed(error)));
    }

    fn stop_timers(&mut self) {
        self.send.flight.timers.stop_all();
        self.acks.forget();
        self.handshake.give_up();
    }
}
