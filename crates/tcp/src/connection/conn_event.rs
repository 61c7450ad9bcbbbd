//! What an application hears of its connection.

/// What the application should know.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum ConnEvent {
    Established,
    /// The peer has sent all it will: everything before its FIN is readable.
    PeerClosed,
    /// Both directions are closed and acknowledged.
    Closed,
    /// The peer refused or reset the connection.
    Reset,
    /// No answer to repeated retransmissions.
    TimedOut,
}
