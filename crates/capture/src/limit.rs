//! The causes that limit the rate of a sender.

/// The reason why a sender did not send faster.
#[derive(Clone, Copy, Debug, PartialEq, Eq, PartialOrd, Ord)]
pub enum Limit {
    /// The application had nothing to send.
    Application,
    /// The receiver's window was full.
    ReceiveWindow,
    /// The congestion window was full, in slow start.
    SlowStart,
    /// The congestion window was full, in congestion avoidance.
    Avoidance,
    /// The sender was in loss recovery.
    Recovery,
    /// The sender paced its segments: it spread the segments over time although the congestion window had room.
    Pacing,
    /// The congestion window was full because ACKs were queued for longer than the data.
    AckPath,
    /// No packet arrived or was sent until the retransmission timer expired.
    RtoIdle,
    /// The receiver's window was smaller than a segment.
    ReceiverStall,
}

impl Limit {
    /// All limits, in the order of the table columns.
    pub const ALL: [Limit; 9] = [
        Limit::Application,
        Limit::ReceiveWindow,
        Limit::SlowStart,
        Limit::Avoidance,
        Limit::Recovery,
        Limit::Pacing,
        Limit::AckPath,
        Limit::RtoIdle,
        Limit::ReceiverStall,
    ];

    /// Returns the limit's name for tables.
    pub const fn name(self) -> &'static str {
        match self {
            Limit::Application => "application",
            Limit::ReceiveWindow => "receive_window",
            Limit::SlowStart => "slow_start",
            Limit::Avoidance => "avoidance",
            Limit::Recovery => "recovery",
            Limit::Pacing => "pacing",
            Limit::AckPath => "ack_path",
            Limit::RtoIdle => "rto_idle",
            Limit::ReceiverStall => "receiver_stall",
        }
    }
}
