//! The events inside a TCP endpoint: states, losses, reductions and their undo, timers, reasons for ACKs, and the
//! sender's limits.
//!
//! A connection creates only the events that were enabled, see `lopsided_tcp::Connection::listen_to`.

use crate::{Bytes, Seq, Time};

/// The states of a connection (RFC 9293 section 3.3.2).
#[derive(Clone, Copy, Debug, PartialEq, Eq, PartialOrd, Ord)]
pub enum State {
    /// LISTEN.
    Listen,
    /// SYN-SENT.
    SynSent,
    /// SYN-RECEIVED.
    SynReceived,
    /// ESTABLISHED.
    Established,
    /// FIN-WAIT-1.
    FinWait1,
    /// FIN-WAIT-2.
    FinWait2,
    /// CLOSE-WAIT.
    CloseWait,
    /// CLOSING.
    Closing,
    /// LAST-ACK.
    LastAck,
    /// TIME-WAIT.
    TimeWait,
    /// CLOSED.
    Closed,
}

impl State {
    /// Returns the state's name in lower case.
    pub fn name(self) -> &'static str {
        match self {
            State::Listen => "listen",
            State::SynSent => "syn-sent",
            State::SynReceived => "syn-received",
            State::Established => "established",
            State::FinWait1 => "fin-wait-1",
            State::FinWait2 => "fin-wait-2",
            State::CloseWait => "close-wait",
            State::Closing => "closing",
            State::LastAck => "last-ack",
            State::TimeWait => "time-wait",
            State::Closed => "closed",
        }
    }
}

/// The congestion state of a sender, with Linux's names and in Linux's order (`tcpi_ca_state`).
#[derive(Clone, Copy, Debug, PartialEq, Eq, PartialOrd, Ord, Hash)]
pub enum CaState {
    /// No segment is missing.
    Open,
    /// Duplicate ACKs or SACKs have arrived, but too few to indicate a loss.
    Disorder,
    /// The window is being reduced, but there is no lost data to repair: after an ECN echo, after a tail loss probe
    /// repaired a loss, or because the host's own interface was full.
    Cwr,
    /// Fast recovery.
    Recovery,
    /// A timeout has occurred. The state lasts until all data that was outstanding at the timeout is acknowledged.
    Loss,
}

impl CaState {
    /// Returns the state's name in lower case.
    pub fn name(self) -> &'static str {
        match self {
            CaState::Open => "open",
            CaState::Disorder => "disorder",
            CaState::Cwr => "cwr",
            CaState::Recovery => "recovery",
            CaState::Loss => "loss",
        }
    }
}

