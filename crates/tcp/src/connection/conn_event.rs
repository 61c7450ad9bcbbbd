//! The events that a connection reports to its application, and the errors of its calls.

use std::error::Error;
use std::fmt;

/// An event for the application.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
#[non_exhaustive]
pub enum ConnEvent {
    /// The handshake is complete.
    Established,
    /// Data can be read. Reported only if [enabled](super::Connection::watch_readiness), once after each read that
    /// returned less than its limit.
    Readable,
    /// Data can be written. Reported only if [enabled](super::Connection::watch_readiness), once after each write that
    /// did not fit into the send buffer.
    Writable,
    /// The peer sent its FIN. All data before the FIN is readable.
    PeerClosed,
    /// Both directions are closed and acknowledged.
    Closed,
    /// The connection ended before both directions were closed.
    Failed(ConnError),
}

/// The readiness events that the application waits for. [`super::Connection::watch_readiness`] enables the events.
#[derive(Clone, Copy, Debug, Default)]
pub(super) struct Readiness {
    pub watched: bool,
    pub reader_waits: bool,
    pub writer_waits: bool,
}

/// The reason why a connection failed.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
#[non_exhaustive]
pub enum ConnError {
    /// The peer answered the SYN with a reset, because no socket listens on that port (ECONNREFUSED).
    Refused,
    /// The peer reset the connection (ECONNRESET).
    Reset,
    /// The peer did not answer repeated retransmissions (ETIMEDOUT).
    TimedOut,
}

/// The reason why a write failed.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum WriteError {
    /// This end has closed its direction (EPIPE).
    Closed,
    /// The connection has failed.
    Failed(ConnError),
}

/// The reason why a read returned no data.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum ReadError {
    /// No unread data has arrived (EAGAIN).
    Blocked,
    /// All data has been read, and the peer has sent its FIN.
    Ended,
    /// The connection has failed.
    Failed(ConnError),
}

impl fmt::Display for ConnError {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.write_str(match self {
            ConnError::Refused => "the peer refused the connection",
            ConnError::Reset => "the peer reset the connection",
            ConnError::TimedOut => "the peer does not answer",
        })
    }
}

impl fmt::Display for WriteError {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        match self {
            WriteError::Closed => f.write_str("this end has closed its direction"),
            WriteError::Failed(error) => error.fmt(f),
        }
    }
}

impl fmt::Display for ReadError {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        match self {
            ReadError::Blocked => f.write_str("nothing has arrived yet"),
            ReadError::Ended => f.write_str("the stream has ended"),
            ReadError::Failed(error) => error.fmt(f),
        }
    }
}

impl Error for ConnError {}

impl Error for WriteError {
    fn source(&self) -> Option<&(dyn Error + 'static)> {
        match self {
            WriteError::Closed => None,
            WriteError::Failed(error) => Some(error),
        }
    }
}

impl Error for ReadError {
    fn source(&self) -> Option<&(dyn Error + 'static)> {
        match self {
            ReadError::Blocked | ReadError::Ended => None,
            ReadError::Failed(error) => Some(error),
        }
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn errors_name_their_reason_and_their_source() {
        let failed = WriteError::Failed(ConnError::Reset);
        assert_eq!(failed.to_string(), "the peer reset the connection");
        assert_eq!(failed.source().map(ToString::to_string), Some("the peer reset the connection".to_owned()));
        assert_eq!(WriteError::Closed.to_string(), "this end has closed its direction");
        assert!(WriteError::Closed.source().is_none());
        let failed = ReadError::Failed(ConnError::TimedOut);
        assert_eq!(failed.to_string(), "the peer does not answer");
        assert_eq!(failed.source().map(ToString::to_string), Some(ConnError::TimedOut.to_string()));
        assert_eq!(ReadError::Blocked.to_string(), "nothing has arrived yet");
        assert_eq!(ReadError::Ended.to_string(), "the stream has ended");
        assert!(ReadError::Blocked.source().is_none() && ReadError::Ended.source().is_none());
        assert_eq!(ConnError::Refused.to_string(), "the peer refused the connection");
    }
}
