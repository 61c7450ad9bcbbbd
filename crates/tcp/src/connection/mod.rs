//! One end of a TCP connection (RFC 9293): its states and the functions that its host calls.
//!
//! The host calls `handle_segment` and `handle_timeout`. For the application, it calls `write`, `read`, `shutdown` and
//! `close`. After each call, the host calls `poll_segment` and `poll_event` until both return `None`, and reads
//! `poll_timeout` again. `input` processes arriving segments; `output` decides which segments to send.

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
pub use segment::{Outgoing, Segment};

use crate::cc::Feedback;
use crate::config::{ConnConfig, Endpoint, KeepAlive};
use crate::ecn::EcnState;
use crate::info::{Counters, EcnCounts, OptionsInUse, RttStats, TcpInfo};
use crate::profile::{MetricsSave, Profile};
use crate::receive::ack_policy::SenderView;
use crate::receive::{AckContext, AckScheduler, Receiver, SegmentSizes, window_scale};
use crate::remembered::Remembered;
use crate::send::TimestampClock;
use crate::sender::Sender;
use conn_event::Readiness;
use handshake::Handshake;
use lopsided_core::tcp_event::{AckReason, CaState, State, TcpEvent, TcpEventMask, TimedTcpEvent, TimerKind};
use lopsided_core::{Bytes, Seq, Time};
use segment_limits::SegmentLimits;
use std::collections::VecDeque;
use urgent::Urgent;

/// One end of a connection, without I/O and without a clock.
///
/// Call `handle_segment` for each arriving segment and `handle_timeout` at the time that `poll_timeout` returned. After
/// every call, take segments from `poll_segment` until it returns `None`, then read `poll_timeout` again.
///
/// # Examples
///
/// A client sends 100 kB to a server over a path with a one-way delay of 20 ms:
///
/// ```
/// use lopsided_core::{Bytes, Duration, Ecn, Payload, Time};
/// use lopsided_tcp::{ConnConfig, Connection, Endpoint, Profile};
/// use std::{collections::VecDeque, net::Ipv4Addr};
///
/// let end = |port| Endpoint { addr: Ipv4Addr::LOCALHOST.into(), port };
/// let config = |from, to| ConnConfig::new(end(from), end(to), 1, Bytes::new(1500), Profile::linux_6_1(), "cubic");
/// let client = Connection::connect(config(40_000, 80).unwrap());
/// let server = Connection::listen(config(80, 40_000).unwrap());
/// let (mut ends, mut path) = ([client, server], VecDeque::new());
/// let (mut now, mut left, mut received) = (Time::ZERO, 100_000, 0);
/// while received < 100_000 {
///     left -= ends[0].write(&Payload::virtual_len(left)).unwrap() as u32;
///     for from in [0, 1] {
///         while let Some(segment) = ends[from].poll_segment(now) {
///             path.push_back((now + Duration::from_millis(20), 1 - from, segment));
///         }
///     }
///     let timers = ends.iter().filter_map(Connection::poll_timeout);
///     now = timers.chain(path.front().map(|(at, ..)| *at)).min().expect("a segment or a timer");
///     while path.front().is_some_and(|(at, ..)| *at <= now) {
///         let (_, to, segment) = path.pop_front().unwrap();
///         ends[to].handle_segment(now, &segment.header, &segment.payload, Ecn::NotEct);
///     }
///     ends.each_mut().map(|end| end.handle_timeout(now));
///     while let Ok(data) = ends[1].read(now, u64::MAX) {
///         received += data.len();
///     }
/// }
/// assert_eq!(now, Time::ZERO + Duration::from_millis(180), "the handshake and four windows of data");
/// ```
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
    /// Segments to send before any data; `None` if no such segment is due.
    urgent: Option<Box<Urgent>>,
    /// An ACK that became due before the application read the received data. Used only with stacks that acknowledge
    /// data before the application reads it.
    answer: Option<Answer>,
    /// The peer's timestamp that the next segment echoes (RFC 7323).
    ts_recent: u32,
    /// The last acknowledgement number that was sent. RFC 7323 section 4.3 uses it to decide whether `ts_recent`
    /// changes.
    last_ack_sent: Seq,
    /// Time at which the stack last read its clock. Outgoing timestamps are computed from this time.
    clock: Time,
    /// Time of the last challenge ACK. RFC 5961 section 7 limits the rate of challenge ACKs.
    last_challenge: Option<Time>,
    last_data_recv: Option<Time>,
    last_ack_recv: Option<Time>,
    events: VecDeque<ConnEvent>,
    /// True if the peer's FIN has arrived.
    peer_closed: bool,
    /// True if the application will not read any more data.
    read_shut: bool,
    /// True if the application has closed the connection.
    orphaned: bool,
    readiness: Readiness,
    keepalive: Option<Box<KeepAlive>>,
    error: Option<ConnError>,
    #[cfg(test)]
    pub(crate) prediction: header_prediction::Watched,
}

