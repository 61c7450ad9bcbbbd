//! What an application hears of its connection, and why a call of it fails.

use std::error::Error;
use std::fmt;

/// What the application should know.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum ConnEvent {
    Established,
    /// There is data to read, where the last read had found less than it asked for. Told to those who
    /// [watch](super::Connection::watch_readiness).
    Readable,
    /// There is room to write, where the last write had found less than it needed. Told to those who
    /// [watch](super::Connection::watch_readiness).
    Writable,
    /// The peer has sent all it will: everything before its FIN is readable.
    PeerClosed,
    /// Both directions are closed and acknowledged.
    Closed,
    /// The connection is over before both directions were closed.
    Failed(ConnError),
}

/// Who waits for the connection. Without somebody who watches, nothing is told.
#[derive(Clone, Copy, Debug, Default)]
pub(super) struct Readiness {
    pub watched: bool,
    pub reader_waits: bool,
    pub writer_waits: bool,
}

/// Why a connection failed.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum ConnError {
    /// The peer answered the SYN with a reset: nobody listens there (ECONNREFUSED).
    Refused,
    /// The peer reset the connection (ECONNRESET).
    Reset,
    /// No answer to repeated retransmissions (ETIMEDOUT).
    TimedOut,
}

/// Why nothing can be written.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum WriteError {
    /// This end has closed its direction (EPIPE).
    Closed,
    Failed(ConnError),
}

/// Why nothing can be read.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum ReadError {
    /// Nothing has arrived that was not read yet (EAGAIN).
    Blocked,
    /// All that will ever come was read.
    Ended,
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
