//! The classes of what held a sender back.

/// The reason why a sender did not send more.
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
    /// The sender repaired a loss.
    Recovery,
    /// The sender spread its segments over time.
    Pacing,
    /// The congestion window was full because ACKs came late: they waited longer than the data did.
    AckPath,
    /// Nothing moved until the retransmission timer expired.
    RtoIdle,
    /// The receiver had closed its window.
    ReceiverStall,
}

impl Limit {
    /// All of them, in the order of the columns.
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

    /// Its name in tables.
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