/// The TCP options in force: before the handshake, the options that this end offers; afterwards, the options that both
/// ends offered.
#[derive(Clone, Copy, Debug)]
pub(crate) struct AgreedOptions {
    /// The MSS option of this end, in bytes.
    pub mss_option: u16,
    /// True if segments carry timestamps.
    pub timestamps: bool,
    /// True if windows are scaled.
    pub scaling: bool,
    /// Window scale of the peer: left shift of the window fields that this end receives.
    pub snd_wscale: u8,
    /// Window scale of this end: right shift of the window fields that this end sends.
    pub rcv_wscale: u8,
}

/// An ACK that became due before the application read the received data, with the window that the ACK advertises.
#[derive(Clone, Copy, Debug)]
struct Answer {
    window: u16,
    why: AckReason,
}

/// The kind of timer that expired in [`Connection::handle_timeout`].
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Expired {
    /// No timer expired.
    Nothing,
    /// Only the pacing timer expired. A segment may be ready to send; the application has no new events.
    Pacing,
    /// A timer other than the pacing timer expired. The state, the window or the events may have changed.
    Timer,
}

impl Connection {
    /// Opens a connection actively. The first segment from `poll_segment` is the SYN.
    pub fn connect(config: ConnConfig) -> Connection {
        let mut connection = Connection::new(config, State::SynSent);
        connection.handshake.request_syn();
        connection.recv.open(Seq::default(), false);
        connection
    }

    /// Creates a connection that waits for a SYN from the peer in `config` (passive open).
    pub fn listen(config: ConnConfig) -> Connection {
        Connection::new(config, State::Listen)
    }

    fn new(config: ConnConfig, state: State) -> Connection {
        let mss_option = config.mss_option();
        let profile = config.profile;
        // RFC 6691, section 2: the MSS option does not include TCP options. Timestamps with padding take 12 bytes.
        let mss = u32::from(mss_option) - if profile.timestamps { 12 } else { 0 };
        let options = AgreedOptions {
            mss_option,
            timestamps: profile.timestamps,
            scaling: profile.window_scaling,
            snd_wscale: 0,
            rcv_wscale: if profile.window_scaling { window_scale(profile.receive_buffer) } else { 0 },
        };
        let reports_rate = config.reports_rate;
        let mut connection = Connection {
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
        };
        if reports_rate {
            connection.send.flight.scoreboard.keep_rates();
        }
        connection
    }

    // State.

    /// The state of the connection (RFC 9293 section 3.3.2).
    pub fn state(&self) -> State {
        self.state
    }

    /// This end's address and port.
    #[inline]
    pub fn local(&self) -> Endpoint {
        self.local
    }

    /// The peer's address and port.
    #[inline]
    pub fn remote(&self) -> Endpoint {
        self.remote
    }

    /// True if the stack saves path metrics for later connections to the same destination.
    pub fn saves_metrics(&self) -> bool {
        self.send.flight.profile.metrics_save != MetricsSave::Off
    }

    /// Saves the path metrics of this connection in `remembered`, for later connections to the same destination.
    pub fn leave_metrics(&self, now: Time, remembered: &mut Remembered) {
        remembered.learn(&self.info(now), &self.send.flight.profile);
    }

    /// True if the connection is closed and has no reset left to send.
    pub fn is_finished(&self) -> bool {
        self.state == State::Closed && self.urgent.as_ref().is_none_or(|urgent| !urgent.outlives())
    }

    fn ecn_counts(&self) -> Option<EcnCounts> {
        let (received_ce, sender) = (self.ecn.received_marks()?, self.send.accurate()?);
        let [delivered_ect0_bytes, delivered_ect1_bytes, delivered_ce_bytes] = sender.octets();
        Some(EcnCounts {
            received_ce,
            delivered_ce: sender.packets(),
            delivered_ect0_bytes,
            delivered_ect1_bytes,
            delivered_ce_bytes,
        })
    }

    /// The counters of this connection.
    pub fn counters(&self) -> Counters {
        let flight = &self.send.flight;
        Counters { lost_retransmits: flight.scoreboard.lost_retransmits(), ..flight.counters }
    }

    /// Statistics of all RTT samples since the start of the connection or the last [`Connection::take_rtt_stats`].
    pub fn rtt_stats(&self) -> &RttStats {
        &self.send.rtt_stats
    }

    /// Returns the statistics of the RTT samples and resets them.
    pub fn take_rtt_stats(&mut self) -> RttStats {
        std::mem::take(&mut self.send.rtt_stats)
    }

    /// The profile of this end's TCP stack.
    pub fn profile(&self) -> &Profile {
        &self.send.flight.profile
    }