/// Declares an enumeration whose values have names for result tables and printed texts.
macro_rules! named {
    ($(#[$doc:meta])* $type:ident { $($(#[$value_doc:meta])* $value:ident = $name:literal,)+ }) => {
        $(#[$doc])*
        #[derive(Clone, Copy, Debug, PartialEq, Eq, PartialOrd, Ord)]
        pub enum $type {
            $($(#[$value_doc])* $value,)+
        }

        impl $type {
            /// Returns the value in words.
            pub fn name(self) -> &'static str {
                match self {
                    $($type::$value => $name,)+
                }
            }
        }
    };
}

named! {
    /// The reason why the congestion state of a sender changed.
    CaReason {
        /// Duplicate ACKs or SACKs arrived.
        Reordering = "duplicate or selective ACKs",
        /// A segment was marked lost.
        LossDetected = "a segment was marked lost",
        /// An ACK arrived with an ECN echo or with a higher count of CE marks.
        EcnEcho = "ECN echo",
        /// The tail loss probe repaired a loss.
        ProbeRepaired = "the tail loss probe repaired a loss",
        /// The queue of the host's own interface was full.
        LocalCongestion = "the interface was full",
        /// The retransmission timer expired.
        Timeout = "retransmission timeout",
        /// All data that was outstanding at the start of the recovery was acknowledged.
        Completed = "the recovery point is acknowledged",
        /// The reduction was undone, because it was not needed.
        Undone = "undo",
        /// No segment is missing.
        NothingMissing = "no segment is missing",
        /// A router reported that a segment was too large for the next link.
        PathMtu = "the path MTU decreased",
    }
}

named! {
    /// The rule that marked a segment as lost.
    LossRule {
        /// RACK (RFC 8985): a segment that was sent later has been delivered, and the time for reordering is over.
        Rack = "RACK",
        /// Forward acknowledgement (FACK): the distance from the segment to the highest SACK reached a threshold.
        Fack = "FACK",
        /// The number of SACKed segments above this segment reached a threshold (RFC 6675).
        Rfc6675 = "RFC 6675",
        /// FreeBSD: the segment is a hole below the highest SACK.
        FreeBsdSack = "below the highest SACK",
        /// The number of duplicate ACKs reached the threshold (RFC 5681).
        DuplicateAcks = "duplicate ACKs",
        /// An ACK arrived that a filter in the network had marked.
        MarkedAck = "a marked ACK",
        /// A partial acknowledgement arrived (RFC 6582).
        PartialAck = "partial ACK",
        /// RFC 9002 (QUIC): a packet that was sent at least 3 packets later was acknowledged. Or a packet that was sent
        /// later was acknowledged, and the lost packet was sent at least 9/8 of a round trip ago.
        Rfc9002 = "RFC 9002",
        /// The retransmission timer expired.
        Timeout = "timeout",
        /// The receiver discarded data that it had SACKed.
        Reneged = "SACK reneging",
        /// The segment was too large for a router's next link.
        TooLong = "larger than the path MTU",
    }
}

named! {
    /// The reason why a window was reduced.
    Reduction {
        /// A segment was lost.
        Loss = "loss",
        /// An ECN echo arrived.
        EcnEcho = "ECN echo",
        /// The retransmission timer expired.
        Timeout = "timeout",
        /// The queue of the host's own interface was full.
        LocalCongestion = "interface full",
        /// The connection was idle (RFC 2861).
        Idle = "idle",
    }
}

named! {
    /// The rule that detected that a reduction was spurious.
    UndoRule {
        /// An ACK echoed a timestamp that is older than the retransmission (RFC 3522).
        Eifel = "Eifel",
        /// DSACKs reported every retransmission as a duplicate (RFC 3708).
        Dsack = "DSACK",
        /// After a timeout, an ACK covered data that had not been retransmitted (RFC 5682).
        FRto = "F-RTO",
        /// After a timeout, an ACK arrived too soon to be caused by the retransmission (4.4BSD).
        EarlyAck = "early ACK",
    }
}

named! {
    /// The timers of a connection.
    TimerKind {
        /// Retransmission timeout (RFC 6298).
        Retransmission = "retransmission",
        /// Tail loss probe (RFC 8985, section 7).
        TailProbe = "tail loss probe",
        /// The time for which RACK waits for reordered segments (RFC 8985, section 6.2).
        Reordering = "reordering",
        /// Probes of a zero window (RFC 9293, section 3.8.6.1).
        Persist = "persist",
        /// Delayed ACK (RFC 9293, section 3.8.6.3).
        DelayedAck = "delayed ACK",
        /// Pacing of the next segment.
        Pacing = "pacing",
        /// Retransmission of a SYN or SYN-ACK.
        Handshake = "handshake",
        /// The end of TIME-WAIT.
        TimeWait = "time-wait",
        /// Keep-alive (RFC 9293, section 3.8.4).
        KeepAlive = "keep-alive",
    }
}

named! {
    /// The reason why an ACK without data was sent.
    AckReason {
        /// The policy acknowledges each segment.
        EverySegment = "every segment",
        /// The number of segments or bytes that one ACK may cover has arrived.
        Count = "enough segments",
        /// The delayed-ACK timer expired.
        Delay = "delay",
        /// A quick ACK of Linux.
        Quick = "quick ACK",
        /// Data arrived out of order.
        OutOfOrder = "out of order",
        /// A segment filled a gap or part of a gap.
        GapFilled = "gap filled",
        /// The data had been received before.
        Duplicate = "duplicate data",
        /// The application has read all data of a message.
        Pushed = "message read",
        /// The window opened.
        WindowUpdate = "window update",
        /// A FIN or a SYN of the peer arrived.
        Fin = "FIN",
        /// The ACK completes the handshake.
        Handshake = "handshake",
        /// A segment arrived that is not acceptable (RFC 5961).
        Challenge = "challenge",
        /// The CE mark of arriving data changed, or a mark requires an immediate ACK.
        Ecn = "ECN",
        /// The segment probes a closed window.
        WindowProbe = "window probe",
        /// The ACK was due according to the ACK policy's own schedule.
        Paced = "schedule",
        /// FreeBSD: a partial acknowledgement arrived and released no segment.
        Partial = "partial acknowledgement",
    }
}

named! {
    /// The limit that prevents a sender from sending more.
    Limit {
        /// The congestion window.
        Congestion = "congestion window",
        /// The peer's window.
        Receiver = "receive window",
        /// The application has written no more data.
        Application = "application",
        /// The pacing rate.
        Pacing = "pacing",
        /// A short segment waits for an acknowledgement (Nagle).
        Nagle = "Nagle",
        /// The peer's flow-control limit of a stream (QUIC).
        StreamFlowControl = "stream flow control",
        /// The peer's flow-control limit of the connection (QUIC).
        ConnectionFlowControl = "connection flow control",
        /// The send buffer is full of unacknowledged data (QUIC).
        SendBuffer = "send buffer",
        /// The client's address is not validated yet (RFC 9000 section 8.1).
        AntiAmplification = "anti-amplification limit",
        /// The endpoint's processor.
        Processor = "processor",
    }
}

/// An event inside an endpoint. Offsets count the bytes of the stream from 0.
#[derive(Clone, Copy, Debug, PartialEq)]
#[non_exhaustive]
pub enum TcpEvent {
    /// The connection's state changed.
    StateChanged {
        /// The state before the change.
        from: State,
        /// The state after the change.
        to: State,
    },
    /// The congestion state changed.
    CaState {
        /// The state before the change.
        from: CaState,
        /// The state after the change.
        to: CaState,
        /// The reason.
        why: CaReason,
    },
    /// Segments were marked lost.
    Lost {
        /// Offset of the first lost segment.
        start: u64,
        /// Number of lost segments.
        segments: u32,
        /// The rule that marked the segments as lost.
        rule: LossRule,
    },
    /// The window was reduced, or the target of a gradual reduction was lowered.
    CwndReduced {
        /// The congestion signal.
        signal: Reduction,
        /// The window before the reduction.
        from: Bytes,
        /// The window after the reduction.
        to: Bytes,
    },
    /// A reduction was undone.
    Undone {
        /// The rule that detected that the reduction was spurious.
        by: UndoRule,
        /// The window after the undo.
        cwnd: Bytes,
    },
    /// A timer expired.
    Timer {
        /// The timer.
        kind: TimerKind,
    },
    /// An ACK without data was sent.
    AckSent {
        /// The acknowledgement number.
        ack: Seq,
        /// The reason for the ACK.
        why: AckReason,
    },
    /// The limit that prevents the sender from sending more changed.
    Limited {
        /// The new limit.
        by: Limit,
    },
    /// A segment was retransmitted.
    Retransmitted {
        /// Offset of the segment.
        start: u64,
        /// Number of bytes.
        len: u32,
        /// True if the retransmission is a tail loss probe.
        probe: bool,
    },
    /// The congestion control changed to a different phase.
    CcPhase {
        /// The phase before the change.
        from: &'static str,
        /// The phase after the change.
        to: &'static str,
    },
}

impl TcpEvent {
    /// Returns the kind of the event, as a mask with one bit.
    pub fn kind(&self) -> TcpEventMask {
        match self {
            TcpEvent::StateChanged { .. } => TcpEventMask::STATE,
            TcpEvent::CaState { .. } | TcpEvent::CcPhase { .. } => TcpEventMask::CONGESTION,
            TcpEvent::Lost { .. } => TcpEventMask::LOSS,
            TcpEvent::CwndReduced { .. } | TcpEvent::Undone { .. } => TcpEventMask::WINDOW,
            TcpEvent::Timer { .. } => TcpEventMask::TIMER,
            TcpEvent::AckSent { .. } => TcpEventMask::ACK,
            TcpEvent::Limited { .. } => TcpEventMask::LIMIT,
            TcpEvent::Retransmitted { .. } => TcpEventMask::RETRANSMIT,
        }
    }

    /// Returns the event's name in tables.
    pub fn name(&self) -> &'static str {
        match self {
            TcpEvent::StateChanged { .. } => "state",
            TcpEvent::CaState { .. } => "ca_state",
            TcpEvent::Lost { .. } => "lost",
            TcpEvent::CwndReduced { .. } => "cwnd_reduced",
            TcpEvent::Undone { .. } => "undone",
            TcpEvent::Timer { .. } => "timer",
            TcpEvent::AckSent { .. } => "ack_sent",
            TcpEvent::Limited { .. } => "limited",
            TcpEvent::Retransmitted { .. } => "retransmitted",
            TcpEvent::CcPhase { .. } => "cc_phase",
        }
    }
}

impl std::fmt::Display for TcpEvent {
    /// Writes the event as a sentence.
    fn fmt(&self, f: &mut std::fmt::Formatter<'_>) -> std::fmt::Result {
        match self {
            TcpEvent::StateChanged { from, to } => write!(f, "state {} -> {}", from.name(), to.name()),
            TcpEvent::CaState { from, to, why } => write!(f, "{} -> {}: {}", from.name(), to.name(), why.name()),
            TcpEvent::Lost { start, segments, rule } => {
                write!(f, "lost segments: {segments}, from offset {start}, detected by {}", rule.name())
            }
            TcpEvent::CwndReduced { signal, from, to } => {
                write!(f, "window {} -> {} B: {}", from.get(), to.get(), signal.name())
            }
            TcpEvent::Undone { by, cwnd } => write!(f, "window restored to {} B: {}", cwnd.get(), by.name()),
            TcpEvent::Timer { kind } => write!(f, "{} timer expired", kind.name()),
            TcpEvent::AckSent { ack, why } => write!(f, "ACK {}: {}", ack.get(), why.name()),
            TcpEvent::Limited { by } => write!(f, "limited by {}", by.name()),
            TcpEvent::Retransmitted { start, len, probe } => {
                write!(f, "retransmits {len} B at offset {start}{}", if *probe { " as a probe" } else { "" })
            }
            // The first phase has no predecessor.
            TcpEvent::CcPhase { from: "", to } => write!(f, "congestion control starts in {to}"),
            TcpEvent::CcPhase { from, to } => write!(f, "congestion control {from} -> {to}"),
        }
    }
}

/// A set of kinds of [`TcpEvent`].
#[derive(Clone, Copy, Debug, PartialEq, Eq, Default)]
pub struct TcpEventMask(u16);

impl TcpEventMask {
    /// No events.
    pub const NONE: TcpEventMask = TcpEventMask(0);
    /// Changes of the connection's state.
    pub const STATE: TcpEventMask = TcpEventMask(1);
    /// Changes of the congestion state.
    pub const CONGESTION: TcpEventMask = TcpEventMask(1 << 1);
    /// Segments marked lost.
    pub const LOSS: TcpEventMask = TcpEventMask(1 << 2);
    /// Reductions of the window and their undo.
    pub const WINDOW: TcpEventMask = TcpEventMask(1 << 3);
    /// Expired timers.
    pub const TIMER: TcpEventMask = TcpEventMask(1 << 4);
    /// ACKs that were sent, with the reason for each.
    pub const ACK: TcpEventMask = TcpEventMask(1 << 5);
    /// Changes of the sender's limit.
    pub const LIMIT: TcpEventMask = TcpEventMask(1 << 6);
    /// Retransmissions.
    pub const RETRANSMIT: TcpEventMask = TcpEventMask(1 << 7);
    /// All events.
    pub const ALL: TcpEventMask = TcpEventMask(u16::MAX);

    /// Returns true if the two sets have a kind in common.
    #[inline]
    pub const fn has(self, kinds: TcpEventMask) -> bool {
        self.0 & kinds.0 != 0
    }

    #[must_use]
    /// Returns the union of both sets.
    pub const fn with(self, kinds: TcpEventMask) -> TcpEventMask {
        TcpEventMask(self.0 | kinds.0)
    }
}

/// An event and its time.
#[derive(Clone, Copy, Debug, PartialEq)]
pub struct TimedTcpEvent {
    /// Time of the event.
    pub at: Time,
    /// The event.
    pub event: TcpEvent,
}