    /// The congestion window in force: the controller's, or recovery's during a reduction.
    pub fn cwnd(&self) -> Bytes {
        Bytes::new(self.send.cwnd())
    }

    /// The state of the connection at `now`, with the fields of Linux's `tcp_info`.
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
            accurate_ecn: self.ecn_counts(),
            counters: self.counters(),
        }
    }

    // Trace of internal events.

    /// Sets the kinds of events to record; all other kinds are not recorded. Read the events with
    /// [`Connection::poll_trace`].
    pub fn listen_to(&mut self, mask: TcpEventMask) {
        self.send.flight.trace.listen_to(mask);
    }

    /// Removes and returns the oldest trace event.
    #[inline]
    pub fn poll_trace(&mut self) -> Option<TimedTcpEvent> {
        self.send.flight.trace.pop()
    }

    // Timers.

    /// Time at which `handle_timeout` must be called; `None` if no timer is armed.
    #[inline]
    pub fn poll_timeout(&self) -> Option<Time> {
        self.send.flight.timers.next()
    }

    /// Handles the timers that are due at `now`. Returns the kind of timer that expired.
    pub fn handle_timeout(&mut self, now: Time) -> Expired {
        self.send.flight.trace.set_now(now);
        // Check the pacing timer first: it expires most often, and it changes no state.
        let paced = self.take_due(TimerKind::Pacing, now);
        if self.poll_timeout().is_none_or(|due| now < due) {
            return if paced { Expired::Pacing } else { Expired::Nothing };
        }
        let of_ack = self.poll_timeout() == self.send.flight.timers.get(TimerKind::DelayedAck);
        // Some of Linux's ACK timers do not read the clock, so the ACK's timestamp is the time of the last arrival.
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
            // In FIN-WAIT-2 the timer limits the wait for the peer's FIN. When the timer expires, the connection
            // ends.
            let given_up = self.state == State::FinWait2;
            self.finish(given_up.then_some(ConnEvent::Closed));
        }
        Expired::Timer
    }

    /// Cancels a timer if it is due. Returns true if it was due.
    #[inline]
    fn take_due(&mut self, kind: TimerKind, now: Time) -> bool {
        let due = self.send.flight.timers.take_due(kind, now);
        if due {
            self.send.flight.trace.emit(TcpEventMask::TIMER, || TcpEvent::Timer { kind });
        }
        due
    }

    // Functions that are used by both `input` and `output`.

    fn mss(&self) -> u32 {
        self.send.flight.mss() as u32
    }

    /// Returns the segment sizes from which the receive window is computed.
    #[inline]
    fn segment_sizes(&self) -> SegmentSizes {
        SegmentSizes { agreed: self.mss(), full: self.acks.rcv_mss(), own: self.own_mss() }
    }

    /// Returns the window field of a segment that is sent now.
    #[inline(always)]
    fn offered_window(&mut self) -> u16 {
        let scale = self.options.rcv_wscale;
        if let Some(window) = self.recv.settled_window(scale) {
            debug_assert_eq!(
                self.recv.offered(),
                self.recv.next_window(self.segment_sizes(), scale),
                "nothing has changed the window"
            );
            return window;
        }
        let sizes = self.segment_sizes();
        self.recv.offer_window(sizes, scale)
    }

    /// Largest payload that the MSS option of this end permits the peer to send, in bytes.
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

    /// The connection's state as input of the ACK policy.
    #[inline]
    fn ack_context(&self) -> AckContext {
        let rtt = &self.send.flight.rtt;
        let received = self.recv.rtt().map(|received| rtt.srtt().map_or(received, |sent| received.min(sent)));
        AckContext { rtt: received, srtt: rtt.srtt(), rto: rtt.rto(), window: self.recv.offered() }
    }

    /// The state of this end's sender as input of the ACK policy.
    fn sender_view(&self, has_data: bool) -> SenderView {
        let window = self.cwnd().min(Bytes::new(self.send.window.size())).min(Bytes::new(self.send.buffered()));
        let (mss, srtt) = (Bytes::new(self.send.flight.mss()), self.send.flight.rtt.srtt());
        let outstanding = Bytes::new(self.send.flight.outstanding());
        let undisturbed = self.send.recovery.ca_state() == CaState::Open;
        SenderView { cwnd: self.cwnd(), mss, srtt, window, has_data, outstanding, undisturbed }
    }

    /// Changes the state and records the change.
    fn set_state(&mut self, to: State) {
        let from = std::mem::replace(&mut self.state, to);
        if from != to {
            self.send.flight.trace.emit(TcpEventMask::STATE, || TcpEvent::StateChanged { from, to });
        }
    }

    /// Ends the connection and reports `event`.
    fn finish(&mut self, event: Option<ConnEvent>) {
        self.set_state(State::Closed);
        self.stop_timers();
        self.events.extend(event);
    }

    /// Ends the connection with an error.
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
